"""The de-biased distraction: λ without the wandering of set means.

Even when nothing differs, the mean of n rows wanders by 1/n, so that a pure distractor reads about 1 - 1/n.

    A = Σ P_m S_m/(n_m-1)        Q = (between - Σ P_m(1-P_m) S_m/(n_m(n_m-1))) / (1 - ΣP_m²)
    λ~ = wᵀAw / (wᵀAw + max(wᵀQw, 0))
"""

from __future__ import annotations

import numpy as np

from undistract.algebra.weighted_sets import WeightedSets
from undistract.arrays import TINY, Floats


def debiased_distraction(
    sets: WeightedSets, distraction: Floats, cushioned: Floats, noise: tuple[Floats, Floats]
) -> Floats:
    """Return one minus the intraclass correlation of each reading.

    Parameters
    ----------
    sets : Moments or SketchedMoments
    distraction : (q,) array
        λ, which is wᵀ within w, because wᵀ metric w = 1.
    cushioned : (q,) array
        ε |w|², the share of the metric that the cushion has.
    noise : (q,) arrays
        How far the readings of set means wander by chance, by weight and by squared weight (`Moments.wander`).

    Examples
    --------
    Ten sets of eleven rows: a pure distractor reads 100/109, and is one.

    >>> class Ten(WeightedSets):
    ...     counts, weights = np.full(10, 11), np.ones(10)
    >>> within = np.array([100 / 109, 0.5])
    >>> debiased_distraction(Ten(), within, np.zeros(2), (within / 10, within / 100)).round(2)
    array([1.  , 0.52])
    """
    between = 1.0 - distraction - cushioned
    shares, single = sets.shares, sets.counts == 1
    first, squared = noise
    # A set of one row shows no variation of its own: the others speak for it.
    unbiased = (distraction + first) / float(1.0 - shares[single].sum())
    wander = first - squared + unbiased * float((shares * (1 - shares))[single].sum())
    # One set can outweigh all others so far that nothing is left of 1 - ΣP².
    apart = np.maximum(between - wander, 0.0) / max(float(1.0 - (shares**2).sum()), float(np.finfo(np.float64).eps))
    # Where a direction never varies inside a set, rounding can leave -1e-14; a share is never negative.
    unbiased = np.maximum(unbiased, 0.0)
    debiased: Floats = unbiased / np.maximum(unbiased + apart, TINY)
    return debiased

"""The strength of a soft removal: how much rows shrink along each pattern that goes.

    γ given     s_i = γ λ_i
    "auto"      1 + s_i = ((n_i / n)² / (b_i / b))^2c,  at least 1

n_i is how much rows vary inside sets along pattern i, b_i how much sets differ there with the cushion granted; n and b
are the means over what is kept. Of all weights that a sum of squares can give to directions, signal over noise squared
makes a stranger stand out best (the deflection), where strangers differ as sets do. It is squared for detectors that
look at one feature at a time, whatever its scale: they see what is left of a light wherever nothing else is.

c is how far the sets are believed: 1 where they are many or vary alike, as the automatic cut-off asks. Where they are
few and vary unevenly, a direction that somebody forces out is shrunk less, or not at all. All of it is read off the
spectrum: held-out sets do no better (benchmarks/strength_study.py, docs/soft.md).
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from undistract.algebra.cutoff import MOST_UNEVEN
from undistract.algebra.spectrum import Spectrum
from undistract.arrays import TINY, Floats
from undistract.errors import InputError

# Beyond this nothing is left in double precision, and squares must not overflow.
MOST_STRENGTH = 1e100
# A ten thousandth of the length is left: for a detector nothing, but it can still be undone.
MOST_AUTOMATIC = 1e8
LEAST = 1e-12


def check_strength(strength: Any) -> None:
    """Refuse what is no strength."""
    number = isinstance(strength, Real) and not isinstance(strength, bool) and 0 <= float(strength) <= MOST_STRENGTH
    if not number and not (isinstance(strength, str) and strength == "auto"):
        raise InputError(f"strength is {strength!r}; expected 'auto' or a number from 0 up, such as 100.")


def strengths(spectrum: Spectrum, n_removed: int, strength: float | str = "auto") -> Floats:
    """Say how strongly each of the directions that go is shrunk.

    Parameters
    ----------
    spectrum : Spectrum
    n_removed : int
        The first so many directions go.
    strength : float or "auto"
        γ, the same for all but for their distraction.

    Returns
    -------
    (r,) array, from 0 up

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.algebra import Moments
    >>> rng = np.random.default_rng(0)
    >>> sets = [rng.normal([3 * m, 1, -1], [2, 9, 1], size=(100, 3)) for m in range(10)]
    >>> spectrum = Spectrum.of(Moments.of(sets))
    >>> strengths(spectrum, 1, 100.0).round(1)
    array([92.4])
    >>> np.sqrt(strengths(spectrum, 1)).round(-2)
    array([7200.])
    """
    check_strength(strength)
    if not isinstance(strength, str):
        return float(strength) * spectrum.distraction[:n_removed]
    return _automatic(spectrum, n_removed)


def _automatic(spectrum: Spectrum, n_removed: int) -> Floats:
    """Weigh what goes by signal over noise squared, relative to what is kept."""
    squares = spectrum.directions.pattern_squares  # within = Σ λ a aᵀ and total + ε I = Σ a aᵀ
    if spectrum.variances is None:
        within = float(spectrum.distraction @ squares)
        total = float(np.maximum(squares - spectrum.cushion, 0.0).sum())
    else:
        within, total = spectrum.variances.within, spectrum.variances.total
    # Where what is kept never varies, or no sets differ, rounding must not decide: then the largest strength does.
    least = LEAST * max(float(total), TINY)
    lengths = squares[:n_removed]
    n_kept = max(spectrum.n_features - n_removed, 1)
    inside = spectrum.distraction[:n_removed] * lengths
    kept_inside = max((within - inside.sum()) / n_kept, least)
    clean = np.maximum(spectrum.debiased[:n_removed], LEAST)
    heard = spectrum.evidence.heard
    usual = (1 - heard) * (total - within) / max(within, least)  # where no set speaks: as everywhere
    apart = inside * (heard * (1 - clean) / clean + usual)
    apart += lengths * spectrum.cushion * spectrum.directions.filter_squares[:n_removed]
    kept_apart = heard * (total - within) / n_kept + usual * kept_inside + spectrum.cushion
    noise = np.minimum(inside / kept_inside, MOST_AUTOMATIC)
    signal = np.maximum(apart, least) / max(kept_apart, least)
    weights = np.minimum(np.maximum(noise**2 / signal, 1.0), MOST_AUTOMATIC) ** (2 * _belief(spectrum, n_removed))
    return np.asarray(np.minimum(weights - 1, MOST_AUTOMATIC))


def _belief(spectrum: Spectrum, n_removed: int) -> Floats:
    """Say how far the sets are believed about each direction that goes, 0 to 1; people are believed."""
    n_told = min(spectrum.n_told, n_removed)
    read = spectrum.unevenness[n_told:n_removed]
    sure = spectrum.evidence.speaks or not read.size
    # All of it up to the bound of the automatic cut-off, and nothing from twice that on.
    belief = 1.0 if sure else float(np.clip(2 - read.mean() / MOST_UNEVEN, 0.0, 1.0))
    return np.repeat([1.0, belief], [n_told, n_removed - n_told])

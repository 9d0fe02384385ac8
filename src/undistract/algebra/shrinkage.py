"""Soft removal: shrink rows along the removed directions instead of projecting them out.

The strength s_i of a direction, relative to the kept ones:

    number γ    s_i = γ λ_i
    "auto"      1 + s_i = ((n_i / n)² / (b_i / b))^2c,  at least 1

n_i is the within-group variance along pattern i, b_i the between-group variance there plus the ridge; n and b are the
means over the kept directions. Of all weights in a sum of squares, signal / noise² separates a new group best (the
deflection criterion), if new groups differ as the training groups do. The weight is squared again for detectors that
use one feature at a time on its own scale: they would otherwise still see the shrunk nuisance.

c is the confidence in the groups: 1 if they are many or vary alike, as the automatic cut-off requires. With few and
heterogeneous groups, a direction that the user removes explicitly is shrunk less, or not at all. The spectrum is
enough: cross-validation over groups does no better (benchmarks/strength_study.py, docs/soft.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from undistract._arrays import TINY, Floats, Rows, ignore_blas_flags
from undistract.algebra.evidence import MAX_HETEROGENEITY
from undistract.algebra.spectrum import Spectrum

# 1/10 000 of the length is kept: invisible for a detector, but still invertible.
MAX_AUTOMATIC = 1e8
MIN_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class ShrinkageFilter:
    """A symmetric linear map that shrinks a few directions and leaves the others unchanged.

        (I + Σ s_i a_i a_iᵀ)^(-½) = I - U diag(1 - 1/g) Uᵀ,   ‖a_i‖ = 1,   s_i ≥ 0 the strength along each pattern

    U are the left singular vectors of [√s_i a_i], and g = √(1 + σ²) with its singular values σ. With strength 0 it is
    the identity; as the strength grows it approaches the projection onto the complement of the patterns. The same
    filter serves the projection (`Soft`) and the penalty ρ/2 vᵀ(I + Σ s_i a_i a_iᵀ)v, which is plain ridge on filtered
    rows.

    Examples
    --------
    >>> import numpy as np
    >>> half = ShrinkageFilter.of(np.array([[2.0], [0.0]]), np.array([3.0]))
    >>> half(np.ones((1, 2)))
    array([[0.5, 1. ]])
    >>> half.inverse(half(np.ones((1, 2))))
    array([[1., 1.]])
    """

    directions: Floats  # (d, r) U, orthonormal
    gain: Floats  # (r,) g ≥ 1: the factor by which rows are divided along each direction

    @classmethod
    def of(cls, patterns: Floats, strengths: Floats) -> ShrinkageFilter:
        """Create the filter from patterns of any length (d, r), and a strength for each (r,)."""
        directions, values, _ = np.linalg.svd(normalize_columns(patterns) * np.sqrt(strengths), full_matrices=False)
        return cls(directions, np.hypot(1.0, values))  # √(1 + σ²) without overflow

    def __call__(self, X: Rows) -> Rows:
        """Filter rows, (n, d)."""
        return self._scale(X, 1 / self.gain - 1)

    def inverse(self, Z: Rows) -> Rows:
        """Invert the filter, (n, d)."""
        return self._scale(Z, self.gain - 1)

    @ignore_blas_flags
    def _scale(self, X: Rows, change: Floats) -> Rows:
        directions, change = (array.astype(X.dtype, copy=False) for array in (self.directions, change))
        scaled: Rows = X + (X @ directions * change) @ directions.T
        return scaled


def strengths(spectrum: Spectrum, n_removed: int, strength: float | str = "auto") -> Floats:
    """Return the strength s_i of each removed direction.

    Parameters
    ----------
    spectrum : Spectrum
    n_removed : int
        The first `n_removed` directions are removed.
    strength : float or "auto"
        γ, multiplied by the distraction of each direction.

    Returns
    -------
    (r,) array, non-negative

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.algebra import Moments
    >>> rng = np.random.default_rng(0)
    >>> groups = [rng.normal([3 * m, 1, -1], [2, 9, 1], size=(100, 3)) for m in range(10)]
    >>> spectrum = Spectrum.of(Moments.of(groups))
    >>> strengths(spectrum, 1, 100.0).round(1)
    array([92.4])
    >>> np.sqrt(strengths(spectrum, 1)).round(-2)
    array([7200.])
    """
    if not isinstance(strength, str):
        return float(strength) * spectrum.distraction[:n_removed]
    return _automatic(spectrum, n_removed)


def _automatic(spectrum: Spectrum, n_removed: int) -> Floats:
    """Weight the removed directions by signal / noise², relative to the kept ones."""
    squares = spectrum.directions.pattern_squares  # within = Σ λ a aᵀ and total + ε I = Σ a aᵀ
    if spectrum.variances is None:
        within = float(spectrum.distraction @ squares)
        total = float(np.maximum(squares - spectrum.ridge, 0.0).sum())
    else:
        within = spectrum.variances.within
        total = spectrum.variances.total
    # If the kept directions are constant, or groups do not differ, rounding must not decide: bound both from below,
    # which gives the largest strength.
    least = MIN_SHARE * max(float(total), TINY)
    lengths = squares[:n_removed]
    n_kept = max(spectrum.n_features - n_removed, 1)
    removed_within = spectrum.distraction[:n_removed] * lengths
    kept_within = max((within - removed_within.sum()) / n_kept, least)
    debiased = np.maximum(spectrum.debiased[:n_removed], MIN_SHARE)
    resolvable = spectrum.evidence.resolvable_share
    # Along directions that the groups cannot resolve, assume the typical ratio of between- to within-group variance.
    typical_ratio = (1 - resolvable) * (total - within) / max(within, least)
    removed_between = removed_within * (resolvable * (1 - debiased) / debiased + typical_ratio)
    removed_between += lengths * spectrum.ridge * spectrum.directions.filter_squares[:n_removed]
    kept_between = resolvable * (total - within) / n_kept + typical_ratio * kept_within + spectrum.ridge
    noise = np.minimum(removed_within / kept_within, MAX_AUTOMATIC)
    signal = np.maximum(removed_between, least) / max(kept_between, least)
    weights = np.minimum(np.maximum(noise**2 / signal, 1.0), MAX_AUTOMATIC) ** (2 * _confidence(spectrum, n_removed))
    return np.asarray(np.minimum(weights - 1, MAX_AUTOMATIC))


def _confidence(spectrum: Spectrum, n_removed: int) -> Floats:
    """Return the confidence in each removed direction, 0 to 1; it is 1 for directions removed by feedback."""
    n_feedback = min(spectrum.n_from_feedback, n_removed)
    heterogeneity = spectrum.heterogeneity[n_feedback:n_removed]
    confidence = 1.0
    if heterogeneity.size and not spectrum.evidence.is_resolvable:
        # 1 up to the bound of the automatic cut-off, then linearly down to 0 at twice the bound.
        confidence = float(np.clip(2 - heterogeneity.mean() / MAX_HETEROGENEITY, 0.0, 1.0))
    return np.repeat([1.0, confidence], [n_feedback, n_removed - n_feedback])


def normalize_columns(patterns: Floats) -> Floats:
    """Scale each column to unit length, (d, r); no column may be zero.

    Examples
    --------
    >>> normalize_columns(np.array([[3e200], [4e200]]))
    array([[0.6],
           [0.8]])
    """
    # Scale the largest entry to 1 first, so that the squares in the norm neither overflow nor underflow.
    scaled = patterns / np.abs(patterns).max(axis=0, initial=0.0)
    columns: Floats = scaled / np.linalg.norm(scaled, axis=0)
    return columns

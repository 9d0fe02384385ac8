"""Roads to one eigenproblem; all whiten the metric first, so that 0 ≤ λ ≤ 1 comes by itself.

    within · w = λ · (total + ε I) · w          WᵀBW = I,  patterns A = BW,  B = total + ε I

Here with matrices of (d, d); `few_rows` does it where rows are few and features many. `dense_leading` finds the most
distracting directions alone, and proves that none was missed; where it cannot, it says so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, qr, solve_triangular
from scipy.linalg.blas import dsymm, dsyrk, dtrmm, dtrsm
from scipy.linalg.lapack import dlange, dpocon, dpotrf, dpstrf

from undistract.algebra.leading import LEAST_FEATURES, Wanted, highest, leading
from undistract.arrays import Floats

# A metric with a condition beyond this is whitened on its range: what a Cholesky factor adds there is rounding.
LEAST_CONDITION = 1e-9
# What reads less may be rounding: whether it varies inside sets at all, only all directions together can tell.
LEAST_READING = 1e-6


class Solution(NamedTuple):
    """Eigenvalues, largest first, with their filters and patterns."""

    distraction: Floats  # (q,)
    filters: Floats  # (d, q)
    patterns: Floats  # (d, q)
    n_moving: int  # the rank of within: so many directions vary inside sets, the others read zero


def dense_leading(within: Floats, total: Floats, epsilon: float, wanted: Wanted) -> Solution | None:
    """Solve for the leading directions alone; features must not be constant, and `total` is overwritten.

    That none is missed is proved by a Cholesky factor: c B - within + Σ λ a aᵀ over the directions found is positive
    definite only if every other distraction is below c.

    Returns
    -------
    Solution or None
        None where they are too many, crowd, or cannot be proved to be all.
    """
    if len(within) < LEAST_FEATURES:
        return None
    scale = np.sqrt(np.diag(total) + epsilon)
    metric = _scaled(total, scale, out=total if total.flags.f_contiguous else np.empty_like(total, order="F"))
    metric[np.diag_indices_from(metric)] = 1.0
    apart = _scaled(within, scale, out=np.empty_like(metric))
    np.subtract(metric, apart, out=apart)
    lower = _factor(apart, overwrite=True)  # of between + ε
    if lower is None:
        return None

    def whitened(columns: Floats) -> Floats:
        turned = dsymm(1.0, metric, dtrsm(1.0, lower, columns, lower=1, trans_a=1))
        product: Floats = dtrsm(1.0, lower, turned, lower=1, overwrite_b=1)
        return product

    found = leading(whitened, len(scale), wanted)
    if found is None:
        return None
    distraction, roots = np.clip(found.distraction, 0.0, 1.0), np.sqrt(found.values)
    if len(roots) and distraction[-1] < LEAST_READING:
        return None
    filters, patterns = np.zeros((2, len(scale), len(roots)))
    if len(roots):
        filters = dtrsm(1.0, lower, found.vectors / roots, lower=1, trans_a=1)
        patterns = dtrmm(1.0, lower, found.vectors * roots, lower=1)
    metric *= highest(distraction, wanted)
    metric -= _scaled(within, scale, out=lower)  # whose memory serves once more
    if len(roots):
        dsyrk(1.0, patterns * np.sqrt(distraction), beta=1.0, c=metric, overwrite_c=1, lower=1)
    if dpotrf(metric, lower=1, overwrite_a=1, clean=0)[1]:
        return None
    return Solution(distraction, filters / scale[:, None], patterns * scale[:, None], len(roots))


def dense(within: Floats, total: Floats, epsilon: float) -> Solution:
    """Solve with matrices of d × d; features must not be constant.

    Features are brought to one scale first. A Cholesky factor whitens the metric; where the metric is singular to
    rounding (tiny cushion, dependent features) its range is whitened instead, and the null space left out.
    """
    scale = np.sqrt(np.diag(total) + epsilon)  # (d,)
    metric = total / np.outer(scale, scale)
    metric[np.diag_indices_from(metric)] = 1.0
    inner = within / np.outer(scale, scale)
    lower = _factor(metric)
    if lower is None:
        variances, axes = eigh(metric, driver="evd")
        real = variances > rounding(len(scale)) * variances[-1]
        roots = np.sqrt(variances[real])
        distraction, vectors = largest_first((axes[:, real].T @ inner @ axes[:, real]) / np.outer(roots, roots))
        filters, patterns = axes[:, real] @ (vectors / roots[:, None]), axes[:, real] @ (vectors * roots[:, None])
    else:
        half = solve_triangular(lower, inner, lower=True, check_finite=False)
        distraction, vectors = largest_first(solve_triangular(lower, half.T, lower=True, check_finite=False))
        filters, patterns = solve_triangular(lower.T, vectors, check_finite=False), lower @ vectors
    filters, patterns = filters / scale[:, None], patterns * scale[:, None]
    return solution(distraction, filters if lower is not None else inside(patterns, filters), patterns, rank(within))


def _scaled(matrix: Floats, scale: Floats, out: Floats) -> Floats:
    """Divide rows and columns by a scale."""
    np.divide(matrix, scale[:, None], out=out)
    out /= scale
    return out


def solution(distraction: Floats, filters: Floats, patterns: Floats, n_moving: int) -> Solution:
    """Put together what was found; so many directions vary inside sets."""
    n_moving = min(n_moving, len(distraction))
    distraction[n_moving:] = 0.0  # what is left there is rounding, magnified by a tiny cushion
    return Solution(distraction, filters, patterns, n_moving)


def inside(patterns: Floats, filters: Floats) -> Floats:
    """Keep of filters what lies in the span of the patterns.

    Where the metric is singular, a change of scale gives filters a part in its null space, and they would read that in
    new rows.
    """
    basis = qr(patterns / np.linalg.norm(patterns, axis=0), mode="economic", check_finite=False)[0]
    inside: Floats = basis @ (basis.T @ filters)
    return inside


def _factor(metric: Floats, *, overwrite: bool = False) -> Floats | None:
    """Return the Cholesky factor, or None where the matrix is singular to rounding."""
    norm = dlange("1", metric)
    lower, trouble = dpotrf(metric, lower=1, overwrite_a=overwrite, clean=1)
    if trouble:
        return None
    condition, _ = dpocon(lower, norm, uplo="L")
    return lower if condition > LEAST_CONDITION else None


def rank(matrix: Floats) -> int:
    """Tell the rank of a positive semidefinite matrix, judged on one scale for all its rows."""
    scale = np.sqrt(np.diag(matrix))
    varies = scale > 0
    if not varies.any():
        return 0
    some = matrix if varies.all() else matrix[np.ix_(varies, varies)]
    scaled = _scaled(some, scale[varies], out=np.empty_like(some, order="F"))
    # No pivot is below the least eigenvalue. Mostly that is no rounding: then a factor without pivots, which takes half
    # the time, says that all are real.
    places, least = np.diag_indices_from(scaled), rounding(len(scaled))
    scaled[places] = 1.0 - least
    if dpotrf(scaled, lower=1, clean=0)[1] == 0:
        return len(scaled)
    scaled[places] = 1.0
    _, _, rank, _ = dpstrf(scaled, tol=least, lower=1, overwrite_a=1)
    return int(rank)


def rounding(size: int) -> float:
    """Say what may be rounding in a problem of this size, relative to the largest value."""
    return 8 * size * float(np.finfo(np.float64).eps)


def largest_first(whitened: Floats) -> tuple[Floats, Floats]:
    """Solve for all eigenvalues of a whitened problem, and their vectors."""
    values, vectors = eigh(whitened, driver="evd", overwrite_a=True, check_finite=False)
    # Rounding can leave -1e-17 or 1 + 1e-16 here; a share of variance is never outside 0 and 1.
    return np.clip(values[::-1], 0.0, 1.0), vectors[:, ::-1]

"""Two roads to one eigenproblem; both whiten the metric first, so that 0 ≤ λ ≤ 1 comes by itself.

    within · w = λ · (total + ε I) · w          WᵀBW = I,  patterns A = BW,  B = total + ε I

`dense` works with (d, d) matrices, `few_rows` with (n, n) ones when rows are few and features many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, qr, solve_triangular, svd
from scipy.linalg.lapack import dpocon, dpstrf

from undistract.arrays import Floats, Ints

# A metric with a condition beyond this is whitened on its range: what a Cholesky factor adds there is rounding.
LEAST_CONDITION = 1e-9


class Solution(NamedTuple):
    """Eigenvalues, largest first, with their filters and patterns."""

    distraction: Floats  # (q,)
    filters: Floats  # (d, q)
    patterns: Floats  # (d, q)
    n_moving: int  # the rank of within: so many directions vary inside sets, the others read zero


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
        real = variances > _rounding(len(scale)) * variances[-1]
        roots = np.sqrt(variances[real])
        distraction, vectors = _largest_first((axes[:, real].T @ inner @ axes[:, real]) / np.outer(roots, roots))
        filters, patterns = axes[:, real] @ (vectors / roots[:, None]), axes[:, real] @ (vectors * roots[:, None])
    else:
        half = solve_triangular(lower, inner, lower=True, check_finite=False)
        distraction, vectors = _largest_first(solve_triangular(lower, half.T, lower=True, check_finite=False))
        filters, patterns = solve_triangular(lower.T, vectors, check_finite=False), lower @ vectors
    filters, patterns = filters / scale[:, None], patterns * scale[:, None]
    return _solution(distraction, filters if lower is not None else _inside(patterns, filters), patterns, _rank(within))


def few_rows(deviations: Floats, means: Floats, counts: Ints, shares: Floats, epsilon: float) -> Solution:
    """Solve from the rows themselves; nothing of size d × d is formed.

    With rows R = √(P/n)·(x - μ), total = RᵀR. Singular values give R = Z √S Tᵀ, and inside a set the row mean is
    projected out by C = I - UUᵀ, so that within = RᵀCR and the whitened problem is D½ ZᵀCZ D½ with D = S/(S + ε).

    Parameters
    ----------
    deviations : (n, d) array
        Rows minus the mean of their set, sets one after the other.
    means : (M, d) array
        Means of the sets, minus the overall mean.
    """
    roots_of_weight = np.repeat(np.sqrt(shares / counts), counts)[:, None]
    rows = (deviations + np.repeat(means, counts, axis=0)) * roots_of_weight  # (n, d)
    lengths = np.linalg.norm(rows, axis=0)
    lengths[lengths == 0] = 1.0
    # Without a cushion the answer does not depend on units, so that rank may be judged on one scale.
    scale = lengths if epsilon == 0 else np.ones(len(lengths))
    # A triangle first: the (n, n) Gram matrix would square the condition.
    basis, triangle = qr((rows / scale).T, mode="economic", check_finite=False)
    inner_axes, lengths_along, axes = svd(triangle, check_finite=False)
    real = lengths_along > _rounding(len(rows)) * lengths_along[0]
    variances, axes = lengths_along[real] ** 2, axes[real].T  # (q,), (n, q)
    inner_axes = inner_axes[:, real]  # (n, q); basis · inner_axes are orthonormal directions
    starts = np.cumsum(counts) - counts
    set_sums = np.add.reduceat(axes, starts, axis=0) / np.sqrt(counts)[:, None]  # UᵀZ, (M, q)
    shrink = np.sqrt(variances / (variances + epsilon))
    distraction, vectors = _largest_first((np.eye(len(shrink)) - set_sums.T @ set_sums) * np.outer(shrink, shrink))
    roots = np.sqrt(variances + epsilon)[:, None]
    filters = (basis @ (inner_axes @ (vectors / roots))) / scale[:, None]
    patterns = (basis @ (inner_axes @ (vectors * roots))) * scale[:, None]
    within = deviations * roots_of_weight / lengths
    return _solution(
        distraction, _inside(patterns, filters) if epsilon == 0 else filters, patterns, _rank(within @ within.T)
    )


def _solution(distraction: Floats, filters: Floats, patterns: Floats, n_moving: int) -> Solution:
    n_moving = min(n_moving, len(distraction))
    distraction[n_moving:] = 0.0  # what is left there is rounding, magnified by a tiny cushion
    return Solution(distraction, filters, patterns, n_moving)


def _inside(patterns: Floats, filters: Floats) -> Floats:
    """Keep of filters what lies in the span of the patterns.

    Where the metric is singular, a change of scale gives filters a part in its null space, and they would read that in
    new rows.
    """
    basis = qr(patterns / np.linalg.norm(patterns, axis=0), mode="economic", check_finite=False)[0]
    inside: Floats = basis @ (basis.T @ filters)
    return inside


def _factor(metric: Floats) -> Floats | None:
    """Return the Cholesky factor, or None where the matrix is singular to rounding."""
    try:
        lower: Floats = cholesky(metric, lower=True, check_finite=False)
    except LinAlgError:
        return None
    condition, _ = dpocon(lower, np.abs(metric).sum(axis=0).max(), uplo="L")
    return lower if condition > LEAST_CONDITION else None


def _rank(matrix: Floats) -> int:
    """Rank of a positive semidefinite matrix, judged on one scale for all its rows."""
    scale = np.sqrt(np.diag(matrix))
    varies = scale > 0
    if not varies.any():
        return 0
    scaled = matrix[np.ix_(varies, varies)] / np.outer(scale[varies], scale[varies])
    _, _, rank, _ = dpstrf(scaled, tol=_rounding(len(scaled)), lower=1)
    return int(rank)


def _rounding(size: int) -> float:
    return 8 * size * float(np.finfo(np.float64).eps)


def _largest_first(whitened: Floats) -> tuple[Floats, Floats]:
    values, vectors = eigh(whitened, driver="evd", overwrite_a=True, check_finite=False)
    # Rounding can leave -1e-17 or 1 + 1e-16 here; a share of variance is never outside 0 and 1.
    return np.clip(values[::-1], 0.0, 1.0), vectors[:, ::-1]

"""Two roads to one eigenproblem; both whiten the metric first, so that 0 ≤ λ ≤ 1 comes by itself.

    within · w = λ · (total + ε I) · w          WᵀBW = I,  patterns A = BW,  B = total + ε I

`dense` works with (d, d) matrices, `few_rows` with (n, n) ones when rows are few and features many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from undistract.arrays import Floats, Ints


class Solution(NamedTuple):
    """Eigenvalues, largest first, with their filters and patterns."""

    distraction: Floats  # (q,)
    filters: Floats  # (d, q)
    patterns: Floats  # (d, q)


def dense(within: Floats, total: Floats, epsilon: float) -> Solution:
    """Solve with matrices of d × d; features must not be constant.

    Features are brought to one scale first. A Cholesky factor whitens the metric; where the metric is singular to
    rounding (tiny cushion, dependent features) its range is whitened instead, and the null space left out.
    """
    scale = np.sqrt(np.diag(total) + epsilon)  # (d,)
    metric = total / np.outer(scale, scale)
    metric[np.diag_indices_from(metric)] = 1.0
    inner = within / np.outer(scale, scale)
    rounding = 8 * len(scale) * np.finfo(np.float64).eps
    try:
        lower = cholesky(metric, lower=True)
        if np.diag(lower).min() ** 2 < rounding:
            raise LinAlgError
    except LinAlgError:
        variances, axes = eigh(metric, driver="evd")
        real = variances > rounding * variances[-1]
        roots = np.sqrt(variances[real])
        distraction, vectors = _largest_first((axes[:, real].T @ inner @ axes[:, real]) / np.outer(roots, roots))
        filters, patterns = (
            axes[:, real] @ (vectors / roots[:, None]),
            axes[:, real] @ (vectors * roots[:, None]),
        )
    else:
        half = solve_triangular(lower, inner, lower=True, check_finite=False)
        distraction, vectors = _largest_first(solve_triangular(lower, half.T, lower=True, check_finite=False))
        filters, patterns = solve_triangular(lower.T, vectors, check_finite=False), lower @ vectors
    return Solution(distraction, filters / scale[:, None], patterns * scale[:, None])


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
    # Without a cushion the answer does not depend on units, so that rank may be judged on one scale.
    scale = np.linalg.norm(rows, axis=0) if epsilon == 0 else np.ones(rows.shape[1])
    scale[scale == 0] = 1.0
    rows /= scale
    variances, axes = eigh(rows @ rows.T, driver="evd")
    real = variances > 8 * len(rows) * np.finfo(np.float64).eps * variances[-1]
    variances, axes = variances[real], axes[:, real]  # (q,), (n, q)
    starts = np.cumsum(counts) - counts
    set_sums = np.add.reduceat(axes, starts, axis=0) / np.sqrt(counts)[:, None]  # UᵀZ, (M, q)
    shrink = np.sqrt(variances / (variances + epsilon))
    distraction, vectors = _largest_first((np.eye(len(shrink)) - set_sums.T @ set_sums) * np.outer(shrink, shrink))
    directions = rows.T @ (axes / np.sqrt(variances))  # (d, q) orthonormal
    roots = np.sqrt(variances + epsilon)[:, None]
    return Solution(
        distraction,
        (directions @ (vectors / roots)) / scale[:, None],
        (directions @ (vectors * roots)) * scale[:, None],
    )


def _largest_first(whitened: Floats) -> tuple[Floats, Floats]:
    values, vectors = eigh(whitened, driver="evd", overwrite_a=True, check_finite=False)
    # Rounding can leave -1e-17 or 1 + 1e-16 here; a share of variance is never outside 0 and 1.
    return np.clip(values[::-1], 0.0, 1.0), vectors[:, ::-1]

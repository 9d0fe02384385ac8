"""Roads to one eigenproblem; all whiten the metric first, so that 0 ≤ λ ≤ 1 comes by itself.

    within · w = λ · (total + ε I) · w          WᵀBW = I,  patterns A = BW,  B = total + ε I

`dense` works with (d, d) matrices, `few_rows` with (n, n) ones when rows are few and features many. `dense_leading` and
`few_rows_leading` find the most distracting directions alone, and prove that none was missed; where they cannot, they
say so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh, qr, solve_triangular, svd
from scipy.linalg.blas import dsymm, dsyrk, dtrmm, dtrsm
from scipy.linalg.lapack import dlange, dpocon, dpotrf, dpotri, dpstrf

from undistract.algebra.centre import piece_sums
from undistract.algebra.evidence import speaks
from undistract.algebra.gather import mirror
from undistract.algebra.leading import LEAST_FEATURES, Wanted, leading
from undistract.arrays import Floats, Ints

# A metric with a condition beyond this is whitened on its range: what a Cholesky factor adds there is rounding.
LEAST_CONDITION = 1e-9
# A cushion of this share of all variation takes up what the Gram matrix of the rows loses to rounding.
LEAST_CUSHION = 1e-9
# What reads less may be rounding: whether it varies inside sets at all, only all directions together can tell.
LEAST_READING = 1e-6
# Directions that read so nearly the same are not told apart when a number of them is wanted.
BARELY = 1e-9


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
    metric *= _highest(distraction, wanted)
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
        real = variances > _rounding(len(scale)) * variances[-1]
        roots = np.sqrt(variances[real])
        distraction, vectors = _largest_first((axes[:, real].T @ inner @ axes[:, real]) / np.outer(roots, roots))
        filters, patterns = axes[:, real] @ (vectors / roots[:, None]), axes[:, real] @ (vectors * roots[:, None])
    else:
        half = solve_triangular(lower, inner, lower=True, check_finite=False)
        distraction, vectors = _largest_first(solve_triangular(lower, half.T, lower=True, check_finite=False))
        filters, patterns = solve_triangular(lower.T, vectors, check_finite=False), lower @ vectors
    filters, patterns = filters / scale[:, None], patterns * scale[:, None]
    return _solution(distraction, filters if lower is not None else _inside(patterns, filters), patterns, rank(within))


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
    rows = _weighted_rows(deviations, means, counts, shares)
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
    within = deviations * np.repeat(np.sqrt(shares / counts), counts)[:, None] / lengths
    return _solution(
        distraction, _inside(patterns, filters) if epsilon == 0 else filters, patterns, rank(within @ within.T)
    )


def few_rows_leading(
    deviations: Floats, means: Floats, counts: Ints, shares: Floats, epsilon: float, wanted: Wanted
) -> tuple[Solution, int] | None:
    """Solve from the rows themselves for the leading directions alone, with one (n, n) eigenproblem.

    G = RRᵀ and C as in `few_rows`: with w = Rᵀv the problem becomes C G (G + ε)⁻¹ C z = λ z, and then

        filters = Rᵀ (G + ε)⁻¹ z / √λ,    patterns = Rᵀ z / √λ

    The Gram matrix squares the condition, so the cushion must be healthy: where it is not, None is returned. Otherwise
    the solution, and how many directions vary at all.
    """
    rows = _weighted_rows(deviations, means, counts, shares)
    gram: Floats = dsyrk(1.0, rows.T, trans=1, lower=1)  # (n, n), the lower triangle
    if epsilon < LEAST_CUSHION * np.trace(gram):
        return None
    n_directions = rank(gram)
    wanted = wanted.given(speaks(len(counts), n_directions))
    gram[np.diag_indices_from(gram)] += epsilon
    lower, trouble = dpotrf(gram, lower=1, overwrite_a=1, clean=1)
    if trouble:
        return None
    inverse: Floats = dpotri(lower, lower=1)[0]
    inverse *= -epsilon
    inverse[np.diag_indices_from(inverse)] += 1.0
    mirror(inverse.T)
    values, vectors = _symmetric_leading(_centred_twice(inverse, counts), wanted)
    n_known = len(values)
    if n_known and values[-1] < LEAST_READING:
        return None
    scaled = vectors / np.sqrt(values)
    filters = rows.T @ solve_triangular(
        lower.T, solve_triangular(lower, scaled, lower=True, check_finite=False), check_finite=False
    )
    return Solution(values, filters, rows.T @ scaled, n_known), n_directions


def _centred_twice(matrix: Floats, counts: Ints) -> Floats:
    """Return C · matrix · C, where C takes from each row the mean of its set; the matrix is overwritten."""
    starts = np.cumsum(counts) - counts
    means = piece_sums(matrix, starts) / counts[:, None]  # (M, n)
    both = piece_sums(np.ascontiguousarray(means.T), starts) / counts[:, None]  # (M, M)
    means -= np.repeat(both.T / 2, counts, axis=1)  # half of what is taken twice
    taken = np.repeat(means, counts, axis=0)
    matrix -= taken
    matrix -= taken.T
    return matrix


def _symmetric_leading(matrix: Floats, wanted: Wanted) -> tuple[Floats, Floats]:
    """Find the leading eigenvalues of a symmetric matrix, and that there are no others; all of them if need be."""
    size = len(matrix)
    found = None
    if size >= LEAST_FEATURES:
        rest = np.asfortranarray(-matrix)
        rest[np.diag_indices_from(rest)] += 1.0
        lower, trouble = dpotrf(rest, lower=1, clean=0)  # 1 - λ is above 0 with a healthy cushion

        def inverse(columns: Floats) -> Floats:
            half = dtrsm(1.0, lower, columns, lower=1)
            solved: Floats = dtrsm(1.0, lower, half, lower=1, trans_a=1, overwrite_b=1)
            return solved

        found = None if trouble else leading(inverse, size, wanted)
    if found is not None:
        values = np.clip(found.distraction, 0.0, 1.0)
        rest[np.diag_indices_from(rest)] += _highest(values, wanted) - 1.0
        if len(values):
            dsyrk(1.0, found.vectors * np.sqrt(values), beta=1.0, c=rest, overwrite_c=1, lower=1)
        if dpotrf(rest, lower=1, overwrite_a=1, clean=0)[1] == 0:
            return values, found.vectors
    if size >= LEAST_FEATURES and not wanted.number:
        # They are many and crowd, yet cost less than all of them: the tridiagonal form is found once, vectors for few.
        return _largest_first(matrix, subset_by_value=(np.nextafter(wanted.least, 0.0), np.inf), driver="evr")
    values, vectors = _largest_first(matrix)
    n_known = max(int((values >= wanted.least).sum()), wanted.number)
    return values[:n_known], vectors[:, :n_known]


def _highest(values: Floats, wanted: Wanted) -> float:
    """Say what no other direction may read; with a number of directions, no more than the last of them."""
    return min(wanted.least, float(values[-1]) + BARELY) if wanted.number else wanted.least


def _weighted_rows(deviations: Floats, means: Floats, counts: Ints, shares: Floats) -> Floats:
    """Return √(P/n)·(x - μ), (n, d)."""
    rows = np.repeat(means, counts, axis=0)
    rows += deviations
    rows *= np.repeat(np.sqrt(shares / counts), counts)[:, None]
    return rows


def _scaled(matrix: Floats, scale: Floats, out: Floats) -> Floats:
    """Divide rows and columns by a scale."""
    np.divide(matrix, scale[:, None], out=out)
    out /= scale
    return out


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
    scaled = matrix[np.ix_(varies, varies)] / np.outer(scale[varies], scale[varies])
    _, _, rank, _ = dpstrf(scaled, tol=_rounding(len(scaled)), lower=1)
    return int(rank)


def _rounding(size: int) -> float:
    return 8 * size * float(np.finfo(np.float64).eps)


def _largest_first(whitened: Floats, driver: str = "evd", **which: Any) -> tuple[Floats, Floats]:
    values, vectors = eigh(whitened, driver=driver, overwrite_a=True, check_finite=False, **which)
    # Rounding can leave -1e-17 or 1 + 1e-16 here; a share of variance is never outside 0 and 1.
    return np.clip(values[::-1], 0.0, 1.0), vectors[:, ::-1]

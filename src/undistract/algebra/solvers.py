"""Solvers for the generalized eigenproblem. Whitening the metric first guarantees 0 ≤ λ ≤ 1.

    within · w = λ · (total + ε I) · w          WᵀBW = I,  patterns A = BW,  B = total + ε I

`solve_dense` computes all directions from (d, d) matrices; `row_solvers` is for few rows with many features.
`solve_dense_leading` computes only the most distracting directions, proves that none is missing, and returns None if it
cannot. It is far cheaper if few directions lead (benchmarks/speed).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eigh, qr, solve_triangular
from scipy.linalg.blas import dsymm, dsyrk, dtrmm, dtrsm
from scipy.linalg.lapack import dlange, dpocon, dpotrf, dpstrf

from undistract._arrays import Floats
from undistract.algebra.evidence import is_resolvable

# A metric with a smaller reciprocal condition number is whitened on its range only: beyond it, a Cholesky factor is
# rounding error.
MIN_CONDITION = 1e-9
# A smaller λ may be rounding error. Whether such a direction varies within groups at all is decided by the rank of
# `within`, which only the full solution uses.
MIN_DISTRACTION = 1e-6

# Block Lanczos. With fewer features, solving for all directions costs hardly more.
MIN_FEATURES = 400
BLOCK = 6
# The basis grows up to this share of the features, and up to this number of columns; convergence is tested after every
# third step, because each test solves an eigenproblem of the size of the basis.
MAX_BASIS_SHARE, MAX_BASIS, STEPS_PER_TEST = 0.4, 360, 3
# From this step on the number of leading directions is estimated; more than half of the largest basis is too many.
STEPS_TO_COUNT = 6
# From this size on LAPACK computes only the requested eigenvectors. With few groups nearly all are requested, and then
# one vector at a time takes four times as long as all together (399 rows, 380 vectors: 47 ms and 12 ms).
MIN_SUBSET_SIZE = 800
# Bound on the residual relative to the eigenvalue; the error of the eigenvalue itself is its square.
TOLERANCE = 1e-10
# Eigenvalues closer than this count as equal when a number of directions is requested.
TIE_TOLERANCE = 1e-9


class Eigenpairs(NamedTuple):
    """Distraction, largest first, with filters and patterns."""

    distraction: Floats  # (q,)
    filters: Floats  # (d, q)
    patterns: Floats  # (d, q)
    n_varying: int  # the rank of `within`: the number of directions that vary within groups; λ is 0 for the others


class EigenRequest(NamedTuple):
    """The directions to solve for: those with at least this distraction, and at least the first `number`."""

    min_value: float
    number: int = 0
    min_value_if_unresolved: float | None = None  # replaces `min_value` if groups cannot resolve half of the directions

    def resolve(self, n_groups: int, n_directions: int) -> EigenRequest:
        """Return the request for this number of groups and directions."""
        if self.min_value_if_unresolved is None or is_resolvable(n_groups, n_directions):
            return self
        return EigenRequest(self.min_value_if_unresolved, self.number)

    def upper_bound(self, distraction: Floats) -> float:
        """Return the bound that all other directions must stay below, given the computed ones."""
        if not self.number:
            return self.min_value
        return min(self.min_value, float(distraction[-1]) + TIE_TOLERANCE)


# Matrices of (d, d).


def solve_dense(within: Floats, total: Floats, epsilon: float) -> Eigenpairs:
    """Solve for all directions; features must not be constant.

    Features are scaled to unit metric first. A Cholesky factor whitens the metric. If it is numerically singular (tiny
    ridge, dependent features), only its range is whitened, and its null space is left out.
    """
    scale = np.sqrt(np.diag(total) + epsilon)  # (d,)
    metric = total / np.outer(scale, scale)
    metric[np.diag_indices_from(metric)] = 1.0
    inner = within / np.outer(scale, scale)
    lower = _cholesky(metric)
    if lower is None:
        variances, axes = eigh(metric, driver="evd")
        real = variances > rounding_error(len(scale)) * variances[-1]
        roots = np.sqrt(variances[real])
        distraction, vectors = eigh_descending((axes[:, real].T @ inner @ axes[:, real]) / np.outer(roots, roots))
        filters = axes[:, real] @ (vectors / roots[:, None]) / scale[:, None]
        patterns = axes[:, real] @ (vectors * roots[:, None]) * scale[:, None]
        filters = project_onto(patterns, filters)
    else:
        half = solve_triangular(lower, inner, lower=True, check_finite=False)
        distraction, vectors = eigh_descending(solve_triangular(lower, half.T, lower=True, check_finite=False))
        filters = solve_triangular(lower.T, vectors, check_finite=False) / scale[:, None]
        patterns = (lower @ vectors) * scale[:, None]
    return make_pairs(distraction, filters, patterns, matrix_rank(within))


def solve_dense_leading(within: Floats, total: Floats, epsilon: float, request: EigenRequest) -> Eigenpairs | None:
    """Solve for the leading directions only; features must not be constant, and `total` is overwritten.

    A Cholesky factor proves that no direction is missing: c B - within + Σ λ a aᵀ, summed over the computed directions,
    is positive definite only if every other distraction is below c.

    Returns
    -------
    Eigenpairs or None
        None if they are too many, too close to each other, or not provably complete.
    """
    if len(within) < MIN_FEATURES:
        return None
    scale = np.sqrt(np.diag(total) + epsilon)
    # LAPACK works in place on Fortran order only; d × d copies are what this solver saves.
    out = total if total.flags.f_contiguous else np.empty_like(total, order="F")
    metric = _rescale(total, scale, out=out)
    metric[np.diag_indices_from(metric)] = 1.0
    between = _rescale(within, scale, out=np.empty_like(metric))
    np.subtract(metric, between, out=between)  # metric - within = between + ε, scaled
    lower = _cholesky(between, overwrite=True)
    if lower is None:
        return None

    def whitened(columns: Floats) -> Floats:
        # K v = L⁻¹ B L⁻ᵀ v; its eigenvalues are 1/(1-λ)
        product = dsymm(1.0, metric, dtrsm(1.0, lower, columns, lower=1, trans_a=1))
        solved: Floats = dtrsm(1.0, lower, product, lower=1, overwrite_b=1)
        return solved

    pairs = block_lanczos(whitened, len(scale), request)
    if pairs is None:
        return None
    values, vectors = pairs
    distraction = np.clip(1.0 - 1.0 / values, 0.0, 1.0)
    roots = np.sqrt(values)
    if len(roots) and distraction[-1] < MIN_DISTRACTION:
        return None
    filters, patterns = np.zeros((2, len(scale), len(roots)))
    if len(roots):
        # K v = κ v with κ = 1/(1-λ): w = L⁻ᵀ v / √κ has wᵀBw = 1, and its pattern is a = B w = √κ L v.
        filters = dtrsm(1.0, lower, vectors / roots, lower=1, trans_a=1)
        patterns = dtrmm(1.0, lower, vectors * roots, lower=1)
    # The proof: c B - within + Σ λ a aᵀ must have a Cholesky factor.
    metric *= request.upper_bound(distraction)
    metric -= _rescale(within, scale, out=lower)  # reuses the memory of the factor
    if len(roots):
        dsyrk(1.0, patterns * np.sqrt(distraction), beta=1.0, c=metric, overwrite_c=1, lower=1)
    if dpotrf(metric, lower=1, overwrite_a=1, clean=0)[1]:
        return None
    return Eigenpairs(distraction, filters / scale[:, None], patterns * scale[:, None], len(roots))


# The largest eigenvalues.


def block_lanczos(
    operator: Callable[[Floats], Floats], size: int, request: EigenRequest
) -> tuple[Floats, Floats] | None:
    """Return the largest eigenvalues of a symmetric operator, or None if they do not converge in time.

    The eigenvalues are κ = 1/(1-λ), which separates values of λ close to 1: .99 and .9 become 100 and 10. With a
    sufficient ridge, a few steps find the most distracting directions to the last digits. With a tiny ridge they
    cluster: the iteration then exceeds its budget. The number of leading directions is estimated early: the share of a
    random block in eigenvectors above a bound estimates the share of eigenvalues there. The caller must prove that no
    direction is missing.

    Parameters
    ----------
    operator : callable
        Maps (size, b) columns to (size, b) columns; its eigenvalues are 1/(1-λ).
    size : int
    request : EigenRequest

    Returns
    -------
    values : (p,) array, largest first
    vectors : (size, p) array
        Or None if too many are requested, or if they are too close to converge within the budget.

    Examples
    --------
    >>> kappa = 1 / (1 - np.append([0.99, 0.97], np.linspace(0.5, 0, 998)))
    >>> values, vectors = block_lanczos(lambda columns: kappa[:, None] * columns, 1000, EigenRequest(0.9))
    >>> (1 - 1 / values).round(6)
    array([0.99, 0.97])
    >>> block_lanczos(lambda columns: columns * 1e12, 1000, EigenRequest(0.9)) is None
    True
    """
    least = 1 / (1 - request.min_value) if request.min_value < 1 else np.inf
    most = min(int(MAX_BASIS_SHARE * size), MAX_BASIS)
    rng = np.random.default_rng(0)  # a fixed seed: the same result for the same data
    basis = np.empty((size, most + BLOCK), order="F")
    images = np.empty((size, most + BLOCK), order="F")  # operator(basis)
    block = qr(rng.standard_normal((size, BLOCK)), mode="economic")[0]
    n_basis = 0
    while n_basis + BLOCK <= most:
        new = slice(n_basis, n_basis + BLOCK)
        basis[:, new] = block
        images[:, new] = operator(block)
        n_basis += BLOCK
        if n_basis % (STEPS_PER_TEST * BLOCK) == 0:
            # Rayleigh-Ritz on the basis so far.
            small = basis[:, :n_basis].T @ images[:, :n_basis]
            values, inner = eigh((small + small.T) / 2)
            values, inner = values[::-1], inner[:, ::-1]
            n_high = max(int((values >= least).sum()), request.number)
            # The first block is random, so its squared coordinates in the high eigenvectors estimate their number.
            expected = 0.0
            if n_basis >= STEPS_TO_COUNT * BLOCK:
                expected = size / BLOCK * float((inner[:BLOCK, values >= least] ** 2).sum())
            if max(n_high + 1, expected) > most // 2:
                return None
            if n_high < n_basis:
                # One pair more than requested: the next eigenvalue must be below the bound, residual included.
                first = slice(0, n_high + 1)
                ritz = basis[:, :n_basis] @ inner[:, first]
                residuals = np.linalg.norm(images[:, :n_basis] @ inner[:, first] - ritz * values[first], axis=0)
                below = n_high == request.number or values[n_high] + residuals[-1] < least
                if below and (residuals[:-1] <= TOLERANCE * values[:n_high]).all():
                    return values[:n_high], ritz[:, :n_high]
        block = images[:, new]
        for _ in range(2):  # Gram-Schmidt twice: the second pass removes the rounding error of the first
            block = block - basis[:, :n_basis] @ (basis[:, :n_basis].T @ block)
        block, triangle = qr(block, mode="economic", check_finite=False)
        if np.abs(np.diag(triangle)).min() < np.finfo(np.float64).eps * np.abs(images[:, new]).max():
            return None  # the Krylov space is exhausted: many eigenvalues are equal
    return None


def largest_odds(matrix: Floats, request: EigenRequest) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues ω = λ/(1-λ) of a positive semidefinite matrix, and their vectors.

    A few come from block Lanczos and are proved to be complete; otherwise LAPACK computes the requested part of the
    decomposition.

    Parameters
    ----------
    matrix : (n, n) array in Fortran order
        Only its lower triangle is read.
    request : EigenRequest
        In terms of λ.

    Returns
    -------
    odds : (q,) array, largest first
    vectors : (n, q) array

    Examples
    --------
    >>> odds, vectors = largest_odds(np.diag([1.0, 99.0, 3.0]), EigenRequest(0.75))
    >>> odds.round(9), np.abs(vectors.T).round(9)
    (array([99.,  3.]), array([[0., 1., 0.],
           [0., 0., 1.]]))
    """
    size = len(matrix)
    if size >= MIN_FEATURES:
        pairs = _verified_lanczos(matrix, request)
        if pairs is not None:
            return pairs
    least = request.min_value / (1.0 - request.min_value) if request.min_value < 1 else np.inf
    if size >= MIN_SUBSET_SIZE:
        try:
            # LAPACK excludes the lower end of an interval.
            interval = (np.nextafter(least, -np.inf), np.inf)
            odds, vectors = eigh(matrix, lower=True, driver="evr", check_finite=False, subset_by_value=interval)
            if len(odds) < request.number:
                indices = (max(size - request.number, 0), size - 1)
                odds, vectors = eigh(matrix, lower=True, driver="evr", check_finite=False, subset_by_index=indices)
            return np.maximum(odds[::-1], 0.0), vectors[:, ::-1]  # rounding can give -1e-17
        except LinAlgError:  # relatively robust representations and inverse iteration do not always converge
            pass
    odds, vectors = eigh(matrix, lower=True, driver="evd", check_finite=False)
    number = max(int((odds >= least).sum()), request.number)
    return np.maximum(odds[::-1][:number], 0.0), vectors[:, ::-1][:, :number]


def _verified_lanczos(matrix: Floats, request: EigenRequest) -> tuple[Floats, Floats] | None:
    """Run block Lanczos, then prove with a Cholesky factor that the other eigenvalues are below the bound."""

    def shifted(columns: Floats) -> Floats:
        product: Floats = dsymm(1.0, matrix, columns, beta=1.0, c=columns, lower=1)  # 1 + ω = 1/(1-λ)
        return product

    pairs = block_lanczos(shifted, len(matrix), request)
    if pairs is None:
        return None
    values, vectors = pairs
    odds = values - 1.0
    bound = request.upper_bound(1.0 - 1.0 / values)
    # bound · I - matrix + Σ ω v vᵀ is positive definite only if all other eigenvalues are below the bound.
    difference = np.asfortranarray(-matrix)
    difference[np.diag_indices_from(difference)] += bound / (1.0 - bound)
    if len(odds):
        dsyrk(1.0, vectors * np.sqrt(odds), beta=1.0, c=difference, overwrite_c=1, lower=1)
    info = dpotrf(difference, lower=1, overwrite_a=1, clean=0)[1]
    if info:
        return None
    return odds, vectors


def eigh_descending(whitened: Floats) -> tuple[Floats, Floats]:
    """Return all eigenvalues of a whitened problem, largest first, and their vectors."""
    values, vectors = eigh(whitened, driver="evd", overwrite_a=True, check_finite=False)
    # λ is a share of variance, between 0 and 1; rounding can give -1e-17 or 1 + 1e-16.
    return np.clip(values[::-1], 0.0, 1.0), vectors[:, ::-1]


# Ranks and factors.


def matrix_rank(matrix: Floats) -> int:
    """Return the rank of a positive semidefinite matrix, after scaling its diagonal to 1."""
    scale = np.sqrt(np.diag(matrix))
    varies = scale > 0
    if not varies.any():
        return 0
    if not varies.all():
        matrix = matrix[np.ix_(varies, varies)]
    scaled = _rescale(matrix, scale[varies], out=np.empty_like(matrix, order="F"))
    # Usually the matrix has full rank: then a Cholesky factor without pivoting exists although the tolerance is
    # subtracted from the diagonal, because no pivot is below the smallest eigenvalue. It takes half the time.
    diagonal = np.diag_indices_from(scaled)
    tolerance = rounding_error(len(scaled))
    scaled[diagonal] = 1.0 - tolerance
    if dpotrf(scaled, lower=1, clean=0)[1] == 0:
        return len(scaled)
    scaled[diagonal] = 1.0
    _, _, rank, _ = dpstrf(scaled, tol=tolerance, lower=1, overwrite_a=1)
    return int(rank)


def rounding_error(size: int) -> float:
    """Return the size of rounding errors in a problem of this size, relative to the largest value."""
    return 8 * size * float(np.finfo(np.float64).eps)


def _cholesky(metric: Floats, *, overwrite: bool = False) -> Floats | None:
    """Return the lower Cholesky factor, or None if the matrix is numerically singular."""
    norm = dlange("1", metric)
    lower: Floats
    lower, info = dpotrf(metric, lower=1, overwrite_a=overwrite, clean=1)
    if info:
        return None
    condition, _ = dpocon(lower, norm, uplo="L")
    if condition <= MIN_CONDITION:
        return None
    return lower


def make_pairs(distraction: Floats, filters: Floats, patterns: Floats, n_varying: int) -> Eigenpairs:
    """Return the pairs with λ = 0 beyond the `n_varying` directions that vary within groups."""
    n_varying = min(n_varying, len(distraction))
    distraction[n_varying:] = 0.0  # non-zero values there are rounding errors, magnified by a tiny ridge
    return Eigenpairs(distraction, filters, patterns, n_varying)


def project_onto(patterns: Floats, filters: Floats) -> Floats:
    """Project filters onto the span of the patterns.

    If the metric is singular, scaling gives filters a component in its null space, which they would read in new rows.
    """
    basis = qr(patterns / np.linalg.norm(patterns, axis=0), mode="economic", check_finite=False)[0]
    projected: Floats = basis @ (basis.T @ filters)
    return projected


def _rescale(matrix: Floats, scale: Floats, out: Floats) -> Floats:
    """Divide rows and columns by `scale`."""
    np.divide(matrix, scale[:, None], out=out)
    out /= scale
    return out

"""Few rows and many features: solve the eigenproblem among the rows; no (d, d) matrix is formed.

    E = √(P/n) · (x - μ_m),   U = √P · (μ_m - μ)              within = EᵀE,  between = UᵀU

`solve_rows` computes all directions and is careful about rank; `solve_rows_leading` only the most distracting ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr, solve_triangular, svd
from scipy.linalg.blas import dsyrk

from undistract._arrays import Floats, Ints
from undistract.algebra.moments import Moments, RowStore
from undistract.algebra.solvers import (
    MIN_DISTRACTION,
    Eigenpairs,
    EigenRequest,
    eigh_descending,
    largest_odds,
    make_pairs,
    matrix_rank,
    project_onto,
    rounding_error,
)

# The Gram matrix of rows squares the condition number. A ridge of at least this share of the total variance is well
# above what it loses to rounding.
MIN_RIDGE_SHARE = 1e-9


class RowProblem(NamedTuple):
    """Rows, group means and weights of a problem with few rows."""

    deviations: Floats  # (n, d) rows minus the mean of their group, one group after the other
    means: Floats  # (M, d) means of the groups, minus the overall mean
    counts: Ints  # (M,) rows in each group
    shares: Floats  # (M,) P

    @property
    def row_roots(self) -> Floats:
        """√(P/n) of each row, (n,)."""
        return np.repeat(np.sqrt(self.shares / self.counts), self.counts)

    def centred(self) -> Floats:
        """√(P/n)·(x - μ) of each row, (n, d)."""
        return (np.repeat(self.means, self.counts, axis=0) + self.deviations) * self.row_roots[:, None]


def row_problem(moments: Moments) -> tuple[RowProblem, Floats, Floats]:
    """Return the rows that the moments keep, and the total and within-group variance of each feature, (d,) each."""
    store = moments.store
    assert isinstance(store, RowStore)
    rows = RowProblem(store.deviations, store.means() - moments.offset, moments.counts, moments.shares)
    within = moments.within_variances()[0] / moments.total_weight
    total = rows.shares @ rows.means**2 + within
    return rows, total, within


def solve_rows(rows: RowProblem, epsilon: float) -> Eigenpairs:
    """Solve for all directions of few rows.

    With R = √(P/n)·(x - μ), total = RᵀR. The SVD gives R = Z √S Tᵀ, and C = I - BBᵀ projects out the mean of each
    group, so within = RᵀCR and the whitened problem is D½ ZᵀCZ D½ with D = S/(S + ε).
    """
    counts = rows.counts
    centred = rows.centred()  # R
    lengths = np.linalg.norm(centred, axis=0)
    constant = lengths == 0
    lengths[constant] = 1.0
    scale = np.ones(len(lengths))
    if epsilon == 0:
        # Without a ridge the result does not depend on units, so features may be scaled alike before judging rank.
        scale = lengths
    # QR first: the (n, n) Gram matrix would square the condition number.
    basis, triangle = qr((centred / scale).T, mode="economic", check_finite=False)
    # With features in units of 1e-20, the rounding error of a constant feature would dominate: set it to exactly 0.
    basis[constant] = 0.0
    inner_axes, lengths_along, axes = svd(triangle, check_finite=False)
    real = lengths_along > rounding_error(len(centred)) * lengths_along[0]
    variances = lengths_along[real] ** 2  # S, (q,)
    axes = axes[real].T  # Z, (n, q)
    inner_axes = inner_axes[:, real]  # (n, q); basis · inner_axes are orthonormal directions
    starts = np.cumsum(counts) - counts
    group_sums = np.add.reduceat(axes, starts, axis=0) / np.sqrt(counts)[:, None]  # BᵀZ, (M, q)
    shrink = np.sqrt(variances / (variances + epsilon))
    inner = (np.eye(len(shrink)) - group_sums.T @ group_sums) * np.outer(shrink, shrink)
    distraction, vectors = eigh_descending(inner)
    lengths_out = np.sqrt(variances + epsilon)[:, None]
    filters = (basis @ (inner_axes @ (vectors / lengths_out))) / scale[:, None]
    patterns = (basis @ (inner_axes @ (vectors * lengths_out))) * scale[:, None]
    if epsilon == 0:
        filters = project_onto(patterns, filters)
        filters[constant] = 0.0
    return make_pairs(distraction, filters, patterns, within_rank(rows, lengths))


class RowPairs(NamedTuple):
    """Leading directions of few rows, in coordinates of the rows and of the groups."""

    odds: Floats  # (q,) λ/(1-λ) = ν/ε, largest first
    row_vectors: Floats  # z (n, q)
    group_vectors: Floats  # y (M, q)
    pattern_lengths: Floats  # (q,) |Eᵀz|²
    n_directions: int  # number of directions with any variance

    @property
    def distraction(self) -> Floats:
        """λ, (q,)."""
        return self.odds / (1.0 + self.odds)


def solve_rows_leading(rows: RowProblem, epsilon: float, request: EigenRequest) -> RowPairs | None:
    """Solve for the leading directions of few rows only, with one (n, n) eigenproblem.

        N = EEᵀ - EUᵀ (UUᵀ + ε)⁻¹ UEᵀ,   N z = ν z,   λ = ν/(ν + ε)
        patterns = Eᵀz / √λ,   filters = (Eᵀz - Uᵀy) / √(ν(ν + ε)),   y = (UUᵀ + ε)⁻¹ UEᵀz

    The Gram matrix squares the condition number, so the ridge must be large enough: if it is not, return None.
    """
    roots = rows.row_roots
    root_shares = np.sqrt(rows.shares)
    gram: Floats = dsyrk(1.0, rows.deviations.T, trans=1, lower=1)  # (n, n), the lower triangle
    gram *= roots
    gram *= roots[:, None]  # EEᵀ
    across = (rows.deviations @ rows.means.T) * roots[:, None] * root_shares  # EUᵀ (n, M)
    between = (rows.means @ rows.means.T) * np.outer(root_shares, root_shares)  # UUᵀ (M, M)
    if epsilon < MIN_RIDGE_SHARE * (np.trace(gram) + np.trace(between)):
        return None
    n_directions = _total_rank(gram, across, between)
    if n_directions < len(gram) - 1:
        # Fewer than n - 1: next to features in far larger units, small ones may be lost to rounding. Count again with
        # all features on one scale.
        n_directions = max(n_directions, scaled_rank(rows))
    # N / ε by a Schur complement: EEᵀ - (UEᵀ)ᵀ (UUᵀ + ε)⁻¹ UEᵀ, with the inverse as a Cholesky factor. Divided by ε,
    # the eigenvalues are the odds λ/(1-λ).
    between[np.diag_indices_from(between)] += epsilon
    factor = cho_factor(between, lower=True, check_finite=False)
    half = solve_triangular(factor[0], across.T, lower=True, check_finite=False)  # (M, n)
    odds_matrix: Floats = dsyrk(-1 / epsilon, half, trans=1, beta=1 / epsilon, c=gram, lower=1, overwrite_c=1)
    odds, row_vectors = largest_odds(odds_matrix, request.resolve(len(rows.counts), n_directions))
    if len(odds) and odds[-1] < MIN_DISTRACTION:
        return None
    readings = across.T @ row_vectors  # UEᵀz, (M, q)
    group_vectors = cho_solve(factor, readings, check_finite=False)
    # |Eᵀz|² = zᵀEEᵀz = ν + (UEᵀz)ᵀ y, without forming the d-wide Eᵀz.
    lengths = epsilon * odds + np.einsum("ij,ij->j", readings, group_vectors)
    return RowPairs(odds, row_vectors, group_vectors, lengths, n_directions)


@dataclass(frozen=True, eq=False)
class RowDirections:
    """Leading directions of few rows, with the interface of `DenseDirections`; (d, q) matrices are computed on demand.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> moments = Moments.of(rng.normal(size=(4, 5, 300)))
    >>> rows, _, _ = row_problem(moments)
    >>> directions = RowDirections(moments, rows, solve_rows_leading(rows, 0.1, EigenRequest(0.95)), epsilon=0.1)
    >>> directions.first(2).patterns.shape, np.allclose(directions.filters.T @ directions.patterns, np.eye(16))
    ((300, 2), True)
    """

    moments: Moments
    rows: RowProblem
    pairs: RowPairs
    epsilon: float

    @property
    def number(self) -> int:
        """Number of directions, q."""
        return len(self.pairs.odds)

    @property
    def filters(self) -> Floats:
        """Filters, (d, q)."""
        return self._columns[0]

    @property
    def patterns(self) -> Floats:
        """Patterns, (d, q)."""
        return self._columns[1]

    @cached_property
    def heterogeneity(self) -> Floats:
        """Heterogeneity of the groups along each pattern, (q,)."""
        return self.moments.heterogeneity(self.patterns)

    @cached_property
    def filter_squares(self) -> Floats:
        """Squared length of each filter, (q,): (ω - |y|²) / (ε ω (1 + ω)), with ω = ν/ε."""
        odds = self.pairs.odds
        numerator = np.maximum(odds - np.einsum("ij,ij->j", self.pairs.group_vectors, self.pairs.group_vectors), 0.0)
        squares: Floats = numerator / (self.epsilon * odds * (1.0 + odds))
        return squares

    @cached_property
    def pattern_squares(self) -> Floats:
        """Squared length of each pattern, (q,)."""
        return self.pairs.pattern_lengths / self.pairs.distraction

    @property
    def readings(self) -> Floats:
        """Readings of the deviations, (n, q): E · filters = √λ z."""
        readings: Floats = self.pairs.row_vectors * np.sqrt(self.pairs.distraction) / self.rows.row_roots[:, None]
        return readings

    def first(self, number: int) -> RowDirections:
        """Return the first `number` directions."""
        odds, row_vectors, group_vectors, lengths, n_directions = self.pairs
        pairs = RowPairs(
            odds[:number], row_vectors[:, :number], group_vectors[:, :number], lengths[:number], n_directions
        )
        selected = RowDirections(self.moments, self.rows, pairs, self.epsilon)
        if "_columns" in self.__dict__:  # reuse the columns that were computed before
            filters, patterns = self._columns
            selected.__dict__["_columns"] = (filters[:, :number], patterns[:, :number])
        return selected

    def are_homogeneous(self, number: int, limit: float) -> bool:
        """Return True if the mean heterogeneity of the first `number` directions is at most `limit`.

        The heterogeneity of a pattern is between the smallest and the largest of its features, which usually decides
        without computing the patterns.
        """
        lowest, highest = self.moments.heterogeneity_range()
        if number == 0 or highest <= limit:
            return True
        return lowest <= limit and bool(self.heterogeneity[:number].mean() <= limit)

    @cached_property
    def _columns(self) -> tuple[Floats, Floats]:
        """Filters and patterns, (d, q) each."""
        odds, row_vectors, group_vectors, *_ = self.pairs
        patterns = self.rows.deviations.T @ (row_vectors * self.rows.row_roots[:, None])  # Eᵀz (d, q)
        filters = self.rows.means.T @ (group_vectors * np.sqrt(self.rows.shares)[:, None])  # Uᵀy
        np.subtract(patterns, filters, out=filters)  # in place: these are the largest arrays of the solver
        filters /= self.epsilon * np.sqrt(odds * (1.0 + odds))
        patterns /= np.sqrt(self.pairs.distraction)
        return filters, patterns


def within_rank(rows: RowProblem, scale: Floats) -> int:
    """Return how many directions vary within groups, with each feature divided by `scale`, (d,) without zeros."""
    within = rows.deviations * rows.row_roots[:, None] / scale
    return matrix_rank(dsyrk(1.0, within.T, trans=1, lower=1))


def scaled_rank(rows: RowProblem) -> int:
    """Return how many directions vary at all, with all features scaled to the same length."""
    centred = rows.centred()
    lengths = np.linalg.norm(centred, axis=0)
    centred /= np.where(lengths > 0, lengths, 1.0)
    return _gram_rank(dsyrk(1.0, centred.T, trans=1, lower=1))


def _total_rank(gram: Floats, across: Floats, between: Floats) -> int:
    """Return how many directions vary at all: the rank of E and U together. `gram` is a lower triangle."""
    n_rows, n_groups = across.shape
    # Zeros, not empty memory: the unread half is scaled too, and must not overflow.
    both = np.zeros((n_rows + n_groups, n_rows + n_groups), order="F")
    both[:n_rows, :n_rows] = gram
    both[n_rows:, :n_rows] = across.T
    both[n_rows:, n_rows:] = between
    return _gram_rank(both)


def _gram_rank(gram: Floats) -> int:
    """Return the rank of rows from their Gram matrix, on one scale, without rows that are rounding errors."""
    squares = np.diag(gram)
    real = squares > rounding_error(len(gram)) ** 2 * squares.max()
    if not real.all():
        gram = gram[np.ix_(real, real)]
    return matrix_rank(gram)

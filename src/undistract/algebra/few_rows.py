"""Few rows and many features: the eigenproblem among the rows; nothing of size d × d is formed.

    E = √(P/n) · (x - μ_m),   U = √P · (μ_m - μ)              within = EᵀE,  between = UᵀU

`few_rows` is the careful road to all directions. `few_rows_leading` takes the Gram matrix of the rows, and finds the
most distracting ones. Where set means differ, U takes a part out of it:

    N = EEᵀ - EUᵀ (UUᵀ + ε)⁻¹ UEᵀ,   N z = ν z,   λ = ν/(ν + ε)
    patterns = Eᵀz / √λ,   filters = (Eᵀz - Uᵀy) / √(ν(ν + ε)),   y = (UUᵀ + ε)⁻¹ UEᵀz
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr, solve_triangular, svd
from scipy.linalg.blas import dsyrk

from undistract.algebra.evidence import speaks
from undistract.algebra.leading import Wanted
from undistract.algebra.moments import Moments
from undistract.algebra.solvers import LEAST_READING, Solution, inside, largest_first, rank, rounding, solution
from undistract.algebra.store import KeptRows
from undistract.algebra.symmetric import symmetric_leading
from undistract.arrays import Floats, Ints

# A cushion of this share of all variation takes up what the Gram matrix of the rows loses to rounding.
LEAST_CUSHION = 1e-9


class FewRows(NamedTuple):
    """The rows of the problem."""

    deviations: Floats  # (n, d) rows minus the mean of their set, sets one after the other
    means: Floats  # (M, d) means of the sets, minus the overall mean
    counts: Ints  # (M,) rows in each set
    shares: Floats  # (M,) P

    @property
    def row_roots(self) -> Floats:
        """√(P/n) of each row, (n,)."""
        return np.repeat(np.sqrt(self.shares / self.counts), self.counts)

    def centred(self) -> Floats:
        """√(P/n)·(x - μ) of each row, (n, d)."""
        return (np.repeat(self.means, self.counts, axis=0) + self.deviations) * self.row_roots[:, None]


def has_few_rows(moments: Moments) -> bool:
    """Tell whether a problem among the rows is smaller than one among the features."""
    return isinstance(moments.store, KeptRows) and 2 * moments.n_rows <= moments.n_features


def few_rows_of(moments: Moments) -> tuple[FewRows, Floats, Floats]:
    """Return the rows that moments keep, and how much each feature varies in all and inside sets, (d,) each."""
    store = moments.store
    assert isinstance(store, KeptRows)
    rows = FewRows(store.deviations, store.means() - moments.offset, moments.counts, moments.shares)
    inside = store.inside(moments.counts, moments.weights) / moments.weights.sum()
    return rows, rows.shares @ rows.means**2 + inside, inside


def few_rows(rows: FewRows, epsilon: float) -> Solution:
    """Solve for all directions.

    With R = √(P/n)·(x - μ), total = RᵀR. Singular values give R = Z √S Tᵀ, and inside a set the row mean is projected
    out by C = I - BBᵀ, so that within = RᵀCR and the whitened problem is D½ ZᵀCZ D½ with D = S/(S + ε).
    """
    counts = rows.counts
    centred = rows.centred()  # R
    lengths = np.linalg.norm(centred, axis=0)
    still = lengths == 0
    lengths[still] = 1.0
    # Without a cushion the answer does not depend on units, so that rank may be judged on one scale.
    scale = lengths if epsilon == 0 else np.ones(len(lengths))
    # A triangle first: the (n, n) Gram matrix would square the condition.
    basis, triangle = qr((centred / scale).T, mode="economic", check_finite=False)
    # Beside units of 1e-20, what rounding leaves of a feature that never varies would be a giant.
    basis[still] = 0.0
    inner_axes, lengths_along, axes = svd(triangle, check_finite=False)
    real = lengths_along > rounding(len(centred)) * lengths_along[0]
    variances, axes = lengths_along[real] ** 2, axes[real].T  # (q,), (n, q)
    inner_axes = inner_axes[:, real]  # (n, q); basis · inner_axes are orthonormal directions
    starts = np.cumsum(counts) - counts
    set_sums = np.add.reduceat(axes, starts, axis=0) / np.sqrt(counts)[:, None]  # BᵀZ, (M, q)
    shrink = np.sqrt(variances / (variances + epsilon))
    distraction, vectors = largest_first((np.eye(len(shrink)) - set_sums.T @ set_sums) * np.outer(shrink, shrink))
    lengths_out = np.sqrt(variances + epsilon)[:, None]
    filters = (basis @ (inner_axes @ (vectors / lengths_out))) / scale[:, None]
    patterns = (basis @ (inner_axes @ (vectors * lengths_out))) * scale[:, None]
    if epsilon == 0:
        filters = inside(patterns, filters)
        filters[still] = 0.0
    return solution(distraction, filters, patterns, rank_inside(rows, lengths))


def rank_inside(rows: FewRows, scale: Floats) -> int:
    """Tell how many directions vary inside sets, with features brought to one scale, (d,) without zeros."""
    within = rows.deviations * rows.row_roots[:, None] / scale
    return rank(dsyrk(1.0, within.T, trans=1, lower=1))


def rank_on_one_scale(rows: FewRows) -> int:
    """Tell how many directions vary at all, with features brought to one scale."""
    centred = rows.centred()
    lengths = np.linalg.norm(centred, axis=0)
    centred /= np.where(lengths > 0, lengths, 1.0)
    return _rank_of_real(dsyrk(1.0, centred.T, trans=1, lower=1))


class LeadingRows(NamedTuple):
    """The leading directions, and how many there are in all."""

    odds: Floats  # (q,) λ/(1-λ) = ν/ε, largest first
    turns: Floats  # z (n, q)
    told_apart: Floats  # y (M, q)
    lengths: Floats  # (q,) |Eᵀz|²
    n_directions: int  # how many directions vary at all

    @property
    def distraction(self) -> Floats:
        """λ, (q,)."""
        return self.odds / (1.0 + self.odds)


def few_rows_leading(rows: FewRows, epsilon: float, wanted: Wanted) -> LeadingRows | None:
    """Solve for the leading directions alone, with one (n, n) eigenproblem.

    The Gram matrix squares the condition, so the cushion must be healthy: where it is not, None is returned.
    """
    roots, root_shares = rows.row_roots, np.sqrt(rows.shares)
    gram: Floats = dsyrk(1.0, rows.deviations.T, trans=1, lower=1)  # (n, n), the lower triangle
    gram *= roots
    gram *= roots[:, None]  # EEᵀ
    across = (rows.deviations @ rows.means.T) * roots[:, None] * root_shares  # EUᵀ (n, M)
    apart = (rows.means @ rows.means.T) * np.outer(root_shares, root_shares)  # UUᵀ (M, M)
    if epsilon < LEAST_CUSHION * (np.trace(gram) + np.trace(apart)):
        return None
    n_directions = _rank_of_all(gram, across, apart)
    if n_directions < len(gram) - 1:  # fewer than there can be: beside features in far larger units, some may be lost
        n_directions = max(n_directions, rank_on_one_scale(rows))
    apart[np.diag_indices_from(apart)] += epsilon
    factor = cho_factor(apart, lower=True, check_finite=False)
    half = solve_triangular(factor[0], across.T, lower=True, check_finite=False)  # (M, n)
    odds_matrix: Floats = dsyrk(-1 / epsilon, half, trans=1, beta=1 / epsilon, c=gram, lower=1, overwrite_c=1)
    odds, turns = symmetric_leading(odds_matrix, wanted.given(speaks(len(rows.counts), n_directions)))
    if len(odds) and odds[-1] < LEAST_READING:
        return None
    met = across.T @ turns  # (M, q)
    told_apart = cho_solve(factor, met, check_finite=False)
    return LeadingRows(odds, turns, told_apart, epsilon * odds + np.einsum("ij,ij->j", met, told_apart), n_directions)


def _rank_of_all(gram: Floats, across: Floats, apart: Floats) -> int:
    """Tell how many directions vary at all: the rank of E and U together; of `gram` the lower triangle is read."""
    n_rows, n_sets = across.shape
    both = np.zeros((n_rows + n_sets, n_rows + n_sets), order="F")  # all of it is scaled, though half is read
    both[:n_rows, :n_rows], both[n_rows:, :n_rows], both[n_rows:, n_rows:] = gram, across.T, apart
    return _rank_of_real(both)


def _rank_of_real(gram: Floats) -> int:
    """Tell the rank of rows by their products; they are judged on one scale, but not what is no more than rounding."""
    squares = np.diag(gram)
    real = squares > rounding(len(gram)) ** 2 * squares.max()
    return rank(gram if real.all() else gram[np.ix_(real, real)])


@dataclass(frozen=True, eq=False)
class FromRows:
    """The directions that few rows show; what is as wide as the features is formed when somebody asks.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> moments = Moments.of(rng.normal(size=(4, 5, 300)))
    >>> store = moments.store
    >>> rows = FewRows(store.deviations, store.means() - moments.offset, moments.counts, moments.shares)
    >>> directions = FromRows(moments, rows, few_rows_leading(rows, 0.1, Wanted(0.95)), epsilon=0.1)
    >>> directions.first(2).patterns.shape, np.allclose(directions.filters.T @ directions.patterns, np.eye(16))
    ((300, 2), True)
    """

    moments: Moments
    rows: FewRows
    found: LeadingRows
    epsilon: float

    @property
    def number(self) -> int:
        """How many there are, q."""
        return len(self.found.odds)

    @property
    def filters(self) -> Floats:
        """What reads each direction, (d, q)."""
        return self._formed.filters

    @property
    def patterns(self) -> Floats:
        """How rows move along it, (d, q)."""
        return self._formed.patterns

    @cached_property
    def unevenness(self) -> Floats:
        """How unevenly sets vary where each pattern lies, (q,)."""
        return self.moments.unevenness(self.patterns)

    @cached_property
    def filter_squares(self) -> Floats:
        """The squared length of each filter, (q,): (ω - |y|²) / (ε ω (1 + ω)), with ω = ν/ε."""
        odds, apart = self.found.odds, self.found.told_apart
        left = np.maximum(odds - np.einsum("ij,ij->j", apart, apart), 0.0)
        shortened: Floats = left / (self.epsilon * odds * (1.0 + odds))
        return shortened

    @cached_property
    def pattern_squares(self) -> Floats:
        """The squared length of each pattern, (q,)."""
        return self.found.lengths / self.found.distraction

    @property
    def readings(self) -> Floats:
        """What the filters read off the deviations, (n, q): E · filters = √λ z."""
        read: Floats = self.found.turns * np.sqrt(self.found.distraction) / self.rows.row_roots[:, None]
        return read

    def first(self, number: int) -> FromRows:
        """Return the first so many."""
        odds, turns, told_apart, lengths, n_directions = self.found
        some = LeadingRows(odds[:number], turns[:, :number], told_apart[:, :number], lengths[:number], n_directions)
        chosen = FromRows(self.moments, self.rows, some, self.epsilon)
        if "_formed" in self.__dict__:  # in place of forming them again
            chosen.__dict__["_formed"] = _Wide(*(columns[:, :number] for columns in self._formed))
        return chosen

    def are_even(self, number: int, most: float) -> bool:
        """Tell whether the first so many are at most so uneven, on average.

        The unevenness of a pattern lies between those of its features: mostly they decide.
        """
        least_of_any, most_of_any = self.moments.unevenness_of_features()
        if number == 0 or most_of_any <= most:
            return True
        return least_of_any <= most and bool(self.unevenness[:number].mean() <= most)

    @cached_property
    def _formed(self) -> _Wide:
        odds, turns, told_apart, *_ = self.found
        moved = self.rows.deviations.T @ (turns * self.rows.row_roots[:, None])  # Eᵀz (d, q)
        filters = self.rows.means.T @ (told_apart * np.sqrt(self.rows.shares)[:, None])  # Uᵀy
        np.subtract(moved, filters, out=filters)
        filters /= self.epsilon * np.sqrt(odds * (1.0 + odds))
        moved /= np.sqrt(self.found.distraction)
        return _Wide(filters, moved)


class _Wide(NamedTuple):
    filters: Floats
    patterns: Floats

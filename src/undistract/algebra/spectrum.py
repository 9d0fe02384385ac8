"""The spectrum: the distraction of each direction, and the eigenproblem behind it.

within · w = distraction · (total + ε I) · w          ε = ridge · trace(total) / (number of features that vary)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract._arrays import LARGEST, TINY, Floats
from undistract.algebra.evidence import AUTOMATIC_CUTOFF, MIN_FEEDBACK_SHARE, Evidence, assess
from undistract.algebra.moments import Moments, RowStore, WeightedGroups
from undistract.algebra.row_solvers import (
    RowDirections,
    row_problem,
    scaled_rank,
    solve_rows,
    solve_rows_leading,
    within_rank,
)
from undistract.algebra.solvers import (
    MIN_FEATURES,
    Eigenpairs,
    EigenRequest,
    matrix_rank,
    solve_dense,
    solve_dense_leading,
)
from undistract.errors import InputError

DEFAULT_RIDGE = 0.1
MAX_RIDGE = 1e100


@dataclass(frozen=True)
class Variances:
    """Variances summed over the features.

    Examples
    --------
    >>> import numpy as np
    >>> Variances.of(np.array([4.0, 2.0, 0.0]), np.array([1.0, 2.0, 0.0]))
    Variances(total=6.0, within=3.0, mean=3.0)
    """

    total: float
    within: float
    mean: float  # over the features that vary, so that adding a constant column does not change the result

    @classmethod
    def of(cls, total: Floats, within: Floats) -> Variances:
        """Sum the variances of all features, (d,)."""
        total_sum = float(total.sum())
        n_varying = max(int((total > 0).sum()), 1)
        return cls(total_sum, float(within.sum()), total_sum / n_varying)


@dataclass(frozen=True, eq=False)
class DenseDirections:
    """Filters, patterns and heterogeneity of directions, as matrices.

    Examples
    --------
    >>> directions = DenseDirections(np.diag([0.5, 1.0]), np.diag([2.0, 1.0]), heterogeneity=np.array([0.1, 0.9]))
    >>> directions.pattern_squares, directions.first(1).patterns.T
    (array([4., 1.]), array([[2., 0.]]))
    >>> directions.are_homogeneous(1, 0.25), directions.are_homogeneous(2, 0.25)
    (True, False)
    """

    filters: Floats  # (d, q), filtersᵀ · metric · filters = I: w @ x reads a row along a direction
    patterns: Floats  # (d, q), metric · filters: the movement of rows along each direction
    heterogeneity: Floats  # (q,) of the groups along each pattern; 0 if all groups vary alike

    @classmethod
    def empty(cls, n_features: int) -> DenseDirections:
        """Return an empty collection of directions."""
        return cls(np.zeros((n_features, 0)), np.zeros((n_features, 0)), np.zeros(0))

    @property
    def number(self) -> int:
        """Number of directions, q."""
        return int(self.patterns.shape[1])

    @cached_property
    def filter_squares(self) -> Floats:
        """Squared length of each filter, (q,)."""
        return np.asarray(np.einsum("ij,ij->j", self.filters, self.filters))

    @cached_property
    def pattern_squares(self) -> Floats:
        """Squared length of each pattern, (q,)."""
        return np.asarray(np.einsum("ij,ij->j", self.patterns, self.patterns))

    def first(self, number: int) -> DenseDirections:
        """Return the first `number` directions."""
        return DenseDirections(self.filters[:, :number], self.patterns[:, :number], self.heterogeneity[:number])

    def are_homogeneous(self, number: int, limit: float) -> bool:
        """Return True if the mean heterogeneity of the first `number` directions is at most `limit`."""
        return number == 0 or bool(self.heterogeneity[:number].mean() <= limit)


Directions = DenseDirections | RowDirections


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Directions of feature space, the most distracting first.

    A *filter* reads (``w @ x``), its *pattern* is how the data moves when the reading changes (Haufe et al., 2014).
    Directions without any variance have distraction 0 and no vectors, so q can be smaller than d. If only the most
    distracting directions were requested, the others are not among the q either, and `is_complete` is False.

    Examples
    --------
    Why removing eigenvectors is wrong: x1 = s + t and x2 = t, with a nuisance t and a signal s that differs by group.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s, t = 10 * np.repeat(np.arange(20), 500) + rng.normal(size=10000), rng.normal(size=10000)
    >>> moments = Moments.from_labels(np.column_stack([s + t, t]), np.repeat(np.arange(20), 500))
    >>> spectrum = Spectrum.of(moments, ridge=1e-6)
    >>> pattern = spectrum.patterns[:, 0] / spectrum.patterns[1, 0]  # t moves both features
    >>> filter_of_s = spectrum.filters[:, 1] / spectrum.filters[0, 1]  # s is read as x1 - x2
    >>> pattern.round(1), filter_of_s.round(1)
    (array([1., 1.]), array([ 1., -1.]))
    """

    distraction: Floats  # (q,) λ, largest first; directions removed by feedback come before those removed by the groups
    debiased: Floats  # (q,) the same without the sampling noise of group means
    directions: Directions  # filters and patterns
    origin: Floats  # (d,) the mean of the data
    ridge: float  # ε, in squared units of the features; metric = total + ε I
    n_varying: int  # the first n_varying directions vary within groups
    evidence: Evidence
    feedback_share: Floats | None = None  # (q,) the share of the within-group variance that comes from feedback
    variances: Variances | None = None  # of all directions; None if the q directions are all

    @classmethod
    def of(
        cls,
        moments: Moments,
        *,
        ridge: float = DEFAULT_RIDGE,
        absolute: bool = False,
        request: EigenRequest | None = None,
    ) -> Spectrum:
        """Solve the eigenproblem.

        Parameters
        ----------
        moments : Moments
        ridge : float, default=0.1
            Between-group variance added to every direction, as a multiple of the mean variance of the features that
            vary. With 0 the result is invariant to units and linear maps; a huge value ranks by `within` alone.
        absolute : bool, default=False
            Use `ridge` as ε itself, in squared units of the features.
        request : EigenRequest, optional
            The directions to solve for, if not all are needed: a few cost far less.
        """
        check_enough_groups(moments)
        check_ridge(ridge, LARGEST if absolute else MAX_RIDGE)
        return compute_spectrum(moments, ridge, absolute, request)

    @classmethod
    def empty(cls, moments: WeightedGroups, epsilon: float = 0.0, variances: Variances | None = None) -> Spectrum:
        """Return a spectrum without directions, for moments without variance or without enough groups."""
        nothing = np.zeros(0)
        directions = DenseDirections.empty(moments.n_features)
        evidence = Evidence.of(moments, 0)
        return cls(nothing, nothing, directions, moments.mean, epsilon, 0, evidence, variances=variances)

    @property
    def filters(self) -> Floats:
        """Filters, (d, q), with filtersᵀ · metric · filters = I."""
        return self.directions.filters

    @property
    def patterns(self) -> Floats:
        """Patterns, (d, q): metric · filters."""
        return self.directions.patterns

    @property
    def heterogeneity(self) -> Floats:
        """Heterogeneity of the groups along each pattern, (q,); 0 if all groups vary alike."""
        return self.directions.heterogeneity

    @property
    def n_from_feedback(self) -> int:
        """Number of leading directions that are removed because of feedback."""
        if self.feedback_share is None:
            return 0
        from_feedback = (self.feedback_share >= MIN_FEEDBACK_SHARE) & (self.distraction >= AUTOMATIC_CUTOFF)
        return int(np.argmin(np.append(from_feedback, False)))

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.origin)

    @property
    def n_directions(self) -> int:
        """Number of directions with any variance, solved for or not."""
        return self.evidence.n_directions

    @property
    def is_complete(self) -> bool:
        """True if all directions were solved for, not only the leading ones."""
        return self.variances is None or len(self.distraction) >= self.evidence.n_directions

    @property
    def n_constant(self) -> int:
        """Number of directions, of d, that are constant within groups."""
        return self.n_features - self.n_varying

    @property
    def relative_ridge(self) -> float:
        """The ridge as a multiple of the mean variance of the features that vary."""
        if self.variances is not None:
            return 0.0 if self.variances.mean == 0 else self.ridge / self.variances.mean
        n_varying = int((self.patterns != 0).any(axis=1).sum())
        total = float(self.directions.pattern_squares.sum()) - len(self.distraction) * self.ridge  # Σ a aᵀ = metric
        if total <= 0:
            return 0.0
        return self.ridge * n_varying / total

    @property
    def total_share(self) -> Floats:
        """Share of the total variance along each pattern a, (q,); total = Σ a aᵀ - ε I, so the trace is a sum."""
        # |a|² = wᵀB²w ≥ ε wᵀBw = ε, up to rounding.
        parts = np.maximum(self.directions.pattern_squares - self.ridge, 0.0)
        total = float(parts.sum())
        if self.variances is not None:
            total = self.variances.total
        return parts / max(total, TINY)

    @property
    def within_share(self) -> Floats:
        """Share of the within-group variance along each pattern a, (q,); within = Σ λ a aᵀ."""
        parts = self.distraction * self.directions.pattern_squares
        total = float(parts.sum())
        if self.variances is not None:
            total = self.variances.within
        return parts / max(total, TINY)

    def kinds(self, n_removed: int) -> npt.NDArray[Any]:
        """Return the kind of each of the d directions: distracting (removed), descriptive or constant (both kept)."""
        kinds = np.full(self.n_features, "constant", dtype="<U11")
        kinds[: self.n_varying] = "descriptive"
        kinds[:n_removed] = "distracting"
        return kinds


def compute_spectrum(moments: Moments, ridge: float, absolute: bool, request: EigenRequest | None) -> Spectrum:
    """Solve the eigenproblem; the arguments are those of `Spectrum.of`, already checked."""
    if has_few_rows(moments):
        return _spectrum_of_rows(moments, ridge, absolute, request)
    within = moments.within
    total = moments.between
    total += within
    variances = Variances.of(np.diag(total), np.diag(within))
    epsilon = ridge_epsilon(ridge, absolute, variances.mean)
    varies = np.diag(total) > 0
    if not varies.any():
        return Spectrum.empty(moments, epsilon, variances)
    # A ridge gives every direction a filter, even with too few rows or dependent features: count the rank of `total`.
    n_directions = min(matrix_rank(total), moments.n_rows - 1)
    if request is not None and moments.n_features >= MIN_FEATURES:
        request = request.resolve(moments.n_groups, n_directions)
    used = np.ix_(varies, varies)
    if not varies.all():
        # Solve without the constant features, which are kept, and give them zero entries.
        within = within[used]
        total = total[used]
    pairs = None
    if request is not None and len(within) >= MIN_FEATURES:
        pairs = solve_dense_leading(within, total, epsilon, request)  # overwrites `total`
        if pairs is None:
            total = moments.between[used] + within
    if pairs is None:
        pairs = solve_dense(within, total, epsilon)
    if not varies.all():
        filters, patterns = np.zeros((2, len(varies), len(pairs.distraction)))
        filters[varies] = pairs.filters
        patterns[varies] = pairs.patterns
        pairs = pairs._replace(filters=filters, patterns=patterns)
    return _from_pairs(moments, pairs, epsilon, n_directions, variances)


def _spectrum_of_rows(moments: Moments, ridge: float, absolute: bool, request: EigenRequest | None) -> Spectrum:
    """Solve the problem among the rows."""
    rows, total, within = row_problem(moments)
    variances = Variances.of(total, within)
    epsilon = ridge_epsilon(ridge, absolute, variances.mean)
    if variances.total == 0:
        return Spectrum.empty(moments, epsilon, variances)
    if request is not None:
        leading = solve_rows_leading(rows, epsilon, request)
        if leading is not None:
            directions = RowDirections(moments, rows, leading, epsilon)
            distraction = leading.distraction
            noise = moments.mean_noise_of(directions.readings, distraction)
            debiased, evidence = assess(
                moments, distraction, epsilon * directions.filter_squares, noise, leading.n_directions
            )
            n_varying = len(distraction)
            return Spectrum(
                distraction, debiased, directions, moments.mean, epsilon, n_varying, evidence, variances=variances
            )
    pairs = solve_rows(rows, epsilon)
    # Far from the origin some directions are rounding errors of the rows: do not count them.
    n_directions = min(len(pairs.distraction), scaled_rank(rows))
    return _from_pairs(moments, pairs, epsilon, n_directions, variances)


def _from_pairs(
    moments: Moments, pairs: Eigenpairs, epsilon: float, n_directions: int, variances: Variances
) -> Spectrum:
    """Add heterogeneity, de-biased values and evidence to the solution."""
    distraction, filters, patterns, n_varying = pairs
    directions = DenseDirections(filters, patterns, moments.heterogeneity(patterns))
    noise = moments.mean_noise(filters, distraction)
    debiased, evidence = assess(
        moments, distraction, epsilon * directions.filter_squares, noise, max(n_directions, n_varying)
    )
    return Spectrum(distraction, debiased, directions, moments.mean, epsilon, n_varying, evidence, variances=variances)


def has_few_rows(moments: Moments) -> bool:
    """Return True if the problem among the rows is smaller than the one among the features."""
    return isinstance(moments.store, RowStore) and 2 * moments.n_rows <= moments.n_features


def count_varying(moments: Moments) -> int:
    """Return how many directions vary within groups, without solving for them.

    Examples
    --------
    >>> count_varying(Moments.of([[[1.0, 2.0, 5.0], [2.0, 4.0, 5.0]], [[3.0, 1.0, 6.0], [4.0, 3.0, 6.0]]]))
    1
    """
    if not has_few_rows(moments):
        return matrix_rank(moments.within)
    rows, total, _ = row_problem(moments)
    return within_rank(rows, np.where(total > 0, np.sqrt(total), 1.0))


def has_enough_groups(moments: WeightedGroups) -> bool:
    """Return True if there are two groups or more, and one of them has several rows."""
    return moments.n_groups > 1 and bool((moments.counts > 1).any())


def check_enough_groups(moments: WeightedGroups) -> None:
    """Raise InputError if there are fewer than two groups, or only groups of one row."""
    if moments.n_groups < 2:
        raise InputError(
            "1 group cannot show how groups differ. Pass at least two groups, one per context "
            "(video, machine, person, day), or split a long recording into several."
        )
    if (moments.counts == 1).all():
        raise InputError(
            f"Each of the {moments.n_groups} groups has a single row, so there is no variance within groups. "
            "Is the group label unique to each row? Use a label that many rows share."
        )


def check_ridge(ridge: Any, most: float = MAX_RIDGE) -> None:
    """Raise InputError if the ridge is not a non-negative number."""
    if not isinstance(ridge, Real) or isinstance(ridge, bool) or not 0 <= float(ridge) <= most:
        raise InputError(f"ridge must be a non-negative number, got {ridge!r}. Use 0 for none, or 0.1 (the default).")


def ridge_epsilon(ridge: float, absolute: bool, mean_variance: float) -> float:
    """Return the ridge ε in squared units of the features.

    Examples
    --------
    >>> ridge_epsilon(0.1, False, 50.0), ridge_epsilon(0.1, True, 50.0)
    (5.0, 0.1)
    """
    epsilon = float(ridge)
    if not absolute:
        epsilon *= mean_variance
    if epsilon > LARGEST:
        raise InputError(
            f"ridge is {ridge:g}, times a mean variance of {mean_variance:.3g}: the product overflows. "
            "Use a smaller value, or rescale the features."
        )
    return epsilon

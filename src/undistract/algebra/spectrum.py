"""The spectrum: how distracting each direction is.

within · w = distraction · (total + cushion · I) · w
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from undistract.algebra.cushion import CUSHION, MOST_CUSHION, Variances, check_cushion, epsilon_of
from undistract.algebra.debiased import debiased_distraction
from undistract.algebra.directions import Directions, Known
from undistract.algebra.evidence import Evidence, speaks
from undistract.algebra.few_rows import (
    FromRows,
    few_rows,
    few_rows_leading,
    few_rows_of,
    has_few_rows,
    rank_inside,
    rank_on_one_scale,
)
from undistract.algebra.leading import LEAST_FEATURES, Wanted
from undistract.algebra.moments import Moments
from undistract.algebra.solvers import Solution, dense, dense_leading, rank
from undistract.algebra.weighted_sets import WeightedSets
from undistract.arrays import LARGEST, TINY, Floats
from undistract.errors import InputError

Solver = Callable[[Floats, Floats, float], Solution]

# From this distraction on a direction goes by itself; chosen in benchmarks/cutoff_study.py.
AUTOMATIC_CUTOFF = 0.95
# A direction was told by people if at least this share of its variation inside sets is theirs.
MOSTLY = 0.5


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Directions of feature space, the most distracting first.

    A *filter* reads (``w @ x``), its *pattern* is how the data moves when the reading changes (Haufe et al., 2014).
    Directions in which nothing ever varied have distraction 0 and need no vectors: where there are such, q < d. Where
    only the most distracting ones were asked for, the others are not among the q either, and `is_whole` is False.

    Examples
    --------
    The trap that "remove the eigenvectors" falls into: x1 = s + t, x2 = t, where t distracts and s tells sets apart.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s, t = 10 * np.repeat(np.arange(20), 500) + rng.normal(size=10000), rng.normal(size=10000)
    >>> moments = Moments.of_labelled(np.column_stack([s + t, t]), np.repeat(np.arange(20), 500))
    >>> spectrum = Spectrum.of(moments, cushion=1e-6)
    >>> pattern = spectrum.patterns[:, 0] / spectrum.patterns[1, 0]  # t moves both features
    >>> kept = spectrum.filters[:, 1] / spectrum.filters[0, 1]       # s is read as x1 - x2
    >>> pattern.round(1), kept.round(1)
    (array([1., 1.]), array([ 1., -1.]))
    """

    distraction: Floats  # (q,) λ, largest first; what people told to ignore stands before what the sets show
    debiased: Floats  # (q,) the same, as it would read with endless rows per set
    directions: Directions  # their filters and patterns
    origin: Floats  # (d,) the mean of the data
    cushion: float  # ε, in squared units of the features; metric = total + ε I
    n_moving: int  # how many of these directions vary inside sets, the first so many
    evidence: Evidence
    taught: Floats | None = None  # (q,) the share of the variation inside sets that people taught; None: nobody did
    variances: Variances | None = None  # of all directions, known or not; None: those that are known are all

    @classmethod
    def of(
        cls,
        moments: Moments,
        *,
        cushion: float = CUSHION,
        absolute: bool = False,
        wanted: Wanted | None = None,
        solve: Solver = dense,
    ) -> Spectrum:
        """Solve the eigenproblem.

        Parameters
        ----------
        moments : Moments
        cushion : float, default=0.1
            Between-set variance that every direction is granted, as a multiple of the mean variance of the features
            that vary. Zero makes the answer independent of units and of any mixing; a huge one ranks by `within` alone.
        absolute : bool, default=False
            Take `cushion` as ε itself, in squared units of the features.
        wanted : Wanted, optional
            Which directions must be known, where not all need to be: a few cost far less.
        solve : callable
            Solves for all directions of matrices, where it comes to that.
        """
        check_learnable(moments)
        check_cushion(cushion, most=LARGEST if absolute else MOST_CUSHION)
        road = _from_rows if has_few_rows(moments) else partial(_from_matrices, solve=solve)
        solved = road(moments, cushion, absolute, wanted)
        distraction, directions, n_moving, epsilon, n_directions, variances = solved
        if isinstance(directions, FromRows):
            noise = moments.wander_read(directions.readings, inside=distraction)
        else:
            noise = moments.wander(directions.filters, inside=distraction)
        return cls(
            distraction,
            debiased_distraction(moments, distraction, epsilon * directions.filter_squares, noise),
            directions,
            moments.mean,
            epsilon,
            n_moving,
            Evidence.of(moments, n_directions),
            variances=variances,
        )

    @classmethod
    def unknown(cls, moments: WeightedSets) -> Spectrum:
        """Return the spectrum of moments that cannot tell anything yet: no direction is known to distract."""
        nothing = Known.none(moments.n_features)
        return cls(np.zeros(0), np.zeros(0), nothing, moments.mean, 0.0, 0, Evidence.of(moments, 0))

    @property
    def filters(self) -> Floats:
        """What reads each direction, (d, q), with filtersᵀ · metric · filters = I."""
        return self.directions.filters

    @property
    def patterns(self) -> Floats:
        """How rows move along each direction, (d, q): metric · filters."""
        return self.directions.patterns

    @property
    def unevenness(self) -> Floats:
        """How unevenly sets vary where each pattern lies, (q,); 0: all alike."""
        return self.directions.unevenness

    @property
    def n_told(self) -> int:
        """How many of the first directions distract because people said so."""
        if self.taught is None:
            return 0
        told = (self.taught >= MOSTLY) & (self.distraction >= AUTOMATIC_CUTOFF)
        return int(np.argmin(np.append(told, False)))

    @property
    def n_features(self) -> int:
        """How many features a row has, d."""
        return len(self.origin)

    @property
    def n_directions(self) -> int:
        """How many directions vary at all, known or not."""
        return self.evidence.n_directions

    @property
    def is_whole(self) -> bool:
        """Whether every direction is known that can be known: no more were left out because nobody asked."""
        return self.variances is None or len(self.distraction) >= self.n_directions

    @property
    def n_constant(self) -> int:
        """How many of the d directions never varied inside a set."""
        return self.n_features - self.n_moving

    @property
    def relative_cushion(self) -> float:
        """The cushion as a multiple of the mean variance of the features that vary."""
        if self.variances is not None:
            return self.cushion / self.variances.mean if self.variances.mean > 0 else 0.0
        n_varying = int((self.patterns != 0).any(axis=1).sum())
        total = float(self.directions.pattern_squares.sum()) - len(self.distraction) * self.cushion  # Σ a aᵀ = metric
        return self.cushion * n_varying / total if total > 0 else 0.0

    @property
    def variation(self) -> Floats:
        """The share of all variation that each pattern a carries, (q,); total = Σ a aᵀ - ε I, so the trace splits."""
        # |a|² = wᵀB²w ≥ ε wᵀBw = ε, up to rounding.
        parts = np.maximum(self.directions.pattern_squares - self.cushion, 0.0)
        return _shares(parts, parts.sum() if self.variances is None else self.variances.total)

    @property
    def variation_inside(self) -> Floats:
        """The share of the variation inside sets that each pattern a carries, (q,); within = Σ λ a aᵀ."""
        parts = self.distraction * self.directions.pattern_squares
        return _shares(parts, parts.sum() if self.variances is None else self.variances.within)

    def kinds(self, n_removed: int) -> npt.NDArray[Any]:
        """Say of each of the d directions what it is: distracting (removed), descriptive or constant (both kept)."""
        kinds = np.full(self.n_features, "constant", dtype="<U11")
        kinds[: self.n_moving] = "descriptive"
        kinds[:n_removed] = "distracting"
        return kinds


def n_moving(moments: Moments) -> int:
    """Tell how many directions vary inside sets, without solving for them.

    Examples
    --------
    >>> n_moving(Moments.of([[[1.0, 2.0, 5.0], [2.0, 4.0, 5.0]], [[3.0, 1.0, 6.0], [4.0, 3.0, 6.0]]]))
    1
    """
    if not has_few_rows(moments):
        return rank(moments.within)
    rows, total, _ = few_rows_of(moments)
    return rank_inside(rows, np.where(total > 0, np.sqrt(total), 1.0))


def is_learnable(moments: WeightedSets) -> bool:
    """Tell whether moments show what varies inside sets, and what tells them apart."""
    return moments.n_sets > 1 and bool((moments.counts > 1).any())


def check_learnable(moments: WeightedSets) -> None:
    """Refuse moments that cannot show what varies inside sets, or what tells them apart."""
    if moments.n_sets < 2:
        raise InputError(
            "1 set cannot show what tells sets apart. Give at least two sets, one per context "
            "(video, machine, person, day), or cut a long recording into several."
        )
    if (moments.counts == 1).all():
        raise InputError(
            f"Each of the {moments.n_sets} sets has a single row, so nothing shows what varies inside a set. "
            "Is the set label unique to each row? Use one that many rows share."
        )


class _Solved(NamedTuple):
    distraction: Floats
    directions: Directions
    n_moving: int
    epsilon: float
    n_directions: int
    variances: Variances

    @classmethod
    def of(cls, moments: Moments, found: Solution, epsilon: float, n_directions: int, variances: Variances) -> _Solved:
        distraction, filters, patterns, n_moving = found
        known = Known(filters, patterns, moments.unevenness(patterns))
        return cls(distraction, known, n_moving, epsilon, max(n_directions, n_moving), variances)

    @classmethod
    def nothing(cls, moments: Moments, epsilon: float, variances: Variances) -> _Solved:
        return cls(np.zeros(0), Known.none(moments.n_features), 0, epsilon, 0, variances)


def _from_matrices(moments: Moments, cushion: float, absolute: bool, wanted: Wanted | None, solve: Solver) -> _Solved:
    within = moments.within
    total = moments.between
    total += within
    variances = Variances.of(np.diag(total), np.diag(within))
    epsilon = epsilon_of(cushion, absolute, variances.mean)
    varies = np.diag(total) > 0
    if not varies.any():
        return _Solved.nothing(moments, epsilon, variances)
    # A cushion gives every direction a filter, also where rows are too few to vary, or features depend on one another.
    n_directions = min(rank(total), moments.n_rows - 1)
    wanted = None if wanted is None else wanted.given(speaks(moments.n_sets, n_directions))
    if varies.all():
        again = lambda: moments.between + within  # noqa: E731
        found = _dense(within, total, epsilon, wanted, solve, again)
        return _Solved.of(moments, found, epsilon, n_directions, variances)
    # Constant features are set aside, and kept.
    places = np.ix_(varies, varies)
    inside, whole = within[places], total[places]
    found = _dense(inside, whole, epsilon, wanted, solve, lambda: total[places])
    filters, patterns = np.zeros((2, len(varies), len(found.distraction)))
    filters[varies], patterns[varies] = found.filters, found.patterns
    found = Solution(found.distraction, filters, patterns, found.n_moving)
    return _Solved.of(moments, found, epsilon, n_directions, variances)


def _dense(
    within: Floats, total: Floats, epsilon: float, wanted: Wanted | None, solve: Solver, again: Callable[[], Floats]
) -> Solution:
    """Solve for the directions that are wanted, or for all of them."""
    if wanted is not None and len(within) >= LEAST_FEATURES:
        leading = dense_leading(within, total, epsilon, wanted)
        if leading is not None:
            return leading
        total = again()  # it was overwritten
    return solve(within, total, epsilon)


def _from_rows(moments: Moments, cushion: float, absolute: bool, wanted: Wanted | None) -> _Solved:
    rows, total, inside = few_rows_of(moments)
    variances = Variances.of(total, inside)
    epsilon = epsilon_of(cushion, absolute, variances.mean)
    if variances.total == 0:
        return _Solved.nothing(moments, epsilon, variances)
    leading = None if wanted is None else few_rows_leading(rows, epsilon, wanted)
    if leading is not None:
        distraction = leading.distraction
        directions = FromRows(moments, rows, leading, epsilon)
        return _Solved(distraction, directions, len(distraction), epsilon, leading.n_directions, variances)
    found = few_rows(rows, epsilon)
    # Its directions may be the last digits of rows that lie far away from zero: those count on no road.
    n_directions = min(len(found.distraction), rank_on_one_scale(rows))
    return _Solved.of(moments, found, epsilon, n_directions, variances)


def _shares(parts: Floats, whole: float) -> Floats:
    return parts / max(float(whole), TINY)

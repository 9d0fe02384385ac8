"""Alarm thresholds, calibrated on normal data only, because the number of future anomalies is unknown.

    p(s) = exceedance(s)              how often held-out normal groups score s or more
    raise an alarm if p(s) ≤ rate

The rate is the expected share of false alarms: the share of a new normal group's rows that raise alarms, on average
over groups. With a fixed value it holds only as far as groups are similar; `Conformal` guarantees it for any groups.

A rule is a frozen dataclass that is called with the scores of held-out groups and returns a `Threshold`. To add one,
write it here or in its own file, and add a line to `registry.THRESHOLDS`.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

from undistract._schema import anything, integer, number, require, saveable
from undistract.detect.base import Rows, Scores, seconds_between
from undistract.detect.calibration import Calibration, score_values
from undistract.errors import EvidenceWarning, InputError

DAY = 86_400.0  # seconds
# 3 · (1/100) is slightly more than 0.03: a share equal to the rate must not fail by rounding.
ROUNDING = 1e-9


@saveable({"value": number(infinite=True), "rate": number(0), "guarantee": number(0), "tail": anything})
@dataclass(frozen=True)
class Threshold:
    """The score above which a row raises an alarm, with its false-alarm rate.

    Parameters
    ----------
    value : float
        A single row raises an alarm if its score is above this; infinite if no single row can. Only `Conformal`
        judges a row together with the other rows of its group.
    rate : float
        The expected share of a new normal group's rows that raise alarms (with `AlarmBudget`: alarms per row).
    guarantee : float
        An upper bound of the expected share for any exchangeable groups.
    rule : str
        The rule that made it.
    n_rows, n_groups : int
        The evidence: rows and groups of the calibration.
    tail : object
        The tail model: its `p_values` maps the scores of one group to p-values.

    Examples
    --------
    >>> calm = [[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 2.0, 3.0]]
    >>> threshold = Quantile(rate=0.1)(calm)
    >>> threshold
    Threshold(value=4.0, rate=0.1, guarantee=0.325, rule='Quantile(rate=0.1)', n_rows=12, n_groups=3)
    >>> print(threshold)
    scores above 4 (false-alarm rate 0.1, Quantile(rate=0.1) on 3 groups, 12 rows)
    >>> threshold.alarms([4.0, 4.5, float("nan")])
    array([False,  True, False])
    """

    value: float
    rate: float
    guarantee: float
    rule: str
    n_rows: int
    n_groups: int
    tail: Any = field(repr=False, compare=False)

    @classmethod
    def from_tail(
        cls, tail: Any, calibration: Calibration, *, rate: float, guarantee: float, rule: object
    ) -> Threshold:
        """Set the threshold to the highest calibration score that does not raise an alarm.

        The p-values of the tail model must not increase with the score.
        """

        def raises_alarm(score: float) -> bool:
            return bool(is_below_rate(tail.p_values(np.array([score])), rate)[0])

        levels = calibration.sorted_scores
        value = -math.inf
        # p-values fall with the score, so the first level that raises an alarm can be bisected.
        first = bisect_left(range(len(levels)), True, key=lambda number: raises_alarm(float(levels[number])))
        if not raises_alarm(math.inf):
            value = math.inf  # no score is rare enough
        elif first > 0:
            value = float(levels[first - 1])
        return cls(value, rate, guarantee, repr(rule), calibration.n_rows, calibration.n_groups, tail)

    def p_values(self, scores: ArrayLike | Scores) -> Rows:
        """Return the p-value of each score: the smallest rate at which it would raise an alarm.

        Parameters
        ----------
        scores : (n,) array or Scores
            The scores of one group.

        Returns
        -------
        (n,) array
            NaN for a row without a score.
        """
        p_values: Rows = self.tail.p_values(score_values(scores))
        return p_values

    def alarms(self, scores: ArrayLike | Scores) -> NDArray[np.bool_]:
        """Return which rows raise alarms; a row without a score does not.

        Parameters
        ----------
        scores : (n,) array or Scores
            The scores of one group.
        """
        return is_below_rate(self.p_values(scores), self.rate)

    def __str__(self) -> str:
        return (
            f"scores above {self.value:.3g} (false-alarm rate {self.rate:.3g}, {self.rule} on {self.n_groups} groups, "
            f"{self.n_rows} rows)"
        )


class ThresholdRule(Protocol):
    """The interface of a rule that makes a `Threshold` from the scores of held-out normal groups."""

    def __call__(self, groups: Sequence[ArrayLike | Scores]) -> Threshold:
        """Calibrate on the scores of each group by a model that was fitted without it (see `cross_val_scores`)."""
        ...


@saveable()
@dataclass(frozen=True)
class Quantile:
    """Set one fixed threshold: the (1 - rate) quantile of all calibration rows, with equal weight for every group.

    Suitable for streams and for scikit-learn's `offset_`. The rate holds on average if groups are similar. In a new
    context unlike all M groups every row can raise an alarm: the guarantee is only (M · rate + 1) / (M + 1).

    Parameters
    ----------
    rate : float
        The expected share of rows that raise alarms, between 0 and 1.

    Examples
    --------
    >>> Quantile(rate=0.25)([[1.0, 2.0, 3.0, 4.0]]).value
    3.0
    """

    rate: float = 0.01

    def __post_init__(self) -> None:
        check_fraction("rate", self.rate)

    def __call__(self, groups: Sequence[ArrayLike | Scores]) -> Threshold:
        """Calibrate on the scores of each held-out group."""
        calibration = Calibration.of(groups)
        warn_extrapolation(calibration, self.rate)
        guarantee = new_group_bound(self.rate, calibration.n_groups)
        return Threshold.from_tail(calibration, calibration, rate=self.rate, guarantee=guarantee, rule=self)


def is_below_rate(p_values: Rows, rate: float) -> NDArray[np.bool_]:
    """Return which p-values are at most the rate."""
    return p_values <= rate * (1 + ROUNDING)


def new_group_bound(rate: float, n_groups: int) -> float:
    """Bound the rate on a new group if M groups keep it on average: in the new one every row may raise an alarm."""
    return (n_groups * rate + 1) / (n_groups + 1)


def check_fraction(name: str, value: float) -> None:
    """Raise an InputError unless `value` is between 0 and 1."""
    if not isinstance(value, Real) or not 0 < value < 1:
        raise InputError(f"{name} must be a number between 0 and 1, got {value!r}.")


def warn_extrapolation(calibration: Calibration, rate: float) -> None:
    """Warn if the rate is smaller than the weight of the highest calibration score."""
    rarest = float(calibration.exceedance_rates[-2])
    if rarest > rate * (1 + ROUNDING):
        warnings.warn(
            f"rate={rate:.3g} is smaller than the weight of the highest of {calibration.n_rows} calibration scores, "
            f"{rarest:.3g}. The threshold is that score, and the rate at which new rows exceed it is unknown. Use more "
            "rows, or Tail to extrapolate.",
            EvidenceWarning,
            stacklevel=3,
        )


@saveable()
@dataclass(frozen=True)
class Conformal:
    """Judge a new group as one of M + 1 exchangeable groups (hierarchical conformal p-values).

        p(s) = (M · exceedance(s) + exceedance_new(s)) / (M + 1)

    The expected share of rows with p ≤ rate in a normal new group is at most `rate`, for any M: over all M + 1 groups
    together it is at most that share, and the new group is any one of them. Rows of a group may depend on each other.

    With `whole_groups` all scores of a new group are judged together, and the guarantee holds for any M. The cost: at
    most (M + 1) · rate of a group's rows can raise alarms, and the p-value of a row depends on its group. For a
    stream, count a normal part of the new context as one more group: ``Quantile(rate)([*groups, part])`` is this rule
    with a fixed value.

    Without `whole_groups` each row is judged alone (Lee, Barber and Willett, 2023): its p-value is at least
    1 / (M + 1), and a smaller rate never raises an alarm. M groups give no more evidence about a single row of a new
    group. If rows are exchangeable too (one context), pass each row as a group: this is plain split conformal.

    Parameters
    ----------
    rate : float
        The expected share of rows that raise alarms, between 0 and 1.
    whole_groups : bool
        Whether the scores passed to `p_values` and `alarms` are those of one complete group.

    Examples
    --------
    >>> calm = [[1.0, 2.0, 3.0, 4.0]] * 4
    >>> Conformal(rate=0.1)(calm).p_values([1.0, 2.0, 3.0, 9.0])
    array([1.  , 0.75, 0.5 , 0.05])
    >>> Conformal(rate=0.1, whole_groups=False)(calm).p_values([9.0])
    array([0.2])
    """

    rate: float = 0.01
    whole_groups: bool = True

    def __post_init__(self) -> None:
        check_fraction("rate", self.rate)

    def __call__(self, groups: Sequence[ArrayLike | Scores]) -> Threshold:
        """Calibrate on the scores of each held-out group."""
        calibration = Calibration.of(groups)
        tail = ConformalTail(calibration, self.whole_groups)
        return Threshold.from_tail(tail, calibration, rate=self.rate, guarantee=self.rate, rule=self)


@saveable(public=False)
@dataclass(frozen=True, eq=False)
class ConformalTail:
    """Tail model of `Conformal`: the group of the scores, or each row alone, counts as one more calibration group."""

    calibration: Calibration
    whole_groups: bool

    def p_values(self, scores: Rows) -> Rows:
        """Return (M · exceedance + exceedance_new) / (M + 1); NaN stays NaN."""
        n_groups = self.calibration.n_groups
        new: Rows | float = 1.0
        if self.whole_groups:
            new = Calibration.of([scores]).p_values(scores)
        return (n_groups * self.calibration.p_values(scores) + new) / (n_groups + 1)


@saveable()
@dataclass(frozen=True)
class GroupQuantile:
    """Set one fixed threshold, high enough for most groups: a quantile over groups of each group's own quantile.

    In at least `share` of new normal groups, at most `rate` of the rows raise alarms: the rank of the new group's
    quantile among the M others is uniform. So M groups can guarantee this for at most M / (M + 1) of new groups.

    Parameters
    ----------
    rate : float
        The share of a group's rows that may raise alarms, between 0 and 1.
    share : float
        The share of new groups in which this must hold, between 0 and 1.

    Examples
    --------
    >>> calm = [[1.0, 2.0, 3.0, top] for top in range(4, 13)]
    >>> GroupQuantile(rate=0.25, share=0.9)(calm).value
    3.0
    >>> GroupQuantile(rate=0.2, share=0.5)(calm).value
    8.0
    """

    rate: float = 0.01
    share: float = 0.9

    def __post_init__(self) -> None:
        check_fraction("rate", self.rate)
        check_fraction("share", self.share)

    def __call__(self, groups: Sequence[ArrayLike | Scores]) -> Threshold:
        """Calibrate on the scores of each held-out group."""
        calibration = Calibration.of(groups)
        n_groups = calibration.n_groups
        rank = math.ceil((n_groups + 1) * self.share * (1 - ROUNDING))
        if rank > n_groups:
            n_needed = math.ceil(self.share / (1 - self.share) * (1 - ROUNDING))
            raise InputError(
                f"share must be at most {n_groups / (n_groups + 1):.3g} with {n_groups} groups, got {self.share:g}. "
                f"Use a smaller share, or at least {n_needed} held-out groups."
            )
        coverage = rank / (n_groups + 1)  # of new groups; in the others every row may raise an alarm
        return Threshold.from_tail(
            GroupQuantileTail(calibration, rank),
            calibration,
            rate=self.rate,
            guarantee=1 - coverage + coverage * self.rate,
            rule=self,
        )


def _check_rank(tail: GroupQuantileTail) -> None:
    require(tail.rank <= tail.calibration.n_groups, f"rank {tail.rank} of {tail.calibration.n_groups} groups")


@saveable({"rank": integer(1)}, validate=_check_rank, public=False)
@dataclass(frozen=True, eq=False)
class GroupQuantileTail:
    """Tail model of `GroupQuantile`: exceedance in all but the most extreme calibration groups."""

    calibration: Calibration
    rank: int

    def p_values(self, scores: Rows) -> Rows:
        """Return the `rank`-th smallest over groups of the share of a group's rows that score so high; NaN stays."""
        shares = [1 - np.searchsorted(levels, scores) / len(levels) for levels in self.calibration.groups]  # (M, n)
        ranked = np.partition(shares, self.rank - 1, axis=0)[self.rank - 1]
        return np.where(np.isnan(scores), np.nan, ranked)


@saveable()
@dataclass(frozen=True)
class AlarmBudget:
    """Set one fixed threshold so that a normal source raises at most `alarms` false alarms per day.

    Neighbouring rows are joined as in `find_alarms`. The budget is met on average over the calibration groups; on new
    groups it holds as the rate of `Quantile` does. The p-value of a row is the price of an alarm at its score, in
    alarms per row.

    Parameters
    ----------
    alarms : float
        Number of alarms per day that people can review.
    rows_per_day : float or None
        Number of rows scored per day. None: measured from the calibration groups, which must be `Scores` with times.
    gap : int
        As in `find_alarms`: rows with at most `gap` lower rows between them are one alarm.
    share : float
        At most this share of rows is above the threshold. Without it, one alarm without end would meet any budget.

    Examples
    --------
    >>> calm = [[0, 9, 8, 0, 0, 7, 0, 6, 0, 5]]                                # one day of ten rows
    >>> AlarmBudget(2, rows_per_day=10, share=0.5)(calm).value
    6.0
    >>> AlarmBudget(2, rows_per_day=10, share=0.5, gap=1)(calm).value          # 7, 6 and 5 are one alarm
    0.0
    """

    alarms: float = 5.0
    rows_per_day: float | None = None
    gap: int = 0
    share: float = 0.05

    def __post_init__(self) -> None:
        check_fraction("share", self.share)
        rows_per_day = 1.0 if self.rows_per_day is None else self.rows_per_day
        positive = all(isinstance(value, Real) and value > 0 for value in (self.alarms, rows_per_day))
        if not positive or not isinstance(self.gap, Integral) or self.gap < 0:
            raise InputError(
                f"alarms and rows_per_day must be above 0 and gap a whole number of rows, 0 or more, got {self}."
            )

    def __call__(self, groups: Sequence[ArrayLike | Scores]) -> Threshold:
        """Calibrate on the scores of each held-out group, rows in order."""
        rate = self.alarms / (self.rows_per_day or _rows_per_day(groups))
        by_alarm = Calibration.of_alarms(groups, gap=self.gap)
        by_row = Calibration.of(groups)
        warn_extrapolation(by_alarm, rate)
        return Threshold.from_tail(
            AlarmRateTail(by_alarm, by_row, rate / self.share),
            by_alarm,
            rate=rate,
            guarantee=min(new_group_bound(rate, by_row.n_groups), 1.0),
            rule=self,
        )


@saveable({"min_cost_per_row": number(0)}, public=False)
@dataclass(frozen=True, eq=False)
class AlarmRateTail:
    """Tail model of `AlarmBudget`: the cost of an alarm at a score, in alarms per row."""

    by_alarm: Calibration
    by_row: Calibration
    min_cost_per_row: float  # a row above the threshold costs at least this

    def p_values(self, scores: Rows) -> Rows:
        """Return the cost of each score; NaN stays NaN."""
        return np.maximum(self.by_alarm.p_values(scores), self.by_row.p_values(scores) * self.min_cost_per_row)


def _rows_per_day(groups: Sequence[ArrayLike | Scores]) -> float:
    """Return the mean number of rows per day of the groups, from their median time steps."""
    timed = [group for group in groups if isinstance(group, Scores) and group.times is not None and len(group) > 1]
    if len(timed) < len(groups):
        raise InputError(
            f"{len(groups) - len(timed)} of {len(groups)} calibration groups have no times for two rows, so the "
            "number of rows per day is unknown. Set rows_per_day, or pass Scores with times."
        )
    # The median step, not the total time span: a recording that pauses at night is as dense as its days.
    steps = [float(np.median(seconds_between(np.asarray(scores.times)))) for scores in timed]
    if not all(step > 0 for step in steps):
        medians = {scores.name: step for scores, step in zip(timed, steps, strict=True)}
        raise InputError(
            f"times must increase, but the median seconds between rows are {medians}. Fix the times, or set "
            "rows_per_day."
        )
    return float(np.mean([DAY / step for step in steps]))


def benjamini_hochberg(p_values: ArrayLike, rate: float) -> NDArray[np.bool_]:
    """Select rows of a batch so that the expected share of false ones is at most `rate` (Benjamini, Hochberg, 1995).

    Proven for rows exchangeable with the calibration rows (Bates et al., 2023): each row a group, and
    ``Conformal(whole_groups=False)``. For a new group there is no proof; p-values of `Conformal` then select nothing
    unless (n_groups + 1) · rate > 1, because fewer groups cannot rule out a normal group that is this unusual.

    Parameters
    ----------
    p_values : (n,) array
        From `Threshold.p_values`; NaN (no score) is never selected.
    rate : float
        The share of the selected rows that may be false, between 0 and 1.

    Examples
    --------
    >>> benjamini_hochberg([0.001, 0.02, 0.9, float("nan")], rate=0.05)
    array([ True,  True, False, False])
    """
    check_fraction("rate", rate)
    p_values = np.asarray(p_values, dtype=np.float64)
    scored = ~np.isnan(p_values)
    selected = np.zeros(p_values.shape, dtype=bool)
    if scored.any():
        selected[scored] = is_below_rate(false_discovery_control(p_values[scored]), rate)
    return selected

"""The alarm budget: the lowest threshold that keeps to so many alarms a day.

    alarms per row ≤ alarms a day / rows a day

Counted on held-out normal sets, each weighing the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undistract.detect.calibration import Calibration, Rows
from undistract.detect.scores import Scores
from undistract.detect.thresholds import Threshold, check_share, warn_if_unseen, with_new_set
from undistract.errors import InputError

__all__ = ["AlarmBudget", "seconds_between"]

DAY = 86_400.0  # seconds


@dataclass(frozen=True)
class AlarmBudget:
    """One fixed value: so many false alarms a day at most, neighbours joined as in `find_alarms`.

    Kept on average over the calibration sets; on new sets as `Quantile` keeps its rate. The p-value of a
    row is the price of alarming at its score, in alarms per row.

    Parameters
    ----------
    alarms : float
        How many a day somebody can look at.
    rows_per_day : float or None
        How many rows are scored a day. None: told by the calibration sets, given as `Scores` with times.
    gap : int
        As in `find_alarms`: rows with at most so many lower rows between them are one alarm.
    share : float
        At most this share of rows is over the threshold: one alarm without end would keep any budget.

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
        check_share("share", self.share)
        numbers = [self.alarms] if self.rows_per_day is None else [self.alarms, self.rows_per_day]
        above = all(isinstance(one, Real) and one > 0 for one in numbers)
        if not above or not isinstance(self.gap, Integral) or self.gap < 0:
            raise InputError(
                f"{self} was given; alarms and rows_per_day are above 0, gap is a whole number of rows, 0 or more. "
                "Give such numbers."
            )

    def __call__(self, sets: Sequence[ArrayLike | Scores]) -> Threshold:
        """Calibrate on the scores of each held-out set, rows in order."""
        rate = self.alarms / (self.rows_per_day or _rows_per_day(sets))
        by_alarm, by_row = Calibration.of_alarms(sets, gap=self.gap), Calibration.of(sets)
        warn_if_unseen(by_alarm, rate)
        return Threshold.where(
            AlarmPrice(by_alarm, by_row, rate / self.share).p_values,
            by_alarm,
            rate=rate,
            guarantee=min(with_new_set(rate, by_row.n_sets), 1.0),
            rule=self,
        )


def seconds_between(times: NDArray[np.generic]) -> Rows:
    """Give the seconds from each time to the next.

    Parameters
    ----------
    times : (n,) array
        Seconds, or datetime64.

    Examples
    --------
    >>> seconds_between(np.array(["2024-01-01T00:00", "2024-01-01T00:01"], dtype="datetime64[m]"))
    array([60.])
    """
    steps = np.diff(times)
    return np.asarray(steps / np.timedelta64(1, "s") if steps.dtype.kind == "m" else steps, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class AlarmPrice:
    """What alarming at a score costs, in alarms per row; a row over the threshold costs `alarms_for_a_row` at least."""

    by_alarm: Calibration
    by_row: Calibration
    alarms_for_a_row: float

    def p_values(self, scores: Rows) -> Rows:
        """Give the price of each score; NaN stays NaN."""
        return np.maximum(self.by_alarm.reach(scores), self.by_row.reach(scores) * self.alarms_for_a_row)


def _rows_per_day(sets: Sequence[ArrayLike | Scores]) -> float:
    timed = [one for one in sets if isinstance(one, Scores) and one.times is not None and len(one.values) > 1]
    if len(timed) < len(sets):
        raise InputError(
            f"{len(sets) - len(timed)} of {len(sets)} calibration sets have no times for two rows, so rows a "
            "day are not known. Give rows_per_day, or Scores with times."
        )
    # The usual step, not the whole span: a recording that pauses at night is as dense as its days.
    steps = [float(np.median(seconds_between(np.asarray(one.times)))) for one in timed]
    if not all(step > 0 for step in steps):
        told = dict(zip((one.name for one in timed), steps, strict=True))
        raise InputError(f"Seconds between rows, by set: {told}; times must rise. Mend them, or give rows_per_day.")
    return float(np.mean([DAY / step for step in steps]))

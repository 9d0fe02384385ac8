"""Alarms: rows above the threshold, neighbouring rows joined, highest score first.

    row     0 1 2 3 4 5 6 7
    score   . 5 7 . 6 . . 9           gap=0 → [7:8] [1:3] [4:5]          gap=1 → [7:8] [1:5]

A row without a score (NaN) belongs to no alarm, and no alarm extends across it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from undistract.detect.base import Scores, seconds_between
from undistract.detect.thresholds import Threshold
from undistract.errors import InputError

UNNAMED = "rows"  # the name of rows without a source, as in FocusDetector.find_alarms


@dataclass(frozen=True)
class Alarm:
    """A range of consecutive rows whose scores are above the threshold.

    Parameters
    ----------
    name : hashable
        The name of the source.
    start, stop : int
        Rows start, start + 1, ..., stop - 1.
    peak : int
        The row with the highest score (the first one if several are equal).
    score : float
        The score of that row.
    start_time, stop_time : time or None
        The times of the first and the last row, if the source has times.
    threshold : float or None
        The score above which a row raises an alarm; None if it depends on the group.

    Examples
    --------
    >>> alarm = Alarm("camera-3", start=10, stop=13, peak=11, score=4.5, threshold=2.0)
    >>> alarm.n_rows
    3
    >>> print(alarm)
    camera-3: rows 10 to 12, peak 4.5 at row 11 (threshold 2)
    """

    name: Hashable
    start: int
    stop: int
    peak: int
    score: float
    start_time: Any = None
    stop_time: Any = None
    threshold: float | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start

    def __str__(self) -> str:
        source = "" if self.name == UNNAMED else f"{self.name}: "
        times = ""
        if self.start_time is not None:
            unit = "" if isinstance(self.start_time, np.datetime64) else " s"
            times = f" at {self.start_time}{unit}"
            if self.n_rows > 1:
                times = f" from {self.start_time}{unit} to {self.stop_time}{unit}"
        threshold = "" if self.threshold is None else f" (threshold {self.threshold:.3g})"
        if self.n_rows == 1:
            return f"{source}row {self.start}{times}, score {self.score:.3g}{threshold}"
        rows = f"rows {self.start} to {self.stop - 1}{times}"
        return f"{source}{rows}, peak {self.score:.3g} at row {self.peak}{threshold}"


def find_alarms(
    scores: Scores, threshold: Threshold | float, *, gap: int = 0, gap_seconds: float | None = None
) -> list[Alarm]:
    """Join neighbouring rows above the threshold into alarms.

    Parameters
    ----------
    scores : Scores
        Scores of one source, rows in order.
    threshold : Threshold or float
        With a plain number, rows with a higher score raise an alarm.
    gap : int
        Join two rows if at most `gap` rows between them are not above the threshold.
    gap_seconds : float, optional
        Also join two rows if they are at most `gap_seconds` seconds apart.

    Returns
    -------
    list of Alarm
        Highest score first; alarms do not overlap.

    Examples
    --------
    >>> scores = Scores("day", [0, 5, 7, 0, 6, 0, 0, 9])
    >>> [(alarm.start, alarm.stop, alarm.score) for alarm in find_alarms(scores, 4, gap=1)]
    [(7, 8, 9.0), (1, 5, 7.0)]
    """
    _check_gaps(scores, gap, gap_seconds)
    unscored = np.isnan(scores.values)
    if unscored.all():
        return []
    if isinstance(threshold, Threshold):
        is_above = threshold.alarms(scores)
        threshold = threshold.value
    else:
        is_above = scores.values > threshold
    rows = np.flatnonzero(is_above)
    if not len(rows):
        return []
    # The count of unscored rows rises between two rows exactly if one of them is in between.
    no_unscored_between = np.diff(np.cumsum(unscored)[rows]) == 0
    joined = _is_next_near(scores, rows, gap, gap_seconds) & no_unscored_between
    firsts = rows[np.append(True, ~joined)]
    lasts = rows[np.append(~joined, True)]
    spans = zip(firsts.tolist(), lasts.tolist(), strict=True)
    alarms = [_alarm(scores, first, last + 1, float(threshold)) for first, last in spans]
    return sorted(alarms, key=lambda alarm: (-alarm.score, alarm.start))


def _is_next_near(scores: Scores, rows: NDArray[np.intp], gap: int, gap_seconds: float | None) -> NDArray[np.bool_]:
    """Return for each row above the threshold but the last whether the next one is near, (len(rows) - 1,)."""
    near = np.diff(rows) <= gap + 1
    if gap_seconds is None or scores.times is None:
        return near
    seconds = seconds_between(scores.times[rows])
    # If the clock was set back, the difference is negative and does not show how near the rows are.
    return near | ((seconds >= 0) & (seconds <= gap_seconds))


def _alarm(scores: Scores, start: int, stop: int, threshold: float) -> Alarm:
    peak = start + int(np.argmax(scores.values[start:stop]))
    times = (None, None)
    if scores.times is not None:
        times = (scores.times[start], scores.times[stop - 1])
    score = float(scores.values[peak])
    fixed = threshold if np.isfinite(threshold) else None
    return Alarm(scores.name, start, stop, peak, score, *times, threshold=fixed)


def _check_gaps(scores: Scores, gap: int, gap_seconds: float | None) -> None:
    if not gap >= 0 or not (gap_seconds is None or gap_seconds >= 0):
        raise InputError(f"gap and gap_seconds must be 0 or more, got gap={gap!r}, gap_seconds={gap_seconds!r}.")
    if gap_seconds is not None and scores.times is None:
        raise InputError(
            f"Source {scores.name!r} has no times, so gap_seconds={gap_seconds:g} cannot be measured. Use gap instead."
        )

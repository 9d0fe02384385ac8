"""Alarms: rows over the threshold, neighbours joined, strongest first.

    row     0 1 2 3 4 5 6 7
    score   . 5 7 . 6 . . 9           gap=0 → [7:8] [1:3] [4:5]          gap=1 → [7:8] [1:5]

A row that was never scored (NaN) belongs to no alarm, and none reaches across it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from undistract.detect.budget import seconds_between
from undistract.detect.scores import Scores
from undistract.detect.thresholds import Threshold
from undistract.errors import InputError

__all__ = ["Alarm", "find_alarms"]


@dataclass(frozen=True)
class Alarm:
    """A stretch of rows that somebody should look at.

    Parameters
    ----------
    name : hashable
        The set's name.
    start, stop : int
        Rows start, start + 1, ..., stop - 1.
    peak : int
        The strangest of them (the first, if several are).
    score : float
        Its score.
    start_time, stop_time : time or None
        The times of the first and of the last row, where the set has times.

    Examples
    --------
    >>> Alarm("camera-3", start=10, stop=13, peak=11, score=4.5).n_rows
    3
    """

    name: Hashable
    start: int
    stop: int
    peak: int
    score: float
    start_time: Any = None
    stop_time: Any = None

    @property
    def n_rows(self) -> int:
        """How many rows it spans."""
        return self.stop - self.start


def find_alarms(
    scores: Scores, threshold: Threshold | float, *, gap: int = 0, gap_seconds: float | None = None
) -> list[Alarm]:
    """Join neighbouring rows over the threshold into alarms.

    Parameters
    ----------
    scores : Scores
        Of one set, rows in order.
    threshold : Threshold or float
        With a plain number, rows that score above it alarm.
    gap : int
        Two rows are joined when at most so many rows between them are not over the threshold.
    gap_seconds : float, optional
        Two rows are also joined when at most so many seconds lie between them.

    Returns
    -------
    list of Alarm
        The strongest first, none overlapping.

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
    over = threshold.alarms(scores) if isinstance(threshold, Threshold) else scores.values > threshold
    rows = np.flatnonzero(over)
    if not len(rows):
        return []
    joined = _near(scores, rows, gap, gap_seconds) & (np.diff(np.cumsum(unscored)[rows]) == 0)
    firsts, lasts = rows[np.append(True, ~joined)], rows[np.append(~joined, True)]
    alarms = [_alarm(scores, first, last + 1) for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)]
    return sorted(alarms, key=lambda alarm: (-alarm.score, alarm.start))


def _near(scores: Scores, rows: NDArray[np.intp], gap: int, gap_seconds: float | None) -> NDArray[np.bool_]:
    """Tell for each row over the threshold whether the next such row is near."""
    near = np.diff(rows) <= gap + 1
    if gap_seconds is None or scores.times is None:
        return near
    seconds = seconds_between(scores.times[rows])
    # A clock that was set back says nothing about nearness.
    return near | ((seconds >= 0) & (seconds <= gap_seconds))


def _alarm(scores: Scores, start: int, stop: int) -> Alarm:
    peak = start + int(np.argmax(scores.values[start:stop]))
    times = (None, None) if scores.times is None else (scores.times[start], scores.times[stop - 1])
    return Alarm(scores.name, start, stop, peak, float(scores.values[peak]), *times)


def _check_gaps(scores: Scores, gap: int, gap_seconds: float | None) -> None:
    if not gap >= 0 or not (gap_seconds is None or gap_seconds >= 0):
        raise InputError(f"gap={gap!r}, gap_seconds={gap_seconds!r} was given; a gap is 0 or more.")
    if gap_seconds is not None and scores.times is None:
        raise InputError(f"Set {scores.name!r} has no times to measure gap_seconds={gap_seconds:g}; give gap rows.")

"""Score tracks: the scores of one group in order, its threshold and its alarms.

A long track is reduced to the minimum and maximum of each bucket of rows, so that no peak is lost:

    rows      0 1 2 3 | 4 5 6 7 | 8 9 10 11
    scores    1 2 7 1 | 1 2 1 1 | 2 1 9  8
    drawn     [1, 7]  | [1, 2]  | [1, 9]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from undistract._arrays import Floats, Ints
from undistract._optional import import_optional
from undistract.detect.alarms import Alarm
from undistract.detect.base import Scores
from undistract.report.figures import BLUE, DASHED, FAINT, INK, LABEL_SIZE, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIRST_DAY, LAST_DAY = np.datetime64("0002-01-01"), np.datetime64("9998-12-31")
N_COLUMNS = 520  # of a track: about as many as it has pixels


@dataclass(frozen=True, eq=False)
class Envelope:
    """The minimum and maximum of each bucket of rows; NaN for a bucket without scores."""

    firsts: Ints  # (c,) the first row of each bucket
    low: Floats  # (c,)
    high: Floats  # (c,)


def envelope(values: Floats, n_columns: int = N_COLUMNS) -> Envelope:
    """Reduce scores to the minimum and maximum of at most `n_columns` buckets of nearly equal length.

    Examples
    --------
    >>> thin = envelope(np.array([1.0, 7.0, 2.0, np.nan, 3.0, 9.0]), n_columns=3)
    >>> thin.low, thin.high
    (array([1., 2., 3.]), array([7., 2., 9.]))
    """
    n_buckets = min(len(values), n_columns)
    firsts: Ints = np.arange(n_buckets) * len(values) // max(n_buckets, 1)
    if not n_buckets:
        return Envelope(firsts, np.zeros(0), np.zeros(0))
    # fmin and fmax ignore NaN unless a bucket contains nothing else.
    return Envelope(firsts, np.fmin.reduceat(values, firsts), np.fmax.reduceat(values, firsts))


def track_figure(
    scores: Scores,
    *,
    threshold: float | None = None,
    alarms: Sequence[Alarm] = (),
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Return a figure of one track.

    Parameters
    ----------
    scores : Scores
    threshold : float, optional
        Drawn as a line if it is finite.
    alarms : sequence of Alarm
        Those of this group.
    limits : pair of float, optional
        The scores at the lower and the upper edge, to draw several groups on one scale.

    Examples
    --------
    >>> figure = track_figure(Scores("camera-3", [1, 2, 9, 1]), threshold=5.0, alarms=[Alarm("camera-3", 2, 3, 2, 9.0)])
    >>> [line.get_color() for line in figure.axes[0].lines]  # scores, alarms, marks of alarms, threshold
    ['#666666', '#0072B2', '#0072B2', '#1F1F1F']
    """
    figure = new_figure(5.6, 1.55)
    axes = figure.add_axes((0.085, 0.2, 0.905, 0.77))
    draw_track(axes, scores, threshold=threshold, alarms=alarms, limits=limits)
    return figure


def draw_track(
    axes: Axes,
    scores: Scores,
    *,
    threshold: float | None = None,
    alarms: Sequence[Alarm] = (),
    limits: tuple[float, float] | None = None,
    n_columns: int = N_COLUMNS,
) -> None:
    """Draw the scores of one group in order; alarms are blue, and marked along the lower edge."""
    low, high = limits or score_limits([scores], threshold)
    # Scale scores near the largest float, which matplotlib could not handle. The axis has no ticks, so nothing is lost.
    unit = max(abs(low) / 1e100, abs(high) / 1e100, 1.0)
    low /= unit
    high /= unit
    values = scores.values / unit
    track = envelope(values, n_columns)
    x, is_time = _x_values(scores, track.firsts)
    is_alarm_row = np.zeros(len(scores), dtype=bool)
    for alarm in alarms:
        is_alarm_row[alarm.start : alarm.stop] = True
    peaks = envelope(np.where(is_alarm_row, values, np.nan), n_columns)
    is_alarm = ~np.isnan(peaks.high)
    mark_top = low + 0.07 * (high - low)
    marks = Envelope(peaks.firsts, np.where(is_alarm, low, np.nan), np.where(is_alarm, mark_top, np.nan))
    hair = 0.002 * (high - low)  # makes a bucket with one row visible: it would be a line of length zero
    for drawn, colour, width in ((track, FAINT, 1.0), (peaks, BLUE[0], 2.5), (marks, BLUE[0], 2.5)):
        axes.plot(*_zigzag(x, drawn, hair), color=colour, linewidth=width, solid_capstyle="round")
    if threshold is not None and np.isfinite(threshold):
        axes.axhline(threshold / unit, color=INK, linewidth=1, linestyle=DASHED)
    axes.set_ylim(low, high)
    axes.set_yticks([])
    axes.set_ylabel("score", fontsize=LABEL_SIZE - 1, color=FAINT)
    if is_time:
        dates = import_optional("matplotlib.dates", extra="plot", to="Drawing plots")
        locator = dates.AutoDateLocator(minticks=2, maxticks=6)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    tidy(axes)
    axes.tick_params(labelsize=LABEL_SIZE - 2)
    axes.margins(x=0.01)


def score_limits(groups: Sequence[Scores], threshold: float | None) -> tuple[float, float]:
    """Return limits of the axis that include all scores of some groups and the threshold."""
    ends = [0.0, 1.0]
    scored = np.concatenate([scores.values[~np.isnan(scores.values)] for scores in groups] or [np.zeros(0)])
    if len(scored):
        ends = [float(scored.min()), float(scored.max())]
    if threshold is not None and np.isfinite(threshold):
        ends = [float(threshold), *(ends if len(scored) else [])]
    low = min(ends)
    high = max(ends)
    # Half of each, so that the difference of numbers near the largest float stays finite.
    margin = 0.1 * (high / 2 - low / 2) or 0.5 * abs(low) or 0.5
    return low - margin, high + margin


def _x_values(scores: Scores, firsts: Ints) -> tuple[npt.NDArray[Any], bool]:
    """Return the time of each bucket, or its first row if times are missing or not in order."""
    times = scores.times
    if times is None or not len(times) or not (times[1:] >= times[:-1]).all():
        return firsts, False
    is_time = times.dtype.kind == "M"
    if is_time and not (times[0] >= FIRST_DAY and times[-1] <= LAST_DAY):
        return firsts, False  # outside of the calendar of matplotlib
    return times[firsts], is_time


def _zigzag(x: npt.NDArray[Any], track: Envelope, hair: float) -> tuple[npt.NDArray[Any], Floats]:
    """Return a line from the minimum to the maximum of each bucket and on to the next; NaN stays a gap."""
    return np.repeat(x, 2), np.column_stack([track.low - hair, track.high + hair]).ravel()

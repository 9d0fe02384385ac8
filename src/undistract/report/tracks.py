"""Score tracks: the scores of one set in order, its threshold and its alarms.

A long track is thinned to the least and the greatest score of each stretch of rows, so that no peak is lost:

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

from undistract.arrays import Floats, Ints
from undistract.detect.alarms import Alarm
from undistract.detect.scores import Scores
from undistract.extras import need
from undistract.report.plots import BLUE, DASHED, FAINT, INK, LABEL_SIZE, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIRST_DAY, LAST_DAY = np.datetime64("0002-01-01"), np.datetime64("9998-12-31")
N_COLUMNS = 520  # of a track: about as many as it has pixels


@dataclass(frozen=True, eq=False)
class Envelope:
    """The least and the greatest value of each stretch of rows; NaN where none was scored."""

    firsts: Ints  # (c,) the first row of each stretch
    low: Floats  # (c,)
    high: Floats  # (c,)


def envelope(values: Floats, n_columns: int = N_COLUMNS) -> Envelope:
    """Thin a track to at most `n_columns` stretches of nearly the same length, without losing a peak.

    Examples
    --------
    >>> thin = envelope(np.array([1.0, 7.0, 2.0, np.nan, 3.0, 9.0]), n_columns=3)
    >>> thin.low, thin.high
    (array([1., 2., 3.]), array([7., 2., 9.]))
    """
    firsts = stretches(len(values), n_columns)
    if not len(firsts):
        return Envelope(firsts, np.zeros(0), np.zeros(0))
    # fmin and fmax pass over NaN, and give it back only where there is nothing else.
    return Envelope(firsts, np.fmin.reduceat(values, firsts), np.fmax.reduceat(values, firsts))


def stretches(n_rows: int, n_columns: int) -> Ints:
    """Return where each stretch of rows starts, (c,)."""
    starts: Ints = np.arange(min(n_rows, n_columns)) * n_rows // max(min(n_rows, n_columns), 1)
    return starts


def track_figure(
    scores: Scores,
    *,
    threshold: float | None = None,
    alarms: Sequence[Alarm] = (),
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draw one track in a figure of its own.

    Parameters
    ----------
    scores : Scores
    threshold : float, optional
        Drawn as a line where it is finite.
    alarms : sequence of Alarm
        Of this set.
    limits : pair of float, optional
        The scores at the lower and the upper edge, to draw several sets alike.

    Examples
    --------
    >>> figure = track_figure(Scores("camera-3", [1, 2, 9, 1]), threshold=5.0, alarms=[Alarm("camera-3", 2, 3, 2, 9.0)])
    >>> [line.get_color() for line in figure.axes[0].lines]  # the scores, what alarms, where, and the threshold
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
    """Draw the scores of one set in order; what alarms is blue, and marked along the lower edge."""
    low, high = limits or score_limits([scores], threshold)
    # Numbers near the end of their range have a unit of their own; there are no ticks to tell.
    unit = max(abs(low), abs(high)) / 1e100 if max(abs(low), abs(high)) > 1e100 else 1.0
    low, high, values = low / unit, high / unit, scores.values / unit
    thin = envelope(values, n_columns)
    where, is_time = _places(scores, thin.firsts)
    peaks = envelope(np.where(_rows_of(alarms, len(scores)), values, np.nan), n_columns)
    called = ~np.isnan(peaks.high)
    marks = Envelope(peaks.firsts, np.where(called, low, np.nan), np.where(called, low + 0.07 * (high - low), np.nan))
    hair = 0.002 * (high - low)  # a lone row is a line without length, which nobody would see
    for thinned, colour, width in ((thin, FAINT, 1.0), (peaks, BLUE[0], 2.5), (marks, BLUE[0], 2.5)):
        axes.plot(*_zigzag(where, thinned, hair), color=colour, linewidth=width, solid_capstyle="round")
    if threshold is not None and np.isfinite(threshold):
        axes.axhline(threshold / unit, color=INK, linewidth=1, linestyle=DASHED)
    axes.set_ylim(low, high)
    axes.set_yticks([])
    axes.set_ylabel("score", fontsize=LABEL_SIZE - 1, color=FAINT)
    if is_time:
        dates = need("matplotlib.dates", extra="plot", to="Drawing plots")
        locator = dates.AutoDateLocator(minticks=2, maxticks=6)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    tidy(axes)
    axes.tick_params(labelsize=LABEL_SIZE - 2)
    axes.margins(x=0.01)


def score_limits(sets: Sequence[Scores], threshold: float | None) -> tuple[float, float]:
    """Return the edges between which all scores of these sets can be drawn, and their threshold too."""
    ends = [end for one in sets for end in _ends(one.values)]
    if threshold is not None and np.isfinite(threshold):
        ends.append(float(threshold))
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    # Half of each, so that differences of numbers near the largest stay finite.
    room = 0.1 * (high / 2 - low / 2) or 0.5 * abs(low) or 0.5
    return low - room, high + room


def _ends(values: Floats) -> list[float]:
    scored = values[~np.isnan(values)]
    return [float(scored.min()), float(scored.max())] if len(scored) else []


def _rows_of(alarms: Sequence[Alarm], n_rows: int) -> npt.NDArray[np.bool_]:
    called = np.zeros(n_rows, dtype=bool)
    for alarm in alarms:
        called[alarm.start : alarm.stop] = True
    return called


def _places(scores: Scores, firsts: Ints) -> tuple[npt.NDArray[Any], bool]:
    """Say where each stretch stands: at its time, or at its row where times are missing or run backwards."""
    times = scores.times
    if times is None or not len(times) or not (times[1:] >= times[:-1]).all():
        return firsts, False
    is_time = times.dtype.kind == "M"
    if is_time and not (times[0] >= FIRST_DAY and times[-1] <= LAST_DAY):
        return firsts, False  # no calendar that matplotlib could draw
    return times[firsts], is_time


def _zigzag(where: npt.NDArray[Any], thin: Envelope, hair: float) -> tuple[npt.NDArray[Any], Floats]:
    """Go up once in each stretch, and on to the next; a gap stays a gap."""
    return np.repeat(where, 2), np.column_stack([thin.low - hair, thin.high + hair]).ravel()

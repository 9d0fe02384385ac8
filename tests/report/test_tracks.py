"""Score tracks: reduced without losing a peak."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

pytest.importorskip("matplotlib")

from undistract.detect import Alarm, Scores
from undistract.report.figures import new_figure
from undistract.report.tracks import draw_track, envelope, score_limits, track_figure

VALUES = st.floats(-1e6, 1e6) | st.just(np.nan)


@given(arrays(np.float64, st.integers(1, 300), elements=VALUES), st.integers(1, 50))
def test_envelope_is_the_minimum_and_maximum_of_each_bucket(values, n_columns):
    track = envelope(values, n_columns)
    assert len(track.firsts) == min(len(values), n_columns)
    for bucket, low, high in zip(np.split(values, track.firsts[1:]), track.low, track.high, strict=True):
        scored = bucket[~np.isnan(bucket)]
        assert (low, high) == (scored.min(), scored.max()) if len(scored) else np.isnan(low) and np.isnan(high)


def test_single_peak_in_many_rows_is_drawn():
    values = np.zeros(100_000)
    values[54_321] = 9.0
    assert envelope(values).high.max() == 9.0


def drawn(scores, **options):
    axes = new_figure(5, 2).add_subplot()
    draw_track(axes, scores, **options)
    axes.figure.canvas.draw()
    return axes


def test_track_has_threshold_and_alarms():
    alarm = Alarm("day", start=2, stop=4, peak=3, score=9.0)
    axes = drawn(Scores("day", [1, 2, 8, 9, 1]), threshold=5.0, alarms=[alarm])
    track, peaks, marks, threshold = axes.lines
    # Each row is a short vertical line, so that a single one is visible.
    assert track.get_ydata().reshape(5, 2).mean(axis=1) == pytest.approx([1, 2, 8, 9, 1])
    assert np.flatnonzero(~np.isnan(peaks.get_ydata()[::2])).tolist() == [2, 3]
    assert np.flatnonzero(~np.isnan(marks.get_ydata()[::2])).tolist() == [2, 3]
    assert threshold.get_ydata()[0] == 5.0


def test_rows_without_scores_leave_a_gap():
    heights = drawn(Scores("day", [1, np.nan, 3, np.nan, 1])).lines[0].get_ydata().reshape(5, 2)
    assert np.isnan(heights).all(axis=1).tolist() == [False, True, False, True, False]
    assert heights[2, 0] < 3 < heights[2, 1]


@pytest.mark.parametrize("threshold", [None, np.inf])
def test_infinite_threshold_has_no_line(threshold):
    assert len(drawn(Scores("day", [1, 2]), threshold=threshold).lines) == 3


@pytest.mark.parametrize("values", [[], [np.nan, np.nan], [3.0], [2.0, 2.0], [0.0], [-1e308, 1e308]])
def test_any_scores(values):
    low, high = score_limits([Scores("day", values)], None)
    assert low < high
    track_figure(Scores("day", values)).canvas.draw()


def test_limits_include_scores_and_threshold():
    low, high = score_limits([Scores("a", [1, 5]), Scores("b", [-2, np.nan])], 9.0)
    assert low < -2
    assert high > 9


def test_x_axis_is_time_if_times_are_in_order():
    hours = np.datetime64("2024-05-01T00", "s") + np.arange(4) * np.timedelta64(1, "h")
    assert "2024" in drawn(Scores("day", [1, 2, 3, 4], times=hours)).xaxis.get_major_formatter().get_offset()
    assert drawn(Scores("day", [1, 2, 3, 4], times=[0.0, 0.5, 1.0, 1.5])).lines[0].get_xdata()[-1] == 1.5
    assert drawn(Scores("day", [1, 2, 3, 4], times=[0.0, 0.5, 0.2, 1.5])).lines[0].get_xdata()[-1] == 3


@pytest.mark.parametrize("step", ["1us", "1s", "61s", "1h", "1D", "400D"])
@pytest.mark.parametrize("n_rows", [1, 2, 97])
def test_any_time_step(step, n_rows):
    amount, unit = re.fullmatch(r"(\d+)(\w+)", step).groups()
    times = np.datetime64("2024-02-29T23:59", "us") + np.arange(n_rows) * np.timedelta64(int(amount), unit)
    drawn(Scores("day", np.arange(n_rows), times=times))


def test_times_outside_of_the_calendar_are_drawn_by_row():
    times = np.array(["-4000-01-01", "9999-12-31"], dtype="M8[D]")
    assert drawn(Scores("day", [1, 2], times=times)).lines[0].get_xdata()[-1] == 1

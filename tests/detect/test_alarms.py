from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract.detect.alarms import find_alarms
from undistract.detect.base import Scores
from undistract.detect.thresholds import Conformal
from undistract.errors import InputError

values = st.lists(st.integers(0, 9).map(float) | st.just(np.nan), max_size=40).map(np.array)
gaps = st.integers(0, 4)


def rows_of(alarms):
    return [row for alarm in alarms for row in range(alarm.start, alarm.stop)]


@given(values)
def test_alarms_without_gap_cover_exactly_the_rows_above_threshold(values):
    covered = rows_of(find_alarms(Scores("day", values), 4))
    assert sorted(covered) == np.flatnonzero(values > 4).tolist()


@given(values, gaps)
def test_alarms_do_not_overlap_and_are_sorted_by_score(values, gap):
    alarms = find_alarms(Scores("day", values), 4, gap=gap)
    assert len(set(rows_of(alarms))) == len(rows_of(alarms))
    assert [alarm.score for alarm in alarms] == sorted((alarm.score for alarm in alarms), reverse=True)


@given(values, gaps)
def test_first_last_and_peak_row_are_above_threshold(values, gap):
    for alarm in find_alarms(Scores("day", values), 4, gap=gap):
        inside = values[alarm.start : alarm.stop]
        assert min(inside[0], inside[-1]) > 4
        assert alarm.score == inside.max() == values[alarm.peak]
        assert alarm.start <= alarm.peak < alarm.stop


@given(values, gaps)
def test_unscored_rows_are_in_no_alarm(values, gap):
    assert not np.isnan(values[rows_of(find_alarms(Scores("day", values), 4, gap=gap))]).any()


@given(values, gaps)
def test_alarms_are_separated_by_more_than_gap_or_by_unscored_row(values, gap):
    alarms = sorted(find_alarms(Scores("day", values), 4, gap=gap), key=lambda alarm: alarm.start)
    for alarm, following in pairwise(alarms):
        between = values[alarm.stop : following.start]
        assert len(between) > gap or np.isnan(between).any()


@given(values, gaps)
def test_no_hole_in_an_alarm_is_longer_than_gap(values, gap):
    for alarm in find_alarms(Scores("day", values), 4, gap=gap):
        over = np.flatnonzero(values[alarm.start : alarm.stop] > 4)
        assert (np.diff(over) <= gap + 1).all()


@given(values, gaps)
def test_gap_seconds_with_regular_times_equals_gap(values, gap):
    timed = Scores("day", values, np.arange(len(values)) * 10.0)
    by_rows = find_alarms(timed, 4, gap=gap)
    assert find_alarms(timed, 4, gap_seconds=10.0 * (gap + 1)) == by_rows


def test_alarm_has_times_of_first_and_last_row():
    times = np.datetime64("2024-03-01T12:00:00") + np.arange(5).astype("timedelta64[m]")
    (alarm,) = find_alarms(Scores("gate", [0.0, 5.0, 0.0, 7.0, 0.0], times), 4, gap_seconds=120)
    assert (alarm.start, alarm.stop, alarm.peak, alarm.score) == (1, 4, 3, 7.0)
    assert (alarm.start_time, alarm.stop_time) == (times[1], times[3])
    assert len(find_alarms(Scores("gate", [0.0, 5.0, 0.0, 7.0, 0.0], times), 4, gap_seconds=119)) == 2


def test_backward_clock_does_not_join_rows():
    back = Scores("gate", [5.0, 0.0, 5.0], [100.0, 101.0, 3.0])
    assert len(find_alarms(back, 4, gap_seconds=50)) == 2


def test_threshold_judges_all_rows_together():
    calm = [np.arange(100.0)] * 5
    new = Scores("street", np.append(np.arange(98.0), [500.0, 600.0]))
    (alarm,) = find_alarms(new, Conformal(0.01)(calm))
    assert (alarm.name, alarm.start, alarm.stop) == ("street", 98, 100)


@pytest.mark.parametrize("values", [[], [np.nan], [np.nan, np.nan], [1.0, 2.0]])
def test_no_row_above_threshold_gives_no_alarm(values):
    assert find_alarms(Scores("day", values), 4) == []
    assert find_alarms(Scores("day", values), Conformal(0.1)([[5.0, 6.0]])) == []


def test_negative_gap_and_missing_times_raise_input_error():
    with pytest.raises(InputError, match="0 or more"):
        find_alarms(Scores("day", [1.0]), 4, gap=-1)
    with pytest.raises(InputError, match="'day' has no times"):
        find_alarms(Scores("day", [1.0]), 4, gap_seconds=5)


def test_alarm_reads_like_a_sentence():
    values = [0.0, 5.0, 7.25, 0.0, 6.0]
    long, single = find_alarms(Scores("rows", values), 4.1)
    assert str(long) == "rows 1 to 2, peak 7.25 at row 2 (threshold 4.1)"
    assert str(single) == "row 4, score 6 (threshold 4.1)"
    times = np.datetime64("2024-03-01T12:00:00") + np.arange(5).astype("timedelta64[m]")
    long, single = find_alarms(Scores("gate", values, times), Conformal(0.4, whole_groups=False)([[1.0, 2.0]] * 4))
    expected = "gate: rows 1 to 2 from 2024-03-01T12:01:00 to 2024-03-01T12:02:00, peak 7.25 at row 2 (threshold 2)"
    assert str(long) == expected
    seconds = find_alarms(Scores("gate", values, np.arange(5.0)), 4.1)
    assert str(seconds[1]) == "gate: row 4 at 4.0 s, score 6 (threshold 4.1)"

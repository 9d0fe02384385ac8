import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract.detect.alarms import find_alarms
from undistract.detect.base import Scores
from undistract.detect.thresholds import AlarmBudget
from undistract.errors import EvidenceWarning, InputError


@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
@given(st.integers(0, 1000), st.integers(0, 3), st.sampled_from([0.5, 2.0, 5.0]))
def test_budget_holds_on_calibration_groups_at_this_and_higher_thresholds(seed, gap, alarms):
    calm = np.random.default_rng(seed).normal(size=(3, 50)).round(1)
    value = AlarmBudget(alarms, rows_per_day=25, gap=gap, share=0.5)(calm).value
    for higher in (0, 0.1, 0.5, 1):
        raised = [len(find_alarms(Scores("calm", group), value + higher, gap=gap)) for group in calm]
        assert np.mean(raised) / 2 <= alarms + 1e-9  # a group is two days
    assert np.mean(calm > value) <= 0.5


def test_joined_neighbours_allow_lower_threshold():
    steady = np.convolve(np.random.default_rng(0).normal(size=2000), np.ones(20), "valid")
    separate = AlarmBudget(2, rows_per_day=200)([np.random.default_rng(0).permutation(steady)])
    joined = AlarmBudget(2, rows_per_day=200)([steady])
    assert joined.value < separate.value
    assert AlarmBudget(2, rows_per_day=200, gap=5)([steady]).value < joined.value


def test_endless_alarm_does_not_meet_budget():
    hump = np.minimum(np.arange(100), np.arange(100)[::-1])  # one alarm, at any threshold
    assert np.mean(hump > AlarmBudget(5, rows_per_day=100, share=0.1)([hump]).value) <= 0.1


@pytest.mark.parametrize(
    "times",
    [np.arange(2880) * 60.0, np.datetime64("2024-03-01T00:00") + np.arange(2880).astype("timedelta64[m]")],
    ids=["seconds", "datetime64"],
)
def test_rows_per_day_are_measured_from_times(times):
    calm = np.random.default_rng(0).normal(size=2880)
    by_times = AlarmBudget(5)([Scores("server", calm, times)])
    assert by_times.rate == pytest.approx(5 / 1440)
    assert by_times.value == AlarmBudget(5, rows_per_day=1440)([calm]).value


def test_rows_per_day_of_sources_with_equal_names_are_averaged():
    """Regression: only the last source of a name was counted."""
    calm = np.random.default_rng(0).normal(size=300)
    minutes, seconds = Scores("server", calm, 60.0 * np.arange(300)), Scores("server", calm, 1.0 * np.arange(300))
    assert AlarmBudget(500)([minutes, seconds]).rate == pytest.approx(500 / ((1440 + 86_400) / 2))


def test_unknown_rows_per_day_and_bad_options_raise_input_error():
    with pytest.raises(InputError, match="1 of 2 calibration groups have no times"):
        AlarmBudget(5)([Scores("a", [1.0, 2.0], [0.0, 1.0]), Scores("b", [1.0, 2.0])])
    with pytest.raises(InputError, match="times must increase"):
        AlarmBudget(5)([Scores("a", [1.0, 2.0], [7.0, 7.0])])
    for options in ({"alarms": 0}, {"alarms": "5"}, {"gap": 1.5}, {"gap": -1}):
        with pytest.raises(InputError, match=r"above 0 and gap a whole number of rows"):
            AlarmBudget(**options)
    with pytest.warns(EvidenceWarning, match="rate=0.01 is smaller"):
        AlarmBudget(1, rows_per_day=100)([np.arange(10.0)])

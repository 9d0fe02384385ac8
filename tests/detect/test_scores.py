from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract.detect import Scores
from undistract.detect.scores import turned
from undistract.errors import InputError


@given(st.lists(st.floats(allow_nan=False)))
def test_turning_twice_changes_nothing(values):
    np.testing.assert_array_equal(turned(turned(values)), np.array(values, dtype=float))


def test_turning_makes_the_lowest_the_strangest():
    assert turned([-0.2, -0.9, -0.1]).argmax() == 1


def test_scores_keep_their_own_values():
    given_values = np.array([1.0, 2.0])
    scores = Scores("a", given_values)
    given_values[0] = 9.0
    assert scores.values.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0] = 9.0


def test_a_row_never_scored_may_be_nan():
    assert np.isnan(Scores(("camera", 3), [1.0, np.nan]).values[1])


@pytest.mark.parametrize("times", [[0, 1, 2], np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "datetime64[s]")])
def test_times_are_seconds_or_dates(times):
    assert len(Scores("a", [1.0, 2.0, 3.0], times).times) == 3


@pytest.mark.parametrize(
    ("name", "values", "times", "message"),
    [
        ([1], [1.0], None, "hashable"),
        ("a", [[1.0]], None, r"shape \(1, 1\)"),
        ("a", ["high"], None, "not numbers"),
        ("a", [[1.0], [1.0, 2.0]], None, "not numbers"),
        ("a", [1.0, np.inf], None, "1 of 2 values are infinite"),
        ("a", [1.0, 2.0], [0.0], r"2 values but times of shape \(1,\)"),
        ("a", [1.0, 2.0], [0.0, np.nan], "missing or infinite"),
        ("a", [1.0], np.array(["NaT"], "datetime64[s]"), "missing or infinite"),
        ("a", [1.0], ["noon"], "not numbers"),
    ],
)
def test_what_cannot_be_scores_is_refused_with_a_reason(name, values, times, message):
    with pytest.raises(InputError, match=message):
        Scores(name, values, times)

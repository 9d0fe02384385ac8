from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract.detect import Scores
from undistract.detect.base import flip_sign
from undistract.errors import InputError


@given(st.lists(st.floats(allow_nan=False)))
def test_double_negation_is_identity(values):
    np.testing.assert_array_equal(flip_sign(flip_sign(values)), np.array(values, dtype=float))


def test_lowest_value_becomes_highest():
    assert flip_sign([-0.2, -0.9, -0.1]).argmax() == 1


def test_scores_copy_their_values():
    values = np.array([1.0, 2.0])
    scores = Scores("a", values)
    values[0] = 9.0
    assert scores.values.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0] = 9.0


def test_unscored_row_is_nan():
    assert np.isnan(Scores(("camera", 3), [1.0, np.nan]).values[1])


@pytest.mark.parametrize("times", [[0, 1, 2], np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "datetime64[s]")])
def test_times_may_be_seconds_or_dates(times):
    assert len(Scores("a", [1.0, 2.0, 3.0], times).times) == 3


@pytest.mark.parametrize(
    ("name", "values", "times", "message"),
    [
        ([1], [1.0], None, "hashable"),
        ("a", [[1.0]], None, r"got \(1, 1\)"),
        ("a", ["high"], None, "must be numbers"),
        ("a", [[1.0], [1.0, 2.0]], None, "must be numbers"),
        ("a", [1.0, np.inf], None, "got 1 infinite values in 2 rows"),
        ("a", [1.0, 2.0], [0.0], r"got shape \(1,\) for 2 values"),
        ("a", [1.0, 2.0], [0.0, np.nan], "missing or infinite"),
        ("a", [1.0], np.array(["NaT"], "datetime64[s]"), "missing or infinite"),
        ("a", [1.0], ["noon"], "must be numbers"),
    ],
)
def test_invalid_scores_raise_input_error(name, values, times, message):
    with pytest.raises(InputError, match=message):
        Scores(name, values, times)

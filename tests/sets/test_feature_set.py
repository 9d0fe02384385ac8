"""A feature set: a name, and rows that can be read again."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from undistract import Focus, InputError
from undistract.sets import FeatureSet

rows = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64]), hnp.array_shapes(min_dims=2, max_dims=2), elements=st.just(1)
)


@given(rows, st.integers(1, 20))
def test_reading_twice_gives_the_same_rows(rows, size):
    one = FeatureSet("a", rows)
    first, second = (np.concatenate(list(one.chunks(size=size))) for _ in range(2))
    assert np.array_equal(first, rows)
    assert np.array_equal(second, rows)
    assert first.dtype == rows.dtype


@given(rows, st.integers(1, 20))
def test_no_chunk_is_empty_or_larger_than_asked_for(rows, size):
    lengths = [len(chunk) for chunk in FeatureSet("a", rows).chunks(size=size)]
    assert max(lengths) <= size
    assert min(lengths) >= 1


def test_what_is_read_cannot_be_written_to():
    given_rows = np.ones((3, 2))
    one = FeatureSet("a", given_rows)
    with pytest.raises(ValueError, match="read-only"):
        next(one.chunks())[0, 0] = 5.0
    with pytest.raises(FrozenInstanceError):
        one.rows = np.zeros((3, 2))
    given_rows[0, 0] = 2.0  # the giver's own array stays the giver's


def test_it_tells_its_size_and_where_it_is_from():
    one = FeatureSet("camera-3", np.zeros((5, 2)), times=np.arange(5), source="yard.mp4")
    assert (len(one), one.n_features) == (5, 2)
    assert repr(one) == "FeatureSet(name='camera-3', source='yard.mp4')"
    assert one.times.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([1.0, 2.0], r"Set 'a' has shape \(2,\), expected \(rows, features\)"),
        (np.zeros((2, 2, 2)), r"Set 'a' has shape \(2, 2, 2\)"),
        (np.zeros((0, 3)), r"Set 'a' is empty: shape \(0, 3\)"),
        ([["x", "y"]], "Set 'a' has dtype <U1, expected real numbers"),
        ([[1.0, 2.0], [3.0]], "Set 'a' has rows of different lengths"),
    ],
)
def test_rows_that_cannot_be_used_are_named(bad, words):
    with pytest.raises(InputError, match=words):
        FeatureSet("a", bad)


def test_there_is_one_time_per_row():
    with pytest.raises(InputError, match=r"Set 'a' has 3 rows but times of shape \(2,\)"):
        FeatureSet("a", np.zeros((3, 2)), times=[1, 2])


def test_a_chunk_has_at_least_one_row():
    with pytest.raises(InputError, match="size is 0"):
        FeatureSet("a", np.zeros((3, 2))).chunks(size=0)


def test_focus_learns_the_same_from_feature_sets_and_from_arrays():
    rng = np.random.default_rng(0)
    arrays = {f"day {m}": rng.normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10)}
    from_sets = Focus().fit_sets(FeatureSet(name, rows) for name, rows in arrays.items())
    from_arrays = Focus().fit_sets(arrays)
    assert from_sets.moments_.names == tuple(arrays)
    assert np.array_equal(from_sets.distraction_, from_arrays.distraction_)

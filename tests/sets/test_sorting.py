"""Rows that come mixed, put in order on disk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract import InputError
from undistract.sets import FeatureSet
from undistract.sets.sorting import cut_every, sorted_sets


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.integers(1, 7), st.booleans())
def test_every_set_gets_its_own_rows_in_their_order(names, piece, timed):
    labels = np.array(names, dtype=object)
    rows = np.arange(2.0 * len(labels)).reshape(-1, 2)
    times = np.arange(len(labels)).astype("datetime64[s]")

    def read():
        for start in range(0, len(labels), piece):
            here = slice(start, start + piece)
            yield rows[here], times[here] if timed else None, labels[here]

    sets = sorted_sets({name: names.count(name) for name in dict.fromkeys(names)}, read)
    for one in reversed(sets):
        mine = labels == one.name
        for _ in range(2):
            assert np.array_equal(one.rows, rows[mine])
        assert np.array_equal(one.times, times[mine]) if timed else one.times is None


def test_nothing_is_read_before_a_row_is_asked_for_and_then_once():
    reads = []

    def read():
        reads.append(1)
        yield np.ones((3, 2)), None, np.array(["a", "b", "a"])

    a, b = sorted_sets({"a": 2, "b": 1}, read)
    assert reads == []
    assert (len(a), len(b)) == (2, 1)
    assert a.rows.shape == (2, 2)
    assert b.rows.shape == (1, 2)
    assert reads == [1]


def test_sets_can_be_read_side_by_side(monkeypatch):
    monkeypatch.setattr("undistract.sets.sorting.PIECE_BYTES", 16)
    rows, labels = np.arange(20.0).reshape(10, 2), np.array(["a", "b"] * 5)
    a, b = sorted_sets({"a": 5, "b": 5}, lambda: [(rows, None, labels)])
    pairs = list(zip(a.chunks(1), b.chunks(1), strict=True))
    assert np.array_equal(np.concatenate([np.concatenate(pair) for pair in pairs]), rows)


def test_a_source_that_changed_since_it_was_counted_is_found_out():
    (one,) = sorted_sets({"a": 3}, lambda: [(np.ones((2, 2)), None, np.array(["a", "a"]))])
    with pytest.raises(InputError, match="not the same as when they were counted"):
        _ = one.rows


def test_a_long_recording_is_cut_with_its_times_and_names():
    one = FeatureSet("year", np.arange(14.0).reshape(7, 2), times=np.arange(7), row_names=list("abcdefg"))
    first, second = cut_every(one, 3)
    assert (first.rows.tolist(), second.times.tolist()) == ([[0, 1], [2, 3], [4, 5]], [3, 4, 5, 6])
    assert second.row_names == ("d", "e", "f", "g")
    with pytest.raises(InputError, match="cannot be cut every 0 rows"):
        cut_every(one, 0)

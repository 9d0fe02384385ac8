"""Rows that come mixed, put in order on disk."""

import io
import time
from concurrent.futures import ThreadPoolExecutor

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


def test_a_set_that_nobody_counted_is_found_out():
    # It was a bare KeyError.
    (one,) = sorted_sets({"a": 1}, lambda: [(np.ones((1, 2)), None, np.array(["b"]))])
    with pytest.raises(InputError, match="not the same as when they were counted"):
        _ = one.rows


def test_rows_and_times_that_need_a_wider_type_later_on_lose_nothing():
    # The first piece settled the type: halves became 0, and times of day were cut off.
    days, hours = np.array(["2024-05-01"], "datetime64[D]"), np.array(["2024-05-02T12:30"], "datetime64[m]")
    pieces = [(np.ones((1, 2), np.int64), days, np.array(["a"])), (np.full((1, 2), 0.5), hours, np.array(["a"]))]
    (one,) = sorted_sets({"a": 2}, lambda: iter(pieces))
    assert one.rows.tolist() == [[1.0, 1.0], [0.5, 0.5]]
    assert one.times.tolist() == np.array(["2024-05-01T00:00", "2024-05-02T12:30"], "datetime64[m]").tolist()


def test_threads_can_read_at_the_same_time(monkeypatch):
    # One went to its place in the file, the other to its own, and both read there.
    class Slow(io.BytesIO):
        def seek(self, *place):
            found = super().seek(*place)
            time.sleep(1e-4)  # somebody else's turn
            return found

    monkeypatch.setattr("undistract.sets.sorting.TemporaryFile", Slow)
    monkeypatch.setattr("undistract.sets.sorting.PIECE_BYTES", 16)
    rows, labels = np.arange(200.0).reshape(100, 2), np.array(["a", "b"] * 50)
    sets = sorted_sets({"a": 50, "b": 50}, lambda: [(rows, None, labels)])
    with ThreadPoolExecutor(2) as threads:
        for place, read in enumerate(threads.map(lambda one: one.rows, sets)):
            assert np.array_equal(read, rows[place::2])


def test_a_long_recording_is_cut_with_its_times_and_names():
    one = FeatureSet("year", np.arange(14.0).reshape(7, 2), times=np.arange(7), row_names=list("abcdefg"))
    first, second = cut_every(one, 3)
    assert (first.rows.tolist(), second.times.tolist()) == ([[0, 1], [2, 3], [4, 5]], [3, 4, 5, 6])
    assert second.row_names == ("d", "e", "f", "g")
    with pytest.raises(InputError, match="cannot be cut every 0 rows"):
        cut_every(one, 0)

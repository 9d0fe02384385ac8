"""Interleaved rows are grouped on disk."""

import io
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract import InputError
from undistract.sources import Source
from undistract.sources.grouping import group_rows, split_source


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.integers(1, 7), st.booleans())
def test_groups_get_their_rows_in_order(names, size, timed):
    labels = np.array(names, dtype=object)
    rows = np.arange(2.0 * len(labels)).reshape(-1, 2)
    times = np.arange(len(labels)).astype("datetime64[s]")

    def read():
        for start in range(0, len(labels), size):
            span = slice(start, start + size)
            yield rows[span], times[span] if timed else None, labels[span]

    sources = group_rows({name: names.count(name) for name in dict.fromkeys(names)}, read)
    for source in reversed(sources):
        mine = labels == source.name
        for _ in range(2):
            assert np.array_equal(source.rows, rows[mine])
        assert np.array_equal(source.times, times[mine]) if timed else source.times is None


def test_rows_are_read_once_on_first_access():
    reads = []

    def read():
        reads.append(1)
        yield np.ones((3, 2)), None, np.array(["a", "b", "a"])

    a, b = group_rows({"a": 2, "b": 1}, read)
    assert reads == []
    assert (len(a), len(b)) == (2, 1)
    assert a.rows.shape == (2, 2)
    assert b.rows.shape == (1, 2)
    assert reads == [1]


def test_groups_can_be_read_in_parallel(monkeypatch):
    monkeypatch.setattr("undistract.sources.grouping.BLOCK_BYTES", 16)
    rows, labels = np.arange(20.0).reshape(10, 2), np.array(["a", "b"] * 5)
    a, b = group_rows({"a": 5, "b": 5}, lambda: [(rows, None, labels)])
    pairs = list(zip(a.chunks(1), b.chunks(1), strict=True))
    assert np.array_equal(np.concatenate([np.concatenate(pair) for pair in pairs]), rows)


def test_changed_row_count_raises_error():
    (source,) = group_rows({"a": 3}, lambda: [(np.ones((2, 2)), None, np.array(["a", "a"]))])
    with pytest.raises(InputError, match="not the same as when they were counted"):
        _ = source.rows


def test_unknown_group_raises_error():
    # Regression: it was a KeyError.
    (source,) = group_rows({"a": 1}, lambda: [(np.ones((1, 2)), None, np.array(["b"]))])
    with pytest.raises(InputError, match="not the same as when they were counted"):
        _ = source.rows


def test_wider_type_in_later_chunk_loses_nothing():
    # Regression: the first chunk set the type, so 0.5 became 0 and times of day were truncated.
    days, hours = np.array(["2024-05-01"], "datetime64[D]"), np.array(["2024-05-02T12:30"], "datetime64[m]")
    chunks = [(np.ones((1, 2), np.int64), days, np.array(["a"])), (np.full((1, 2), 0.5), hours, np.array(["a"]))]
    (source,) = group_rows({"a": 2}, lambda: iter(chunks))
    assert source.rows.tolist() == [[1.0, 1.0], [0.5, 0.5]]
    assert source.times.tolist() == np.array(["2024-05-01T00:00", "2024-05-02T12:30"], "datetime64[m]").tolist()


def test_threads_can_read_concurrently(monkeypatch):
    # Regression: two threads called seek, and both read at the second position.
    class Slow(io.BytesIO):
        def seek(self, *offset):
            result = super().seek(*offset)
            time.sleep(1e-4)  # lets the other thread run
            return result

    monkeypatch.setattr("undistract.sources.grouping.TemporaryFile", Slow)
    monkeypatch.setattr("undistract.sources.grouping.BLOCK_BYTES", 16)
    rows, labels = np.arange(200.0).reshape(100, 2), np.array(["a", "b"] * 50)
    sources = group_rows({"a": 50, "b": 50}, lambda: [(rows, None, labels)])
    with ThreadPoolExecutor(2) as threads:
        for offset, read in enumerate(threads.map(lambda source: source.rows, sources)):
            assert np.array_equal(read, rows[offset::2])


def test_long_recording_is_split_with_times_and_names():
    source = Source("year", np.arange(14.0).reshape(7, 2), times=np.arange(7), row_names=list("abcdefg"))
    first, second = split_source(source, 3)
    assert (first.rows.tolist(), second.times.tolist()) == ([[0, 1], [2, 3], [4, 5]], [3, 4, 5, 6])
    assert second.row_names == ("d", "e", "f", "g")
    with pytest.raises(InputError, match="must be at least 1 row, got 0"):
        split_source(source, 0)

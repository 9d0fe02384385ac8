"""Windows do not depend on the chunks of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract import InputError
from undistract.errors import EvidenceWarning
from undistract.sources import Source, windowed


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 9), st.integers(1, 7))
def test_windows_are_those_of_all_rows_at_once(n_rows, window, stride, size):
    rows = np.random.default_rng(n_rows).normal(size=(n_rows, 2))
    chunks = [(rows[start : start + size], np.arange(n_rows)[start : start + size]) for start in range(0, n_rows, size)]
    source = windowed(
        Source.from_reader("a", lambda: chunks, row_names=[str(n) for n in range(n_rows)]), window, stride
    )
    starts = range(0, n_rows - window + 1, stride)
    if not starts:
        with pytest.raises(InputError, match=f"has {n_rows} rows, too few for a window of {window}"):
            _ = source.rows
        return
    assert np.array_equal(source.rows, [rows[start : start + window].ravel() for start in starts])
    assert source.times.tolist() == [start + window - 1 for start in starts]
    assert source.row_names == tuple(str(time) for time in source.times)


def test_wide_windows_read_small_chunks(monkeypatch):
    monkeypatch.setattr("undistract.sources.windows.CHUNK_VALUES", 600)
    sizes = []
    source = Source("a", np.arange(200.0).reshape(100, 2))
    monkeypatch.setattr(Source, "timed_chunks", spying(Source.timed_chunks, sizes))
    assert len(windowed(source, 30)) == 71
    assert sizes == [10]  # ten windows of thirty rows of two features


def spying(method, sizes):
    def timed_chunks(self, size=None, **options):
        sizes.append(size)
        return method(self, size, **options)

    return timed_chunks


def test_feature_names_include_the_lag():
    source = Source("a", np.zeros((4, 1)), feature_names=["load"])
    assert windowed(source, 3).feature_names == ("load 2 before", "load 1 before", "load")


@pytest.mark.parametrize(("window", "stride"), [(0, 1), (3, 0), (-1, 1)])
def test_window_and_stride_must_be_positive(window, stride):
    with pytest.raises(InputError, match=f"must be at least 1 row, got {window} and {stride}"):
        windowed(Source("a", np.zeros((4, 1))), window, stride)


@pytest.mark.parametrize("chunk_rows", [2, 50])
def test_decreasing_times_issue_one_warning(monkeypatch, chunk_rows):
    # Regression: shuffled rows and wrongly ordered files made windows of rows that were not consecutive.
    monkeypatch.setattr("undistract.sources.windows.CHUNK_ROWS", chunk_rows)
    times = np.array([0, 1, 2, 3, 7, 8, 4, 5, 6, 9], dtype="datetime64[m]")
    rows = np.arange(20.0).reshape(10, 2)
    with pytest.warns(EvidenceWarning, match=r"'mon' goes back in time at row 6.*00:04 comes after .*00:08") as warned:
        assert windowed(Source("mon", rows, times=times), 3).rows.shape == (8, 6)
    assert len(warned) == 1
    for calm in (np.sort(times), np.zeros(10), None):  # warnings are errors here
        assert len(windowed(Source("mon", rows, times=calm), 3)) == 8

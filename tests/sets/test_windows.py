"""Windows over time: any chunks of rows give the same windows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract import InputError
from undistract.errors import EvidenceWarning
from undistract.sets import FeatureSet, windowed


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 9), st.integers(1, 7))
def test_windows_are_those_of_all_rows_at_once(n_rows, window, stride, piece):
    rows = np.random.default_rng(n_rows).normal(size=(n_rows, 2))
    pieces = [
        (rows[start : start + piece], np.arange(n_rows)[start : start + piece]) for start in range(0, n_rows, piece)
    ]
    one = windowed(FeatureSet.reading("a", lambda: pieces, row_names=[str(n) for n in range(n_rows)]), window, stride)
    starts = range(0, n_rows - window + 1, stride)
    if not starts:
        with pytest.raises(InputError, match=f"has {n_rows} rows, too few for a window of {window}"):
            _ = one.rows
        return
    assert np.array_equal(one.rows, [rows[start : start + window].ravel() for start in starts])
    assert one.times.tolist() == [start + window - 1 for start in starts]
    assert one.row_names == tuple(str(time) for time in one.times)


def test_the_source_is_read_in_small_chunks_where_windows_are_wide(monkeypatch):
    monkeypatch.setattr("undistract.sets.windows.CHUNK_VALUES", 600)
    asked = []
    one = FeatureSet("a", np.arange(200.0).reshape(100, 2))
    monkeypatch.setattr(FeatureSet, "timed_chunks", spying(FeatureSet.timed_chunks, asked))
    assert len(windowed(one, 30)) == 71
    assert asked == [10]  # ten windows of thirty rows of two features


def spying(method, asked):
    def timed_chunks(self, size=None):
        asked.append(size)
        return method(self, size)

    return timed_chunks


def test_features_are_named_by_how_long_before():
    one = FeatureSet("a", np.zeros((4, 1)), feature_names=["load"])
    assert windowed(one, 3).feature_names == ("load 2 before", "load 1 before", "load")


@pytest.mark.parametrize(("window", "stride"), [(0, 1), (3, 0), (-1, 1)])
def test_a_window_has_rows_and_goes_on(window, stride):
    with pytest.raises(InputError, match=f"window is {window} and stride is {stride}"):
        windowed(FeatureSet("a", np.zeros((4, 1))), window, stride)


@pytest.mark.parametrize("chunk_rows", [2, 50])
def test_windows_over_rows_that_go_back_in_time_are_told_of(monkeypatch, chunk_rows):
    # Shuffled rows, and files given in the wrong order, became windows of what never followed one another.
    monkeypatch.setattr("undistract.sets.windows.CHUNK_ROWS", chunk_rows)
    times = np.array([0, 1, 2, 3, 7, 8, 4, 5, 6, 9], dtype="datetime64[m]")
    rows = np.arange(20.0).reshape(10, 2)
    with pytest.warns(EvidenceWarning, match=r"'mon' goes back in time at row 6.*00:04 comes after .*00:08") as told:
        assert windowed(FeatureSet("mon", rows, times=times), 3).rows.shape == (8, 6)
    assert len(told) == 1
    for calm in (np.sort(times), np.zeros(10), None):  # warnings are errors here
        assert len(windowed(FeatureSet("mon", rows, times=calm), 3)) == 8

"""Missing values raise an error with their position, are dropped, or are imputed."""

import numpy as np
import pytest

from undistract import InputError, Moments
from undistract.sources import Source
from undistract.sources.missing import handle_missing

ROWS = np.random.default_rng(0).normal(1e6, 1.0, size=(9000, 3))
GAPS = ROWS.copy()
GAPS[np.random.default_rng(1).random(GAPS.shape) < 0.1] = np.nan
GAPS[:5000, 2] = np.nan  # a column that starts late, after the first chunk
GAPPY = Source("mon", GAPS, times=np.arange(9000), feature_names=["a", "b", "c"])


def test_error_names_column_and_row_in_the_source():
    late = ROWS.copy()
    late[6000, 1] = np.nan
    with pytest.raises(InputError, match="Source 'mon' has a missing value in column 'b' at row 6000, counted from 0"):
        list(handle_missing(Source("mon", late, feature_names=["a", "b", "c"])).chunks())
    with pytest.raises(InputError, match="in column 1 at row 6000"):
        list(handle_missing(Source("mon", late)).chunks())


def test_dropped_rows_drop_their_times():
    is_complete = ~np.isnan(GAPS).any(axis=1)
    dropped = handle_missing(GAPPY, "drop")
    assert np.array_equal(dropped.rows, GAPS[is_complete])
    assert np.array_equal(dropped.times, np.flatnonzero(is_complete))


def test_imputed_values_are_column_means():
    filled = handle_missing(GAPPY, "impute")
    is_present = ~np.isnan(GAPS)
    assert np.array_equal(filled.rows[is_present], GAPS[is_present])
    # Values near 1e6: the mean keeps its digits because deviations are summed.
    expected = np.broadcast_to(1e6 + np.nanmean(GAPS - 1e6, axis=0), GAPS.shape)
    assert np.allclose(filled.rows[~is_present], expected[~is_present], rtol=0, atol=1e-8)
    assert filled.known_length == 9000


def test_complete_rows_are_unchanged():
    for missing in ("error", "drop", "impute"):
        assert np.array_equal(handle_missing(Source("a", ROWS), missing).rows, ROWS)
        whole_numbers = handle_missing(Source("a", [[1, 2], [3, 4]]), missing).rows
        assert whole_numbers.tolist() == [[1, 2], [3, 4]]
        assert whole_numbers.dtype == np.int64


@pytest.mark.parametrize("huge", [np.inf, 1e308])
def test_imputing_next_to_huge_values_does_not_warn(huge):
    # Regression: numpy warned about an overflow. The values themselves raise an error when they are used.
    gappy = Source("mon", [[huge, 1.0], [-huge, 2.0], [np.nan, 3.0]])
    filled = handle_missing(gappy, "impute")
    assert len(filled) == 3
    with pytest.raises(InputError, match="'mon' holds"):
        Moments.of([filled])

"""Missing values: refused with their place, dropped, or set to the mean of what is there."""

import numpy as np
import pytest

from undistract import InputError, Moments
from undistract.sets import FeatureSet
from undistract.sets.missing import without_missing

ROWS = np.random.default_rng(0).normal(1e6, 1.0, size=(9000, 3))
GAPS = ROWS.copy()
GAPS[np.random.default_rng(1).random(GAPS.shape) < 0.1] = np.nan
GAPS[:5000, 2] = np.nan  # a column that starts late, after the first chunk
GAPPY = FeatureSet("mon", GAPS, times=np.arange(9000), feature_names=["a", "b", "c"])


def test_the_first_gap_is_named_by_column_and_by_row_of_the_whole_set():
    late = ROWS.copy()
    late[6000, 1] = np.nan
    with pytest.raises(InputError, match="Set 'mon' lacks a value in column 'b' at row 6000, counted from 0"):
        list(without_missing(FeatureSet("mon", late, feature_names=["a", "b", "c"])).chunks())
    with pytest.raises(InputError, match="in column 1 at row 6000"):
        list(without_missing(FeatureSet("mon", late)).chunks())


def test_dropped_rows_take_their_times_along():
    whole = ~np.isnan(GAPS).any(axis=1)
    one = without_missing(GAPPY, "drop")
    assert np.array_equal(one.rows, GAPS[whole])
    assert np.array_equal(one.times, np.flatnonzero(whole))


def test_gaps_are_filled_with_the_mean_of_their_column():
    filled = without_missing(GAPPY, "impute")
    there = ~np.isnan(GAPS)
    assert np.array_equal(filled.rows[there], GAPS[there])
    # The mean of a million and a bit keeps all its digits: only the bit is summed.
    expected = np.broadcast_to(1e6 + np.nanmean(GAPS - 1e6, axis=0), GAPS.shape)
    assert np.allclose(filled.rows[~there], expected[~there], rtol=0, atol=1e-8)
    assert filled.known_length == 9000


def test_rows_without_gaps_stay_as_they_are():
    for missing in ("refuse", "drop", "impute"):
        assert np.array_equal(without_missing(FeatureSet("a", ROWS), missing).rows, ROWS)
        whole_numbers = without_missing(FeatureSet("a", [[1, 2], [3, 4]]), missing).rows
        assert whole_numbers.tolist() == [[1, 2], [3, 4]]
        assert whole_numbers.dtype == np.int64


@pytest.mark.parametrize("huge", [np.inf, 1e308])
def test_gaps_beside_what_is_infinite_are_filled_without_a_word_and_refused_by_the_next_who_reads(huge):
    # A bare warning of numpy about an overflow.
    gappy = FeatureSet("mon", [[huge, 1.0], [-huge, 2.0], [np.nan, 3.0]])
    filled = without_missing(gappy, "impute")
    assert filled.rows.shape == (3, 2)
    with pytest.raises(InputError, match="Set 'mon' holds"):
        Moments.of([filled])

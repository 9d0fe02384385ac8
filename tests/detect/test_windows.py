from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from undistract.detect._logistic import add_intercept, newton
from undistract.detect.discriminative import Windows, WindowVotes, shuffles
from undistract.errors import InputError


def fit_each(rows, windows):
    """Fit every window separately."""
    return [newton(rows[start:end], windows.size, windows.ridge) for start, end in windows.spans(len(rows))]


@given(
    st.integers(0, 10**6),
    st.integers(1, 30),
    st.integers(1, 6),
    st.integers(1, 9),
    st.sampled_from([None, 2, 5, 12, 100]),
)
@settings(deadline=None)
def test_sequential_fits_equal_separate_fits(seed, n_features, size, stride, more):
    rows = add_intercept(np.random.default_rng(seed).normal(size=(30, n_features)))
    windows = Windows(size, stride, None if more is None else size + more, 0.1, exact=True)
    spans = windows.spans(len(rows))
    for v, alone, (start, end) in zip(windows.fits(rows, spans), fit_each(rows, windows), spans, strict=True):
        # Solvers stop within 1e-14 of the minimal loss; the error of probabilities is below its root.
        assert expit(rows[start:end] @ v) == pytest.approx(expit(rows[start:end] @ alone), abs=1e-7)


def test_spans_by_hand():
    assert Windows(3, 2, None, 0.1, True).spans(11) == [(0, 6), (0, 8), (0, 10)]
    assert Windows(3, 2, 7, 0.1, True).spans(11) == [(0, 6), (1, 8), (3, 10)]


def test_rows_are_counted_in_windows_in_which_they_are_positive():
    rows, windows = add_intercept(np.random.default_rng(0).normal(size=(11, 2))), Windows(3, 2, None, 0.1, True)
    tally, _ = WindowVotes.of(rows, np.arange(11), windows, windows.spans(11))
    # Rows 3-5, 5-7 and 7-9 are positive.
    assert tally.count.tolist() == [0, 0, 0, 1, 1, 2, 1, 2, 1, 1, 0]
    assert tally.probability + tally.complement == pytest.approx(tally.count)


@given(st.integers(1, 40), st.integers(1, 10), st.integers(0, 10**6))
def test_shuffle_is_a_permutation_of_blocks(n_rows, block, seed):
    random = np.random.RandomState(seed)
    for order in shuffles(n_rows, n_shuffles=2, block=block, permutations=None, random=random):
        assert sorted(order) == list(range(n_rows))
        breaks = np.flatnonzero(np.diff(order) != 1) + 1
        starts = order[np.concatenate([[0], breaks])]
        assert (starts % block == 0).all()


@pytest.mark.parametrize(
    ("permutations", "message"),
    [
        ([[0, 1, 1]], "each row with 0 to 2 once"),
        ([[0, 1]], r"shape \(shuffles, 3\).*got shape \(1, 2\)"),
        ([[[0, 1, 2]]], r"shape \(1, 1, 3\)"),
        ([["a", "b", "c"]], "must be row numbers"),
        ([[0, 1, 2], [0, 1]], "must be row numbers"),
    ],
)
def test_invalid_permutations_raise_input_error(permutations, message):
    with pytest.raises(InputError, match=message):
        shuffles(3, n_shuffles=1, block=1, permutations=permutations, random=np.random.RandomState(0))


def test_empty_permutations_raise_input_error():
    with pytest.raises(InputError, match="shuffles"):
        shuffles(3, n_shuffles=1, block=1, permutations=np.zeros((0, 3), int), random=np.random.RandomState(0))

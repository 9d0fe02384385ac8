from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from undistract.detect.rows import FAR, Standard, check_number
from undistract.errors import InputError

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(arrays(float, st.tuples(st.integers(1, 8), st.integers(1, 4)), elements=finite))
def test_any_finite_rows_can_be_standardised_and_squared(X):
    z = Standard.of(X)(X)
    assert np.isfinite(np.square(z).sum())
    assert np.square(z).mean() <= 1 + 1e-9 or np.allclose(X, X[0], rtol=1e-12)


@given(st.integers(-1000, 900), st.integers(0, 5))
def test_a_power_of_two_changes_no_bit(power, seed):
    X = np.random.default_rng(seed).normal(3, 1, size=(20, 3))
    np.testing.assert_array_equal(Standard.of(X)(X), Standard.of(np.ldexp(X, power))(np.ldexp(X, power)))


def test_the_mean_variance_becomes_one_whatever_the_mean():
    X = np.random.default_rng(0).normal(1e6, [1.0, 2.0, 3.0], size=(1000, 3))
    z = Standard.of(X)(X)
    assert z.var(axis=0).mean() == pytest.approx(1, rel=1e-9)
    # 1e-16 of the mean is 1e-10 of the spread.
    assert np.abs(z.mean(axis=0)).max() < 1e-9
    assert z.std(axis=0) / z.std(axis=0)[0] == pytest.approx(X.std(axis=0) / X.std(axis=0)[0], rel=1e-9)


def test_constant_rows_stay_constant():
    X = np.full((7, 3), 0.1)
    assert np.abs(Standard.of(X)(X)).max() < 1e-15


def test_what_lies_further_than_far_is_brought_back():
    standard = Standard.of(np.array([[0.0], [1e-300]]))
    assert standard(np.array([[1e308], [-1e308]])).tolist() == [[FAR], [-FAR]]


def test_rows_too_large_to_square_ask_to_be_standardised():
    with pytest.raises(InputError, match="up to 1e\\+200"):
        Standard.none(np.array([[1e200]]))


@pytest.mark.parametrize("value", [0, 1.5, "2", None, True, np.nan, np.inf, -3])
def test_only_whole_numbers_are_counts(value):
    with pytest.raises(InputError, match="expected a whole number of at least 1"):
        check_number("window", value, least=1)

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from undistract._arrays import check_number
from undistract.detect.base import MAX_ABS, CommonScaler
from undistract.errors import InputError

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(arrays(float, st.tuples(st.integers(1, 8), st.integers(1, 4)), elements=finite))
def test_any_finite_rows_are_standardised_and_can_be_squared(X):
    z = CommonScaler.of(X)(X)
    assert np.isfinite(np.square(z).sum())
    assert np.square(z).mean() <= 1 + 1e-9 or np.allclose(X, X[0], rtol=1e-12)


@given(st.integers(-1000, 900), st.integers(0, 5))
def test_power_of_two_scale_is_exact(power, seed):
    X = np.random.default_rng(seed).normal(3, 1, size=(20, 3))
    np.testing.assert_array_equal(CommonScaler.of(X)(X), CommonScaler.of(np.ldexp(X, power))(np.ldexp(X, power)))


def test_mean_variance_becomes_one_for_any_mean():
    X = np.random.default_rng(0).normal(1e6, [1.0, 2.0, 3.0], size=(1000, 3))
    z = CommonScaler.of(X)(X)
    assert z.var(axis=0).mean() == pytest.approx(1, rel=1e-9)
    # 1e-16 of the mean is 1e-10 of the spread.
    assert np.abs(z.mean(axis=0)).max() < 1e-9
    assert z.std(axis=0) / z.std(axis=0)[0] == pytest.approx(X.std(axis=0) / X.std(axis=0)[0], rel=1e-9)


def test_constant_rows_stay_constant():
    X = np.full((7, 3), 0.1)
    assert np.abs(CommonScaler.of(X)(X)).max() < 1e-15


def test_values_beyond_far_are_clipped():
    standard = CommonScaler.of(np.array([[0.0], [1e-300]]))
    assert standard(np.array([[1e308], [-1e308]])).tolist() == [[MAX_ABS], [-MAX_ABS]]


def test_rows_too_large_to_square_raise_input_error():
    with pytest.raises(InputError, match="up to 1e\\+200"):
        CommonScaler.none(np.array([[1e200]]))


@pytest.mark.parametrize("value", [0, 1.5, "2", None, True, np.nan, np.inf, -3])
def test_counts_must_be_whole_numbers(value):
    with pytest.raises(InputError, match="window must be a whole number of at least 1"):
        check_number("window", value, least=1)

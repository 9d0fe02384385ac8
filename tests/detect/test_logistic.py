from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from undistract.detect._logistic import (
    add_intercept,
    class_weights,
    gram,
    newton,
    newton_step_from_zero,
    newton_with_gram,
)


def problem(seed, n_rows, n_features, n_positive, spread=1.0):
    random = np.random.default_rng(seed)
    rows = random.standard_t(3, size=(n_rows, n_features)) * np.exp(random.normal(0, spread, n_features))
    rows[-n_positive:] += random.normal(0, 0.5, n_features)
    return add_intercept(rows)


def gradient(v, rows, n_positive, ridge):
    sizes = [len(rows) - n_positive, n_positive]
    target, weight = np.repeat([0.0, 1.0], sizes), np.repeat(class_weights(*sizes), sizes)
    return ridge * v - rows.T @ (weight * (target - expit(rows @ v)))


def objective(v, rows, n_positive, ridge):
    sizes = [len(rows) - n_positive, n_positive]
    sign, weight = np.repeat([-1.0, 1.0], sizes), np.repeat(class_weights(*sizes), sizes)
    return ridge / 2 * v @ v + weight @ np.logaddexp(0, -sign * (rows @ v))


problems = st.tuples(st.integers(0, 10**6), st.integers(4, 60), st.integers(1, 40), st.integers(1, 3), st.floats(0, 2))


@given(problems, st.sampled_from([1e-3, 0.1, 10.0]))
@settings(deadline=None)
def test_gradient_is_zero_at_the_solution_of_both_solvers(shape, ridge):
    rows, n_positive = problem(*shape), shape[3]
    scale = np.abs(rows).sum(axis=0).max()
    grams = gram(rows[:-n_positive]), gram(rows[-n_positive:])
    for v in (newton(rows, n_positive, ridge), newton_with_gram(rows, n_positive, ridge, *grams)):
        assert np.abs(gradient(v, rows, n_positive, ridge)).max() < 1e-6 * scale


def test_newton_equals_general_optimiser():
    rows = problem(0, 50, 6, 10)
    reference = minimize(objective, np.zeros(7), (rows, 10, 0.1), jac=gradient, method="BFGS", options={"gtol": 1e-9})
    # BFGS stops if rounding in the objective hides further descent, at about the root of 1e-16.
    assert newton(rows, 10, 0.1) == pytest.approx(reference.x, abs=1e-6)


def test_more_features_than_rows_give_the_same_solution():
    rows = problem(3, 30, 10, 8)
    wide = np.column_stack([rows, np.zeros((30, 40))])
    assert newton(wide, 8, 0.1)[11:] == pytest.approx(np.zeros(40))
    # Both stop within 1e-14 of the minimal loss; the error of coefficients is its root.
    assert newton(wide, 8, 0.1)[:11] == pytest.approx(newton(rows, 8, 0.1), abs=1e-6)


@given(problems)
@settings(deadline=None)
def test_first_step_never_overshoots(shape):
    rows, n_positive = problem(*shape), shape[3]
    v = newton_step_from_zero(
        gram(rows[:-n_positive]), gram(rows[-n_positive:]), len(rows) - n_positive, n_positive, 0.1
    )
    assert objective(v, rows, n_positive, 0.1) <= objective(0 * v, rows, n_positive, 0.1)
    assert gradient(v, rows, n_positive, 0.1) @ v <= 1e-9 * np.abs(rows).sum()


def test_two_mirrored_rows_by_hand():
    # By symmetry there is no bias, and ridge · v = 2 · ½ · (1 - σ(v)).
    bias, v = newton(add_intercept(np.array([[-1.0], [1.0]])), 1, ridge=1.0)
    assert bias == pytest.approx(0, abs=1e-12)
    assert v == pytest.approx(1 - expit(v), abs=1e-12)


@pytest.mark.parametrize("size", [1e-150, 1e-9, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("shape", [(60, 5), (20, 40)])
def test_objective_decreases_for_rows_of_any_size(size, shape):
    rows = problem(1, *shape, 6)
    rows[:, 1:] *= size
    v = newton(rows, 6, 0.1)
    assert np.isfinite(v).all()
    assert objective(v, rows, 6, 0.1) <= objective(0 * v, rows, 6, 0.1)


def test_perfectly_separable_window_has_a_solution():
    rows = problem(2, 40, 3, 10)
    rows[-10:, 1] += 1e3
    v = newton_with_gram(rows, 10, 1e-6, gram(rows[:-10]), gram(rows[-10:]))
    assert np.abs(gradient(v, rows, 10, 1e-6)).max() < 1e-5
    assert (expit(rows[-10:] @ v) > 0.99).all()

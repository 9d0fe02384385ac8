"""The largest eigenvalues of a symmetric matrix: all of them, however they are found."""

import numpy as np
import pytest

from undistract.algebra import symmetric
from undistract.algebra.leading import LEAST_FEATURES, Leading, Wanted, leading
from undistract.algebra.symmetric import n_above, symmetric_leading

SIZE = LEAST_FEATURES + 30
FIRST = np.array([400.0, 90.0, 50.0, 20.0])  # odds; 19 are those of .95


def matrix_with(first, size=SIZE):
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(size, size)))[0]
    odds = np.append(first, np.linspace(5.0, 0.0, size - len(first)))
    return np.asfortranarray(np.tril((turn * odds) @ turn.T)), turn


@pytest.mark.parametrize(("wanted", "number"), [(Wanted(0.95), 4), (Wanted(np.inf, 2), 2), (Wanted(0.97, 1), 3)])
def test_a_few_are_found_by_steps(wanted, number, monkeypatch):
    matrix, turn = matrix_with(FIRST)
    monkeypatch.setattr(symmetric, "eigh", None)  # not needed
    odds, vectors = symmetric_leading(matrix, wanted)
    np.testing.assert_allclose(odds, FIRST[:number], rtol=1e-9)
    np.testing.assert_allclose(np.abs(vectors.T @ turn[:, :number]), np.eye(number), atol=1e-7)


@pytest.mark.parametrize("forgotten", [0, 2, 3])
def test_one_that_the_steps_forget_is_found_all_the_same(forgotten, monkeypatch):
    matrix, _ = matrix_with(FIRST)

    def forgetful(operator, size, wanted):
        found = leading(operator, size, wanted)
        stays = np.arange(len(found.values)) != forgotten
        return Leading(found.values[stays], found.vectors[:, stays])

    monkeypatch.setattr(symmetric, "leading", forgetful)
    odds, _ = symmetric_leading(matrix, Wanted(0.95))
    np.testing.assert_allclose(odds, FIRST, rtol=1e-9)


def test_what_lies_just_below_is_no_reason_to_solve_for_all(monkeypatch):
    matrix, _ = matrix_with(FIRST[:3])
    monkeypatch.setattr(symmetric, "eigh", None)
    assert len(symmetric_leading(matrix, Wanted(6 / 7))[0]) == 3  # odds of 6, and the next has 5


@pytest.mark.parametrize(("least", "number"), [(-0.6, 2), (-0.4, 1), (0.4, 1), (0.6, 0)])
def test_eigenvalues_are_counted_by_the_signs_of_pivots(least, number):
    assert n_above(np.zeros(2), np.array([0.5]), least) == number  # they are -1/2 and 1/2


def test_pivots_of_nothing_are_counted():
    assert n_above(np.array([1.0, 1.0, 3.0]), np.zeros(2), 1.0) == 3

"""The largest eigenvalues of a symmetric matrix: all of them, however they are found."""

import numpy as np
import pytest

from undistract.algebra import symmetric
from undistract.algebra.leading import LEAST_FEATURES, Leading, Wanted, leading
from undistract.algebra.symmetric import _by_tridiagonal, n_above, symmetric_leading

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


@pytest.mark.parametrize(("number", "share"), [(0, 0.25), (1, 0.25), (20, 0.25), (20, 0.24), (21, 0.25)])
def test_the_tridiagonal_form_serves_for_some_but_not_for_most(number, share, monkeypatch):
    monkeypatch.setattr(symmetric, "MOST_SHARE", share)
    odds = np.append(np.linspace(30.0, 20.0, number), np.linspace(9.0, 0.0, 80 - number))
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(80, 80)))[0]
    found = _by_tridiagonal(np.asfortranarray((turn * odds) @ turn.T), 19.0)
    if number > share * 80:
        assert found is None
        return
    np.testing.assert_allclose(found[0], odds[:number], rtol=1e-12)
    np.testing.assert_allclose(np.abs(found[1].T @ turn[:, :number]), np.eye(number), atol=1e-9)


@pytest.mark.parametrize("name", ["_proved", "_by_tridiagonal"])
@pytest.mark.parametrize("more", [-1, 0])
def test_small_problems_are_solved_whole(name, more, monkeypatch):
    monkeypatch.setattr(symmetric, "LEAST_FEATURES", 30)
    monkeypatch.setattr(symmetric, "LEAST_SIZE", 30)
    monkeypatch.setattr(symmetric, "_proved" if name == "_by_tridiagonal" else "_by_tridiagonal", lambda *_: None)
    asked = []
    monkeypatch.setattr(symmetric, name, lambda *_: asked.append(name))
    odds = symmetric_leading(np.asfortranarray(np.diag(np.arange(30.0 + more))), Wanted(0.95))[0]
    assert odds.tolist() == np.arange(29.0 + more, 18.0, -1.0).tolist()
    assert asked == [name] * (more + 1)

"""The largest eigenvalues of a symmetric matrix are complete with each method."""

import numpy as np
import pytest
from scipy.linalg import eigh

from undistract.algebra import solvers
from undistract.algebra.solvers import MIN_FEATURES, EigenRequest, block_lanczos, largest_odds

SIZE = MIN_FEATURES + 30
FIRST = np.array([400.0, 90.0, 50.0, 20.0])  # odds; 19 are those of .95


def matrix_with(first, size=SIZE):
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(size, size)))[0]
    odds = np.append(first, np.linspace(5.0, 0.0, size - len(first)))
    return np.asfortranarray(np.tril((turn * odds) @ turn.T)), turn


@pytest.mark.parametrize(
    ("wanted", "number"), [(EigenRequest(0.95), 4), (EigenRequest(np.inf, 2), 2), (EigenRequest(0.97, 1), 3)]
)
def test_few_eigenvalues_by_lanczos(wanted, number, monkeypatch):
    matrix, turn = matrix_with(FIRST)
    monkeypatch.setattr(solvers, "LinAlgError", None)  # the full solver is not reached
    odds, vectors = largest_odds(matrix, wanted)
    np.testing.assert_allclose(odds, FIRST[:number], rtol=1e-9)
    np.testing.assert_allclose(np.abs(vectors.T @ turn[:, :number]), np.eye(number), atol=1e-7)


@pytest.mark.parametrize("forgotten", [0, 2, 3])
def test_eigenvalue_missed_by_lanczos_is_still_returned(forgotten, monkeypatch):
    matrix, _ = matrix_with(FIRST)

    def incomplete(operator, size, request):
        values, vectors = block_lanczos(operator, size, request)
        stays = np.arange(len(values)) != forgotten
        return values[stays], vectors[:, stays]

    monkeypatch.setattr(solvers, "block_lanczos", incomplete)
    odds, _ = largest_odds(matrix, EigenRequest(0.95))
    np.testing.assert_allclose(odds, FIRST, rtol=1e-9)


def test_eigenvalue_just_below_the_bound_does_not_force_a_full_solution(monkeypatch):
    matrix, _ = matrix_with(FIRST[:3])
    monkeypatch.setattr(solvers, "LinAlgError", None)
    assert len(largest_odds(matrix, EigenRequest(6 / 7))[0]) == 3  # odds of 6; the next is 5


@pytest.fixture(params=["subset", "all"])
def lapack(request, monkeypatch):
    """Run a test with LAPACK's solver for a part of the vectors, and with the one for all of them."""
    monkeypatch.setattr(solvers, "MIN_SUBSET_SIZE", {"subset": 1, "all": 10**6}[request.param])


@pytest.mark.parametrize("number", [0, 1, 20, 40, 80])
@pytest.mark.parametrize("by_value", [True, False])
def test_any_share_of_the_eigenvalues_is_complete(number, by_value, lapack):
    odds = np.append(np.linspace(30.0, 20.0, number), np.linspace(9.0, 0.0, 80 - number))
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(80, 80)))[0]
    request = EigenRequest(0.95) if by_value else EigenRequest(np.inf, number)
    values, vectors = largest_odds(np.asfortranarray((turn * odds) @ turn.T), request)
    np.testing.assert_allclose(values, odds[:number], rtol=1e-12)
    np.testing.assert_allclose(np.abs(vectors.T @ turn[:, :number]), np.eye(number), atol=1e-9)


def test_value_at_the_bound_is_included(lapack):
    odds, _ = largest_odds(np.asfortranarray(np.diag([19.0, 18.0, 20.0])), EigenRequest(0.95))
    assert odds.tolist() == [20.0, 19.0]


def test_failure_of_lapack_falls_back_to_all_eigenvalues(monkeypatch):
    """Regression: LAPACK's robust representations failed on noise of 1200 rows."""

    tried = []

    def fail(*arguments, driver, **settings):
        if driver == "evr":
            tried.append(driver)
            raise np.linalg.LinAlgError("did not converge")
        return eigh(*arguments, driver=driver, **settings)

    monkeypatch.setattr(solvers, "eigh", fail)
    monkeypatch.setattr(solvers, "MIN_SUBSET_SIZE", 1)
    for request, expected in ((EigenRequest(0.75), [99.0, 3.0]), (EigenRequest(np.inf, 1), [99.0])):
        odds, _ = largest_odds(np.diag([1.0, 99.0, 3.0]), request)
        np.testing.assert_allclose(odds, expected)
    assert len(tried) == 2


@pytest.mark.parametrize("more", [-1, 0])
def test_small_problems_do_not_use_lanczos(more, monkeypatch):
    monkeypatch.setattr(solvers, "MIN_FEATURES", 30)
    calls = []
    monkeypatch.setattr(solvers, "_verified_lanczos", lambda *_: calls.append(1))
    odds = largest_odds(np.asfortranarray(np.diag(np.arange(30.0 + more))), EigenRequest(0.95))[0]
    np.testing.assert_allclose(odds, np.arange(29.0 + more, 18.0, -1.0))
    assert len(calls) == more + 1

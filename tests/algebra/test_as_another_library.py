"""What is made for other array libraries, with numpy in their place: the answers are those of numpy's own road.

That real ones agree is tested in tests/test_array_api.py.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.algebra.by_hand import spectrum_of
from undistract import InputError, Moments, Spectrum
from undistract.algebra import Projection, gather_elsewhere, solve_elsewhere, solvers, store
from undistract.algebra.elsewhere import _thin_is_cheaper, denoising, moved
from undistract.algebra.gather_elsewhere import moments_on
from undistract.algebra.library import Library
from undistract.algebra.solve_elsewhere import _full_rank, dense_on
from undistract.algebra.solvers import dense

HERE = Library(np, "cpu", np.asarray)


def rows_of(counts, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(counts)), counts)
    return 1e3 + 5 * rng.normal(size=(len(counts), n_features))[labels] + rng.normal(
        size=(len(labels), n_features)
    ), labels


@pytest.mark.parametrize("prior", ["uniform", "by_size", [1.0, 2.0, 3.0, 4.0]])
@pytest.mark.parametrize("counts", [(4, 4, 4, 4), (1, 7, 2, 30), (33, 1, 1, 1)])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("block", [3, 10, 1000])
def test_moments_are_those_of_numpy_however_blocks_are_cut(prior, counts, mixed, block, monkeypatch):
    monkeypatch.setattr(store, "KEPT_VALUES", 0)
    monkeypatch.setattr(gather_elsewhere, "LEAST_ROWS", block)
    monkeypatch.setattr(gather_elsewhere, "VALUES_IN_A_BLOCK", 3 * block)
    monkeypatch.setattr(gather_elsewhere, "SETS_IN_A_BLOCK", 2)
    X, labels = rows_of(counts)
    if mixed:
        order = np.random.default_rng(1).permutation(len(X))
        order[0], order[np.flatnonzero(order == 0)[0]] = 0, order[0]  # the first set is still the first
        X, labels = X[order], labels[order]
    if isinstance(prior, list):  # weights in order are those of the sets as they appear
        prior = dict(enumerate(prior))
    there, here = moments_on(X, labels, prior, HERE), Moments.of_labelled(X, labels, prior)
    assert type(there.store) is type(here.store)
    assert (there.names, there.prior) == (here.names, here.prior)
    np.testing.assert_array_equal(there.weights, here.weights)
    np.testing.assert_allclose(there.mean, here.mean, rtol=1e-14)
    np.testing.assert_allclose(there.within, here.within, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(there.between, here.between, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(there.within, there.within.T)
    np.testing.assert_allclose(there.wander(np.eye(3)), here.wander(np.eye(3)), rtol=1e-10)
    np.testing.assert_allclose(there.unevenness(np.eye(3)), here.unevenness(np.eye(3)), rtol=1e-9, atol=1e-12)


def test_weights_for_other_sets_are_refused(monkeypatch):
    monkeypatch.setattr(store, "KEPT_VALUES", 0)
    X, labels = rows_of((5, 6))
    with pytest.raises(InputError, match="prior has 3 weights for 2 sets"):
        moments_on(X, labels, [1.0, 2.0, 3.0], HERE)


@pytest.mark.parametrize("kept_values", [0, store.KEPT_VALUES])
def test_without_sets_all_rows_are_one(kept_values, monkeypatch):
    monkeypatch.setattr(store, "KEPT_VALUES", kept_values)
    X, _ = rows_of((9, 8))
    found = moments_on(X, None, {"other": 1.0}, HERE)
    assert (found.names, found.prior, found.counts.tolist()) == ((None,), "uniform", [17])
    np.testing.assert_allclose(found.within, np.cov(X.T, bias=True), rtol=1e-9)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-14)


def test_the_range_of_numbers_is_that_of_variances_not_of_their_sum(monkeypatch):
    monkeypatch.setattr(store, "KEPT_VALUES", 0)
    X = 1e144 * np.tile([[1.0], [-1.0]], (100, 1))
    found = moments_on(X, np.repeat([0, 1], 100), "by_size", HERE)
    assert found.within[0, 0] == pytest.approx(1e288)
    with pytest.raises(InputError, match="leave the range of numbers"):
        moments_on(100 * X, np.repeat([0, 1], 100), "by_size", HERE)


def test_the_last_feature_may_be_the_one_that_gives_way():
    projection = Projection.of(spectrum_of([1.0] * 399 + [99.0], [1.0] * 400, origin=np.arange(400.0)), 1)
    X = np.random.default_rng(0).normal(size=(3, 400))
    there = moved(projection, HERE, np.float64)
    np.testing.assert_allclose(there(X), X[:, :399], atol=1e-12)
    np.testing.assert_allclose(there.clean(X), np.hstack([X[:, :399], np.full((3, 1), 399.0)]), atol=1e-12)


def test_a_device_without_doubles_sends_its_rows_home(monkeypatch):
    monkeypatch.setattr(store, "KEPT_VALUES", 0)
    kinds = SimpleNamespace(dtypes=lambda kind, device: {"float32": np.float32})
    narrow = Library(SimpleNamespace(__array_namespace_info__=lambda: kinds, __name__="narrow"), "gpu", np.asarray)
    assert (narrow.float64, narrow.dtypes, narrow.key) == (None, [np.float32], ("narrow", "gpu"))
    X, labels = rows_of((5, 6))
    X[labels == 1] *= 9  # uneven sets
    found = moments_on(X.astype(np.float32), labels, "uniform", narrow)
    expected = Moments.of_labelled(X.astype(np.float32), labels)
    np.testing.assert_array_equal(found.within, expected.within)
    assert expected.unevenness(np.eye(3)).min() > 0.1
    np.testing.assert_array_equal(found.unevenness(np.eye(3)), expected.unevenness(np.eye(3)))
    within, total = np.diag([1.0, 2.0]), np.diag([4.0, 2.5])
    for one, other in zip(dense_on(within, total, 0.5, narrow), dense(within, total, 0.5), strict=True):
        np.testing.assert_array_equal(one, other)


def test_numbers_are_copied_in_the_dtype_that_was_asked_for():
    values = np.arange(6.0)[::-2]
    assert HERE.array(values).dtype == np.float64
    assert HERE.array(values, np.float32).dtype == np.float32
    assert HERE.array(np.arange(3)).dtype == np.int64
    assert HERE.array(values).tolist() == [5.0, 3.0, 1.0]
    copy = HERE.array(values)
    copy[0] = 9
    assert values[0] == 5.0
    assert HERE.array(values).flags["C_CONTIGUOUS"]
    assert [np.dtype(one).name for one in HERE.dtypes] == ["float64", "float32"]


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("rank", [5, 4])
def test_the_eigenproblem_has_the_solution_of_numpy(epsilon, rank):
    rng = np.random.default_rng(0)
    half = rng.normal(size=(5, rank)) * [[1e3], [1], [1], [1e-2], [1]]
    within = half @ half.T
    other = rng.normal(size=(5, 5))
    total = within + other @ other.T
    found, expected = dense_on(within, total, epsilon, HERE), dense(within, total, epsilon)
    assert found.n_moving == expected.n_moving == rank
    np.testing.assert_allclose(found.distraction, expected.distraction, rtol=1e-9, atol=1e-12)
    assert (np.diff(found.distraction) <= 0).all()
    metric = total + epsilon * np.eye(5)
    np.testing.assert_allclose(found.filters.T @ metric @ found.filters, np.eye(5), atol=1e-8)
    np.testing.assert_allclose(found.patterns, metric @ found.filters, rtol=1e-6, atol=1e-8 * np.sqrt(metric.max()))
    np.testing.assert_allclose(found.filters.T @ within @ found.filters, np.diag(found.distraction), atol=1e-8)


def test_a_metric_that_is_singular_to_rounding_is_left_to_numpy():
    ones = np.ones((3, 3))
    for within, total in ((ones, 2 * ones), (np.eye(3) * 1e-20 + ones, 2 * ones + 1e-14 * np.eye(3))):
        found, expected = dense_on(within, total, 0.0, HERE), dense(within, total, 0.0)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_library_that_answers_with_nan_where_others_raise_is_left_to_numpy():
    class Careless:
        """numpy, but for a Cholesky factor whose last pivot is missing."""

        __name__ = "careless"
        linalg = SimpleNamespace(cholesky=lambda matrix: np.diag([1.0] * (len(matrix) - 1) + [np.nan]))

        def __getattr__(self, name):
            return getattr(np, name)

    within, total = np.diag([1.0, 2.0, 3.0]), np.diag([4.0, 2.5, 3.0])
    found, expected = dense_on(within, total, 1.0, Library(Careless(), "cpu", np.asarray)), dense(within, total, 1.0)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("removal", ["kept_span", "eigen", "oblique", "soft"])
@pytest.mark.parametrize("n_features", [4, 400])
@pytest.mark.parametrize("n_removed", [0, 1, 3])
def test_rows_go_the_way_of_numpy_by_few_columns_and_by_one_matrix(removal, n_features, n_removed):
    rng = np.random.default_rng(0)
    spread = np.ones(n_features)
    spread[0] = 0.0  # never varies inside sets
    sets = [rng.normal(size=n_features) + spread * rng.normal(size=(3, n_features)) for _ in range(4)]
    projection = Projection.of(Spectrum.of(Moments.of(sets)), n_removed, removal, 7.0)
    there = moved(projection, HERE, np.float64)
    Z = projection(sets[0])
    np.testing.assert_allclose(there(sets[0]), Z, atol=1e-12)
    np.testing.assert_allclose(there.back(Z), projection.back(Z), atol=1e-11)
    np.testing.assert_allclose(there.clean(sets[0]), projection.clean(sets[0]), atol=1e-11)
    assert there.back(Z) is not Z
    assert moved(projection, HERE, np.float32) is not there
    assert moved(projection, HERE, np.float32)(sets[0].astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("n_features", "n_columns", "n_out", "expected"),
    [
        (10, 0, 10, True),
        (10, 10, 0, False),
        (10, 1, 9, False),
        (1000, 1, 999, True),
        (1000, 399, 1000, True),
        (1000, 400, 1000, False),
    ],
)
def test_few_columns_are_taken_where_they_cost_less_than_one_matrix(n_features, n_columns, n_out, expected):
    """r (d + k) + 200 k against d k multiplications."""
    assert _thin_is_cheaper(n_features, n_columns, n_out) is expected


def test_another_way_to_denoise_is_made_once_for_each():
    spectrum = Spectrum.of(Moments.of(np.random.default_rng(0).normal(size=(5, 40, 3))))
    one = denoising(spectrum, 1, "soft", 7.0)
    assert denoising(spectrum, 1, "soft", 7.0) is one
    assert (one.removal, one.strength, one.patterns.shape) == ("soft", 7.0, (3, 1))
    others = [
        denoising(spectrum, 2, "soft", 7.0),
        denoising(spectrum, 1, "oblique", 7.0),
        denoising(spectrum, 1, "soft", 8.0),
    ]
    assert len({id(made) for made in (one, *others)}) == 4


def test_a_library_that_answers_with_nothing_in_place_of_an_error_is_noticed():
    """Some give NaN for a matrix that is not positive definite: then numpy's own road is taken."""
    silent = SimpleNamespace(linalg=SimpleNamespace(cholesky=lambda matrix: matrix * np.diag([1.0, np.nan, 1.0])))
    silent.asarray, silent.__array_namespace_info__ = np.asarray, np.__array_namespace_info__
    within, total = np.diag([1.0, 2.0, 3.0]), np.diag([4.0, 2.5, 3.0])
    for found, expected in zip(
        dense_on(within, total, 1.0, Library(silent, "cpu", np.asarray)), dense(within, total, 1.0), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("matrix", "full"),
    [
        (np.diag([1e-12, 1.0, 1e12]), True),  # units do not matter
        (np.diag([1.0, 0.0, 1.0]), False),
        (np.ones((3, 3)), False),
        (np.array([[1.0, 1 - 1e-12], [1 - 1e-12, 1.0]]), False),  # not beyond doubt
        (np.array([[1.0, 0.999], [0.999, 1.0]]), True),
    ],
)
def test_full_rank_is_told_where_it_is_beyond_doubt(matrix, full):
    assert _full_rank(matrix, HERE) == full


@pytest.mark.parametrize(("apart", "is_sound"), [(2.01e-9, True), (1.99e-9, False)])
def test_a_metric_is_whitened_by_a_factor_while_its_condition_is_sound(apart, is_sound):
    """Of two nearly equal features, 1 apart from the other by δ, the reciprocal condition is δ/2; the bound is 1e-9."""
    matrix = np.array([[1.0, 1 - apart], [1 - apart, 1.0]], order="F")
    assert (solve_elsewhere._factor(matrix, HERE) is not None) == is_sound
    assert (solvers._factor(matrix.copy(order="F")) is not None) == is_sound


def test_a_sound_metric_needs_no_other_road(monkeypatch):
    root = np.random.default_rng(0).normal(size=(4, 4)) * [1.0, 10.0, 100.0, 1000.0]
    total = root.T @ root
    within = total * 0.5 + np.diag(np.diag(total)) * 0.1
    expected = dense(within, total, 0.3)
    monkeypatch.setattr(solve_elsewhere, "dense", None)
    found = dense_on(within, total, 0.3, HERE)
    np.testing.assert_allclose(found.distraction, expected.distraction, rtol=1e-12)
    np.testing.assert_allclose(np.abs(found.patterns), np.abs(expected.patterns), rtol=1e-9)


@pytest.mark.parametrize(
    ("n_features", "rows"),
    [
        (1, gather_elsewhere.MOST_ROWS),
        (200, gather_elsewhere.VALUES_IN_A_BLOCK // 200),
        (10**9, gather_elsewhere.LEAST_ROWS),
    ],
)
def test_blocks_hold_as_many_rows_as_their_width_allows(n_features, rows):
    assert gather_elsewhere.LEAST_ROWS < gather_elsewhere.VALUES_IN_A_BLOCK // 200 < gather_elsewhere.MOST_ROWS
    assert next(gather_elsewhere._blocks(np.array([0, 10**9]), n_features)) == (0, rows, 0, 0)

"""Python's own `sum` joins moments."""

import numpy as np
import pytest

from undistract import Moments, SetMoments
from undistract.algebra.gather import BLOCK, LEAST_ROWS, MOST_ROWS, _Means, block_rows, gather, gather_sets, mirror


@pytest.mark.parametrize("kind", [lambda number, rows: Moments.of({number: rows}), lambda _, rows: SetMoments.of(rows)])
def test_sum_joins_what_plus_joins(kind):
    parts = [kind(number, rows) for number, rows in enumerate(np.random.default_rng(0).normal(size=(3, 9, 2)))]
    by_plus, by_sum = parts[0] + parts[1] + parts[2], sum(parts)
    assert np.array_equal(by_plus.mean, by_sum.mean)
    with pytest.raises(TypeError):
        1 + parts[0]


@pytest.mark.parametrize("n_rows", [2, 7], ids=["short sets", "longer sets"])
def test_the_means_of_many_sets_are_summed_up_in_several_parts(n_rows):
    """In every block more sets end than wait for one product: the parts are joined by Chan's shift."""
    n_sets = 80_000 // n_rows
    assert 2 * block_rows(3) < 80_000
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(n_sets), n_rows)
    # The means drift, so that those of one part lie far from those of the next.
    X = rng.normal(size=(len(labels), 3)) + 1e3 + np.outer(labels / n_sets * 50, [3.0, -2.0, 1.0])
    weights = rng.uniform(0.5, 2.0, n_sets)
    found = gather(X, None, np.full(n_sets, n_rows), weights, np.ones((1, n_sets)))
    means = X.reshape(n_sets, n_rows, 3).mean(axis=1)
    centre = weights @ means / weights.sum()
    np.testing.assert_allclose(found.origin + found.offset, centre, rtol=1e-13)
    np.testing.assert_allclose(found.between, (means - centre).T @ (weights[:, None] * (means - centre)), rtol=1e-11)
    away = X - np.repeat(means, n_rows, axis=0)
    np.testing.assert_allclose(found.scatters[0], away.T @ away, rtol=1e-11, atol=1e-9)
    spread = weights @ np.sqrt((away**2).reshape(n_sets, n_rows, 3).mean(axis=1))
    np.testing.assert_allclose(found.spread, spread, rtol=1e-11)


def test_sets_of_single_rows_do_not_vary_and_their_means_are_the_rows():
    X = np.random.default_rng(6).normal(size=(70_000, 4)) + 50  # enough for the compiled pass, where it is there
    found = gather(X, None, np.ones(len(X), dtype=int), np.ones(len(X)), np.ones((1, len(X))))
    assert not found.scatters[0].any()
    np.testing.assert_allclose(found.between, (X - X.mean(axis=0)).T @ (X - X.mean(axis=0)), rtol=1e-11, atol=1e-8)


@pytest.mark.parametrize("weightings", [np.ones((1, 3)), np.array([[1.0, 2.0, 3.0], [5.0, 0.5, 0.25]])])
def test_what_belongs_to_each_set_is_kept_apart(weightings, monkeypatch):
    monkeypatch.setattr("undistract.algebra.gather.block_rows", lambda n_features: 4)  # borders cut two of the sets
    counts = np.array([3, 6, 2])
    X = np.random.default_rng(0).normal([1e6, 0.0], size=(11, 2))
    found = gather_sets(X, None, counts, weightings)
    sets = np.split(X, np.cumsum(counts)[:-1])
    np.testing.assert_array_equal(found.anchors, [rows[0] for rows in sets])
    np.testing.assert_allclose(found.offsets, [(rows - rows[0]).mean(axis=0) for rows in sets], rtol=1e-9)
    scatters = [np.cov(rows.T, ddof=0) * len(rows) for rows in sets]
    np.testing.assert_allclose(found.squares, [np.diag(one) for one in scatters], rtol=1e-7)
    np.testing.assert_allclose(found.scatters, np.tensordot(weightings, scatters, axes=1), rtol=1e-7)


def test_sets_of_one_size_and_weight_are_summed_without_rounding():
    """Rows times a root of their weight would leave some: √3 · √3 is not 3."""
    X = np.array([[1.0, 5.0], [3.0, 9.0], [10.0, 0.0], [16.0, 2.0]])
    found = gather(X, None, np.array([2, 2]), np.full(2, 3.0), np.full((1, 2), 3.0))
    assert found.scatters[0].tolist() == [[60.0, 30.0], [30.0, 30.0]]
    assert found.between.tolist() == [[3 * 60.5, -3 * 33.0], [-3 * 33.0, 3 * 18.0]]


@pytest.mark.parametrize("size", [1, 64, 65, 200])
def test_a_triangle_is_mirrored_however_large(size):
    matrix = np.random.default_rng(0).normal(size=(size, size))
    upper = np.triu(matrix)
    mirror(matrix)
    np.testing.assert_array_equal(matrix, upper + np.triu(upper, 1).T)


@pytest.mark.parametrize(
    ("n_features", "rows"),
    [(1, MOST_ROWS), (BLOCK // MOST_ROWS + 1, BLOCK // (BLOCK // MOST_ROWS + 1)), (10**6, LEAST_ROWS)],
)
def test_blocks_hold_as_many_rows_as_stay_in_the_cache(n_features, rows):
    assert block_rows(n_features) == rows


def test_means_do_not_wait_for_the_end_of_all_sets(monkeypatch):
    """Memory stays flat: what waits is summed up as soon as it is worth a product."""
    monkeypatch.setattr("undistract.algebra.gather.ENOUGH_SETS", 5)
    monkeypatch.setattr("undistract.algebra.gather.block_rows", lambda n_features: 8)
    folded, fold = [], _Means._fold
    monkeypatch.setattr(_Means, "_fold", lambda means: (folded.append(means.n_waiting), fold(means)))
    X = np.random.default_rng(0).normal(size=(80, 2))
    found = gather(X, None, np.full(40, 2), np.ones(40), np.ones((1, 40)))
    assert folded == [8] * 5  # four sets end in each block
    means = X.reshape(40, 2, 2).mean(axis=1)
    np.testing.assert_allclose(found.between, 40 * np.cov(means.T, ddof=0), rtol=1e-12)

"""One pass over sorted rows: scatter, means, blocks; and `sum` of moments."""

import numpy as np
import pytest

from undistract import GroupMoments, Moments
from undistract.algebra.scatter import (
    BLOCK,
    LEAST_ROWS,
    MOST_ROWS,
    _MeanAccumulator,
    accumulate_scatter,
    block_rows,
    chan_factors,
    gather_groups,
    mirror,
)


@pytest.mark.parametrize(
    "kind", [lambda number, rows: Moments.of({number: rows}), lambda _, rows: GroupMoments.of(rows)]
)
def test_sum_joins_moments(kind):
    parts = [kind(number, rows) for number, rows in enumerate(np.random.default_rng(0).normal(size=(3, 9, 2)))]
    by_plus, by_sum = parts[0] + parts[1] + parts[2], sum(parts)
    assert np.array_equal(by_plus.mean, by_sum.mean)
    with pytest.raises(TypeError):
        1 + parts[0]


@pytest.mark.parametrize("n_rows", [2, 7], ids=["short groups", "longer groups"])
def test_means_are_accumulated_in_batches(n_rows):
    """More groups end in each block than one product collects: batches are joined by Chan's shift."""
    n_groups = 80_000 // n_rows
    assert 2 * block_rows(3) < 80_000
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(n_groups), n_rows)
    # The means drift, so that the batches are far from each other.
    X = rng.normal(size=(len(labels), 3)) + 1e3 + np.outer(labels / n_groups * 50, [3.0, -2.0, 1.0])
    weights = rng.uniform(0.5, 2.0, n_groups)
    sums = accumulate_scatter(X, None, np.full(n_groups, n_rows), weights, np.ones((1, n_groups)))
    means = X.reshape(n_groups, n_rows, 3).mean(axis=1)
    centre = weights @ means / weights.sum()
    np.testing.assert_allclose(sums.origin + sums.offset, centre, rtol=1e-13)
    np.testing.assert_allclose(sums.between, (means - centre).T @ (weights[:, None] * (means - centre)), rtol=1e-11)
    deviations = X - np.repeat(means, n_rows, axis=0)
    np.testing.assert_allclose(sums.scatters[0], deviations.T @ deviations, rtol=1e-11, atol=1e-9)
    spread = weights @ np.sqrt((deviations**2).reshape(n_groups, n_rows, 3).mean(axis=1))
    np.testing.assert_allclose(sums.spread, spread, rtol=1e-11)


def test_groups_of_single_rows_have_no_scatter():
    X = np.random.default_rng(6).normal(size=(70_000, 4)) + 50  # enough for the compiled pass, if numba is installed
    sums = accumulate_scatter(X, None, np.ones(len(X), dtype=int), np.ones(len(X)), np.ones((1, len(X))))
    assert not sums.scatters[0].any()
    np.testing.assert_allclose(sums.between, (X - X.mean(axis=0)).T @ (X - X.mean(axis=0)), rtol=1e-11, atol=1e-8)


@pytest.mark.parametrize("weightings", [np.ones((1, 3)), np.array([[1.0, 2.0, 3.0], [5.0, 0.5, 0.25]])])
def test_statistics_per_group(weightings, monkeypatch):
    monkeypatch.setattr("undistract.algebra.scatter.block_rows", lambda n_features: 4)  # two groups span several blocks
    counts = np.array([3, 6, 2])
    X = np.random.default_rng(0).normal([1e6, 0.0], size=(11, 2))
    sums = gather_groups(X, None, counts, weightings)
    groups = np.split(X, np.cumsum(counts)[:-1])
    np.testing.assert_array_equal(sums.anchors, [rows[0] for rows in groups])
    np.testing.assert_allclose(sums.offsets, [(rows - rows[0]).mean(axis=0) for rows in groups], rtol=1e-9)
    scatters = [np.cov(rows.T, ddof=0) * len(rows) for rows in groups]
    np.testing.assert_allclose(sums.squares, [np.diag(scatter) for scatter in scatters], rtol=1e-7)
    np.testing.assert_allclose(sums.scatters, np.tensordot(weightings, scatters, axes=1), rtol=1e-7)


def test_balanced_groups_are_summed_without_rounding():
    """Scaling rows by the root of their weight would cause rounding: √3 · √3 is not 3."""
    X = np.array([[1.0, 5.0], [3.0, 9.0], [10.0, 0.0], [16.0, 2.0]])
    sums = accumulate_scatter(X, None, np.array([2, 2]), np.full(2, 3.0), np.full((1, 2), 3.0))
    assert sums.scatters[0].tolist() == [[60.0, 30.0], [30.0, 30.0]]
    assert sums.between.tolist() == [[3 * 60.5, -3 * 33.0], [-3 * 33.0, 3 * 18.0]]


@pytest.mark.parametrize("size", [1, 64, 65, 200])
def test_triangle_of_any_size_is_mirrored(size):
    matrix = np.random.default_rng(0).normal(size=(size, size))
    upper = np.triu(matrix)
    mirror(matrix)
    np.testing.assert_array_equal(matrix, upper + np.triu(upper, 1).T)


@pytest.mark.parametrize(
    ("n_features", "rows"),
    [(1, MOST_ROWS), (BLOCK // MOST_ROWS + 1, BLOCK // (BLOCK // MOST_ROWS + 1)), (10**6, LEAST_ROWS)],
)
def test_block_size_depends_on_the_width(n_features, rows):
    assert block_rows(n_features) == rows


@pytest.mark.parametrize(("n_first", "n_second"), [(3, 5), (1, 1), (7, 2)])
def test_chan_factors_join_and_split_two_parts(n_first, n_second):
    rows = np.random.default_rng(0).normal(size=n_first + n_second)
    first, second = rows[:n_first], rows[n_first:]
    step = second.mean() - first.mean()
    share, factor = chan_factors(n_first, n_second)
    assert first.mean() + share * step == pytest.approx(rows.mean(), rel=1e-12)
    scatter = first.var() * n_first + second.var() * n_second + factor * step**2
    assert scatter == pytest.approx(rows.var() * len(rows), rel=1e-12)
    # A negative weight takes the second part out again.
    share, factor = chan_factors(len(rows), -n_second)
    step = second.mean() - rows.mean()
    assert rows.mean() + share * step == pytest.approx(first.mean(), abs=1e-12)
    remaining = rows.var() * len(rows) - second.var() * n_second + factor * step**2
    assert remaining == pytest.approx(first.var() * n_first, abs=1e-12)


def test_means_are_added_before_the_last_group(monkeypatch):
    """Memory stays constant: pending means are added as soon as there are enough for a product."""
    monkeypatch.setattr("undistract.algebra.scatter.MIN_MEANS", 5)
    monkeypatch.setattr("undistract.algebra.scatter.block_rows", lambda n_features: 8)
    flushed, flush = [], _MeanAccumulator.flush
    monkeypatch.setattr(_MeanAccumulator, "flush", lambda means: (flushed.append(means.n_pending), flush(means)))
    X = np.random.default_rng(0).normal(size=(80, 2))
    sums = accumulate_scatter(X, None, np.full(40, 2), np.ones(40), np.ones((1, 40)))
    assert flushed == [8] * 5  # four groups end in each block
    means = X.reshape(40, 2, 2).mean(axis=1)
    np.testing.assert_allclose(sums.between, 40 * np.cov(means.T, ddof=0), rtol=1e-12)

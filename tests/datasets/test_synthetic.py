"""Synthetic data with a known answer."""

import numpy as np
import pytest

from undistract import Focus, InputError
from undistract.datasets import analytic_example, mix_features
from undistract.sources import Source


def test_seed_determines_the_rows():
    source, again, other = (analytic_example(seed=seed)[0].rows for seed in (7, 7, 8))
    assert np.array_equal(source, again)
    assert not np.array_equal(source, other)


def test_analytic_example_has_the_moments_of_the_paper():
    groups = analytic_example(n_groups=10, n_rows=20000)
    for m, source in enumerate(groups, start=1):
        # Four standard errors of a mean and of a variance over 20000 rows.
        assert source.rows.mean(axis=0) == pytest.approx([3 * m, 1, -1], abs=4 * 2 / np.sqrt(20000))
        assert source.rows.var(axis=0) == pytest.approx([4, 1, 0], abs=4 * 4 * np.sqrt(2 / 20000))
        assert (source.rows[:, 2] == -1).all()


def test_analytic_example_has_the_eigenvalues_of_the_paper():
    distraction = Focus(cutoff=0.9, ridge=1e-8).fit_groups(analytic_example()).distraction_
    assert distraction == pytest.approx([0.99, 0.051, 0.0], abs=0.01)


def test_mixing_keeps_eigenvalues():
    groups = analytic_example()
    matrix = np.random.default_rng(1).normal(size=(3, 3))
    plain, blended = (
        Focus(cutoff=0.9, ridge=0.0).fit_groups(groups) for groups in (groups, mix_features(groups, matrix))
    )
    assert blended.distraction_ == pytest.approx(plain.distraction_, abs=1e-9)
    assert mix_features(groups, matrix)[3].rows[5] == pytest.approx(matrix @ groups[3].rows[5])


def test_mixing_keeps_names_times_and_sources():
    source = Source("a", [[1.0, 2.0]], times=[3], origin="here")
    (turned,) = mix_features([source], [[0, 1], [1, 0]])
    assert (turned.name, turned.times.tolist(), turned.origin) == ("a", [3], "here")
    assert turned.rows.tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((3, 3)), "got rank 1 for size 3: 2 directions would be lost"),
        (np.ones((2, 3)), r"must be square, got shape \(2, 3\)"),
        (np.eye(2), "source 'set 1' has 3 features, got 2"),
    ],
)
def test_invalid_matrix_raises_error(matrix, message):
    with pytest.raises(InputError, match=message):
        mix_features(analytic_example(), matrix)


@pytest.mark.parametrize("sizes", [{"n_groups": 0}, {"n_rows": 0}])
def test_sizes_must_be_positive(sizes):
    with pytest.raises(InputError, match="must be at least 1"):
        analytic_example(**sizes)

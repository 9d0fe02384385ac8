"""Small sets with a known answer."""

import numpy as np
import pytest

from undistract import Focus, InputError
from undistract.sets import FeatureSet, analytic_example, mixed


def test_the_same_seed_gives_the_same_rows_and_another_seed_gives_others():
    one, again, other = (analytic_example(seed=seed)[0].rows for seed in (7, 7, 8))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_the_analytic_example_has_the_moments_of_the_paper():
    sets = analytic_example(n_sets=10, n_rows=20000)
    for m, one in enumerate(sets, start=1):
        # Four standard errors of a mean and of a variance over 20000 rows.
        assert one.rows.mean(axis=0) == pytest.approx([3 * m, 1, -1], abs=4 * 2 / np.sqrt(20000))
        assert one.rows.var(axis=0) == pytest.approx([4, 1, 0], abs=4 * 4 * np.sqrt(2 / 20000))
        assert (one.rows[:, 2] == -1).all()


def test_the_analytic_example_has_the_eigenvalues_of_the_paper():
    distraction = Focus(cutoff=0.9, cushion=1e-8).fit_sets(analytic_example()).distraction_
    assert distraction == pytest.approx([0.99, 0.051, 0.0], abs=0.01)


def test_mixing_changes_every_feature_but_no_eigenvalue():
    sets = analytic_example()
    matrix = np.random.default_rng(1).normal(size=(3, 3))
    plain, blended = (Focus(cutoff=0.9, cushion=0.0).fit_sets(some) for some in (sets, mixed(sets, matrix)))
    assert blended.distraction_ == pytest.approx(plain.distraction_, abs=1e-9)
    assert mixed(sets, matrix)[3].rows[5] == pytest.approx(matrix @ sets[3].rows[5])


def test_mixing_keeps_names_times_and_sources():
    one = FeatureSet("a", [[1.0, 2.0]], times=[3], source="here")
    (turned,) = mixed([one], [[0, 1], [1, 0]])
    assert (turned.name, turned.times.tolist(), turned.source) == ("a", [3], "here")
    assert turned.rows.tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.ones((3, 3)), "size 3 has rank 1, so it would lose 2 of the directions"),
        (np.ones((2, 3)), r"shape \(2, 3\); expected a square one"),
        (np.eye(2), "Set 'set 1' has 3 features, the mixing matrix 2"),
    ],
)
def test_a_matrix_that_would_lose_something_is_refused(matrix, words):
    with pytest.raises(InputError, match=words):
        mixed(analytic_example(), matrix)


@pytest.mark.parametrize("sizes", [{"n_sets": 0}, {"n_rows": 0}])
def test_there_is_at_least_one_set_with_one_row(sizes):
    with pytest.raises(InputError, match="at least one of each"):
        analytic_example(**sizes)

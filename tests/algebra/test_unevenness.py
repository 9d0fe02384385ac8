"""Unevenness: whether sets vary alike where a pattern lies."""

import numpy as np
import pytest

from undistract import Moments, SetMoments


def rows(n_sets=30, n_rows=2000, n_features=40, seed=0):
    """Sets that vary by different amounts; with these sizes, too many rows to be kept."""
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(0.5, 3.0, size=(n_sets, 1, n_features))
    return dict(enumerate(sizes * rng.normal(size=(n_sets, n_rows, n_features)) + 5 * rng.normal(size=(n_sets, 1, 1))))


def test_it_is_the_spread_of_what_sets_vary_by():
    rng = np.random.default_rng(3)
    sizes = [2.0, 1.0, 0.0, 1.0]
    sets = {m: size * rng.normal(size=(4000, 1)) * [1.0, 0.0] + [0.0, m] for m, size in enumerate(sizes)}
    patterns = np.array([[5.0], [0.0]])
    # mean variance (4 + 1 + 0 + 1)/4, mean standard deviation (2 + 1 + 0 + 1)/4
    assert Moments.of(sets).unevenness(patterns) == pytest.approx(1.5 / 1.0**2 - 1, abs=0.05)


@pytest.mark.parametrize("n_rows", [3, 10, 100])
def test_sets_that_vary_alike_are_even_however_few_rows_they_have(n_rows):
    X = np.random.default_rng(2).normal(size=(3000 // n_rows, n_rows, 4))
    # The correction is of first order: at 3 rows it leaves a tenth.
    assert Moments.of(X).unevenness(np.eye(4)) == pytest.approx(0.0, abs=0.1 if n_rows == 3 else 0.02)


def test_a_set_of_one_row_says_nothing_about_it():
    sets = rows(n_rows=20)
    patterns = np.eye(40)
    more = sets | {"one": np.full((1, 40), 9.0)}
    np.testing.assert_allclose(Moments.of(more).unevenness(patterns), Moments.of(sets).unevenness(patterns), rtol=1e-12)


@pytest.mark.parametrize("n_rows", [20, 2000])
@pytest.mark.parametrize("prior", ["uniform", "by_size"])
def test_it_does_not_depend_on_the_road(n_rows, prior):
    sets = rows(n_rows=n_rows)
    sets[3] = sets[3][: n_rows // 2]  # not all of one size
    patterns = np.random.default_rng(1).normal(size=(40, 5))
    expected = Moments.of(sets, prior).unevenness(patterns)
    labels = np.repeat(list(sets), [len(one) for one in sets.values()])
    order = np.random.default_rng(0).permutation(len(labels))
    X = np.concatenate(list(sets.values()))
    ways = {
        "labelled": Moments.of_labelled(X[order], labels[order], prior),
        "joined": Moments.of(dict(list(sets.items())[:7]), prior) + Moments.of(dict(list(sets.items())[7:]), prior),
        "in pieces": Moments.of(
            [(name, SetMoments.of(one[:5]) + SetMoments.of(one[5:])) for name, one in sets.items()], prior
        ),
        "without": Moments.of(sets | {"gone": sets[0] * 2}, prior).without("gone", SetMoments.of(sets[0] * 2)),
    }
    for way, moments in ways.items():
        np.testing.assert_allclose(moments.unevenness(patterns), expected, rtol=1e-10, err_msg=way)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_units_do_not_matter(scale):
    sets, patterns = rows(n_rows=20), np.random.default_rng(1).normal(size=(40, 5))
    scaled = Moments.of({name: scale * one for name, one in sets.items()})
    np.testing.assert_allclose(scaled.unevenness(scale * patterns), Moments.of(sets).unevenness(patterns), rtol=1e-9)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2], [1, 3, 2, 0]])
def test_of_all_features_that_vary_the_least_and_the_most_uneven_are_told(order):
    rng = np.random.default_rng(0)
    spreads = np.ones((20, 1, 4))
    spreads[:10, :, 1], spreads[:3, :, 2], spreads[:, :, 3] = 2.0, 9.0, 0.0
    moments = Moments.of((rng.normal(size=(20, 50, 4)) * spreads)[:, :, order])
    of_each = moments.unevenness(np.eye(4))[np.array(order) != 3]
    assert moments.unevenness_of_features() == pytest.approx((of_each.min(), of_each.max()), rel=1e-12)
    assert of_each.max() > 2 * np.sort(of_each)[1] > 4 * of_each.min()


def test_sets_of_single_rows_are_even():
    """They had no weight to divide by."""
    assert Moments.of([[[1.0, 2.0]], [[2.0, 5.0]]]).unevenness(np.eye(2)).tolist() == [0.0, 0.0]

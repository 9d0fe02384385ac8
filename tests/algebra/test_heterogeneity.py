"""Heterogeneity: whether groups vary alike along a pattern."""

import numpy as np
import pytest

from undistract import GroupMoments, Moments


def rows(n_groups=30, n_rows=2000, n_features=40, seed=0):
    """Return groups with different variances, with too many rows to be stored."""
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(0.5, 3.0, size=(n_groups, 1, n_features))
    return dict(
        enumerate(sizes * rng.normal(size=(n_groups, n_rows, n_features)) + 5 * rng.normal(size=(n_groups, 1, 1)))
    )


def test_definition_of_heterogeneity():
    rng = np.random.default_rng(3)
    sizes = [2.0, 1.0, 0.0, 1.0]
    groups = {m: size * rng.normal(size=(4000, 1)) * [1.0, 0.0] + [0.0, m] for m, size in enumerate(sizes)}
    patterns = np.array([[5.0], [0.0]])
    # mean variance (4 + 1 + 0 + 1)/4, mean standard deviation (2 + 1 + 0 + 1)/4
    assert Moments.of(groups).heterogeneity(patterns) == pytest.approx(1.5 / 1.0**2 - 1, abs=0.05)


@pytest.mark.parametrize("n_rows", [3, 10, 100])
def test_equal_groups_have_no_heterogeneity_even_with_few_rows(n_rows):
    X = np.random.default_rng(2).normal(size=(3000 // n_rows, n_rows, 4))
    # The correction is of first order: with 3 rows a tenth remains.
    assert Moments.of(X).heterogeneity(np.eye(4)) == pytest.approx(0.0, abs=0.1 if n_rows == 3 else 0.02)


def test_group_of_one_row_does_not_count():
    groups = rows(n_rows=20)
    patterns = np.eye(40)
    more = groups | {"single": np.full((1, 40), 9.0)}
    np.testing.assert_allclose(
        Moments.of(more).heterogeneity(patterns), Moments.of(groups).heterogeneity(patterns), rtol=1e-12
    )


@pytest.mark.parametrize("n_rows", [20, 2000])
@pytest.mark.parametrize("prior", ["uniform", "by_size"])
def test_heterogeneity_does_not_depend_on_the_code_path(n_rows, prior):
    groups = rows(n_rows=n_rows)
    groups[3] = groups[3][: n_rows // 2]  # not all of one size
    patterns = np.random.default_rng(1).normal(size=(40, 5))
    expected = Moments.of(groups, prior).heterogeneity(patterns)
    labels = np.repeat(list(groups), [len(rows) for rows in groups.values()])
    order = np.random.default_rng(0).permutation(len(labels))
    X = np.concatenate(list(groups.values()))
    ways = {
        "labelled": Moments.from_labels(X[order], labels[order], prior),
        "joined": Moments.of(dict(list(groups.items())[:7]), prior) + Moments.of(dict(list(groups.items())[7:]), prior),
        "in pieces": Moments.of(
            [(name, GroupMoments.of(rows[:5]) + GroupMoments.of(rows[5:])) for name, rows in groups.items()], prior
        ),
        "without": Moments.of(groups | {"gone": groups[0] * 2}, prior).without("gone", GroupMoments.of(groups[0] * 2)),
    }
    for way, moments in ways.items():
        np.testing.assert_allclose(moments.heterogeneity(patterns), expected, rtol=1e-10, err_msg=way)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_units_do_not_matter(scale):
    groups, patterns = rows(n_rows=20), np.random.default_rng(1).normal(size=(40, 5))
    scaled = Moments.of({name: scale * rows for name, rows in groups.items()})
    np.testing.assert_allclose(
        scaled.heterogeneity(scale * patterns), Moments.of(groups).heterogeneity(patterns), rtol=1e-9
    )


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2], [1, 3, 2, 0]])
def test_smallest_and_largest_heterogeneity_of_varying_features(order):
    rng = np.random.default_rng(0)
    spreads = np.ones((20, 1, 4))
    spreads[:10, :, 1], spreads[:3, :, 2], spreads[:, :, 3] = 2.0, 9.0, 0.0
    moments = Moments.of((rng.normal(size=(20, 50, 4)) * spreads)[:, :, order])
    of_each = moments.heterogeneity(np.eye(4))[np.array(order) != 3]
    assert moments.heterogeneity_range() == pytest.approx((of_each.min(), of_each.max()), rel=1e-12)
    assert of_each.max() > 2 * np.sort(of_each)[1] > 4 * of_each.min()


def test_groups_of_one_row_have_no_heterogeneity():
    """Regression: division by a zero weight."""
    assert Moments.of([[[1.0, 2.0]], [[2.0, 5.0]]]).heterogeneity(np.eye(2)).tolist() == [0.0, 0.0]

"""Likelihood of a row given an example: compared with two Gaussians and with its formula in λ."""

import tracemalloc

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.stats import multivariate_normal

from undistract.algebra import Moments
from undistract.algebra.spectrum import has_few_rows
from undistract.errors import InputError
from undistract.few_shot import Likelihood

DEFAULT_RIDGE, RIDGE = 0.05, 0.2


@pytest.fixture(scope="module")
def moments():
    """Return moments of twelve groups with five correlated features."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(5, 5))
    return Moments.of((rng.normal(size=5) + rng.normal(size=(20, 5)) * [4, 1, 1, 1, 0.2]) @ mixing for _ in range(12))


@pytest.fixture(scope="module")
def few():
    """Return moments of six groups of unequal sizes, nineteen rows with sixty correlated features, far from zero."""
    rng = np.random.default_rng(4)
    mixing = rng.normal(size=(60, 60))
    return Moments.of(100 + (rng.normal(size=60) + rng.normal(size=(n, 60))) @ mixing for n in (5, 4, 3, 3, 3, 1))


def covariances(moments):
    grain = np.trace(moments.total) / moments.n_features * np.eye(moments.n_features)
    return moments.within + RIDGE * grain, moments.between + DEFAULT_RIDGE * grain


def test_likelihood_equals_joint_gaussian(moments):
    inside, between = covariances(moments)
    rng = np.random.default_rng(1)
    row, examples = rng.normal(size=5), rng.normal(size=(4, 5))
    joint = np.block([[inside + between, between], [between, inside + between]])
    origin = moments.mean
    expected = [
        multivariate_normal(np.tile(origin, 2), joint).logpdf(np.concatenate([row, example]))
        - multivariate_normal(origin, inside + between).logpdf(example)
        for example in examples
    ]
    (density,) = Likelihood.of(moments, between_ridge=DEFAULT_RIDGE, within_ridge=RIDGE)(row[None], examples)
    np.testing.assert_allclose(np.diff(density), np.diff(expected), rtol=1e-9)


@pytest.mark.parametrize("fixture", ["moments", "few"])
def test_likelihood_equals_formula_in_the_distraction(fixture, request):
    moments = request.getfixturevalue(fixture)
    inside, between = covariances(moments)
    distraction, readings = eigh(inside, inside + between)
    readings /= np.sqrt(distraction)  # unit variance within groups
    rng = np.random.default_rng(2)
    rows, examples = (moments.mean + rng.normal(size=(n, moments.n_features)) for n in (3, 4))
    row_coordinates = (rows - moments.mean) @ readings
    example_coordinates = (examples - moments.mean) @ readings
    off = row_coordinates[:, None] - (1 - distraction) * example_coordinates
    expected = -(off**2 / (2 - distraction)).sum(axis=2) / 2
    density = Likelihood.of(moments, between_ridge=DEFAULT_RIDGE, within_ridge=RIDGE)(rows, examples)
    np.testing.assert_allclose(density, expected, rtol=1e-9)


def test_equal_groups_give_equal_likelihoods():
    same = np.random.default_rng(0).normal(size=(10, 3))
    likelihood = Likelihood.of(Moments.of([same, same]), between_ridge=0, within_ridge=0.1)
    (density,) = likelihood(same[:1], same[1:])
    np.testing.assert_allclose(density, density[0], atol=1e-12)  # values near 1


@pytest.mark.parametrize("between_ridge", [0, 0.05, 1e100])
@pytest.mark.parametrize("within_ridge", [1e-9, 0.2, 1e9])
def test_few_rows_agree_with_matrices(few, between_ridge, within_ridge):
    folded = few.without_rows()
    assert [has_few_rows(few), has_few_rows(folded)] == [True, False]
    rng = np.random.default_rng(5)
    # The last two rows are in the span of the data, the random ones mostly outside.
    examples = np.vstack([few.mean + rng.normal(size=(3, 60)), few.mean + few.store.deviations[:2]])
    density = Likelihood.of(few, between_ridge=between_ridge, within_ridge=within_ridge)(examples, examples)
    expected = Likelihood.of(folded, between_ridge=between_ridge, within_ridge=within_ridge)(examples, examples)
    # In the matrices, the variance of constant directions is rounding, which a tiny within_ridge does not cover.
    close = max(1e-9, 60 * np.finfo(float).eps / within_ridge)
    np.testing.assert_allclose(density, expected, rtol=close, atol=close * np.abs(expected).max())


def test_few_rows_need_no_square_matrix():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(40, 20_000))
    moments = Moments.from_labels(rows, np.repeat(np.arange(8), 5))
    tracemalloc.start()
    Likelihood.of(moments, between_ridge=DEFAULT_RIDGE, within_ridge=RIDGE)(rows, rows[:3])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * rows.nbytes  # 64 MB; a d × d matrix takes 3.2 GB


def test_units_do_not_matter(moments):
    rng = np.random.default_rng(3)
    groups = [rng.normal(size=(6, 4)) + rng.normal(size=4) for _ in range(5)]
    densities = [
        Likelihood.of(Moments.of(unit * rows for rows in groups), between_ridge=DEFAULT_RIDGE, within_ridge=RIDGE)(
            unit * groups[0], unit * groups[1]
        )
        for unit in (1, 1e6)
    ]
    np.testing.assert_allclose(*densities, rtol=1e-9)


@pytest.mark.parametrize("within_ridge", [0, -1, np.nan, np.inf, True, "much"])
def test_invalid_ridge_raises(moments, within_ridge):
    with pytest.raises(InputError, match="within_ridge must be a number from 1e-09 to 1000000000, got"):
        Likelihood.of(moments, between_ridge=0.1, within_ridge=within_ridge)


def test_constant_rows_raise():
    with pytest.raises(InputError, match="No feature varies"):
        Likelihood.of(Moments.of([np.ones((3, 2))] * 2), between_ridge=0.1, within_ridge=0.1)


def test_single_group_raises():
    with pytest.raises(InputError, match="1 group cannot show how groups differ"):
        Likelihood.of(Moments.of([np.random.default_rng(0).normal(size=(9, 2))]), between_ridge=0.1, within_ridge=0.1)


def test_invalid_between_ridge_raises(moments):
    with pytest.raises(InputError, match=r"between_ridge must be a number from 0 to 1e\+100, got -1"):
        Likelihood.of(moments, between_ridge=-1, within_ridge=0.1)


def test_only_few_rows_leave_a_residual(moments, few):
    for any_moments, has_residual in ((moments, False), (few, True)):
        likelihood = Likelihood.of(any_moments, between_ridge=0.1, within_ridge=0.1)
        assert (likelihood._coordinates(any_moments.mean[None, :]).residual is not None) == has_residual

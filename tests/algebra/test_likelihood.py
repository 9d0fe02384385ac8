"""The likelihood of a row, given one example: against the two Gaussians written out, and against its formula in λ."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.stats import multivariate_normal

from undistract.algebra import Moments
from undistract.algebra.likelihood import Likelihood
from undistract.errors import InputError

CUSHION, RIDGE = 0.05, 0.2


@pytest.fixture(scope="module")
def moments():
    """Twelve mixed sets of five features."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(5, 5))
    return Moments.of((rng.normal(size=5) + rng.normal(size=(20, 5)) * [4, 1, 1, 1, 0.2]) @ mixing for _ in range(12))


def covariances(moments):
    grain = np.trace(moments.total) / 5 * np.eye(5)
    return moments.within + RIDGE * grain, moments.between + CUSHION * grain


def test_it_is_the_ratio_of_one_set_to_two(moments):
    inside, apart = covariances(moments)
    rng = np.random.default_rng(1)
    row, examples = rng.normal(size=5), rng.normal(size=(4, 5))
    joint = np.block([[inside + apart, apart], [apart, inside + apart]])
    origin = moments.mean
    wanted = [
        multivariate_normal(np.tile(origin, 2), joint).logpdf(np.concatenate([row, example]))
        - multivariate_normal(origin, inside + apart).logpdf(example)
        for example in examples
    ]
    (found,) = Likelihood.of(moments, cushion=CUSHION, ridge=RIDGE)(row[None], examples)
    np.testing.assert_allclose(np.diff(found), np.diff(wanted), rtol=1e-9)


def test_an_example_is_believed_by_one_minus_its_distraction(moments):
    inside, apart = covariances(moments)
    distraction, readings = eigh(inside, inside + apart)
    readings /= np.sqrt(distraction)  # of length one inside sets
    rng = np.random.default_rng(2)
    rows, examples = rng.normal(size=(3, 5)), rng.normal(size=(4, 5))
    read, shown = ((some - moments.mean) @ readings for some in (rows, examples))
    off = read[:, None] - (1 - distraction) * shown
    wanted = -(off**2 / (2 - distraction)).sum(axis=2) / 2
    found = Likelihood.of(moments, cushion=CUSHION, ridge=RIDGE)(rows, examples)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_sets_that_never_differ_tell_no_row_from_another():
    same = np.random.default_rng(0).normal(size=(10, 3))
    likelihood = Likelihood.of(Moments.of([same, same]), cushion=0, ridge=0.1)
    (found,) = likelihood(same[:1], same[1:])
    np.testing.assert_allclose(found, found[0], atol=1e-12)  # of numbers near 1


def test_other_units_change_nothing(moments):
    rng = np.random.default_rng(3)
    sets = [rng.normal(size=(6, 4)) + rng.normal(size=4) for _ in range(5)]
    found = [
        Likelihood.of(Moments.of(unit * rows for rows in sets), cushion=CUSHION, ridge=RIDGE)(
            unit * sets[0], unit * sets[1]
        )
        for unit in (1, 1e6)
    ]
    np.testing.assert_allclose(*found, rtol=1e-9)


@pytest.mark.parametrize("ridge", [0, -1, np.nan, np.inf, True, "much"])
def test_a_ridge_that_is_no_variance_is_refused_in_words(moments, ridge):
    with pytest.raises(InputError, match=r"ridge is .*; expected a number from 1e-09"):
        Likelihood.of(moments, cushion=0.1, ridge=ridge)


def test_rows_that_never_vary_are_refused_in_words():
    with pytest.raises(InputError, match="No feature varies"):
        Likelihood.of(Moments.of([np.ones((3, 2))] * 2), cushion=0.1, ridge=0.1)


def test_one_set_cannot_say_what_tells_sets_apart():
    with pytest.raises(InputError, match="1 set cannot show what tells sets apart"):
        Likelihood.of(Moments.of([np.random.default_rng(0).normal(size=(9, 2))]), cushion=0.1, ridge=0.1)


def test_a_cushion_that_is_no_variance_is_refused_in_words(moments):
    with pytest.raises(InputError, match="cushion is -1; expected a number from 0 up"):
        Likelihood.of(moments, cushion=-1, ridge=0.1)

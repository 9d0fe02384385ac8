"""The likelihood of a row, given one example: against the two Gaussians written out, and against its formula in λ."""

import tracemalloc

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.stats import multivariate_normal

from undistract.algebra import Moments
from undistract.algebra.few_rows import has_few_rows
from undistract.algebra.likelihood import Likelihood
from undistract.errors import InputError

CUSHION, RIDGE = 0.05, 0.2


@pytest.fixture(scope="module")
def moments():
    """Twelve mixed sets of five features."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(5, 5))
    return Moments.of((rng.normal(size=5) + rng.normal(size=(20, 5)) * [4, 1, 1, 1, 0.2]) @ mixing for _ in range(12))


@pytest.fixture(scope="module")
def few():
    """Six sets of unequal sizes with nineteen rows of sixty features, mixed, far from zero."""
    rng = np.random.default_rng(4)
    mixing = rng.normal(size=(60, 60))
    return Moments.of(100 + (rng.normal(size=60) + rng.normal(size=(n, 60))) @ mixing for n in (5, 4, 3, 3, 3, 1))


def covariances(moments):
    grain = np.trace(moments.total) / moments.n_features * np.eye(moments.n_features)
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


@pytest.mark.parametrize("rows_are", ["moments", "few"])
def test_an_example_is_believed_by_one_minus_its_distraction(rows_are, request):
    moments = request.getfixturevalue(rows_are)
    inside, apart = covariances(moments)
    distraction, readings = eigh(inside, inside + apart)
    readings /= np.sqrt(distraction)  # of length one inside sets
    rng = np.random.default_rng(2)
    rows, examples = (moments.mean + rng.normal(size=(n, moments.n_features)) for n in (3, 4))
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


@pytest.mark.parametrize("cushion", [0, 0.05, 1e100])
@pytest.mark.parametrize("ridge", [1e-9, 0.2, 1e9])
def test_few_rows_give_the_answers_of_the_matrices(few, cushion, ridge):
    folded = few.without_rows()
    assert [has_few_rows(few), has_few_rows(folded)] == [True, False]
    rng = np.random.default_rng(5)
    # A row of a set lies in the span of the rows, random ones lie mostly beside it.
    examples = np.vstack([few.mean + rng.normal(size=(3, 60)), few.mean + few.store.deviations[:2]])
    found, wanted = (Likelihood.of(one, cushion=cushion, ridge=ridge)(examples, examples) for one in (few, folded))
    # The matrices know the variance of what never varies to rounding alone, which a tiny ridge does not cover.
    close = max(1e-9, 60 * np.finfo(float).eps / ridge)
    np.testing.assert_allclose(found, wanted, rtol=close, atol=close * np.abs(wanted).max())


def test_few_rows_of_many_features_form_nothing_as_large_as_a_square():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(40, 20_000))
    moments = Moments.of_labelled(rows, np.repeat(np.arange(8), 5))
    tracemalloc.start()
    Likelihood.of(moments, cushion=CUSHION, ridge=RIDGE)(rows, rows[:3])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * rows.nbytes  # 64 MB; a square of the features takes 3.2 GB


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


def test_only_where_rows_are_few_something_lies_beside_their_directions(moments, few):
    for one, is_beside in ((moments, False), (few, True)):
        likelihood = Likelihood.of(one, cushion=0.1, ridge=0.1)
        assert (likelihood._read(one.mean[None, :]).beside is not None) == is_beside

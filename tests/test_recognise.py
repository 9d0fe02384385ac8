"""`Recogniser`: classes that nobody taught are recognised, and what it cannot do it says in words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from undistract import Focus, InputError, Moments, Recogniser


@pytest.fixture(scope="module")
def world():
    """Thirty classes that teach and six that nobody taught; two strong mixed directions vary in all of them."""
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(36), 20)
    rows = 3 * rng.normal(size=(36, 12))[owner] + rng.normal(size=(720, 12)) / 2
    rows += 8 * rng.normal(size=(720, 2)) @ rng.normal(size=(2, 12))
    new = owner >= 30
    return (rows[~new], owner[~new]), (rows[new], owner[new])


@parametrize_with_checks([Recogniser()])
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


def test_one_example_of_each_new_class_is_enough(world):
    (rows, owner), (new, names) = world
    first = slice(None, None, 20)
    # Two of twelve directions make up most of the mean variance, which the ridge is a multiple of.
    found = Recogniser(Moments.of_labelled(rows, owner), ridge=0.01).fit(new[first], names[first])
    assert found.score(new, names) > 0.95
    assert KNeighborsClassifier(1, metric="cosine").fit(new[first], names[first]).score(new, names) < 0.7


def test_it_is_taught_by_what_focus_learned(world):
    (rows, owner), (new, names) = world
    focus = Focus().fit(rows, sets=owner)
    first = slice(None, None, 20)
    ours, same = (
        Recogniser(moments).fit(new[first], names[first]).predict_proba(new)
        for moments in (focus.moments_, Moments.of_labelled(rows, owner))
    )
    np.testing.assert_allclose(ours, same, atol=1e-9)  # probabilities


def test_every_example_speaks_for_itself(world):
    (rows, owner), _ = world
    moments = Moments.of_labelled(rows, owner)
    # Two places of one class with another class between them: their mean would take its rows.
    step = 4 * rows.std() * np.eye(12)[0]
    examples = moments.mean + np.array([-step, step, 0 * step])
    found = Recogniser(moments).fit(examples, ["both", "both", "middle"])
    assert found.predict(examples).tolist() == ["both", "both", "middle"]


def test_probabilities_follow_the_names_and_sum_to_one(world):
    (rows, owner), (new, names) = world
    found = Recogniser(Moments.of_labelled(rows, owner)).fit(new[::7], names[::7])
    probable = found.predict_proba(new)
    np.testing.assert_allclose(probable.sum(axis=1), 1)
    assert np.array_equal(found.classes_[probable.argmax(axis=1)], found.predict(new))


def test_cushion_and_ridge_are_chosen_on_held_out_sets_by_scikit_learn_alone(world):
    (rows, owner), _ = world
    aside = owner % 3 == 0
    search = GridSearchCV(
        Recogniser(Moments.of_labelled(rows[~aside], owner[~aside])),
        {"cushion": [0.0, 0.03], "ridge": [0.01, 100.0]},
        cv=StratifiedShuffleSplit(5, train_size=10, random_state=0),
    ).fit(rows[aside], owner[aside])
    assert search.best_params_["ridge"] == 0.01  # so large a ridge hides what distracts


def test_a_copy_shares_its_moments(world):
    (rows, owner), _ = world
    recogniser = Recogniser(Moments.of_labelled(rows, owner), ridge=2.0)
    assert clone(recogniser).moments is recogniser.moments
    assert clone(recogniser).ridge == 2.0


def test_names_of_columns_are_remembered(world):
    (rows, owner), (new, names) = world
    frame = pd.DataFrame(new, columns=[f"reading {number}" for number in range(12)])
    found = Recogniser(Moments.of_labelled(rows, owner)).fit(frame[::20], names[::20])
    assert list(found.feature_names_in_) == list(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        found.predict(frame[frame.columns[::-1]])


def test_without_teachers_one_example_of_each_class_says_too_little():
    with pytest.raises(InputError, match=r"2 example\(s\) of 2 class\(es\).*Recogniser\(Moments\.of\(sets\)\)"):
        Recogniser().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])


def test_other_features_and_other_things_than_moments_are_refused_in_words(world):
    (rows, owner), (new, names) = world
    with pytest.raises(InputError, match="X has 11 features, the moments have 12"):
        Recogniser(Moments.of_labelled(rows, owner)).fit(new[:, 1:], names)
    with pytest.raises(InputError, match=r"moments is Focus; expected Moments.*focus\.moments_"):
        Recogniser(Focus()).fit(new, names)


@pytest.mark.parametrize("names", [["left", None, "left"], ["left", 3, "left"]])
def test_names_without_an_order_are_refused_in_words(world, names):
    """They came out as "'<' not supported between instances"."""
    (rows, owner), (new, _) = world
    with pytest.raises(InputError, match=r"of the kinds \w+, \w+, which have no order.*map\(str, y\)"):
        Recogniser(Moments.of_labelled(rows, owner)).fit(new[:3], np.array(names, dtype=object))


def test_rows_beyond_the_range_of_doubles_are_refused_in_words(world):
    (rows, owner), (new, names) = world
    found = Recogniser(Moments.of_labelled(rows, owner)).fit(new[::20], names[::20])
    with pytest.raises(InputError, match="too far from what was taught"):
        found.predict(np.full((1, 12), 1e200))


def test_examples_that_are_refused_leave_all_as_it_was(world):
    """Its classes were those of the examples that were refused, and predict ended in an IndexError."""
    (rows, owner), (new, names) = world
    recogniser = Recogniser(Moments.of_labelled(rows, owner)).fit(new, names)
    before = recogniser.predict(rows)
    for refused in (new[:25, :5], new[:25]):
        with pytest.raises(InputError, match=r"features, the moments have|ridge is -1"):
            recogniser.set_params(ridge=-1).fit(refused, names[:25] + 100)
    np.testing.assert_array_equal(recogniser.predict(rows), before)
    assert recogniser.n_features_in_ == 12

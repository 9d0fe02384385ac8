"""Recognition from a few examples: what other classes taught is used, and how much of it is chosen on held-out sets."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from undistract import Focus

N_SETS, PER_SET, N_FEATURES = 30, 20, 12


@pytest.fixture(scope="module")
def world():
    """Thirty sets that teach and six classes nobody taught; two strong directions vary in all of them."""
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(N_SETS + 6), PER_SET)
    mixing = rng.normal(size=(2, N_FEATURES))
    rows = rng.normal(size=(N_SETS + 6, N_FEATURES))[owner] * 3 + rng.normal(size=(len(owner), N_FEATURES)) / 2
    rows += 8 * rng.normal(size=(len(owner), 2)) @ mixing
    new = owner >= N_SETS
    return (rows[~new], owner[~new]), (rows[new], owner[new])


def recognised(learned, rows, names):
    draws = StratifiedShuffleSplit(10, train_size=len(np.unique(names)), random_state=0)
    near = KNeighborsClassifier(1, metric="cosine")
    return cross_val_score(near, learned.transform(rows), names, cv=draws).mean()


@pytest.fixture(scope="module")
def search(world):
    (X, sets), _ = world
    learner = make_pipeline(Focus(), StandardScaler(with_std=False))
    with sklearn.config_context(enable_metadata_routing=True):
        return GridSearchCV(
            learner,
            {"focus__n_remove": [0, 1, 2, 8]},
            scoring=recognised,
            cv=GroupKFold(3),
            error_score="raise",
        ).fit(X, sets, sets=sets, groups=sets)


def test_held_out_sets_choose_to_remove_the_two_directions_that_distract(search):
    assert search.best_params_ == {"focus__n_remove": 2}


def test_the_choice_never_sees_rows_of_a_set_on_both_sides(world):
    (X, sets), _ = world
    seen = []

    def spy(learned, rows, names):
        seen.append((set(learned[0].moments_.names), set(names)))
        return 0.0

    learner = make_pipeline(Focus(n_remove=1), StandardScaler(with_std=False))
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(clone(learner), {"focus__n_remove": [1]}, scoring=spy, cv=GroupKFold(3))
        search.fit(X, sets, sets=sets, groups=sets)
    assert len(seen) == 3
    for taught, held_out in seen:
        assert not taught & held_out
        assert taught | held_out == set(range(N_SETS))


@pytest.mark.parametrize(
    "classifier",
    [KNeighborsClassifier(1, metric="cosine"), NearestCentroid(), LogisticRegression(max_iter=1000)],
    ids=lambda one: type(one).__name__,
)
def test_classes_that_nobody_taught_are_recognised_from_two_examples_each(world, search, classifier):
    _, (rows, names) = world
    # Two, because NearestCentroid takes a standard deviation too.
    shown = np.concatenate([np.flatnonzero(names == one)[:2] for one in np.unique(names)])
    others = np.setdiff1d(np.arange(len(names)), shown)
    chain = make_pipeline(FrozenEstimator(search.best_estimator_), clone(classifier)).fit(rows[shown], names[shown])
    alone = clone(classifier).fit(rows[shown], names[shown])
    assert chain.score(rows[others], names[others]) > 0.95
    assert alone.score(rows[others], names[others]) < 0.7

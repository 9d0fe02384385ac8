"""Few-shot classification with Focus in a pipeline; n_remove is tuned on held-out groups."""

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
def data():
    """Thirty training groups and six new classes; two strong directions vary in all of them."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(N_SETS + 6), PER_SET)
    mixing = rng.normal(size=(2, N_FEATURES))
    rows = rng.normal(size=(N_SETS + 6, N_FEATURES))[labels] * 3 + rng.normal(size=(len(labels), N_FEATURES)) / 2
    rows += 8 * rng.normal(size=(len(labels), 2)) @ mixing
    new = labels >= N_SETS
    return (rows[~new], labels[~new]), (rows[new], labels[new])


def few_shot_accuracy(learned, rows, names):
    draws = StratifiedShuffleSplit(10, train_size=len(np.unique(names)), random_state=0)
    nearest = KNeighborsClassifier(1, metric="cosine")
    return cross_val_score(nearest, learned.transform(rows), names, cv=draws).mean()


@pytest.fixture(scope="module")
def search(data):
    (X, groups), _ = data
    learner = make_pipeline(Focus(), StandardScaler(with_std=False))
    with sklearn.config_context(enable_metadata_routing=True):
        return GridSearchCV(
            learner,
            {"focus__n_remove": [0, 1, 2, 8]},
            scoring=few_shot_accuracy,
            cv=GroupKFold(3),
            error_score="raise",
        ).fit(X, groups, groups=groups)


def test_grid_search_removes_the_two_nuisance_directions(search):
    assert search.best_params_ == {"focus__n_remove": 2}


def test_no_group_is_in_training_and_validation(data):
    (X, groups), _ = data
    splits = []

    def spy(learned, rows, names):
        splits.append((set(learned[0].moments_.names), set(names)))
        return 0.0

    learner = make_pipeline(Focus(n_remove=1), StandardScaler(with_std=False))
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(clone(learner), {"focus__n_remove": [1]}, scoring=spy, cv=GroupKFold(3))
        search.fit(X, groups, groups=groups)
    assert len(splits) == 3
    for training, held_out in splits:
        assert not training & held_out
        assert training | held_out == set(range(N_SETS))


@pytest.mark.parametrize(
    "classifier",
    [KNeighborsClassifier(1, metric="cosine"), NearestCentroid(), LogisticRegression(max_iter=1000)],
    ids=lambda model: type(model).__name__,
)
def test_new_classes_are_classified_from_two_examples_each(data, search, classifier):
    _, (rows, names) = data
    # Two, because NearestCentroid also needs a standard deviation.
    examples = np.concatenate([np.flatnonzero(names == name)[:2] for name in np.unique(names)])
    others = np.setdiff1d(np.arange(len(names)), examples)
    chain = make_pipeline(FrozenEstimator(search.best_estimator_), clone(classifier)).fit(
        rows[examples], names[examples]
    )
    alone = clone(classifier).fit(rows[examples], names[examples])
    assert chain.score(rows[others], names[others]) > 0.95
    assert alone.score(rows[others], names[others]) < 0.7

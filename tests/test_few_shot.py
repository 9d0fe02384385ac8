"""`FewShotClassifier`: few-shot classification of new classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from undistract import FewShotClassifier, Focus, InputError, Moments


@pytest.fixture(scope="module")
def data():
    """Thirty other classes and six new ones; two strong mixed directions vary in all of them."""
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(36), 20)
    rows = 3 * rng.normal(size=(36, 12))[classes] + rng.normal(size=(720, 12)) / 2
    rows += 8 * rng.normal(size=(720, 2)) @ rng.normal(size=(2, 12))
    new = classes >= 30
    return (rows[~new], classes[~new]), (rows[new], classes[new])


@parametrize_with_checks([FewShotClassifier()])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


def test_one_example_per_new_class_is_enough(data):
    (rows, classes), (new, names) = data
    first = slice(None, None, 20)
    # Two of twelve directions have most of the mean variance, and the within_ridge is a multiple of it.
    fitted = FewShotClassifier(Moments.from_labels(rows, classes), within_ridge=0.01).fit(new[first], names[first])
    assert fitted.score(new, names) > 0.95
    assert KNeighborsClassifier(1, metric="cosine").fit(new[first], names[first]).score(new, names) < 0.7


def test_moments_of_a_focus_can_be_used(data):
    (rows, classes), (new, names) = data
    focus = Focus().fit(rows, groups=classes)
    first = slice(None, None, 20)
    from_focus, from_labels = (
        FewShotClassifier(moments).fit(new[first], names[first]).predict_proba(new)
        for moments in (focus.moments_, Moments.from_labels(rows, classes))
    )
    np.testing.assert_allclose(from_focus, from_labels, atol=1e-9)  # probabilities


def test_each_example_is_compared_on_its_own(data):
    (rows, classes), _ = data
    moments = Moments.from_labels(rows, classes)
    # Two distant examples of one class with another class between them: their mean would attract its rows.
    step = 4 * rows.std() * np.eye(12)[0]
    examples = moments.mean + np.array([-step, step, 0 * step])
    fitted = FewShotClassifier(moments).fit(examples, ["both", "both", "middle"])
    assert fitted.predict(examples).tolist() == ["both", "both", "middle"]


def test_probabilities_match_classes_and_sum_to_one(data):
    (rows, classes), (new, names) = data
    fitted = FewShotClassifier(Moments.from_labels(rows, classes)).fit(new[::7], names[::7])
    probabilities = fitted.predict_proba(new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.array_equal(fitted.classes_[probabilities.argmax(axis=1)], fitted.predict(new))


def test_ridges_can_be_tuned_by_grid_search(data):
    (rows, classes), _ = data
    held_out = classes % 3 == 0
    search = GridSearchCV(
        FewShotClassifier(Moments.from_labels(rows[~held_out], classes[~held_out])),
        {"between_ridge": [0.0, 0.03], "within_ridge": [0.01, 100.0]},
        cv=StratifiedShuffleSplit(5, train_size=10, random_state=0),
    ).fit(rows[held_out], classes[held_out])
    assert search.best_params_["within_ridge"] == 0.01  # a large within_ridge hides the nuisance


def test_clone_shares_moments(data):
    (rows, classes), _ = data
    classifier = FewShotClassifier(Moments.from_labels(rows, classes), within_ridge=2.0)
    assert clone(classifier).moments is classifier.moments
    assert clone(classifier).within_ridge == 2.0


def test_feature_names_are_stored(data):
    (rows, classes), (new, names) = data
    frame = pd.DataFrame(new, columns=[f"reading {number}" for number in range(12)])
    fitted = FewShotClassifier(Moments.from_labels(rows, classes)).fit(frame[::20], names[::20])
    assert list(fitted.feature_names_in_) == list(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame[frame.columns[::-1]])


def test_one_example_per_class_without_moments_raises_input_error():
    with pytest.raises(
        InputError, match=r"2 example\(s\) of 2 class\(es\).*FewShotClassifier\(Moments\.of\(groups\)\)"
    ):
        FewShotClassifier().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])


def test_wrong_features_and_wrong_type_of_moments_raise_input_error(data):
    (rows, classes), (new, names) = data
    with pytest.raises(InputError, match="X has 11 features, but moments has 12"):
        FewShotClassifier(Moments.from_labels(rows, classes)).fit(new[:, 1:], names)
    with pytest.raises(InputError, match=r"moments must be Moments.*focus\.moments_, got Focus"):
        FewShotClassifier(Focus()).fit(new, names)


@pytest.mark.parametrize("names", [["left", None, "left"], ["left", 3, "left"]])
def test_labels_of_mixed_types_raise_input_error(data, names):
    """Regression: "'<' not supported between instances"."""
    (rows, classes), (new, _) = data
    with pytest.raises(InputError, match=r"labels of one type, got \w+, \w+.*map\(str, y\)"):
        FewShotClassifier(Moments.from_labels(rows, classes)).fit(new[:3], np.array(names, dtype=object))


def test_rows_that_overflow_raise_input_error(data):
    (rows, classes), (new, names) = data
    fitted = FewShotClassifier(Moments.from_labels(rows, classes)).fit(new[::20], names[::20])
    with pytest.raises(InputError, match="too far from the examples"):
        fitted.predict(np.full((1, 12), 1e200))


def test_failed_fit_leaves_classifier_unchanged(data):
    """Regression: it had the classes of the failed fit, and predict raised an IndexError."""
    (rows, classes), (new, names) = data
    classifier = FewShotClassifier(Moments.from_labels(rows, classes)).fit(new, names)
    before = classifier.predict(rows)
    for invalid in (new[:25, :5], new[:25]):
        with pytest.raises(InputError, match=r"features, but moments has|within_ridge must be a number"):
            classifier.set_params(within_ridge=-1).fit(invalid, names[:25] + 100)
    np.testing.assert_array_equal(classifier.predict(rows), before)
    assert classifier.n_features_in_ == 12

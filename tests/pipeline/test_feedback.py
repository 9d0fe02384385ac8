"""Feedback from verdicts: small cases with known answers; the laws are in tests/laws/test_feedback_laws.py."""

import warnings

import numpy as np
import pytest

from tests.review.making import key
from undistract import Focus, FocusDetector, Moments, NearestDetector, Source
from undistract.algebra import Feedback, GroupMoments
from undistract.errors import InputError
from undistract.pipeline.model import MAX_CALM_REFERENCE, Model
from undistract.pipeline.verdicts import FeedbackItem, deviation
from undistract.review import Verdict

NAN = float("nan")


def lesson(number, answer, evidence=None, **more):
    return FeedbackItem(Verdict(key(number), "match.mp4", number, number + 1, number, answer, **more), evidence)


def days(n_groups=30, n_features=4, n_rows=25):
    rng = np.random.default_rng(0)
    return [Source(day, rng.normal(size=n_features) + rng.normal(size=(n_rows, n_features))) for day in range(n_groups)]


@pytest.fixture(scope="module")
def watch():
    return FocusDetector(Focus(), NearestDetector(n_neighbors=3)).fit_groups(days())


@pytest.mark.parametrize(
    ("answer", "evidence"),
    [
        ("unsure", np.zeros(3)),
        ("false_alarm", None),
        ("false_alarm", np.zeros((1, 3))),
        ("anomaly", np.array([0.0, NAN])),
        ("anomaly", np.array([0.0, np.inf])),
        ("calm", np.zeros(3)),
        ("calm", np.array([[1.0], [NAN]])),
        ("calm", None),
    ],
)
def test_evidence_of_the_wrong_shape_is_rejected(answer, evidence):
    shape = "none" if evidence is None else rf"shape \({evidence.shape[0]},"
    expected = {"unsure": "none", "calm": r"\(rows, features\)"}.get(answer, r"\(features,\)")
    with pytest.raises(InputError, match=f"{answer}.* must be {expected} of finite numbers, got {shape}"):
        lesson(1, answer, evidence)


def test_feedback_applies_everywhere_or_in_its_context():
    everywhere, here = lesson(1, "unsure"), lesson(2, "unsure", scope="context")
    assert [everywhere.applies_to(where) for where in ("match.mp4", "other.mp4", None)] == [True, True, True]
    assert [here.applies_to(where) for where in ("match.mp4", "other.mp4", None)] == [True, False, False]


def test_deviation_is_computed_in_float64():
    rows = np.array([[200, 3]], dtype=np.uint8)
    found = deviation(rows, np.array([201.5, 0.0]), 0)
    assert found.dtype == np.float64
    assert found.tolist() == [-1.5, 3.0]


def test_feedback_has_the_deviations_weights_and_protected_directions(watch):
    false_alarm = [np.array([9.0, 9.0, 0.0, 0.0]), np.array([0.0, 0.0, 7.0, -7.0])]
    anomaly = np.array([5.0, 5.0, 0.2, 0.1])  # hidden by the false alarms, so a part of them is kept visible
    lessons = [
        lesson(1, "false_alarm", false_alarm[0], strength=2.0),
        lesson(2, "false_alarm", false_alarm[1]),
        lesson(3, "anomaly", anomaly),
    ]
    found = Model(watch).with_feedback(lessons).detector.focus_
    order = sorted([0, 1], key=lambda place: lessons[place].verdict.key)
    strengths = np.array([2.0, 1.0])[order]
    expected = watch.focus_.with_feedback(Feedback(np.stack(false_alarm)[order], strengths, anomaly[None, :]))
    assert found.n_removed_ == expected.n_removed_ == 1
    assert Model(watch).with_feedback(lessons[:2]).detector.focus_.n_removed_ == 2
    np.testing.assert_array_equal(found.components_, expected.components_)
    np.testing.assert_array_equal(found.distraction_, expected.distraction_)


def test_confirmed_anomaly_alone_changes_nothing(watch):
    found = Model(watch).with_feedback([lesson(1, "anomaly", np.ones(4))]).detector
    np.testing.assert_array_equal(found.focus_.components_, watch.focus_.components_)


@pytest.mark.parametrize("n_rows", [1, 7, MAX_CALM_REFERENCE, 3 * MAX_CALM_REFERENCE + 1])
def test_calm_rows_are_sampled_evenly_from_first_to_last(watch, n_rows):
    rows = np.arange(4.0 * n_rows).reshape(n_rows, 4)
    known = Model(watch).with_feedback([lesson(1, "calm", rows)]).detector.known_
    assert len(known) == len(watch.known_) + 1
    expected = (
        rows
        if n_rows <= MAX_CALM_REFERENCE
        else rows[np.linspace(0, n_rows - 1, MAX_CALM_REFERENCE).round().astype(int)]
    )
    np.testing.assert_array_equal(known[-1], expected)
    if n_rows > 1:
        np.testing.assert_array_equal(known[-1][[0, -1]], rows[[0, -1]])


@pytest.mark.parametrize("prior", ["uniform", "by_size", {day: 1.0 + (day == 0) for day in range(30)}])
def test_calm_group_gets_the_weight_of_the_prior_or_the_mean_weight(prior):
    focus = Focus(prior=prior).fit_groups(days())
    rows = 30 * np.random.default_rng(1).normal(size=(9, 4))  # it varies more than the others
    found = Model(focus).with_feedback([lesson(1, "calm", rows)]).detector.moments_
    name = f"calm {key(1)}"
    weight = prior if isinstance(prior, str) else {name: np.mean(list(prior.values()))}
    expected = focus.moments_ + Moments.of([(name, GroupMoments.of(rows))], weight)
    assert found.names[-1] == name
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-12)
    np.testing.assert_allclose(found.within, expected.within, rtol=1e-12)
    assert expected.heterogeneity(np.eye(4)).min() > 0.1
    np.testing.assert_allclose(found.heterogeneity(np.eye(4)), expected.heterogeneity(np.eye(4)), rtol=1e-12)


def test_earlier_calm_groups_do_not_count_twice(watch):
    """Earlier feedback of a detector does not count twice: `training` has the number of its own groups."""
    taught = Model(watch).with_feedback([lesson(1, "calm", np.ones((5, 4)))]).detector
    again = Model(taught, training=watch.focus_.moments_).with_feedback([]).detector
    assert len(again.known_) == len(watch.known_) == 30
    np.testing.assert_array_equal(again.focus_.components_, watch.focus_.components_)


def test_threshold_stays_without_calibration(watch):
    rows = 5 + np.random.default_rng(1).normal(size=(40, 4))
    lessons = [lesson(1, "calm", rows)]
    assert Model(watch).with_feedback(lessons, calibrate=False).detector.threshold_.value == watch.threshold_.value
    assert Model(watch).with_feedback(lessons).detector.threshold_.value != watch.threshold_.value


def test_feature_names_survive_feedback():
    frames = pytest.importorskip("pandas", reason='needs pandas: pip install "undistract[tables]"')
    table = frames.DataFrame(np.concatenate([day.rows for day in days()]), columns=list("abcd"))
    focus = Focus().fit(table, groups=np.repeat(np.arange(30), 25))
    taught = Model(focus).with_feedback([lesson(1, "calm", np.random.default_rng(1).normal(size=(9, 4)))]).detector
    assert taught.feature_names_in_.tolist() == list("abcd")


def test_feedback_does_not_repeat_evidence_warnings():
    few = days(n_groups=3, n_features=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        focus = Focus().fit_groups(few)
    Model(focus).with_feedback(
        [lesson(1, "calm", np.random.default_rng(1).normal(size=(9, 8)))]
    )  # a warning is an error


def test_feedback_with_other_features_is_rejected_with_both_numbers(watch):
    for wrong in (lesson(1, "false_alarm", np.ones(5)), lesson(1, "calm", np.ones((4, 5)))):
        with pytest.raises(InputError, match=r"'match.mp4' has 5 features, the model has 4"):
            Model(watch).with_feedback([wrong])
    Model(watch).with_feedback([lesson(1, "unsure")])


def test_detector_without_reference_rows_cannot_use_feedback(watch):
    from copy import copy

    forgetful = copy(watch)
    del forgetful.known_
    with pytest.raises(InputError, match="has no reference rows"):
        Model(forgetful).with_feedback([])

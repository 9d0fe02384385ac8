"""What verdicts teach: small cases known by hand; the laws are in tests/laws/test_taught_laws.py."""

import warnings

import numpy as np
import pytest

from tests.review.making import key
from undistract import FeatureSet, Focus, FocusDetector, Moments, NearestDetector
from undistract.algebra import SetMoments, Taught
from undistract.errors import InputError
from undistract.review import Verdict
from undistract.review.feedback import KNOWN_CALM, Lesson, Teachable, deviation

NAN = float("nan")


def lesson(number, answer, evidence=None, **more):
    return Lesson(Verdict(key(number), "match.mp4", number, number + 1, number, answer, **more), evidence)


def days(n_sets=30, n_features=4, n_rows=25):
    rng = np.random.default_rng(0)
    return [
        FeatureSet(day, rng.normal(size=n_features) + rng.normal(size=(n_rows, n_features))) for day in range(n_sets)
    ]


@pytest.fixture(scope="module")
def watch():
    return FocusDetector(Focus(), NearestDetector(n_neighbors=3)).fit_sets(days())


@pytest.mark.parametrize(
    ("answer", "evidence"),
    [
        ("unsure", np.zeros(3)),
        ("familiar", None),
        ("familiar", np.zeros((1, 3))),
        ("anomaly", np.array([0.0, NAN])),
        ("anomaly", np.array([0.0, np.inf])),
        ("calm", np.zeros(3)),
        ("calm", np.array([[1.0], [NAN]])),
        ("calm", None),
    ],
)
def test_evidence_of_the_wrong_kind_is_refused_in_words(answer, evidence):
    found = "nothing" if evidence is None else rf"shape \({evidence.shape[0]},"
    expected = {"unsure": "nothing", "calm": r"\(rows, features\)"}.get(answer, r"\(features,\)")
    with pytest.raises(InputError, match=f"{answer}.* has {found}.*expected {expected} of finite numbers"):
        lesson(1, answer, evidence)


def test_a_lesson_holds_everywhere_or_in_its_own_context():
    everywhere, here = lesson(1, "unsure"), lesson(2, "unsure", scope="context")
    assert [everywhere.holds_in(where) for where in ("match.mp4", "other.mp4", None)] == [True, True, True]
    assert [here.holds_in(where) for where in ("match.mp4", "other.mp4", None)] == [True, False, False]


def test_a_deviation_is_a_difference_of_doubles():
    rows = np.array([[200, 3]], dtype=np.uint8)
    found = deviation(rows, np.array([201.5, 0.0]), 0)
    assert found.dtype == np.float64
    assert found.tolist() == [-1.5, 3.0]


def test_what_is_taught_are_the_very_deviations_their_strengths_and_what_must_stay(watch):
    familiar = [np.array([9.0, 9.0, 0.0, 0.0]), np.array([0.0, 0.0, 7.0, -7.0])]
    anomaly = np.array([5.0, 5.0, 0.2, 0.1])  # hidden by what is familiar, so some of that is given back
    lessons = [
        lesson(1, "familiar", familiar[0], strength=2.0),
        lesson(2, "familiar", familiar[1]),
        lesson(3, "anomaly", anomaly),
    ]
    found = Teachable(watch).taught(lessons).focus_
    order = sorted([0, 1], key=lambda place: lessons[place].verdict.key)
    strengths = np.array([2.0, 1.0])[order]
    expected = watch.focus_.taught_by(Taught(np.stack(familiar)[order], strengths, anomaly[None, :]))
    assert found.n_removed_ == expected.n_removed_ == 1
    assert Teachable(watch).taught(lessons[:2]).focus_.n_removed_ == 2
    np.testing.assert_array_equal(found.components_, expected.components_)
    np.testing.assert_array_equal(found.distraction_, expected.distraction_)


def test_a_confirmed_anomaly_alone_changes_nothing(watch):
    found = Teachable(watch).taught([lesson(1, "anomaly", np.ones(4))])
    np.testing.assert_array_equal(found.focus_.components_, watch.focus_.components_)


@pytest.mark.parametrize("n_rows", [1, 7, KNOWN_CALM, 3 * KNOWN_CALM + 1])
def test_rows_of_a_calm_stretch_are_known_evenly_spread_from_the_first_to_the_last(watch, n_rows):
    rows = np.arange(4.0 * n_rows).reshape(n_rows, 4)
    known = Teachable(watch).taught([lesson(1, "calm", rows)]).known_
    assert len(known) == len(watch.known_) + 1
    expected = rows if n_rows <= KNOWN_CALM else rows[np.linspace(0, n_rows - 1, KNOWN_CALM).round().astype(int)]
    np.testing.assert_array_equal(known[-1], expected)
    if n_rows > 1:
        np.testing.assert_array_equal(known[-1][[0, -1]], rows[[0, -1]])


@pytest.mark.parametrize("prior", ["uniform", "by_size", {day: 1.0 + (day == 0) for day in range(30)}])
def test_a_calm_stretch_weighs_as_the_prior_says_or_as_much_as_the_others_on_average(prior):
    focus = Focus(prior=prior).fit_sets(days())
    rows = 30 * np.random.default_rng(1).normal(size=(9, 4))  # it varies more than the others
    found = Teachable(focus).taught([lesson(1, "calm", rows)]).moments_
    name = f"calm {key(1)}"
    weight = prior if isinstance(prior, str) else {name: np.mean(list(prior.values()))}
    expected = focus.moments_ + Moments.of([(name, SetMoments.of(rows))], weight)
    assert found.names[-1] == name
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-12)
    np.testing.assert_allclose(found.within, expected.within, rtol=1e-12)
    assert expected.unevenness(np.eye(4)).min() > 0.1
    np.testing.assert_allclose(found.unevenness(np.eye(4)), expected.unevenness(np.eye(4)), rtol=1e-12)


def test_calm_sets_that_were_added_to_training_are_known_to_training_alone(watch):
    """What a watch was taught before does not count twice: training says how many of its sets are training."""
    taught = Teachable(watch).taught([lesson(1, "calm", np.ones((5, 4)))])
    again = Teachable(taught, watch.focus_.moments_).taught([])
    assert len(again.known_) == len(watch.known_) == 30
    np.testing.assert_array_equal(again.focus_.components_, watch.focus_.components_)


def test_the_threshold_stays_where_it_need_not_be_settled(watch):
    rows = 5 + np.random.default_rng(1).normal(size=(40, 4))
    lessons = [lesson(1, "calm", rows)]
    assert Teachable(watch).taught(lessons, calibrate=False).threshold_.value == watch.threshold_.value
    assert Teachable(watch).taught(lessons).threshold_.value != watch.threshold_.value


def test_names_of_features_stay_with_a_focus_that_is_taught():
    frames = pytest.importorskip("pandas", reason='needs pandas: pip install "undistract[tables]"')
    table = frames.DataFrame(np.concatenate([day.rows for day in days()]), columns=list("abcd"))
    focus = Focus().fit(table, sets=np.repeat(np.arange(30), 25))
    taught = Teachable(focus).taught([lesson(1, "calm", np.random.default_rng(1).normal(size=(9, 4)))])
    assert taught.feature_names_in_.tolist() == list("abcd")


def test_what_the_sets_lack_is_not_said_again_for_every_answer():
    few = days(n_sets=3, n_features=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        focus = Focus().fit_sets(few)
    Teachable(focus).taught([lesson(1, "calm", np.random.default_rng(1).normal(size=(9, 8)))])  # a warning is an error


def test_lessons_about_other_features_are_refused_with_both_numbers(watch):
    for wrong in (lesson(1, "familiar", np.ones(5)), lesson(1, "calm", np.ones((4, 5)))):
        with pytest.raises(InputError, match=r"'match.mp4' is about 5 features, the model about 4"):
            Teachable(watch).taught([wrong])
    Teachable(watch).taught([lesson(1, "unsure")])


def test_a_watch_without_known_rows_cannot_be_taught(watch):
    from copy import copy

    forgetful = copy(watch)
    del forgetful.known_
    with pytest.raises(InputError, match="no normal rows to compare with"):
        Teachable(forgetful)

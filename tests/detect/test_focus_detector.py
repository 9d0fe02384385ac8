"""From sets to alarms in one estimator."""

import warnings

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.svm import OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

from undistract import FeatureSet, Focus, InputError
from undistract.detect import (
    AlarmBudget,
    Conformal,
    FocusDetector,
    MostSets,
    NearestDetector,
    Quantile,
    Tail,
    detector,
    quality,
)

LIGHT = np.linspace(-30, 30, 8)


def normal_days(n_days=24, n_rows=50, seed=0):
    """Days that differ a little, with strong light in all of them."""
    rng = np.random.default_rng(seed)
    days = np.repeat(np.arange(n_days), n_rows)
    usual = rng.normal(size=(n_days, 8)) * 0.3
    return usual[days] + rng.normal(size=(len(days), 8)) + rng.normal(size=(len(days), 1)) * LIGHT, days


def a_day_with_events(seed=1):
    X, _ = normal_days(1, 120, seed)
    truth = np.zeros(120, dtype=bool)
    truth[[40, 41, 42, 90]] = True
    X[truth] += np.array([0, 9, 0, 0, -9, 0, 9, 0])
    return X, truth


def known_differences(estimator):
    if isinstance(estimator.detector, NearestDetector):
        reason = "a fitted row that comes again is its own neighbour, so none alarms; scores_ judges them held out"
        return {"check_outliers_train": reason, "check_outliers_fit_predict": reason}
    return {}


@pytest.mark.filterwarnings("ignore::undistract.errors.NoSetsWarning")
@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
@parametrize_with_checks(
    [FocusDetector(Focus(), NearestDetector(n_neighbors=1)), FocusDetector(Focus(), "mahalanobis")],
    expected_failed_checks=known_differences,
)
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize(
    "detector",
    ["nearest", "mahalanobis", IsolationForest(n_estimators=20, random_state=0), LocalOutlierFactor(novelty=True)],
)
def test_events_are_found_under_light(adapt, detector):
    X, days = normal_days()
    today, truth = a_day_with_events()
    watch = FocusDetector(Focus(), detector, 0.05, adapt=adapt).fit(X, sets=days)
    assert watch.focus_.n_removed_ == 1
    assert quality(watch.anomaly_score(today), truth, k=4).average_precision > 0.9
    blind = FocusDetector(Focus(n_remove=0), detector, 0.05, adapt=adapt).fit(X, sets=days)
    seen, unseen = (quality(one.anomaly_score(today), truth, k=4).average_precision for one in (watch, blind))
    assert seen > unseen or unseen == 1.0  # a whitening detector sees through common light by itself


def test_alarms_are_joined_and_have_times():
    X, days = normal_days()
    today, _ = a_day_with_events()
    alarms = FocusDetector(Focus()).fit(X, sets=days).find_alarms(today, name="today", times=np.arange(120) * 60.0)
    spans = {(alarm.start, alarm.stop): alarm for alarm in alarms}
    assert {(40, 43), (90, 91)} <= set(spans)
    assert spans[40, 43].stop_time == 42 * 60.0
    assert [alarm.score for alarm in alarms] == sorted((alarm.score for alarm in alarms), reverse=True)


def test_the_sign_is_scikit_learn_s_where_the_name_is():
    X, days = normal_days()
    watch = FocusDetector(Focus()).fit(X, sets=days)
    today, _ = a_day_with_events()
    assert np.array_equal(watch.score_samples(today), -watch.anomaly_score(today))
    assert np.array_equal(watch.decision_function(today), watch.score_samples(today) - watch.offset_)
    assert np.array_equal(watch.predict(today) == -1, watch.decision_function(today) < 0)
    assert np.array_equal(watch.predict(today) == -1, watch.p_values(today) <= 0.01)


def test_the_promised_rate_holds_on_new_days():
    X, days = normal_days(60, 50)
    watch = FocusDetector(Focus(), threshold=0.05).fit(X, sets=days)
    rates = [np.mean(watch.predict(normal_days(6, 50, seed=100 + seed)[0]) == -1) for seed in range(20)]
    # 120 new days of 50 rows: the mean scatters by about .005.
    assert np.mean(rates) == pytest.approx(0.05, abs=0.02)


def test_scores_of_the_fitted_rows_come_from_models_that_never_saw_their_set():
    X, days = normal_days(10)
    X[days == 3] += 25 * np.array([1, -1, 1, -1, 1, -1, 1, -1])  # a day unlike all others
    watch = FocusDetector(Focus(n_remove=1), "nearest", Quantile(0.01)).fit(X, sets=days)
    strange = [watch.scores_[days == day].mean() for day in range(10)]
    assert np.argmax(strange) == 3
    assert watch.anomaly_score(X[days == 3]).mean() < strange[3]  # the final model knows that day


@pytest.mark.parametrize("rule", [Conformal(0.05), MostSets(0.1, 0.5), AlarmBudget(20, rows_per_day=100)])
def test_any_rule_can_set_the_threshold(rule):
    X, days = normal_days()
    today, truth = a_day_with_events()
    watch = FocusDetector(Focus(), threshold=rule).fit(X, sets=days)
    assert (watch.predict(today) == -1)[truth].all()
    assert watch.threshold_.n_sets == 24


def test_a_rule_without_a_fixed_value_says_so():
    X, days = normal_days(9)
    watch = FocusDetector(Focus(), threshold=Conformal(0.01)).fit(X, sets=days)
    assert watch.predict(X[:50]).shape == (50,)
    with pytest.raises(InputError, match="no fixed value for a lone row with 9 sets"):
        watch.decision_function(X[:50])


def test_in_novelty_use_a_row_scores_the_same_in_any_batch():
    X, days = normal_days()
    today, _ = a_day_with_events()
    watch = FocusDetector(Focus()).fit(X, sets=days)
    alone = np.concatenate([watch.anomaly_score(today[row : row + 1]) for row in range(20)])
    assert alone == pytest.approx(watch.anomaly_score(today)[:20], rel=1e-9)


def test_with_adapt_the_context_defines_what_is_strange():
    X, days = normal_days()
    odd, _ = normal_days(1, 100, seed=5)
    odd += 40 * np.array([1, -1, 1, -1, 1, -1, 1, -1])  # a context unlike any in training, calm in itself
    assert (FocusDetector(Focus()).fit(X, sets=days).predict(odd) == -1).all()
    assert (FocusDetector(Focus(), adapt=True).fit(X, sets=days).predict(odd) == -1).mean() < 0.2


def test_six_detectors_of_scikit_learn_and_three_of_pyod_find_the_event_behind_focus():
    pytest.importorskip("pyod", reason="PyOD is not installed: pip install 'undistract[pyod]'")
    from pyod.models.ecod import ECOD
    from pyod.models.hbos import HBOS
    from pyod.models.knn import KNN

    X, days = normal_days()
    focus = Focus().fit(X, sets=days)
    today, _ = a_day_with_events()
    today = np.delete(today, [41, 42, 90], axis=0)
    today[40] += np.array([0, 9, 0, 0, -9, 0, 9, 0])  # one event, far out, in a hundred calm rows
    models = [
        IsolationForest(random_state=0),
        LocalOutlierFactor(),
        OneClassSVM(nu=0.1),
        EllipticEnvelope(random_state=0),
        KernelDensity(),
        GaussianMixture(random_state=0),  # with two, one would adopt the event
        KNN(),
        HBOS(),
        ECOD(),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyOD's own, of no concern here
        found = {type(model).__name__: detector(model).fit(focus.transform(today)).scores_.argmax() for model in models}
    assert set(found.values()) == {40}, found


BAD_ROWS = {
    "NaN": np.full((4, 8), np.nan),
    "inf": np.full((4, 8), np.inf),
    "empty": np.empty((0, 8)),
    "one dimension": np.zeros(8),
    "wrong width": np.zeros((4, 7)),
    "objects": np.full((4, 8), "a", dtype=object),
    "sparse": csr_array(np.eye(8)),
    "ragged": [[0.0] * 8, [0.0] * 7],
}


@pytest.mark.parametrize("kind", BAD_ROWS)
@pytest.mark.parametrize("use", ["anomaly_score", "predict", "decision_function", "p_values", "find_alarms", "fit"])
def test_rows_that_cannot_be_scored_are_refused_with_a_reason(kind, use):
    X, days = normal_days()
    watch = FocusDetector(Focus(), "mahalanobis").fit(X, sets=days)
    if (kind, use) == ("wrong width", "fit"):
        pytest.skip("fit learns the width anew")
    with pytest.raises((ValueError, TypeError)) as refusal:
        getattr(watch, use)(BAD_ROWS[kind])
    assert len(str(refusal.value)) > 20


@pytest.mark.parametrize("scale", [1e-140, 1e-300, 1e300])
def test_rows_on_any_scale_are_scored_or_refused(scale):
    X, days = normal_days()
    try:
        scores = FocusDetector(Focus(), "mahalanobis").fit(X * scale, sets=days).anomaly_score(X * scale)
    except InputError:
        return
    assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
@pytest.mark.parametrize("rows", [np.zeros((60, 3)), np.ones((60, 3)) * 7, np.repeat(np.eye(3), 20, axis=0)])
def test_constant_and_duplicate_rows_are_scored(rows):
    days = np.arange(60) % 6
    watch = FocusDetector(Focus(), "nearest").fit(rows, sets=days)
    assert np.isfinite(watch.anomaly_score(rows)).all()
    assert (watch.predict(rows + 50.0) == -1).all()


def test_sets_are_routed_and_whole_sets_held_out():
    X, days = normal_days(30)
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_val_predict(
            FocusDetector(Focus(), threshold=0.05), X, cv=GroupKFold(3), params={"sets": days, "groups": days}
        )
    assert 0.0 < np.mean(found == -1) < 0.15


def test_without_sets_stretches_of_rows_stand_in():
    X, _ = normal_days()
    with pytest.warns(UserWarning, match="fitted without sets"):
        watch = FocusDetector(Focus()).fit(X)
    assert watch.threshold_.n_sets == 5


@pytest.mark.parametrize("adapt", [False, True])
def test_without_calibration_scores_are_the_same_and_the_threshold_stays(adapt):
    rng = np.random.default_rng(0)
    days = [FeatureSet(day, rng.normal(size=4) * 3 + rng.normal(size=(60, 4))) for day in range(9)]
    watch = FocusDetector(Focus(), adapt=adapt).fit_sets(days)
    focus = Focus(n_remove=2).fit_moments(watch.focus_.moments_)
    quick, settled = watch.with_focus(focus, calibrate=False), watch.with_focus(focus)
    assert np.array_equal(quick.anomaly_score(days[0].rows), settled.anomaly_score(days[0].rows))
    assert quick.threshold_ is watch.threshold_
    assert settled.threshold_.value != watch.threshold_.value
    assert watch.focus_.n_removed_ == 0


def test_the_detector_given_is_not_touched():
    X, days = normal_days()
    forest = IsolationForest(n_estimators=10, random_state=0)
    watch = FocusDetector(Focus(), forest).fit(X, sets=days)
    assert not hasattr(forest, "estimators_")
    assert clone(watch).get_params()["detector"].n_estimators == 10


@pytest.mark.parametrize("named", [lambda day: f"day {day}", lambda day: ("street", day)], ids=["words", "pairs"])
def test_sets_keep_their_names_also_for_a_prior_that_gives_weights_by_name(named):
    # They were numbered, so that no weight was found for any of them.
    X, days = normal_days()
    names = [named(day) for day in days.tolist()]
    weights = dict.fromkeys(names, 2.0)
    plain, weighted = (FocusDetector(Focus(prior=prior)).fit(X, sets=iter(names)) for prior in ("uniform", weights))
    assert plain.focus_.moments_.names == weighted.focus_.moments_.names == tuple(dict.fromkeys(names))
    np.testing.assert_allclose(weighted.scores_, plain.scores_)


def test_what_an_earlier_fit_left_is_forgotten():
    # `with_focus` fitted the detector on rows of other sets, and the names were those of other features.
    pandas = pytest.importorskip("pandas")
    X, days = normal_days()
    watch = FocusDetector(Focus()).fit(pandas.DataFrame(X).rename(columns=str), sets=days)
    watch.fit_sets([FeatureSet(day, X[days == day, :5]) for day in range(24)])
    assert not hasattr(watch, "feature_names_in_")
    watch.fit(X, sets=days)
    with pytest.raises(InputError, match="No normal rows were kept"):
        watch.with_focus(watch.focus_)


def test_learning_that_fails_leaves_the_watch_as_it_was():
    # It had a new focus and a new detector then, and the old threshold for their scores.
    X, days = normal_days()
    sets = [FeatureSet(day, X[days == day]) for day in range(24)]
    watch = FocusDetector(Focus()).fit_sets(sets)
    before = dict(vars(watch))
    watch.set_params(threshold=Tail(1e-5, share=0.001))
    with pytest.raises(InputError, match="a tail needs 30 or more"):
        watch.fit(9 * X[:, :5], sets=days)
    with pytest.raises(InputError, match="a tail needs 30 or more"):
        watch.fit_sets([FeatureSet(one.name, 9 * one.rows) for one in sets])
    changed = [name for name, value in vars(watch).items() if value is not before.get(name)]
    assert changed == ["threshold"]

"""FocusDetector: focus, detector and threshold in one estimator."""

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

from undistract import Focus, InputError, Source
from undistract.detect import (
    AlarmBudget,
    Conformal,
    FocusDetector,
    GroupQuantile,
    NearestDetector,
    Quantile,
    Tail,
    as_detector,
    quality,
)

LIGHT = np.linspace(-30, 30, 8)


def normal_days(n_days=24, n_rows=50, seed=0):
    """Return rows of days that differ slightly, with strong light in all of them, and the day of each row."""
    rng = np.random.default_rng(seed)
    days = np.repeat(np.arange(n_days), n_rows)
    usual = rng.normal(size=(n_days, 8)) * 0.3
    return usual[days] + rng.normal(size=(len(days), 8)) + rng.normal(size=(len(days), 1)) * LIGHT, days


def day_with_events(seed=1):
    X, _ = normal_days(1, 120, seed)
    truth = np.zeros(120, dtype=bool)
    truth[[40, 41, 42, 90]] = True
    X[truth] += np.array([0, 9, 0, 0, -9, 0, 9, 0])
    return X, truth


def expected_failures(estimator):
    if isinstance(estimator.detector, NearestDetector):
        reason = (
            "a fitted row is its own neighbour if scored again, so none raises an alarm; scores_ are held-out scores"
        )
        return {"check_outliers_train": reason, "check_outliers_fit_predict": reason}
    return {}


@pytest.mark.filterwarnings("ignore::undistract.errors.NoGroupsWarning")
@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
@parametrize_with_checks(
    [FocusDetector(Focus(), NearestDetector(n_neighbors=1)), FocusDetector(Focus(), "mahalanobis")],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize(
    "detector",
    ["nearest", "mahalanobis", IsolationForest(n_estimators=20, random_state=0), LocalOutlierFactor(novelty=True)],
)
def test_events_are_detected_under_light(adapt, detector):
    X, days = normal_days()
    today, truth = day_with_events()
    model = FocusDetector(Focus(), detector, 0.05, adapt=adapt).fit(X, groups=days)
    assert model.focus_.n_removed_ == 1
    assert quality(model.anomaly_score(today), truth, k=4).average_precision > 0.9
    blind = FocusDetector(Focus(n_remove=0), detector, 0.05, adapt=adapt).fit(X, groups=days)
    with_focus, without = (
        quality(fitted.anomaly_score(today), truth, k=4).average_precision for fitted in (model, blind)
    )
    assert with_focus > without or without == 1.0  # a whitening detector suppresses common light itself


def test_alarms_are_joined_and_have_times():
    X, days = normal_days()
    today, _ = day_with_events()
    alarms = FocusDetector(Focus()).fit(X, groups=days).find_alarms(today, name="today", times=np.arange(120) * 60.0)
    spans = {(alarm.start, alarm.stop): alarm for alarm in alarms}
    assert {(40, 43), (90, 91)} <= set(spans)
    assert spans[40, 43].stop_time == 42 * 60.0
    assert [alarm.score for alarm in alarms] == sorted((alarm.score for alarm in alarms), reverse=True)


def test_scikit_learn_methods_have_its_sign():
    X, days = normal_days()
    model = FocusDetector(Focus()).fit(X, groups=days)
    today, _ = day_with_events()
    assert np.array_equal(model.score_samples(today), -model.anomaly_score(today))
    assert np.array_equal(model.decision_function(today), model.score_samples(today) - model.offset_)
    assert np.array_equal(model.predict(today) == -1, model.decision_function(today) < 0)
    assert np.array_equal(model.predict(today) == -1, model.p_values(today) <= 0.01)


def test_rate_holds_on_new_days():
    X, days = normal_days(60, 50)
    model = FocusDetector(Focus(), threshold=0.05).fit(X, groups=days)
    rates = [np.mean(model.predict(normal_days(6, 50, seed=100 + seed)[0]) == -1) for seed in range(20)]
    # 120 new days of 50 rows: the standard error of the mean is about .005.
    assert np.mean(rates) == pytest.approx(0.05, abs=0.02)


def test_scores_of_fitted_rows_are_held_out_scores():
    X, days = normal_days(10)
    X[days == 3] += 25 * np.array([1, -1, 1, -1, 1, -1, 1, -1])  # a day that differs from all others
    model = FocusDetector(Focus(n_remove=1), "nearest", Quantile(0.01)).fit(X, groups=days)
    mean_scores = [model.scores_[days == day].mean() for day in range(10)]
    assert np.argmax(mean_scores) == 3
    assert model.anomaly_score(X[days == 3]).mean() < mean_scores[3]  # the final model is fitted on that day


@pytest.mark.parametrize("rule", [Conformal(0.05), GroupQuantile(0.1, 0.5), AlarmBudget(20, rows_per_day=100)])
def test_every_rule_groups_a_threshold(rule):
    X, days = normal_days()
    today, truth = day_with_events()
    model = FocusDetector(Focus(), threshold=rule).fit(X, groups=days)
    assert (model.predict(today) == -1)[truth].all()
    assert model.threshold_.n_groups == 24


def test_rule_without_fixed_value_raises_input_error():
    X, days = normal_days(9)
    model = FocusDetector(Focus(), threshold=Conformal(0.01)).fit(X, groups=days)
    assert model.predict(X[:50]).shape == (50,)
    with pytest.raises(InputError, match="no fixed value for a single row with 9 groups"):
        model.decision_function(X[:50])


def test_score_does_not_depend_on_batch_without_adapt():
    X, days = normal_days()
    today, _ = day_with_events()
    model = FocusDetector(Focus()).fit(X, groups=days)
    alone = np.concatenate([model.anomaly_score(today[row : row + 1]) for row in range(20)])
    assert alone == pytest.approx(model.anomaly_score(today)[:20], rel=1e-9)


def test_adapt_judges_rows_by_their_own_context():
    X, days = normal_days()
    odd, _ = normal_days(1, 100, seed=5)
    odd += 40 * np.array([1, -1, 1, -1, 1, -1, 1, -1])  # a new context without anomalies in itself
    assert (FocusDetector(Focus()).fit(X, groups=days).predict(odd) == -1).all()
    assert (FocusDetector(Focus(), adapt=True).fit(X, groups=days).predict(odd) == -1).mean() < 0.2


def test_scikit_learn_and_pyod_detectors_find_the_event_after_focus():
    pytest.importorskip("pyod", reason="PyOD is not installed: pip install 'undistract[pyod]'")
    from pyod.models.ecod import ECOD
    from pyod.models.hbos import HBOS
    from pyod.models.knn import KNN

    X, days = normal_days()
    focus = Focus().fit(X, groups=days)
    today, _ = day_with_events()
    today = np.delete(today, [41, 42, 90], axis=0)
    today[40] += np.array([0, 9, 0, 0, -9, 0, 9, 0])  # one distant event among a hundred normal rows
    models = [
        IsolationForest(random_state=0),
        LocalOutlierFactor(),
        OneClassSVM(nu=0.1),
        EllipticEnvelope(random_state=0),
        KernelDensity(),
        GaussianMixture(random_state=0),  # with two components, one would fit the event
        KNN(),
        HBOS(),
        ECOD(),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyOD's own warnings
        result = {
            type(model).__name__: as_detector(model).fit(focus.transform(today)).scores_.argmax() for model in models
        }
    assert set(result.values()) == {40}, result


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
def test_invalid_rows_raise_an_error_with_a_reason(kind, use):
    X, days = normal_days()
    model = FocusDetector(Focus(), "mahalanobis").fit(X, groups=days)
    if (kind, use) == ("wrong width", "fit"):
        pytest.skip("fit accepts any width")
    with pytest.raises((ValueError, TypeError)) as error:
        getattr(model, use)(BAD_ROWS[kind])
    assert len(str(error.value)) > 20


@pytest.mark.parametrize("scale", [1e-140, 1e-300, 1e300])
def test_rows_on_any_scale_are_scored_or_raise_input_error(scale):
    X, days = normal_days()
    try:
        scores = FocusDetector(Focus(), "mahalanobis").fit(X * scale, groups=days).anomaly_score(X * scale)
    except InputError:
        return
    assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
@pytest.mark.parametrize("rows", [np.zeros((60, 3)), np.ones((60, 3)) * 7, np.repeat(np.eye(3), 20, axis=0)])
def test_constant_and_duplicate_rows_are_scored(rows):
    days = np.arange(60) % 6
    model = FocusDetector(Focus(), "nearest").fit(rows, groups=days)
    assert np.isfinite(model.anomaly_score(rows)).all()
    assert (model.predict(rows + 50.0) == -1).all()


def test_group_labels_are_routed_in_cross_validation():
    X, days = normal_days(30)
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_val_predict(FocusDetector(Focus(), threshold=0.05), X, cv=GroupKFold(3), params={"groups": days})
    assert 0.0 < np.mean(result == -1) < 0.15


def test_blocks_of_rows_replace_missing_groups():
    X, _ = normal_days()
    with pytest.warns(UserWarning, match="fitted without groups"):
        model = FocusDetector(Focus()).fit(X)
    assert model.threshold_.n_groups == 5


@pytest.mark.parametrize("adapt", [False, True])
def test_with_focus_without_calibration_keeps_threshold(adapt):
    rng = np.random.default_rng(0)
    days = [Source(day, rng.normal(size=4) * 3 + rng.normal(size=(60, 4))) for day in range(9)]
    model = FocusDetector(Focus(), adapt=adapt).fit_groups(days)
    focus = Focus(n_remove=2).fit_moments(model.focus_.moments_)
    quick, calibrated = model.with_focus(focus, calibrate=False), model.with_focus(focus)
    assert np.array_equal(quick.anomaly_score(days[0].rows), calibrated.anomaly_score(days[0].rows))
    assert quick.threshold_ is model.threshold_
    assert calibrated.threshold_.value != model.threshold_.value
    assert model.focus_.n_removed_ == 0


def test_original_detector_is_not_fitted():
    X, days = normal_days()
    forest = IsolationForest(n_estimators=10, random_state=0)
    model = FocusDetector(Focus(), forest).fit(X, groups=days)
    assert not hasattr(forest, "estimators_")
    assert clone(model).get_params()["detector"].n_estimators == 10


@pytest.mark.parametrize("make_name", [lambda day: f"day {day}", lambda day: ("street", day)], ids=["strings", "pairs"])
def test_group_names_reach_a_prior_with_weights_by_name(make_name):
    # Regression: groups were numbered, so no weight matched.
    X, days = normal_days()
    names = [make_name(day) for day in days.tolist()]
    weights = dict.fromkeys(names, 2.0)
    plain, weighted = (FocusDetector(Focus(prior=prior)).fit(X, groups=iter(names)) for prior in ("uniform", weights))
    assert plain.focus_.moments_.names == weighted.focus_.moments_.names == tuple(dict.fromkeys(names))
    np.testing.assert_allclose(weighted.scores_, plain.scores_)


def test_refit_removes_state_of_earlier_fit():
    # Regression: `with_focus` used rows of the earlier fit, and the feature names stayed.
    pandas = pytest.importorskip("pandas")
    X, days = normal_days()
    model = FocusDetector(Focus()).fit(pandas.DataFrame(X).rename(columns=str), groups=days)
    model.fit_groups([Source(day, X[days == day, :5]) for day in range(24)])
    assert not hasattr(model, "feature_names_in_")
    model.fit(X, groups=days)
    with pytest.raises(InputError, match="No normal rows are stored"):
        model.with_focus(model.focus_)


def test_failed_fit_leaves_the_model_unchanged():
    # Regression: it had a new focus and detector with the old threshold.
    X, days = normal_days()
    groups = [Source(day, X[days == day]) for day in range(24)]
    model = FocusDetector(Focus()).fit_groups(groups)
    before = dict(vars(model))
    model.set_params(threshold=Tail(1e-5, share=0.001))
    with pytest.raises(InputError, match="A tail needs at least 30 scores"):
        model.fit(9 * X[:, :5], groups=days)
    with pytest.raises(InputError, match="A tail needs at least 30 scores"):
        model.fit_groups([Source(source.name, 9 * source.rows) for source in groups])
    changed = [name for name, value in vars(model).items() if value is not before.get(name)]
    assert changed == ["threshold"]


def test_detector_without_arguments_has_the_documented_defaults():
    X, days = normal_days()
    today, truth = day_with_events()
    default = FocusDetector().fit(X, groups=days)
    explicit = FocusDetector(Focus(), "nearest", Quantile(0.01)).fit(X, groups=days)
    assert repr(FocusDetector()) == "FocusDetector()"
    assert default.threshold_ == explicit.threshold_
    np.testing.assert_array_equal(default.anomaly_score(today), explicit.anomaly_score(today))
    assert (default.predict(today) == -1)[truth].all()

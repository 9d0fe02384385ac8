"""FOCUS as the regulariser of linear models: the penalised problem itself, solved by scikit-learn on filtered rows."""

import numpy as np
import pytest
import sklearn
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, RidgeClassifier, SGDOneClassSVM
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

from undistract import Focus, FocusPenalty, InputError, detector
from undistract.algebra.soft_filter import unit
from undistract.algebra.strength import strengths

LIGHT = np.array([6.0, -3.0, 2.0, 0.0, 4.0])
SETS = np.repeat(np.arange(12), 40)


def lit_rows(rng, n_rows=480):
    return rng.normal(size=(n_rows, 5)) + rng.normal(size=(n_rows, 1)) * LIGHT


@pytest.fixture(scope="module")
def focus():
    """Learned from twelve sets under light; two directions go, and their patterns are not at right angles."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(5, 5)) + 2 * np.eye(5)
    X = (lit_rows(rng) + 2 * rng.normal(size=(12, 5))[SETS]) @ mixing
    return Focus(n_remove=2).fit(X, sets=SETS)


def penalty_matrix(focus, strength):
    patterns = unit(focus.patterns_[:, :2])
    return np.eye(5) + (patterns * strengths(focus.spectrum_, 2, strength)) @ patterns.T


def problem(rng, n_rows=80):
    X = rng.normal(size=(n_rows, 5)) + 1.0
    return X, X @ rng.normal(size=5) + rng.normal(size=n_rows)


@pytest.mark.parametrize("strength", [0.0, 3.0, 1e4, "auto"])
@pytest.mark.parametrize("intercept", [False, True])
def test_ridge_is_the_closed_form_of_the_penalised_problem(focus, strength, intercept):
    X, y = problem(np.random.default_rng(1))
    found = FocusPenalty(Ridge(alpha=2.0, fit_intercept=intercept), focus, strength=strength).fit(X, y)
    rows, target = (X - X.mean(axis=0), y - y.mean()) if intercept else (X, y)
    direct = np.linalg.solve(rows.T @ rows + 2.0 * penalty_matrix(focus, strength), rows.T @ target)
    assert found.coef_ == pytest.approx(direct, rel=1e-8, abs=1e-10)
    assert found.predict(X) == pytest.approx(X @ found.coef_ + found.intercept_)
    if intercept:
        assert found.intercept_ == pytest.approx(y.mean() - X.mean(axis=0) @ direct)


@pytest.mark.parametrize("strength", [5.0, "auto"])
def test_logistic_regression_is_the_minimum_of_the_penalised_problem(focus, strength):
    X, y = problem(np.random.default_rng(2))
    signs = np.where(y > np.median(y), 1.0, -1.0)
    matrix = penalty_matrix(focus, strength)

    def objective(parameters):
        v, bias = parameters[:5], parameters[5]
        margins = signs * (X @ v + bias)
        slope = -signs / (1 + np.exp(margins))
        gradient = np.append(X.T @ slope + matrix @ v, slope.sum())
        return np.logaddexp(0, -margins).sum() + 0.5 * v @ matrix @ v, gradient

    direct = minimize(objective, np.zeros(6), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    found = FocusPenalty(LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000), focus, strength=strength).fit(X, signs)
    assert np.append(found.coef_[0], found.intercept_) == pytest.approx(direct, abs=1e-5)
    assert found.predict_proba(X)[:, 1] == pytest.approx(1 / (1 + np.exp(-(X @ direct[:5] + direct[5]))), abs=1e-5)


def test_coefficients_give_the_decisions_of_every_model(focus):
    X, y = problem(np.random.default_rng(3))
    classes = np.where(y > np.median(y), "high", "low")
    for model in (RidgeClassifier(), LogisticRegression(), LinearSVC(), SVC(kernel="linear")):
        found = FocusPenalty(model, focus).fit(X, classes)
        assert found.decision_function(X) == pytest.approx((X @ found.coef_.T + found.intercept_).ravel()), model
        assert set(found.classes_) == {"high", "low"}
        assert found.score(X, classes) == np.mean(found.predict(X) == classes)
    one = FocusPenalty(OneClassSVM(kernel="linear", nu=0.5), focus).fit(X)
    assert one.decision_function(X) == pytest.approx((X @ one.coef_.T + one.intercept_).ravel())


@pytest.mark.parametrize("model", [OneClassSVM(kernel="linear", nu=0.1), SGDOneClassSVM(nu=0.1, random_state=0)])
def test_a_one_class_svm_no_longer_alarms_for_the_light(model):
    rng = np.random.default_rng(0)
    described = np.array([4.0, 4.0, 4.0, 4.0, 4.0])
    focus = Focus(n_remove=1).fit(lit_rows(rng) + rng.normal(size=(12, 5))[SETS], sets=SETS)
    calm = rng.normal(size=(300, 5)) + described  # no light here: nothing says that it is to be ignored
    new = lit_rows(rng, 300) + described
    new[:15] -= 0.8 * described  # strangers lie nearer to the origin
    truth = np.arange(300) < 15
    plain, taught = (
        average_precision_score(truth, detector(one).fit(calm).anomaly_score(new))
        for one in (model, FocusPenalty(clone(model), FrozenEstimator(focus)))
    )
    assert taught > plain + 0.5  # 1.0 against .2


def test_an_unfitted_focus_learns_from_the_sets_given(focus):
    rng = np.random.default_rng(0)
    X = lit_rows(rng) + rng.normal(size=(12, 5))[SETS]
    y = X @ [1.0, 2.0, 0.0, 0.0, 0.0]
    here = FocusPenalty(Ridge(), Focus(n_remove=1)).fit(X, y, sets=SETS)
    ready = FocusPenalty(Ridge(), Focus(n_remove=1).fit(X, sets=SETS)).fit(X, y)
    assert np.array_equal(here.coef_, ready.coef_)
    with pytest.raises(InputError, match="is not fitted, and there are no sets to fit it on"):
        FocusPenalty(Ridge(), Focus()).fit(X, y)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), FocusPenalty(Ridge(), Focus(n_remove=1))).fit(X, y, sets=SETS)
    assert routed[-1].focus_.moments_.n_sets == 12


def test_a_frozen_focus_survives_a_search_over_strengths(focus):
    X, y = problem(np.random.default_rng(4))
    model = FocusPenalty(Ridge(), FrozenEstimator(focus))
    search = GridSearchCV(model, {"strength": [0.0, 10.0, "auto"], "estimator__alpha": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.focus_.n_removed_ == 2


def test_weights_of_rows_are_handed_on(focus):
    X, y = problem(np.random.default_rng(5))
    weights = np.arange(len(X)) % 3
    twice = np.repeat(np.arange(len(X)), weights)
    one = FocusPenalty(Ridge(), focus).fit(X, y, sample_weight=weights)
    other = FocusPenalty(Ridge(), focus).fit(X[twice], y[twice])
    assert one.coef_ == pytest.approx(other.coef_, rel=1e-8)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda focus: FocusPenalty(SVC(), focus), "has no coef_ once it is fitted"),
        (lambda focus: FocusPenalty(LinearSVC(penalty="l1"), focus), "Use 'l2'"),
        pytest.param(
            lambda focus: FocusPenalty(LogisticRegression(l1_ratio=0.5, solver="saga"), focus),
            "penalises absolute values.*l1_ratio=0",
            marks=pytest.mark.skipif(LogisticRegression().penalty == "l2", reason="named before scikit-learn 1.8"),
        ),
        (lambda focus: FocusPenalty(Lasso(), focus), "Use 'l2'"),
        (lambda focus: FocusPenalty(Ridge(), focus, strength=-1), "strength is -1"),
        (lambda focus: FocusPenalty(Ridge(), StandardScaler().fit(np.eye(5))), "has no patterns_"),
    ],
)
def test_what_has_no_squared_length_to_penalise_is_refused(focus, make, complaint):
    X, y = problem(np.random.default_rng(6))
    with pytest.raises(InputError, match=complaint):
        make(focus).fit(X, y > 0)


def test_another_number_of_features_is_refused(focus):
    X, y = problem(np.random.default_rng(7))
    with pytest.raises(InputError, match="X has 4 features"):
        FocusPenalty(Ridge(), focus).fit(X[:, :4], y)


def known_differences(estimator):
    if isinstance(estimator.estimator, OneClassSVM):
        return {"check_sample_weight_equivalence_on_dense_data": "libsvm's own, scikit-learn excepts it too"}
    return {}


@parametrize_with_checks(
    [
        FocusPenalty(Ridge()),
        FocusPenalty(LogisticRegression()),
        FocusPenalty(OneClassSVM(kernel="linear")),
    ],
    expected_failed_checks=known_differences,
)
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)

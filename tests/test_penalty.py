"""FocusPenalty: the penalised problem, solved by scikit-learn on filtered rows."""

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

from undistract import Focus, FocusPenalty, InputError, as_detector
from undistract.algebra.shrinkage import normalize_columns, strengths

LIGHT = np.array([6.0, -3.0, 2.0, 0.0, 4.0])
SETS = np.repeat(np.arange(12), 40)


def lit_rows(rng, n_rows=480):
    return rng.normal(size=(n_rows, 5)) + rng.normal(size=(n_rows, 1)) * LIGHT


@pytest.fixture(scope="module")
def focus():
    """A Focus of twelve groups under light that removes two directions with patterns that are not orthogonal."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(5, 5)) + 2 * np.eye(5)
    X = (lit_rows(rng) + 2 * rng.normal(size=(12, 5))[SETS]) @ mixing
    return Focus(n_remove=2).fit(X, groups=SETS)


def penalty_matrix(focus, strength):
    patterns = normalize_columns(focus.patterns_[:, :2])
    return np.eye(5) + (patterns * strengths(focus.spectrum_, 2, strength)) @ patterns.T


def problem(rng, n_rows=80):
    X = rng.normal(size=(n_rows, 5)) + 1.0
    return X, X @ rng.normal(size=5) + rng.normal(size=n_rows)


@pytest.mark.parametrize("strength", [0.0, 3.0, 1e4, "auto"])
@pytest.mark.parametrize("intercept", [False, True])
def test_ridge_equals_closed_form(focus, strength, intercept):
    X, y = problem(np.random.default_rng(1))
    fitted = FocusPenalty(Ridge(alpha=2.0, fit_intercept=intercept), focus, strength=strength).fit(X, y)
    rows = X - intercept * X.mean(axis=0)
    target = y - intercept * y.mean()
    direct = np.linalg.solve(rows.T @ rows + 2.0 * penalty_matrix(focus, strength), rows.T @ target)
    assert fitted.coef_ == pytest.approx(direct, rel=1e-8, abs=1e-10)
    assert fitted.predict(X) == pytest.approx(X @ fitted.coef_ + fitted.intercept_)
    if intercept:
        assert fitted.intercept_ == pytest.approx(y.mean() - X.mean(axis=0) @ direct)


@pytest.mark.parametrize("strength", [5.0, "auto"])
def test_logistic_regression_minimises_penalised_loss(focus, strength):
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
    fitted = FocusPenalty(LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000), focus, strength=strength).fit(X, signs)
    assert np.append(fitted.coef_[0], fitted.intercept_) == pytest.approx(direct, abs=1e-5)
    assert fitted.predict_proba(X)[:, 1] == pytest.approx(1 / (1 + np.exp(-(X @ direct[:5] + direct[5]))), abs=1e-5)


def test_coefficients_reproduce_decision_function(focus):
    X, y = problem(np.random.default_rng(3))
    classes = np.where(y > np.median(y), "high", "low")
    for model in (RidgeClassifier(), LogisticRegression(), LinearSVC(), SVC(kernel="linear")):
        fitted = FocusPenalty(model, focus).fit(X, classes)
        assert fitted.decision_function(X) == pytest.approx((X @ fitted.coef_.T + fitted.intercept_).ravel()), model
        assert set(fitted.classes_) == {"high", "low"}
        assert fitted.score(X, classes) == np.mean(fitted.predict(X) == classes)
    one_class = FocusPenalty(OneClassSVM(kernel="linear", nu=0.5), focus).fit(X)
    assert one_class.decision_function(X) == pytest.approx((X @ one_class.coef_.T + one_class.intercept_).ravel())


@pytest.mark.parametrize("model", [OneClassSVM(kernel="linear", nu=0.1), SGDOneClassSVM(nu=0.1, random_state=0)])
def test_penalised_one_class_svm_ignores_light(model):
    rng = np.random.default_rng(0)
    described = np.array([4.0, 4.0, 4.0, 4.0, 4.0])
    focus = Focus(n_remove=1).fit(lit_rows(rng) + rng.normal(size=(12, 5))[SETS], groups=SETS)
    calm = rng.normal(size=(300, 5)) + described  # no light here, so these rows give no evidence about it
    new = lit_rows(rng, 300) + described
    new[:15] -= 0.8 * described  # anomalies are closer to the origin
    truth = np.arange(300) < 15
    plain, penalised = (
        average_precision_score(truth, as_detector(candidate).fit(calm).anomaly_score(new))
        for candidate in (model, FocusPenalty(clone(model), FrozenEstimator(focus)))
    )
    assert penalised > plain + 0.5  # 1.0 against .2


def test_unfitted_focus_is_fitted_on_groups(focus):
    rng = np.random.default_rng(0)
    X = lit_rows(rng) + rng.normal(size=(12, 5))[SETS]
    y = X @ [1.0, 2.0, 0.0, 0.0, 0.0]
    unfitted = FocusPenalty(Ridge(), Focus(n_remove=1)).fit(X, y, groups=SETS)
    prefitted = FocusPenalty(Ridge(), Focus(n_remove=1).fit(X, groups=SETS)).fit(X, y)
    assert np.array_equal(unfitted.coef_, prefitted.coef_)
    with pytest.raises(InputError, match="is not fitted, and there are no groups to fit it on"):
        FocusPenalty(Ridge(), Focus()).fit(X, y)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), FocusPenalty(Ridge(), Focus(n_remove=1))).fit(X, y, groups=SETS)
    assert routed[-1].focus_.moments_.n_groups == 12


def test_frozen_focus_survives_grid_search(focus):
    X, y = problem(np.random.default_rng(4))
    model = FocusPenalty(Ridge(), FrozenEstimator(focus))
    search = GridSearchCV(model, {"strength": [0.0, 10.0, "auto"], "estimator__alpha": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.focus_.n_removed_ == 2


def test_sample_weight_is_passed_on(focus):
    X, y = problem(np.random.default_rng(5))
    weights = np.arange(len(X)) % 3
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = FocusPenalty(Ridge(), focus).fit(X, y, sample_weight=weights)
    copied = FocusPenalty(Ridge(), focus).fit(X[repeated], y[repeated])
    assert weighted.coef_ == pytest.approx(copied.coef_, rel=1e-8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda focus: FocusPenalty(SVC(), focus), "has no coef_ after the fit"),
        (lambda focus: FocusPenalty(LinearSVC(penalty="l1"), focus), "Use 'l2'"),
        pytest.param(
            lambda focus: FocusPenalty(LogisticRegression(l1_ratio=0.5, solver="saga"), focus),
            "has an L1 penalty.*l1_ratio=0",
            marks=pytest.mark.skipif(LogisticRegression().penalty == "l2", reason="named before scikit-learn 1.8"),
        ),
        (lambda focus: FocusPenalty(Lasso(), focus), "Use 'l2'"),
        (lambda focus: FocusPenalty(Ridge(), focus, strength=-1), "strength must be .* got -1"),
        (lambda focus: FocusPenalty(Ridge(), StandardScaler().fit(np.eye(5))), "has no patterns_"),
    ],
)
def test_models_without_l2_penalty_raise_input_error(focus, make, message):
    X, y = problem(np.random.default_rng(6))
    with pytest.raises(InputError, match=message):
        make(focus).fit(X, y > 0)


def test_wrong_number_of_features_raises_input_error(focus):
    X, y = problem(np.random.default_rng(7))
    with pytest.raises(InputError, match="X has 4 features"):
        FocusPenalty(Ridge(), focus).fit(X[:, :4], y)


def expected_failures(estimator):
    if isinstance(estimator.estimator, OneClassSVM):
        return {"check_sample_weight_equivalence_on_dense_data": "a property of libsvm, scikit-learn skips it too"}
    return {}


@parametrize_with_checks(
    [
        FocusPenalty(Ridge()),
        FocusPenalty(LogisticRegression()),
        FocusPenalty(OneClassSVM(kernel="linear")),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import OneClassSVM

from undistract.detect import AdaptedDetector, NearestDetector, as_detector
from undistract.detect.registry import DETECTORS
from undistract.errors import InputError


def rows_with_outlier():
    X = np.random.default_rng(0).normal(size=(400, 8))
    X[123] = 7 * np.array([1, -1, 1, 1, -1, 1, -1, -1])
    return X


SKLEARN = {
    "isolation forest": IsolationForest(random_state=0),
    "local outlier factor": LocalOutlierFactor(),
    "local outlier factor, novelty": LocalOutlierFactor(novelty=True),
    "one-class SVM": OneClassSVM(nu=0.1),
    # Bounded kernel features: the linear machine alone is blind to an outlier on the far side.
    "SGD one-class SVM": make_pipeline(Nystroem(random_state=0), SGDOneClassSVM(random_state=0)),
    "elliptic envelope": EllipticEnvelope(random_state=0),
    "kernel density": KernelDensity(),
    "Gaussian mixture": GaussianMixture(random_state=0),
}


@pytest.mark.parametrize("model", SKLEARN.values(), ids=SKLEARN.keys())
def test_outlier_scores_highest_with_scikit_learn_models(model):
    X = rows_with_outlier()
    fitted = as_detector(model).fit(X)
    assert fitted.scores_.shape == (400,)
    assert fitted.scores_.argmax() == 123


@pytest.mark.parametrize("model", SKLEARN.values(), ids=SKLEARN.keys())
def test_outlier_scores_highest_behind_frozen_projection(model):
    X = rows_with_outlier()
    focus = FrozenEstimator(FunctionTransformer(lambda X: X[:, :3]).fit(X))
    assert as_detector(make_pipeline(focus, model)).fit(X).scores_.argmax() == 123


@pytest.mark.parametrize("name", ["knn.KNN", "hbos.HBOS", "ecod.ECOD", "iforest.IForest", "pca.PCA"])
@pytest.mark.filterwarnings("ignore")
def test_outlier_scores_highest_with_pyod_models(name):
    pytest.importorskip("pyod", reason="PyOD is not installed: pip install 'undistract[pyod]'")
    module, _, kind = name.partition(".")
    model = getattr(pytest.importorskip(f"pyod.models.{module}"), kind)()
    X = rows_with_outlier()
    for candidate in (model, make_pipeline(StandardScaler(), model)):
        fitted = as_detector(candidate).fit(X)
        assert fitted.scores_.argmax() == 123
        assert fitted.anomaly_score(X).argmax() == 123
    assert not hasattr(model, "decision_scores_")


@pytest.mark.parametrize("name", DETECTORS)
def test_registered_name_makes_detector_that_finds_outlier(name):
    X = rows_with_outlier()
    normal = np.delete(X, 123, axis=0)
    training = normal
    if name == "density_ratio":  # it detects what many rows have in common, so repeat the outlier
        training = np.concatenate([normal, X[[123] * 40]])
    fitted = as_detector(name).fit(training)
    assert fitted.anomaly_score(X).argmax() == 123


def test_adapter_changes_only_the_sign():
    X = rows_with_outlier()
    forest = IsolationForest(random_state=0).fit(X)
    np.testing.assert_array_equal(
        as_detector(IsolationForest(random_state=0)).fit(X).anomaly_score(X[:9]), -forest.score_samples(X[:9])
    )
    factor = LocalOutlierFactor().fit(X)
    np.testing.assert_array_equal(as_detector(LocalOutlierFactor()).fit(X).scores_, -factor.negative_outlier_factor_)


def test_decision_function_is_negated_without_score_samples():
    class Above:
        def fit(self, X, y=None):
            return self

        def decision_function(self, X):
            return -X[:, 0]

    assert as_detector(Above()).fit(np.eye(3)).scores_.argmax() == 0


def test_original_model_is_not_fitted():
    model = IsolationForest(random_state=0)
    as_detector(model).fit(rows_with_outlier())
    assert not hasattr(model, "estimators_")


def test_frozen_model_is_not_refitted():
    X = rows_with_outlier()
    factor = LocalOutlierFactor(novelty=True).fit(X[100:])
    fitted = as_detector(FrozenEstimator(factor)).fit(X[:50])
    np.testing.assert_array_equal(fitted.anomaly_score(X), -factor.score_samples(X))
    np.testing.assert_array_equal(fitted.scores_, -factor.score_samples(X[:50]))


def test_detector_is_returned_unchanged():
    ours = NearestDetector()
    adapted = AdaptedDetector(IsolationForest())
    assert as_detector(ours) is ours
    assert as_detector(adapted) is adapted


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ("near", "No detector is called 'near'. Use one of nearest"),
        (IsolationForest, r"IsolationForest is a class. Pass an instance: IsolationForest\(\)"),
        (3, "3 has no fit"),
    ],
)
def test_invalid_detector_raises_input_error(obj, message):
    with pytest.raises(InputError, match=message):
        as_detector(obj)


def test_model_that_cannot_score_new_rows_raises_input_error():
    X = rows_with_outlier()
    with pytest.raises(InputError, match="Use novelty=True to score later rows"):
        as_detector(LocalOutlierFactor()).fit(X).anomaly_score(X)
    with pytest.raises(InputError, match="StandardScaler cannot score rows"):
        as_detector(StandardScaler()).fit(X)


def test_nan_scores_raise_input_error():
    class Broken:
        def fit(self, X, y=None):
            return self

        def score_samples(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(InputError, match="Broken returned 3 non-finite scores for 3 rows"):
        as_detector(Broken()).fit(np.eye(3))


def test_probabilistic_model_is_adapted():
    assert as_detector(PCA(2)).fit(rows_with_outlier()).scores_.argmax() == 123


def test_wrong_shape_of_scores_raises_input_error():
    # Regression: the message was about non-finite scores.
    class Columns(BaseEstimator):
        def fit(self, X, y=None):
            return self

        def score_samples(self, X):
            return np.zeros((len(X), 1))

    with pytest.raises(InputError, match=r"Columns returned scores of shape \(5, 1\), expected \(n,\)"):
        as_detector(Columns()).fit(np.ones((5, 2)))

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

from undistract.detect import AdaptedDetector, NearestDetector, detector
from undistract.detect.adapters import BY_NAME
from undistract.errors import InputError


def rows_with_an_outlier():
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
def test_a_planted_outlier_scores_highest_in_scikit_learns(model):
    X = rows_with_an_outlier()
    found = detector(model).fit(X)
    assert found.scores_.shape == (400,)
    assert found.scores_.argmax() == 123


@pytest.mark.parametrize("model", SKLEARN.values(), ids=SKLEARN.keys())
def test_and_behind_a_projection_that_stays_as_it_is(model):
    X = rows_with_an_outlier()
    focus = FrozenEstimator(FunctionTransformer(lambda X: X[:, :3]).fit(X))
    assert detector(make_pipeline(focus, model)).fit(X).scores_.argmax() == 123


@pytest.mark.parametrize("name", ["knn.KNN", "hbos.HBOS", "ecod.ECOD", "iforest.IForest", "pca.PCA"])
@pytest.mark.filterwarnings("ignore")
def test_a_planted_outlier_scores_highest_in_pyods(name):
    pytest.importorskip("pyod", reason="PyOD is not installed: pip install 'undistract[pyod]'")
    module, _, kind = name.partition(".")
    model = getattr(pytest.importorskip(f"pyod.models.{module}"), kind)()
    X = rows_with_an_outlier()
    for candidate in (model, make_pipeline(StandardScaler(), model)):
        found = detector(candidate).fit(X)
        assert found.scores_.argmax() == 123
        assert found.anomaly_score(X).argmax() == 123
    assert not hasattr(model, "decision_scores_")


@pytest.mark.parametrize("name", BY_NAME)
def test_a_name_gives_a_detector_that_finds_the_outlier(name):
    X = rows_with_an_outlier()
    normal = np.delete(X, 123, axis=0)
    # A density ratio looks for what many rows have in common, so it is asked about many.
    found = detector(name).fit(np.concatenate([normal, X[[123] * 40]]) if name == "density_ratio" else normal)
    assert found.anomaly_score(X).argmax() == 123


def test_only_the_sign_is_turned():
    X = rows_with_an_outlier()
    forest = IsolationForest(random_state=0).fit(X)
    np.testing.assert_array_equal(
        detector(IsolationForest(random_state=0)).fit(X).anomaly_score(X[:9]), -forest.score_samples(X[:9])
    )
    factor = LocalOutlierFactor().fit(X)
    np.testing.assert_array_equal(detector(LocalOutlierFactor()).fit(X).scores_, -factor.negative_outlier_factor_)


def test_a_model_with_a_decision_function_alone_is_turned_too():
    class Above:
        def fit(self, X, y=None):
            return self

        def decision_function(self, X):
            return -X[:, 0]

    assert detector(Above()).fit(np.eye(3)).scores_.argmax() == 0


def test_the_model_given_is_left_alone():
    model = IsolationForest(random_state=0)
    detector(model).fit(rows_with_an_outlier())
    assert not hasattr(model, "estimators_")


def test_a_frozen_model_is_used_as_it_was_fitted():
    X = rows_with_an_outlier()
    factor = LocalOutlierFactor(novelty=True).fit(X[100:])
    found = detector(FrozenEstimator(factor)).fit(X[:50])
    np.testing.assert_array_equal(found.anomaly_score(X), -factor.score_samples(X))
    np.testing.assert_array_equal(found.scores_, -factor.score_samples(X[:50]))


def test_a_detector_is_returned_as_it_is():
    ours = NearestDetector()
    adapted = AdaptedDetector(IsolationForest())
    assert detector(ours) is ours
    assert detector(adapted) is adapted


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ("near", "No detector is called 'near'. Use one of nearest"),
        (IsolationForest, r"IsolationForest is a class. Give an instance: IsolationForest\(\)"),
        (3, "3 has no fit"),
    ],
)
def test_what_is_no_detector_is_refused_with_a_reason(obj, message):
    with pytest.raises(InputError, match=message):
        detector(obj)


def test_new_rows_for_a_model_that_takes_none_are_refused_with_a_reason():
    X = rows_with_an_outlier()
    with pytest.raises(InputError, match="Use novelty=True to score later rows"):
        detector(LocalOutlierFactor()).fit(X).anomaly_score(X)
    with pytest.raises(InputError, match="StandardScaler cannot score rows"):
        detector(StandardScaler()).fit(X)


def test_a_model_that_gives_no_number_is_an_error_not_a_score():
    class Broken:
        def fit(self, X, y=None):
            return self

        def score_samples(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(InputError, match="Broken gave 3 of 3 scores not finite"):
        detector(Broken()).fit(np.eye(3))


def test_a_probabilistic_model_is_a_detector_too():
    assert detector(PCA(2)).fit(rows_with_an_outlier()).scores_.argmax() == 123


def test_scores_of_another_shape_are_called_so():
    # They were called not finite, none of them.
    class Columns(BaseEstimator):
        def fit(self, X, y=None):
            return self

        def score_samples(self, X):
            return np.zeros((len(X), 1))

    with pytest.raises(InputError, match=r"Columns gave scores of shape \(5, 1\); expected one for each row"):
        detector(Columns()).fit(np.ones((5, 2)))

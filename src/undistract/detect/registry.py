"""All detectors and threshold rules by name, and the adapter for models of scikit-learn and PyOD.

To add a detector, write a file with a class that has `fit`, `anomaly_score` and `scores_` and declares with `saveable`
what a model file stores, and add a line to `DETECTORS`. To add a threshold rule, add a line to `THRESHOLDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import Pipeline
from sklearn.svm import OneClassSVM
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from undistract._rollback import restores_on_error
from undistract._schema import REGISTRY
from undistract.detect.base import Detector, flip_sign
from undistract.detect.density_ratio import DensityRatioDetector
from undistract.detect.discriminative import DiscriminativeDetector
from undistract.detect.mahalanobis import RidgeMahalanobis
from undistract.detect.nearest import NearestDetector
from undistract.detect.sparse import SparseCombinationDetector
from undistract.detect.tails import Tail
from undistract.detect.thresholds import AlarmBudget, Conformal, GroupQuantile, Quantile, ThresholdRule
from undistract.errors import InputError

DETECTORS: dict[str, Callable[[], Any]] = {
    "nearest": NearestDetector,
    "mahalanobis": RidgeMahalanobis,
    "discriminative": DiscriminativeDetector,
    "sparse_combination": SparseCombinationDetector,
    "density_ratio": DensityRatioDetector,
    "lof": lambda: LocalOutlierFactor(novelty=True),
    "isolation_forest": lambda: IsolationForest(random_state=0),
    "one_class_svm": lambda: OneClassSVM(nu=0.1),
}
# A model file can hold these; the others are models of scikit-learn, which it cannot.
SAVEABLE_DETECTORS = tuple(name for name, make in DETECTORS.items() if getattr(make, "__name__", "") in REGISTRY)

THRESHOLDS: dict[str, Callable[..., ThresholdRule]] = {
    "quantile": Quantile,
    "conformal": Conformal,
    "group_quantile": GroupQuantile,
    "tail": Tail,
    "alarm_budget": AlarmBudget,
}


def as_detector(obj: Any) -> Detector:
    """Return a detector for a name or for any model that scores rows.

    Parameters
    ----------
    obj : str or object
        A name of `DETECTORS`, such as ``"nearest"`` or ``"lof"``; a scikit-learn outlier detector or density model, or
        a pipeline that ends in one; a PyOD model; or a detector, which is returned unchanged.

    Examples
    --------
    >>> from sklearn.covariance import EllipticEnvelope
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> X[7] = 9.0
    >>> int(as_detector(EllipticEnvelope(random_state=0)).fit(X).scores_.argmax())
    7
    >>> as_detector("nearest")
    NearestDetector()
    """
    if isinstance(obj, str):
        if obj not in DETECTORS:
            raise InputError(f"No detector is called {obj!r}. Use one of {', '.join(DETECTORS)}, or pass an object.")
        obj = DETECTORS[obj]()
    if isinstance(obj, type):
        raise InputError(f"{obj.__name__} is a class. Pass an instance: {obj.__name__}().")
    if hasattr(obj, "anomaly_score"):
        return cast(Detector, obj)
    if not hasattr(obj, "fit"):
        raise InputError(f"{obj!r} has no fit method. Pass a scikit-learn outlier detector or a PyOD model.")
    return AdaptedDetector(obj)


class AdaptedDetector(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn or PyOD model with the `Detector` interface; made by `as_detector`.

    `fit` fits a copy, `estimator_`, and leaves the original model unchanged. With some models the score of a row
    depends on the other rows of its batch (PyOD's ECOD and COPOD).

    Parameters
    ----------
    estimator : object
        The model.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The scores of the fitted rows. Taken from the model if it stores them (`negative_outlier_factor_`,
        `decision_scores_`), else computed. High is anomalous.
    estimator_ : object
        The fitted copy.

    Examples
    --------
    >>> from sklearn.neighbors import LocalOutlierFactor
    >>> lof = AdaptedDetector(LocalOutlierFactor(n_neighbors=2)).fit([[0.0], [1.0], [2.0], [9.0]])
    >>> int(lof.scores_.argmax())
    3
    >>> lof.anomaly_score([[1.0]])
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: LocalOutlierFactor scores only the rows it was fitted on...
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @restores_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a copy of the model to the rows X (n, d); `y` is ignored."""
        self.estimator_ = _copy(self.estimator)
        self._call(lambda rows: self.estimator_.fit(rows, None), X)
        model = _final_estimator(self.estimator_)
        if isinstance(model, FrozenEstimator):
            # A frozen model does not refit: its stored scores belong to other rows.
            self.scores_ = self.anomaly_score(X)
        elif hasattr(model, "decision_scores_"):
            self.scores_ = self._check_finite(model.decision_scores_)
        elif hasattr(model, "negative_outlier_factor_"):
            self.scores_ = self._check_finite(flip_sign(model.negative_outlier_factor_))
        else:
            self.scores_ = self.anomaly_score(X)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # left over from an earlier fit
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d); scikit-learn's scores are negated, so that high is always anomalous."""
        check_is_fitted(self)
        model = self.estimator_
        # Only PyOD stores decision_scores_, and its decision_function already has our sign.
        if hasattr(_final_estimator(model), "decision_scores_"):
            return self._check_finite(self._call(model.decision_function, X))
        for name in ("score_samples", "decision_function"):
            if hasattr(model, name):
                return self._check_finite(flip_sign(self._call(getattr(model, name), X)))
        if hasattr(_final_estimator(model), "novelty"):
            raise InputError(
                f"{self._name} scores only the rows it was fitted on. Use novelty=True to score later rows."
            )
        raise InputError(
            f"{self._name} cannot score rows: it has no score_samples and no decision_function. "
            "Pass an outlier detector or a density model."
        )

    @property
    def _name(self) -> str:
        return type(_final_estimator(self.estimator)).__name__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _call(self, method: Callable[[Any], Any], X: Any) -> Any:
        """Call a method of the model; if it rejects the rows, raise an InputError."""
        try:
            with np.errstate(all="ignore"):
                return method(X)
        except ValueError as error:
            raise InputError(str(error)) from error

    def _check_finite(self, scores: Any) -> NDArray[np.float64]:
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim != 1:
            raise InputError(f"{self._name} returned scores of shape {values.shape}, expected (n,): one per row.")
        if not np.isfinite(values).all():
            raise InputError(
                f"{self._name} returned {(~np.isfinite(values)).sum()} non-finite scores for {len(values)} rows. "
                "Scale the rows (for example with StandardScaler), or use another detector."
            )
        return values


def _final_estimator(model: Any) -> Any:
    """Return the last step of a (nested) pipeline, or the model itself."""
    while isinstance(model, Pipeline):
        model = model[-1]
    return model


def _copy(model: Any) -> Any:
    try:
        return clone(model, safe=False)
    except RuntimeError:
        # Some PyOD models change their parameters in __init__, which scikit-learn's clone rejects.
        return deepcopy(model)

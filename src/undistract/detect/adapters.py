"""Any detector as one of ours: high is strange, `fit`, `anomaly_score`, `scores_`.

scikit-learn's outlier detectors and density models (`score_samples` or `decision_function`, high is *normal*)
and PyOD's (`decision_scores_` and `decision_function`, high is strange).
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

from undistract.attempt import all_or_nothing
from undistract.detect.density_ratio import DensityRatioDetector
from undistract.detect.discriminative import DiscriminativeDetector
from undistract.detect.mahalanobis import RidgeMahalanobis
from undistract.detect.nearest import NearestDetector
from undistract.detect.scores import Detector, turned
from undistract.detect.sparse_combination import SparseCombinationDetector
from undistract.errors import InputError

BY_NAME: dict[str, Callable[[], Any]] = {
    "nearest": NearestDetector,
    "mahalanobis": RidgeMahalanobis,
    "discriminative": DiscriminativeDetector,
    "sparse_combination": SparseCombinationDetector,
    "density_ratio": DensityRatioDetector,
    "lof": lambda: LocalOutlierFactor(novelty=True),
    "isolation_forest": lambda: IsolationForest(random_state=0),
    "one_class_svm": lambda: OneClassSVM(nu=0.1),
}


def detector(obj: Any) -> Detector:
    """Make a detector of anything that scores rows.

    Parameters
    ----------
    obj : str or object
        One of ``"nearest"``, ``"mahalanobis"``, ``"discriminative"``, ``"sparse_combination"``,
        ``"density_ratio"``, ``"lof"``, ``"isolation_forest"``, ``"one_class_svm"``; a scikit-learn outlier
        detector or density model, or a pipeline that ends in one; a PyOD model; or a detector, which is
        returned as it is.

    Examples
    --------
    >>> from sklearn.covariance import EllipticEnvelope
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> X[7] = 9.0
    >>> int(detector(EllipticEnvelope(random_state=0)).fit(X).scores_.argmax())
    7
    >>> detector("nearest")
    NearestDetector()
    """
    if isinstance(obj, str):
        if obj not in BY_NAME:
            raise InputError(f"No detector is called {obj!r}. Use one of {', '.join(BY_NAME)}, or give an object.")
        obj = BY_NAME[obj]()
    if isinstance(obj, type):
        raise InputError(f"{obj.__name__} is a class. Give an instance: {obj.__name__}().")
    if hasattr(obj, "anomaly_score"):
        return cast(Detector, obj)
    if not hasattr(obj, "fit"):
        raise InputError(f"{obj!r} has no fit. Give a scikit-learn outlier detector or a PyOD model.")
    return AdaptedDetector(obj)


class AdaptedDetector(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn or PyOD model as a detector; made by `detector`.

    The model given is not changed: a copy is fitted, `estimator_`. Whether the score of a row depends on its
    batch is the model's own matter (PyOD's ECOD and COPOD: it does).

    Parameters
    ----------
    estimator : object
        The model.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The scores of the fitted rows, from the model's own account of them where it keeps one
        (`negative_outlier_factor_`, `decision_scores_`). High is strange.
    estimator_ : object
        The fitted copy.

    Examples
    --------
    >>> from sklearn.neighbors import LocalOutlierFactor
    >>> found = AdaptedDetector(LocalOutlierFactor(n_neighbors=2)).fit([[0.0], [1.0], [2.0], [9.0]])
    >>> int(found.scores_.argmax())
    3
    >>> found.anomaly_score([[1.0]])
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: LocalOutlierFactor scores only the rows it was fitted on...
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a copy of the model to the rows X (n, d); `y` is ignored."""
        self.estimator_ = _copy(self.estimator)
        self._asked(lambda rows: self.estimator_.fit(rows, None), X)
        last = _last(self.estimator_)
        if isinstance(last, FrozenEstimator):
            # Its own account, if any, is of the rows it was fitted on once.
            self.scores_ = self.anomaly_score(X)
        elif hasattr(last, "decision_scores_"):
            self.scores_ = self._finite(last.decision_scores_)
        elif hasattr(last, "negative_outlier_factor_"):
            self.scores_ = self._finite(turned(last.negative_outlier_factor_))
        else:
            self.scores_ = self.anomaly_score(X)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of an earlier fit
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d), the model's sign turned where it counts the other way."""
        check_is_fitted(self)
        model = self.estimator_
        if hasattr(_last(model), "decision_scores_"):
            return self._finite(self._asked(model.decision_function, X))
        for name in ("score_samples", "decision_function"):
            if hasattr(model, name):
                return self._finite(turned(self._asked(getattr(model, name), X)))
        if hasattr(_last(model), "novelty"):
            raise InputError(
                f"{self._name} scores only the rows it was fitted on. Use novelty=True to score later rows."
            )
        raise InputError(
            f"{self._name} cannot score rows: it has no score_samples and no decision_function. "
            "Give an outlier detector or a density model."
        )

    @property
    def _name(self) -> str:
        return type(_last(self.estimator)).__name__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _asked(self, method: Callable[[Any], Any], X: Any) -> Any:
        """Ask the model; that it cannot take the rows is an InputError."""
        try:
            with np.errstate(all="ignore"):
                return method(X)
        except ValueError as error:
            raise InputError(str(error)) from error

    def _finite(self, scores: Any) -> NDArray[np.float64]:
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim != 1:
            raise InputError(f"{self._name} gave scores of shape {values.shape}; expected one for each row, (n,).")
        if not np.isfinite(values).all():
            raise InputError(
                f"{self._name} gave {(~np.isfinite(values)).sum()} of {len(values)} scores not finite. "
                "Scale the rows (for example with StandardScaler), or use another detector."
            )
        return values


def _last(model: Any) -> Any:
    """Find the model itself: the last step, of a pipeline."""
    return _last(model[-1]) if isinstance(model, Pipeline) else model


def _copy(model: Any) -> Any:
    try:
        return clone(model, safe=False)
    except RuntimeError:
        # Some PyOD models change their parameters in __init__, which scikit-learn's clone refuses.
        return deepcopy(model)

"""FOCUS as a regulariser for linear models of scikit-learn.

    min  loss(y, Xv + b) + ρ/2 vᵀ(I + Σ s_i a_i a_iᵀ)v

The a_i are the patterns that a Focus removes, at unit length, and s_i their strengths. On the rows
x' = (I + Σ s_i a_i a_iᵀ)^(-½) x this is the ordinary problem with penalty ρ/2 ‖v'‖², which scikit-learn solves; v
follows from v'. Unlike a projection before the model, the penalty lets the model use a nuisance direction if the loss
requires it.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.linear_model import ElasticNet
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from undistract._arrays import Floats
from undistract._rollback import restores_on_error
from undistract.algebra.projection import check_strength
from undistract.algebra.shrinkage import ShrinkageFilter, strengths
from undistract.errors import InputError


def _can(name: str) -> Any:
    """Make a method available only if the wrapped model has it."""

    def check(self: FocusPenalty) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return available_if(check)


def _delegate(name: str) -> Any:
    """Return a method that calls the same method of the fitted model, on filtered rows."""

    def call(self: FocusPenalty, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        result: NDArray[Any] = getattr(self.estimator_, name)(self._filtered(X))
        return result

    call.__name__ = name
    call.__doc__ = f"Call the model's `{name}`."
    return _can(name)(call)


class FocusPenalty(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fit a linear model with an extra penalty on nuisance directions.

    Parameters
    ----------
    estimator : linear model of scikit-learn
        With an L2 penalty and `coef_` after the fit: Ridge, RidgeClassifier, LogisticRegression, LinearSVC, LinearSVR,
        SGDOneClassSVM, a linear OneClassSVM or SVC. A recognisable L1 penalty raises an InputError, because the filter
        changes the squared length of the coefficients only.
    focus : Focus, optional
        Fitted, or to be fitted on the same rows if `fit` gets `groups`. If this model will be cloned (a pipeline, a
        search), pass ``FrozenEstimator(focus)`` to keep the fit. None leaves the model unchanged.
    strength : float or "auto", default="auto"
        γ, the weight of the extra penalty; "auto" uses the weights that a soft removal would choose.

    Attributes
    ----------
    estimator_ : the fitted model, on filtered rows
    focus_ : Focus or None
    coef_, intercept_ : arrays
        Coefficients for original rows; those of `estimator_` are for filtered rows.

    Examples
    --------
    Light shifts both features; the class shifts the first one. The training rows of the classifier are all dimly lit.

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from undistract import Focus, FocusPenalty
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat(np.arange(20), 50)
    >>> noise, light, means = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 1)) * [9, 9], rng.normal(size=(20, 2))
    >>> focus = Focus(n_remove=1).fit(noise + light + 3 * means[groups] * [1, -1], groups=groups)
    >>> y = np.arange(200) % 2
    >>> X = rng.normal(size=(200, 2)) + 2 * y[:, None] * [1, 0]
    >>> plain = LogisticRegression().fit(X, y)
    >>> penalised = FocusPenalty(LogisticRegression(), focus).fit(X, y)
    >>> lit = X + rng.normal(size=(200, 1)) * [9, 9]
    >>> plain.score(lit, y), penalised.score(lit, y)
    (0.515, 0.755)
    >>> penalised.coef_.round(1)  # the difference of the features, which light does not change
    array([[ 0.7, -0.7]])
    """

    # Request `groups` by default under metadata routing.
    __metadata_request__fit = {"groups": True}  # noqa: RUF012

    def __init__(self, estimator: Any, focus: Any = None, *, strength: float | str = "auto") -> None:
        self.estimator = estimator
        self.focus = focus
        self.strength = strength

    @restores_on_error
    def fit(self, X: Any, y: Any = None, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to rows X (n, d) and, if it needs them, targets y.

        Parameters
        ----------
        X : (n, d) array or data frame
        y : (n,) array, optional
        groups : (n,) sequence of hashables, optional
            The group of each row, for a focus that is not fitted yet.
        sample_weight : (n,) array, optional
            Passed to the model.
        """
        check_strength(self.strength)
        self._check_l2_penalty()
        rows = validate_data(self, X, dtype=np.float64)
        self.focus_ = self._fitted_focus(X, groups)
        self._filter = make_penalty_filter(self.focus_, self.strength, rows.shape[1])
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(self._filter(rows), y, **weights)
        if not hasattr(self.estimator_, "coef_"):
            raise InputError(
                f"{self.estimator!r} has no coef_ after the fit, so it has no penalty to change. Use a linear model, "
                "such as Ridge() or OneClassSVM(kernel='linear')."
            )
        self.__dict__.pop("classes_", None)  # left over from an earlier fit
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        return self

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients for original rows: v = (I + Σ s_i a_i a_iᵀ)^(-½) v'."""
        filtered_coef = np.asarray(self.estimator_.coef_, dtype=np.float64)
        # The filter matrix is symmetric, so it maps coefficients as it maps rows.
        return self._filter(np.atleast_2d(filtered_coef)).reshape(filtered_coef.shape)

    @property
    def intercept_(self) -> Any:
        """Intercept, the same for filtered and original rows."""
        return self.estimator_.intercept_

    @property
    def offset_(self) -> Any:
        """The threshold of one-class models."""
        return self.estimator_.offset_

    predict = _delegate("predict")
    decision_function = _delegate("decision_function")
    predict_proba = _delegate("predict_proba")
    predict_log_proba = _delegate("predict_log_proba")
    score_samples = _delegate("score_samples")  # with scikit-learn's one-class models, high is normal

    @_can("fit_predict")  # type: ignore[untyped-decorator]
    def fit_predict(self, X: Any, y: Any = None, *, groups: Any = None) -> NDArray[Any]:
        """Fit, and return -1 for outliers and 1 for other rows."""
        predicted: NDArray[Any] = self.fit(X, y, groups=groups).predict(X)
        return predicted

    @_can("score")  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Call the model's `score`."""
        check_is_fitted(self)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.estimator_.score(self._filtered(X), y, **weights))

    def _fitted_focus(self, X: Any, groups: Any) -> Any:
        if self.focus is None:
            return None
        try:
            check_is_fitted(self.focus)
        except ValueError as error:  # scikit-learn's NotFittedError
            if groups is None:
                raise InputError(
                    f"{self.focus!r} is not fitted, and there are no groups to fit it on. Use "
                    "fit(X, y, groups=labels), or FrozenEstimator(focus) if this model is cloned."
                ) from error
            return clone(self.focus).fit(X, groups=groups)
        return self.focus

    def _check_l2_penalty(self) -> None:
        penalty = getattr(self.estimator, "penalty", None)
        # Since scikit-learn 1.8 LogisticRegression deprecates `penalty`; only l1_ratio shows an L1 penalty.
        has_l1_share = penalty == "deprecated" and getattr(self.estimator, "l1_ratio", 0) not in (None, 0)
        is_elastic_net = isinstance(self.estimator, ElasticNet)  # Lasso is a subclass
        if penalty in ("l1", "elasticnet") or has_l1_share or is_elastic_net:
            raise InputError(
                f"{self.estimator!r} has an L1 penalty; FocusPenalty needs an L2 penalty. Use 'l2' (l1_ratio=0), or "
                "Ridge()."
            )

    def _filtered(self, X: Any) -> Floats:
        return self._filter(validate_data(self, X, dtype=np.float64, reset=False))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = deepcopy(get_tags(self.estimator))
        tags.input_tags.sparse = False
        tags.array_api_support = False
        return tags


def make_penalty_filter(focus: Any, strength: float | str, n_features: int) -> ShrinkageFilter:
    """Return the filter (I + γC)^(-½) for rows, with C = Σ f_i a_i a_iᵀ over the removed directions of a fitted Focus.

    f_i is the distraction; with strength "auto", γ f_i is the strength that a soft removal would choose. Without a
    focus, or if it removes no direction, rows pass unchanged.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> focus = SimpleNamespace(patterns_=np.array([[2.0], [0.0]]), distraction_=np.ones(1), n_removed_=1)
    >>> make_penalty_filter(focus, strength=3.0, n_features=2)(np.ones((1, 2)))
    array([[0.5, 1. ]])
    """
    check_strength(strength)
    patterns, distraction = _removed_directions(focus, n_features)
    if isinstance(strength, str):
        if focus is not None and not hasattr(focus, "spectrum_"):
            raise InputError(f"strength={strength!r} needs a fitted Focus, but {focus!r} has no spectrum_.")
        automatic = np.zeros(0) if focus is None else strengths(focus.spectrum_, patterns.shape[1])
        return ShrinkageFilter.of(patterns, automatic)
    return ShrinkageFilter.of(patterns, strength * distraction)


def _removed_directions(focus: Any, n_features: int) -> tuple[Floats, Floats]:
    """Return the removed patterns (d, r) and their distraction (r,)."""
    if focus is None:
        return np.zeros((n_features, 0)), np.zeros(0)
    missing = [name for name in ("patterns_", "distraction_", "n_removed_") if not hasattr(focus, name)]
    if missing:
        raise InputError(
            f"penalty must be a fitted Focus, but {focus!r} has no {', '.join(missing)}. If the detector is cloned, "
            "pass FrozenEstimator(focus)."
        )
    n_removed = int(focus.n_removed_)
    patterns = np.asarray(focus.patterns_, dtype=np.float64)[:, :n_removed]
    distraction = np.asarray(focus.distraction_, dtype=np.float64)[:n_removed]
    if patterns.shape != (n_features, n_removed) or distraction.shape != (n_removed,):
        raise InputError(
            f"The penalty removes {n_removed} directions, with patterns of shape {patterns.shape} and "
            f"{distraction.size} distractions, but X has {n_features} features. Fit both on the same features."
        )
    if not (np.isfinite(patterns).all() and patterns.any(axis=0).all() and (distraction >= 0).all()):
        raise InputError(
            "Patterns of the penalty must be finite and not zero, with non-negative distraction. Pass a fitted Focus "
            "unchanged."
        )
    return patterns, distraction

"""FOCUS as the regulariser of any linear model of scikit-learn.

    min  loss(y, Xv + b) + ρ/2 vᵀ(I + Σ s_i a_i a_iᵀ)v

The a_i are the patterns that a Focus removes, at length one, and s_i their strengths. On the rows
x' = (I + Σ s_i a_i a_iᵀ)^(-½) x it is the plain problem with ρ/2 ‖v'‖², which scikit-learn solves; v is read off v'.
Unlike rows that were projected before, a linear model may still use what distracts, where the loss insists on it.
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

from undistract.algebra.strength import check_strength
from undistract.attempt import all_or_nothing
from undistract.detect.rows import Rows
from undistract.detect.soft_filter import penalty_filter
from undistract.errors import InputError


def _can(name: str) -> Any:
    """Offer a method where the model has it."""

    def check(self: FocusPenalty) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return available_if(check)


class FocusPenalty(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A linear model that pays more for using what the training sets call distracting.

    Parameters
    ----------
    estimator : linear model of scikit-learn
        With the squared length of its coefficients as penalty, and `coef_` once it is fitted: Ridge,
        RidgeClassifier, LogisticRegression, LinearSVC, LinearSVR, SGDOneClassSVM, a linear OneClassSVM or SVC. An L1
        penalty is another problem, and is refused where its name or its share says so.
    focus : Focus, optional
        Fitted, or to be fitted on the rows themselves where `sets` are given to `fit`. Where this model will be cloned
        (a pipeline, a search), give ``FrozenEstimator(focus)`` to keep a fitted one. Without it the model is as it was.
    strength : float or "auto", default="auto"
        γ, how much more it pays; "auto" is what a soft removal takes by itself.

    Attributes
    ----------
    estimator_ : the fitted model, on filtered rows
    focus_ : Focus or None
    coef_, intercept_ : arrays
        For rows as they come; what `estimator_` has is for filtered ones.

    Examples
    --------
    Light moves both features; the class moves the first, and only in dim light was it taught.

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from undistract import Focus, FocusPenalty
    >>> rng = np.random.default_rng(0)
    >>> sets = np.repeat(np.arange(20), 50)
    >>> noise, light, means = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 1)) * [9, 9], rng.normal(size=(20, 2))
    >>> focus = Focus(n_remove=1).fit(noise + light + 3 * means[sets] * [1, -1], sets=sets)
    >>> y = np.arange(200) % 2
    >>> X = rng.normal(size=(200, 2)) + 2 * y[:, None] * [1, 0]
    >>> plain, taught = LogisticRegression().fit(X, y), FocusPenalty(LogisticRegression(), focus).fit(X, y)
    >>> lit = X + rng.normal(size=(200, 1)) * [9, 9]
    >>> plain.score(lit, y), taught.score(lit, y)
    (0.515, 0.755)
    >>> taught.coef_.round(1)  # it reads a difference, which light does not move
    array([[ 0.7, -0.7]])
    """

    # In a pipeline with metadata routing, `sets` is asked for without further ado.
    __metadata_request__fit = {"sets": True}  # noqa: RUF012

    def __init__(self, estimator: Any, focus: Any = None, *, strength: float | str = "auto") -> None:
        self.estimator = estimator
        self.focus = focus
        self.strength = strength

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, *, sets: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to rows X (n, d) and targets y, where it takes any.

        Parameters
        ----------
        X : (n, d) array or data frame
        y : (n,) array, optional
        sets : (n,) sequence of hashables, optional
            Which set each row belongs to, for a focus that is not fitted yet.
        sample_weight : (n,) array, optional
            Handed on to the model.
        """
        check_strength(self.strength)
        self._refuse_lasso()
        rows = validate_data(self, X, dtype=np.float64)
        self.focus_ = self._learned(X, sets)
        self._filter = penalty_filter(self.focus_, self.strength, rows.shape[1])
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(self._filter(rows), y, **weights)
        if not hasattr(self.estimator_, "coef_"):
            raise InputError(
                f"{self.estimator!r} has no coef_ once it is fitted, so that it has no penalty to change. Give a "
                "linear model, such as Ridge() or OneClassSVM(kernel='linear')."
            )
        self.__dict__.pop("classes_", None)  # of an earlier fit
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        return self

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients for rows as they come: v = (I + Σ s_i a_i a_iᵀ)^(-½) v'."""
        found = np.asarray(self.estimator_.coef_, dtype=np.float64)
        return self._filter(np.atleast_2d(found)).reshape(found.shape)

    @property
    def intercept_(self) -> Any:
        """The same for filtered rows and for rows as they come."""
        return self.estimator_.intercept_

    @property
    def offset_(self) -> Any:
        """The threshold of one-class models."""
        return self.estimator_.offset_

    @_can("predict")  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict as the model does."""
        return self._ask("predict", X)

    @_can("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Decide as the model does."""
        return self._ask("decision_function", X)

    @_can("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Give probabilities of classes as the model does."""
        return self._ask("predict_proba", X)

    @_can("predict_log_proba")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """Give their logarithms as the model does."""
        return self._ask("predict_log_proba", X)

    @_can("score_samples")  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> NDArray[Any]:
        """Score rows as the model does: of scikit-learn's one-class models, high is normal."""
        return self._ask("score_samples", X)

    @_can("fit_predict")  # type: ignore[untyped-decorator]
    def fit_predict(self, X: Any, y: Any = None, *, sets: Any = None) -> NDArray[Any]:
        """Fit, and tell which of the rows are outliers (-1)."""
        answer: NDArray[Any] = self.fit(X, y, sets=sets).predict(X)
        return answer

    @_can("score")  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the model's own measure of how well it does."""
        check_is_fitted(self)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.estimator_.score(self._filtered(X), y, **weights))

    def _learned(self, X: Any, sets: Any) -> Any:
        if self.focus is None:
            return None
        try:
            check_is_fitted(self.focus)
        except ValueError as error:  # scikit-learn's NotFittedError
            if sets is None:
                raise InputError(
                    f"{self.focus!r} is not fitted, and there are no sets to fit it on. Give fit(X, y, sets=labels), "
                    "or FrozenEstimator(focus) where this model is cloned: a clone forgets what was learned."
                ) from error
            return clone(self.focus).fit(X, sets=sets)
        return self.focus

    def _refuse_lasso(self) -> None:
        penalty = getattr(self.estimator, "penalty", None)
        # From scikit-learn 1.8 on, a logistic regression has no name for it any more, only its share.
        shared = penalty == "deprecated" and getattr(self.estimator, "l1_ratio", 0) not in (None, 0)
        if penalty in ("l1", "elasticnet") or shared or isinstance(self.estimator, ElasticNet):  # Lasso is one
            raise InputError(
                f"{self.estimator!r} penalises absolute values; FOCUS changes the squared length of coefficients. "
                "Use 'l2' (l1_ratio=0), or Ridge()."
            )

    def _filtered(self, X: Any) -> Rows:
        return self._filter(validate_data(self, X, dtype=np.float64, reset=False))

    def _ask(self, method: str, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        answer: NDArray[Any] = getattr(self.estimator_, method)(self._filtered(X))
        return answer

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = deepcopy(get_tags(self.estimator))
        tags.input_tags.sparse = False
        tags.array_api_support = False
        return tags

"""Ridge Mahalanobis distance: the limit of the discriminative detector for many shuffles, in closed form.

    score = (x - μ)ᵀ (Σ + τI)⁻¹ (x - μ),     τ = 2ρ/m,  m = w(n - w)/n

To first order the regression separates a window of w rows from the n - w others by (Σ + τI)⁻¹ (its mean - their mean).
A row of the window shifts that mean, and so raises its own probability, in proportion to this distance.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from undistract._arrays import check_number
from undistract._rollback import restores_on_error
from undistract._schema import UNIT, array, number, saveable
from undistract.detect.base import (
    COMMON_FIELDS,
    MAX_ABS,
    MIN_RIDGE,
    CommonScaler,
    Rows,
    check_widths,
    validate_rows,
)


@saveable(
    {
        **COMMON_FIELDS,
        "mean_": array("d", low=-MAX_ABS, high=MAX_ABS),
        "directions_": array("d", "r", low=-UNIT, high=UNIT),
        "variances_": array("r", low=0),
        "floor_": number(1e-50),
    },
    validate=lambda detector: check_widths(detector, len(detector.mean_)),
)
class RidgeMahalanobis(BaseEstimator):  # type: ignore[misc]
    """Score rows by their squared Mahalanobis distance from the mean, with a ridge on the covariance.

    The ranks of `DiscriminativeDetector` (same ridge and window) approach these as its number of shuffles grows; this
    detector has no randomness and fits only a covariance. With more features than rows no d × d array is formed.

    Parameters
    ----------
    ridge : float, default=0.1
        ρ of the logistic regression whose limit this is.
    window : int, default=100
        w, the number of positive rows of one of its fits; at most half the rows are used.
    standardise : bool, default=True
        First scale the rows, with one factor for all features, to mean variance one, because ρ depends on the scale.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The scores of the fitted rows. High is anomalous.
    mean_ : ndarray of shape (d,)
        μ, of the standardised rows.
    directions_ : ndarray of shape (d, r)
        The eigenvectors of Σ; any direction beyond them has variance 0.
    variances_ : ndarray of shape (r,)
        The eigenvalues of Σ.
    floor_ : float
        τ, the ridge added to the variance of every direction.

    Examples
    --------
    >>> X = [[-1.0, 0.0], [1.0, 0.0], [0.0, -3.0], [0.0, 3.0]]
    >>> RidgeMahalanobis(ridge=1e-9).fit(X).scores_.round(6)  # equally far, in units of the variance
    array([2., 2., 2., 2.])
    """

    def __init__(self, *, ridge: float = 0.1, window: int = 100, standardise: bool = True) -> None:
        self.ridge = ridge
        self.window = window
        self.standardise = standardise

    @restores_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit mean and covariance of the rows X (n, d); `y` is ignored."""
        X = validate_rows(self, X, reset=True)
        check_number("ridge", self.ridge, least=MIN_RIDGE, whole=False)
        check_number("window", self.window, least=1)
        n_rows, n_features = X.shape
        window = min(self.window, n_rows / 2)
        self.floor_ = 2 * self.ridge / (window * (n_rows - window) / n_rows)
        self._standard = CommonScaler.of(X) if self.standardise else CommonScaler.none(X)
        rows = self._standard(X)
        self.mean_ = rows.mean(axis=0)
        centred = rows - self.mean_
        if n_features <= n_rows:
            variances, self.directions_ = np.linalg.eigh(centred.T @ centred / n_rows)
        else:
            _, lengths, directions = np.linalg.svd(centred, full_matrices=False)
            variances = np.square(lengths) / n_rows
            self.directions_ = directions.T
        # Rounding can produce values such as -1e-17.
        self.variances_ = np.maximum(variances, 0)
        self.scores_ = self._distance(centred)
        return self

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d)."""
        check_is_fitted(self)
        return self._distance(self._standard(validate_rows(self, X, reset=False)) - self.mean_)

    def decompose(self, X: Any, self_index: NDArray[np.intp] | None = None) -> tuple[Rows, Rows]:
        """Decompose scores: the displacement from the mean and its dual vector, both (n, 1, d), in the units of X.

        A score is the sum over features of their products, so `explain` can compute the contribution of each feature.
        `self_index` (indices of fitted rows) is not used here.
        """
        check_is_fitted(self)
        centred = self._standard(validate_rows(self, X, reset=False)) - self.mean_
        coordinates = centred @ self.directions_  # (n, r)
        residual = centred - coordinates @ self.directions_.T
        # (Σ + τI)⁻¹ x: in the span of the rows by the eigenvalues, outside of it Σ is 0 and only τ counts.
        dual = (coordinates / (self.variances_ + self.floor_)) @ self.directions_.T + residual / self.floor_
        scale = self._standard.scale
        return (centred * scale)[:, None, :], (dual / scale)[:, None, :]

    def _distance(self, centred: Rows) -> Rows:
        coordinates = centred @ self.directions_  # (n, r)
        residual = centred - coordinates @ self.directions_.T
        inside = np.square(coordinates) @ (1 / (self.variances_ + self.floor_))
        return np.asarray(inside + np.square(residual).sum(axis=1) / self.floor_)

"""The limit of the discriminative detector for ever more shuffles, in closed form.

    score = (x - μ)ᵀ (Σ + τI)⁻¹ (x - μ),     τ = 2ρ/m,  m = w(n - w)/n

To first order a window of w rows is told from the n - w others by (Σ + τI)⁻¹ (its mean - their mean); a row
of the window moves that mean, and is seen, in proportion to this distance.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from undistract.attempt import all_or_nothing
from undistract.detect.rows import LEAST_RIDGE, Rows, Standard, check_number, checked_rows


class RidgeMahalanobis(BaseEstimator):  # type: ignore[misc]
    """Scores rows by their squared distance from the mean, in units of how the fitted rows vary.

    Rank agreement with `DiscriminativeDetector` (same ridge and window) grows with its shuffles; here no
    chance is left, and nothing to fit but a covariance. With more features than rows nothing d × d is formed.

    Parameters
    ----------
    ridge : float, default=0.1
        ρ of the logistic regression whose limit this is.
    window : int, default=100
        w, the positive rows of one of its fits; never taken as more than half the rows.
    standardise : bool, default=True
        Scale the rows, all features alike, to mean variance one first, because ρ depends on the scale.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The scores of the fitted rows. High is strange.
    mean_ : ndarray of shape (d,)
        μ, of the standardised rows.
    directions_ : ndarray of shape (d, r)
        The eigenvectors of Σ; any direction beyond them has variance 0.
    variances_ : ndarray of shape (r,)
        The eigenvalues of Σ.
    floor_ : float
        τ, the variance that every direction is granted.

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

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn mean and covariance of the rows X (n, d); `y` is ignored."""
        X = checked_rows(self, X, reset=True)
        check_number("ridge", self.ridge, least=LEAST_RIDGE, whole=False)
        check_number("window", self.window, least=1)
        n_rows, n_features = X.shape
        window = min(self.window, n_rows / 2)
        self.floor_ = 2 * self.ridge / (window * (n_rows - window) / n_rows)
        self._standard = Standard.of(X) if self.standardise else Standard.none(X)
        rows = self._standard(X)
        self.mean_ = rows.mean(axis=0)
        centred = rows - self.mean_
        if n_features <= n_rows:
            variances, self.directions_ = np.linalg.eigh(centred.T @ centred / n_rows)
        else:
            _, lengths, directions = np.linalg.svd(centred, full_matrices=False)
            variances, self.directions_ = np.square(lengths) / n_rows, directions.T
        # Rounding can leave -1e-17 here; a variance is never negative.
        self.variances_ = np.maximum(variances, 0)
        self.scores_ = self._distance(centred)
        return self

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d)."""
        check_is_fitted(self)
        return self._distance(self._standard(checked_rows(self, X, reset=False)) - self.mean_)

    def parts(self, X: Any, own: NDArray[np.intp] | None = None) -> tuple[Rows, Rows]:
        """Take scores apart: the step from the mean and what weighs it, both (n, 1, d), in the units of X.

        A score is the sum over features of their products, so `explain` can say what each feature carried. Whether
        rows are new or fitted (`own`) makes no difference here.
        """
        check_is_fitted(self)
        centred = self._standard(checked_rows(self, X, reset=False)) - self.mean_
        readings = centred @ self.directions_  # (n, r)
        rest = centred - readings @ self.directions_.T
        weighed = (readings / (self.variances_ + self.floor_)) @ self.directions_.T + rest / self.floor_
        scale = self._standard.scale
        return (centred * scale)[:, None, :], (weighed / scale)[:, None, :]

    def _distance(self, centred: Rows) -> Rows:
        readings = centred @ self.directions_  # (n, r)
        rest = centred - readings @ self.directions_.T
        inside = np.square(readings) @ (1 / (self.variances_ + self.floor_))
        return np.asarray(inside + np.square(rest).sum(axis=1) / self.floor_)

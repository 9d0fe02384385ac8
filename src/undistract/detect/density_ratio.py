"""Density-ratio detector: the odds of a row under a logistic regression against reference rows.

    score = σ(vᵀ[1; x]) / (1 - σ(vᵀ[1; x])) = exp(vᵀ[1; x])

v are the coefficients of a ridge logistic regression of the current rows against the reference rows; both classes have
the same total weight.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from undistract._arrays import check_number
from undistract._rollback import restores_on_error
from undistract._schema import array, saveable
from undistract.detect._logistic import add_intercept, newton
from undistract.detect.base import (
    COMMON_FIELDS,
    MAX_ABS,
    MIN_RIDGE,
    CommonScaler,
    Rows,
    check_widths,
    validate_rows,
)
from undistract.errors import InputError


@saveable(
    {**COMMON_FIELDS, "_coefficients": array("c", low=-MAX_ABS, high=MAX_ABS)},
    validate=lambda detector: check_widths(detector, len(detector._coefficients) - 1),
)
class DensityRatioDetector(BaseEstimator):  # type: ignore[misc]
    """Score rows by the odds of a logistic regression that separates them from reference (normal) rows.

    It detects a difference that most current rows share, such as a shift of the mean, not a single outlier. Once
    fitted, the score of a row does not depend on the other rows of its batch.

    Parameters
    ----------
    reference : array-like of shape (m, d) or float, default=0.5
        The normal rows; or the share of X, from its start, that serves as reference (rows in order of time).
    ridge : float, default=0.1
        ρ, the penalty on the coefficients and the bias.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The odds of the fitted rows, including the reference rows if `reference` is a share. High is anomalous.

    Examples
    --------
    >>> normal = [[0.0], [1.0], [2.0]]
    >>> DensityRatioDetector(reference=normal).fit([[1.0], [2.0], [3.0]]).scores_.round(2)
    array([0.57, 1.74, 5.31])
    """

    def __init__(self, *, reference: ArrayLike | float = 0.5, ridge: float = 0.1) -> None:
        self.reference = reference
        self.ridge = ridge

    @restores_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the regression of the rows X (n, d) against the reference; `y` is ignored."""
        X = validate_rows(self, X, reset=True)
        check_number("ridge", self.ridge, least=MIN_RIDGE, whole=False)
        if isinstance(self.reference, int | float):
            n_reference = round(self.reference * len(X)) if 0 < self.reference < 1 else 0
            if n_reference in (0, len(X)):
                raise InputError(
                    f"reference must be a share between 0 and 1 that leaves rows on both sides, or an array of rows, "
                    f"got {self.reference!r} for {len(X)} rows."
                )
            reference = X[:n_reference]
            current = X[n_reference:]
        else:
            reference = validate_rows(self, self.reference, reset=False)
            current = X
        both = np.concatenate([reference, current])
        self._standard = CommonScaler.of(both)
        self._coefficients = newton(add_intercept(self._standard(both)), len(current), self.ridge)
        self.scores_ = self._odds(X)
        return self

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d) by the fitted odds."""
        check_is_fitted(self)
        return self._odds(validate_rows(self, X, reset=False))

    def _odds(self, X: Rows) -> Rows:
        # exp(709) is the largest finite power.
        return np.exp(np.clip(add_intercept(self._standard(X)) @ self._coefficients, -700, 700))

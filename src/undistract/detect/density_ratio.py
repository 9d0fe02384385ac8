"""Density ratio by the logistic odds: how much likelier a row is here than in a reference.

    score = σ(vᵀ[1; x]) / (1 - σ(vᵀ[1; x])) = exp(vᵀ[1; x])

with v of a ridge logistic regression, the rows in question against the reference rows, both classes weighing
the same.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from undistract.attempt import all_or_nothing
from undistract.detect.logistic import newton, with_one
from undistract.detect.rows import LEAST_RIDGE, Rows, Standard, check_number, checked_rows
from undistract.errors import InputError


class DensityRatioDetector(BaseEstimator):  # type: ignore[misc]
    """Scores rows by the odds of a logistic regression that tells them from reference (normal) rows.

    It sees what most of the rows in question share and the reference lacks: a shift of the mean, not a lone
    outlier. Once fitted, the odds are one function of a row, the same in any batch.

    Parameters
    ----------
    reference : array-like of shape (m, d) or float, default=0.5
        The normal rows; or the share of X, from its start, that serves as reference (rows in order of time).
    ridge : float, default=0.1
        ρ, the penalty on the coefficients and the bias.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The odds of the fitted rows, reference rows among them where a share was given. High is strange.

    Examples
    --------
    >>> normal = [[0.0], [1.0], [2.0]]
    >>> DensityRatioDetector(reference=normal).fit([[1.0], [2.0], [3.0]]).scores_.round(2)
    array([0.57, 1.74, 5.31])
    """

    def __init__(self, *, reference: ArrayLike | float = 0.5, ridge: float = 0.1) -> None:
        self.reference = reference
        self.ridge = ridge

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Tell the rows X (n, d) from the reference; `y` is ignored."""
        X = checked_rows(self, X, reset=True)
        check_number("ridge", self.ridge, least=LEAST_RIDGE, whole=False)
        if isinstance(self.reference, int | float):
            n_reference = round(self.reference * len(X)) if 0 < self.reference < 1 else 0
            if n_reference in (0, len(X)):
                raise InputError(
                    f"reference={self.reference!r} of {len(X)} rows leaves none on one side. "
                    "Give a share between 0 and 1, or the reference rows themselves."
                )
            reference, present = X[:n_reference], X[n_reference:]
        else:
            reference, present = checked_rows(self, self.reference, reset=False), X
        both = np.concatenate([reference, present])
        self._standard = Standard.of(both)
        self._coefficients = newton(with_one(self._standard(both)), len(present), self.ridge)
        self.scores_ = self._odds(X)
        return self

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d) by the fitted odds."""
        check_is_fitted(self)
        return self._odds(checked_rows(self, X, reset=False))

    def _odds(self, X: Rows) -> Rows:
        # e^709 is the largest power that is still finite.
        return np.exp(np.clip(with_one(self._standard(X)) @ self._coefficients, -700, 700))

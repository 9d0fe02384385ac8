"""The door of every detector: rows are checked here, and brought to one scale.

    z = (x - mean) / scale,     scale² = mean of the features' variances

One scale for all features, so that the proportions a projection has chosen stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from undistract.errors import InputError

Rows = NDArray[np.float64]

# Squares, and sums of squares over any number of features, stay finite below this.
FAR = 1e100

# The least ρ: below, nothing of it is left beside rows of variance one.
LEAST_RIDGE = 1e-12


def checked_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> Rows:
    """Check rows (n, d) as scikit-learn does, as finite float64; what cannot be used is an InputError."""
    try:
        # scikit-learn looks for inf in the sum first, which may overflow without any harm.
        with np.errstate(over="ignore", invalid="ignore"):
            rows: Rows = validate_data(
                estimator, X, reset=reset, dtype=np.float64, ensure_min_samples=2 if reset else 1
            )
    except ValueError as error:
        raise InputError(str(error)) from error
    return rows


def check_number(name: str, value: Any, *, least: float, whole: bool = True) -> None:
    """Raise an InputError unless `value` is a finite number of at least `least`."""
    kind: Any = Integral if whole else Real
    if not isinstance(value, kind) or isinstance(value, bool) or not least <= value < np.inf:
        wanted = f"a {'whole ' if whole else ''}number of at least {least:g}"
        raise InputError(f"{name}={value!r} was given, expected {wanted}.")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise an InputError unless `value` is one of `choices`."""
    if value not in choices:
        raise InputError(f"{name}={value!r} was given, expected one of {', '.join(map(repr, choices))}.")


@dataclass(frozen=True, eq=False)
class Standard:
    """Brings rows to mean zero and mean variance one, by one shift and one common scale.

    Any finite rows can be standardised, and the result can be squared.

    Parameters
    ----------
    exponent : int
        Rows are first divided by this power of two: exact, and 1e308 can then be squared.
    mean : ndarray of shape (d,)
        The mean of the rows after that division.
    spread : float
        The root of their mean variance, or 1 when they do not vary.

    Examples
    --------
    >>> rows = np.array([[1e308, 0.0], [-1e308, 0.0]])
    >>> Standard.of(rows)(rows).round(3)
    array([[ 1.414,  0.   ],
           [-1.414,  0.   ]])
    """

    exponent: int
    mean: Rows
    spread: float

    @classmethod
    def of(cls, X: Rows) -> Self:
        """Take the standard from the rows X (n, d) themselves."""
        exponent = int(np.frexp(np.abs(X).max())[1])
        small = np.ldexp(X, -exponent)
        mean = small.mean(axis=0)
        spread = float(np.sqrt(np.square(small - mean).mean()))
        # Rounding of the mean alone is not a spread: constant rows stay constant.
        noise = 8 * np.finfo(np.float64).eps * float(np.abs(mean).max())
        return cls(exponent, mean, spread if spread > noise else 1.0)

    @classmethod
    def none(cls, X: Rows) -> Self:
        """Leave rows as they are, if they can be squared so."""
        largest = np.abs(X).max()
        if largest > FAR:
            raise InputError(
                f"X holds values up to {largest:.3g}, too large to square. Use standardise=True, or scale X."
            )
        return cls(0, np.zeros(X.shape[1]), 1.0)

    @property
    def scale(self) -> float:
        """One standard unit, in the units of X."""
        return float(np.ldexp(self.spread, self.exponent))

    def __call__(self, X: Rows) -> Rows:
        """Standardise rows; values further than any real row could lie are brought back to `FAR`."""
        with np.errstate(over="ignore"):
            standardised = (np.ldexp(X, -self.exponent) - self.mean) / self.spread
        return np.clip(standardised, -FAR, FAR)

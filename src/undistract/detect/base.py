"""The detector interface, scores, and what all detectors share: validation and one common scale.

High scores always mean anomalous. scikit-learn uses the opposite sign (`score_samples` is low for outliers);
`flip_sign` is the only function that converts it, in either direction.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from undistract._schema import anything, array, instance_of, integer, number, require, saveable
from undistract.errors import InputError

Rows = NDArray[np.float64]

# Squares, and sums of squares over any number of features, stay finite below this.
MAX_ABS = 1e100

# The smallest ρ: a smaller one is lost in rounding if the rows have variance one.
MIN_RIDGE = 1e-12


class Detector(Protocol):
    """The interface of a detector: `fit`, `anomaly_score` and `scores_`.

    `undistract.detect.as_detector` adapts any scikit-learn or PyOD model.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The scores of the fitted rows.

    Examples
    --------
    >>> from undistract.detect import NearestDetector
    >>> detector: Detector = NearestDetector(n_neighbors=1).fit([[0.0], [1.0], [5.0]])
    >>> detector.scores_
    array([1., 1., 4.])
    """

    scores_: NDArray[np.float64]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows, (n, d)."""

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows, (n, d): one value each, high if anomalous."""


@saveable({"values": array("n", nan=True), "times": anything})
@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of one source, one value per row; high is anomalous.

    Parameters
    ----------
    name : hashable
        The name of the source.
    values : array-like of shape (n,)
        One finite value per row; NaN for a row without a score.
    times : array-like of shape (n,), optional
        The time of each row: seconds, or ``datetime64``.

    Examples
    --------
    >>> scores = Scores("camera-3", [0.1, 7.5, 0.2], times=[0.0, 0.5, 1.0])
    >>> len(scores), int(scores.values.argmax())
    (3, 1)
    """

    name: Hashable
    values: NDArray[np.float64]
    times: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, Hashable):
            raise InputError(f"name must be hashable, got {self.name!r}. Use a string or a number.")
        values = _numbers(self.values, "values")
        if np.isinf(values).any():
            raise InputError(
                f"values must be finite, or NaN for rows without a score, got {np.isinf(values).sum()} infinite values "
                f"in {len(values)} rows."
            )
        times = self.times
        if times is not None:
            times = np.array(times)
            if times.dtype.kind != "M":
                times = _numbers(times, "times")
            if times.shape != values.shape:
                raise InputError(f"times must have one time per row, got shape {times.shape} for {values.size} values.")
            # NaT compares unequal to itself, like NaN.
            if (times != times).any() or (times.dtype.kind == "f" and np.isinf(times).any()):
                raise InputError("times must be finite for every row, got missing or infinite ones. Or pass no times.")
            times.flags.writeable = False
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "times", times)

    def __len__(self) -> int:
        return len(self.values)


def flip_sign(values: ArrayLike) -> NDArray[np.float64]:
    """Negate scores: convert scikit-learn's sign to ours, or ours to scikit-learn's.

    Examples
    --------
    >>> flip_sign([-0.4, -0.7])
    array([0.4, 0.7])
    """
    # 0 - x instead of -x, so that 0 does not become -0.
    return 0.0 - np.asarray(values, dtype=np.float64)


def _numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a copy as a 1-D array of float64, or raise an InputError."""
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, one per row ({error}).") from error
    if numbers.ndim != 1:
        raise InputError(f"{name} must have shape (n,), one number per row, got {numbers.shape}.")
    return numbers


def seconds_between(times: NDArray[np.generic]) -> Rows:
    """Return the seconds from each time to the next, (n - 1,).

    Parameters
    ----------
    times : (n,) array
        Seconds, or datetime64.

    Examples
    --------
    >>> seconds_between(np.array(["2024-01-01T00:00", "2024-01-01T00:01"], dtype="datetime64[m]"))
    array([60.])
    """
    steps = np.diff(times)
    if steps.dtype.kind == "m":
        steps = steps / np.timedelta64(1, "s")
    return np.asarray(steps, dtype=np.float64)


def validate_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> Rows:
    """Validate rows (n, d) as scikit-learn does, as finite float64; raise an InputError if they are invalid."""
    try:
        # scikit-learn first looks for inf in the sum of all values, which may overflow without harm.
        with np.errstate(over="ignore", invalid="ignore"):
            rows: Rows = validate_data(
                estimator, X, reset=reset, dtype=np.float64, ensure_min_samples=2 if reset else 1
            )
    except ValueError as error:
        raise InputError(str(error)) from error
    return rows


@saveable(
    {"exponent": integer(-1100, 1100), "mean": array("d"), "spread": number(5e-324)},
    public=False,
)
@dataclass(frozen=True, eq=False)
class CommonScaler:
    """Scale rows to mean zero and mean variance one, by one shift and one common factor.

        z = (x - mean) / scale,     scale² = mean of the features' variances

    There is one scale for all features, so that the proportions between projected features do not change.

    Any finite rows can be standardised, and the result can be squared without overflow.

    Parameters
    ----------
    exponent : int
        Rows are first divided by this power of two. That is exact, and 1e308 can then be squared.
    mean : ndarray of shape (d,)
        The mean of the rows after that division.
    spread : float
        The root of their mean variance, or 1 if they are constant.

    Examples
    --------
    >>> rows = np.array([[1e308, 0.0], [-1e308, 0.0]])
    >>> CommonScaler.of(rows)(rows).round(3)
    array([[ 1.414,  0.   ],
           [-1.414,  0.   ]])
    """

    exponent: int
    mean: Rows
    spread: float

    @classmethod
    def of(cls, X: Rows) -> Self:
        """Measure shift and scale of the rows X (n, d)."""
        exponent = int(np.frexp(np.abs(X).max())[1])
        small = np.ldexp(X, -exponent)
        mean = small.mean(axis=0)
        spread = float(np.sqrt(np.square(small - mean).mean()))
        # A spread that is only rounding of the mean would blow up constant rows.
        noise = 8 * np.finfo(np.float64).eps * float(np.abs(mean).max())
        if spread <= noise:
            spread = 1.0
        return cls(exponent, mean, spread)

    @classmethod
    def none(cls, X: Rows) -> Self:
        """Return a scale that leaves rows unchanged; raise an InputError if they are too large to square."""
        largest = np.abs(X).max()
        if largest > MAX_ABS:
            raise InputError(
                f"X has values up to {largest:.3g}, too large to square. Use standardise=True, or scale X."
            )
        return cls(0, np.zeros(X.shape[1]), 1.0)

    @property
    def scale(self) -> float:
        """The scale in the units of X."""
        return float(np.ldexp(self.spread, self.exponent))

    def __call__(self, X: Rows) -> Rows:
        """Standardise rows; clip values beyond `MAX_ABS`."""
        with np.errstate(over="ignore"):
            standardised = (np.ldexp(X, -self.exponent) - self.mean) / self.spread
        return np.clip(standardised, -MAX_ABS, MAX_ABS)


# What every detector saves, in addition to its own attributes; see `undistract._schema.saveable`.
COMMON_FIELDS = {"_standard": instance_of(CommonScaler), "scores_": array("n", nan=True)}


def check_widths(detector: Any, *widths: int) -> None:
    """Raise an InputError unless all parts of a detector that was read from a file have the same features."""
    n_features = detector.n_features_in_
    widths = (len(detector._standard.mean), *widths)
    require(all(width == n_features for width in widths), f"inconsistent number of features, expected {n_features}")

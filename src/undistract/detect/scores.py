"""Scores: how strange each row of one set is. High is strange, everywhere.

scikit-learn counts the other way (`score_samples` is low for outliers); `turned` is the one place where that
sign is changed, in either direction.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undistract.errors import InputError


class Detector(Protocol):
    """Anything that can say how strange rows are.

    Every detector here is one; `undistract.detect.detector` makes one of any scikit-learn or PyOD model.

    Attributes
    ----------
    scores_ : ndarray of shape (n,)
        The scores of the rows it was fitted on.

    Examples
    --------
    >>> from undistract.detect import NearestDetector
    >>> found: Detector = NearestDetector(n_neighbors=1).fit([[0.0], [1.0], [5.0]])
    >>> found.scores_
    array([1., 1., 4.])
    """

    scores_: NDArray[np.float64]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows, (n, d)."""

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows, (n, d): one value each, high when strange."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of one set: as many values as rows, high is strange.

    Parameters
    ----------
    name : hashable
        The set's name.
    values : array-like of shape (n,)
        One finite value per row; NaN only for a row that was never scored.
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
            raise InputError(f"A set's name must be hashable, found {self.name!r}. Give a string or a number.")
        values = _numbers(self.values, "values")
        if np.isinf(values).any():
            raise InputError(
                f"{np.isinf(values).sum()} of {len(values)} values are infinite. Give finite scores, "
                "and NaN for rows that were never scored."
            )
        times = self.times
        if times is not None:
            times = np.array(times)
            times = times if times.dtype.kind == "M" else _numbers(times, "times")
            if times.shape != values.shape:
                raise InputError(f"{values.size} values but times of shape {times.shape}. Give one time for each row.")
            # NaT compares unequal to itself, like NaN.
            if (times != times).any() or (times.dtype.kind == "f" and np.isinf(times).any()):
                raise InputError("Some times are missing or infinite. Give every row its time, or no times.")
            times.flags.writeable = False
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "times", times)

    def __len__(self) -> int:
        return len(self.values)


def turned(values: ArrayLike) -> NDArray[np.float64]:
    """Turn scikit-learn's sign into ours, or ours into scikit-learn's.

    Examples
    --------
    >>> turned([-0.4, -0.7])
    array([0.4, 0.7])
    """
    # 0 - x rather than -x: a zero stays +0.
    return 0.0 - np.asarray(values, dtype=np.float64)


def _numbers(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Copy into a 1-D array of float64, or say what was found instead."""
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The {what} are not numbers ({error}). Give one number for each row.") from error
    if numbers.ndim != 1:
        raise InputError(f"Found {what} of shape {numbers.shape}, expected (n,): one number for each row.")
    return numbers

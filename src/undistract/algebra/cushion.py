"""The cushion: between-set variance that every direction is granted, in mean variances of the features that vary.

ε = cushion · trace(total) / how many features vary
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

from undistract.arrays import LARGEST, Floats
from undistract.errors import InputError

CUSHION = 0.1
MOST_CUSHION = 1e100


@dataclass(frozen=True)
class Variances:
    """Sums over the features.

    Examples
    --------
    >>> import numpy as np
    >>> Variances.of(np.array([4.0, 2.0, 0.0]), np.array([1.0, 2.0, 0.0]))
    Variances(total=6.0, within=3.0, mean=3.0)
    """

    total: float
    within: float
    mean: float  # over the features that vary: a column of zeros more or less must not change the answer

    @classmethod
    def of(cls, total: Floats, within: Floats) -> Variances:
        """Sum up the variances of all features (d,)."""
        whole = float(total.sum())
        return cls(whole, float(within.sum()), whole / max(int((total > 0).sum()), 1))


def check_cushion(cushion: Any, most: float = MOST_CUSHION) -> None:
    """Refuse a cushion that is no amount of variance."""
    if not isinstance(cushion, Real) or isinstance(cushion, bool) or not 0 <= float(cushion) <= most:
        raise InputError(f"cushion is {cushion!r}; expected a number from 0 up, such as 0.1.")


def epsilon_of(cushion: float, absolute: bool, mean_variance: float) -> float:
    """Return the cushion in squared units of the features.

    Examples
    --------
    >>> epsilon_of(0.1, False, 50.0), epsilon_of(0.1, True, 50.0)
    (5.0, 0.1)
    """
    epsilon = float(cushion) * (1.0 if absolute else mean_variance)
    if epsilon > LARGEST:
        raise InputError(
            f"cushion is {cushion:g}, times a mean variance of {mean_variance:.3g}: that leaves the range of numbers. "
            "Give a smaller cushion, or bring the features to a smaller scale."
        )
    return epsilon

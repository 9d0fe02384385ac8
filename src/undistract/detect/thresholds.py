"""Thresholds from normal data only: nobody knows how many anomalies will come.

    p(s) = reach(s)                   how often held-out normal sets score s or more
    alarm when p(s) ≤ rate

What is promised is the share of a new normal set's rows that alarm, on average over sets. A row of a new set
is no row of a known one: how well a fixed value keeps the promise depends on how alike the sets are.
`conformal.py` has the rule that keeps it for any sets.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undistract.detect.calibration import Calibration, Rows, score_values
from undistract.detect.scores import Scores
from undistract.errors import EvidenceWarning, InputError

__all__ = ["Quantile", "Threshold", "ThresholdRule"]

# 3 · (1/100) is a little more than 0.03: a share that equals the rate must not fail by rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Threshold:
    """From which score a row alarms, and what is promised about it.

    Parameters
    ----------
    value : float
        A row that comes alone alarms when its score is above this; infinite where no lone row can. Only
        `Conformal` judges a row differently in company.
    rate : float
        The promised share of a new normal set's rows that alarm (with `AlarmBudget`: alarms per row).
    guarantee : float
        The expected share is at most this, if only the sets are exchangeable, whatever they look like.
    rule : str
        How it was made.
    n_rows, n_sets : int
        The evidence: rows and sets of the calibration.
    tail : callable
        Scores of one set → their p-values.

    Examples
    --------
    >>> calm = [[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 2.0, 3.0]]
    >>> threshold = Quantile(rate=0.1)(calm)
    >>> threshold
    Threshold(value=4.0, rate=0.1, guarantee=0.325, rule='Quantile(rate=0.1)', n_rows=12, n_sets=3)
    >>> threshold.alarms([4.0, 4.5, float("nan")])
    array([False,  True, False])
    """

    value: float
    rate: float
    guarantee: float
    rule: str
    n_rows: int
    n_sets: int
    tail: Callable[[Rows], Rows] = field(repr=False, compare=False)

    @classmethod
    def where(
        cls,
        tail: Callable[[Rows], Rows],
        calibration: Calibration,
        *,
        rate: float,
        guarantee: float,
        rule: object,
    ) -> Threshold:
        """Find the highest calibration score that does not alarm.

        Parameters
        ----------
        tail : callable
            Scores → p-values, falling from level to level of the calibration.
        calibration : Calibration
            What it was made from.
        rate, guarantee, rule
            As in the class.
        """

        def alarming(score: float) -> bool:
            return bool(is_rare(tail(np.array([score])), rate)[0])

        levels = calibration.levels
        first = bisect_left(range(len(levels)), True, key=lambda number: alarming(float(levels[number])))
        below = float(levels[first - 1]) if first else -math.inf
        value = below if alarming(math.inf) else math.inf
        return cls(value, rate, guarantee, repr(rule), calibration.n_rows, calibration.n_sets, tail)

    def p_values(self, scores: ArrayLike | Scores) -> Rows:
        """Say how rare each score is among normal sets: the smallest rate at which it would alarm.

        Parameters
        ----------
        scores : (n,) array or Scores
            The scores of one set.

        Returns
        -------
        (n,) array
            NaN for a row that was never scored.
        """
        return self.tail(score_values(scores))

    def alarms(self, scores: ArrayLike | Scores) -> NDArray[np.bool_]:
        """Tell which rows alarm; a row never scored does not.

        Parameters
        ----------
        scores : (n,) array or Scores
            The scores of one set.
        """
        return is_rare(self.p_values(scores), self.rate)


class ThresholdRule(Protocol):
    """Anything that makes a `Threshold` from the scores of held-out normal sets (see `held_out_scores`)."""

    def __call__(self, sets: Sequence[ArrayLike | Scores]) -> Threshold:
        """Calibrate on the scores of each set, given by models that never saw it."""
        ...


@dataclass(frozen=True)
class Quantile:
    """One fixed value: the (1 - rate) quantile of all calibration rows, every set weighing the same.

    It fits streams, and scikit-learn's `offset_`. The promise holds on average where sets look alike. A new
    context unlike all M known ones can alarm throughout: the guarantee is only (M · rate + 1) / (M + 1).

    Parameters
    ----------
    rate : float
        The promised share of rows that alarm, between 0 and 1.

    Examples
    --------
    >>> Quantile(rate=0.25)([[1.0, 2.0, 3.0, 4.0]]).value
    3.0
    """

    rate: float = 0.01

    def __post_init__(self) -> None:
        check_share("rate", self.rate)

    def __call__(self, sets: Sequence[ArrayLike | Scores]) -> Threshold:
        """Calibrate on the scores of each held-out set."""
        calibration = Calibration.of(sets)
        warn_if_unseen(calibration, self.rate)
        guarantee = with_new_set(self.rate, calibration.n_sets)
        return Threshold.where(calibration.reach, calibration, rate=self.rate, guarantee=guarantee, rule=self)


def is_rare(p_values: Rows, rate: float) -> NDArray[np.bool_]:
    """Tell which p-values are at most the rate."""
    return p_values <= rate * (1 + ROUNDING)


def with_new_set(rate: float, n_sets: int) -> float:
    """Bound the rate on a new set when M sets keep it on average: the new one may alarm throughout."""
    return (n_sets * rate + 1) / (n_sets + 1)


def check_share(name: str, share: float) -> None:
    """Refuse a share that is not between 0 and 1."""
    if not isinstance(share, Real) or not 0 < share < 1:
        raise InputError(f"{name}={share!r} was given; it is a share of all: give a number between 0 and 1.")


def warn_if_unseen(calibration: Calibration, rate: float) -> None:
    """Warn where the rate is so small that no calibration score was that rare."""
    rarest = float(calibration.shares[-2])
    if rarest > rate * (1 + ROUNDING):
        warnings.warn(
            f"A rate of {rate:.3g} was asked, and the highest of {calibration.n_rows} calibration scores "
            f"alone is {rarest:.3g} of all. The threshold is that score; how often a new row exceeds it is "
            "unknown. Give more rows, or let Tail extend what was seen.",
            EvidenceWarning,
            stacklevel=3,
        )

"""Conformal thresholds: a promise that holds on a new set.

    p(s) = (M · reach(s) + reach_new(s)) / (M + 1)                 the new set is one of M + 1

If the M + 1 sets are exchangeable, at most `rate` of the rows of a normal new set have p ≤ rate, in
expectation, for any M: over all M + 1 sets together it is at most that share, and the new set is any one of
them. The rows of a set may depend on each other as they like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

from undistract.detect.calibration import Calibration, Rows
from undistract.detect.scores import Scores
from undistract.detect.thresholds import ROUNDING, Threshold, check_share, is_rare
from undistract.errors import InputError

__all__ = ["Conformal", "MostSets", "benjamini_hochberg"]


@dataclass(frozen=True)
class Conformal:
    """Judge a new set as one of M + 1 alike sets (hierarchical conformal p-values).

    With `whole_sets` all scores of a new set are judged together, and the promise is kept for any M. The
    price: at most (M + 1) · rate of a set's rows can alarm, and a row's p-value depends on its set. For a
    stream, count a familiar stretch of the new context as one more set: ``Quantile(rate)([*sets, stretch])``
    is this rule with a fixed value.

    Without, each row is judged as if it came alone (Lee, Barber and Willett, 2023): its p-value is at least
    1 / (M + 1), and a smaller rate never alarms. M sets cannot tell more about one row of a new set. Where
    rows are exchangeable too (one context), give each row as a set: this is plain split conformal.

    Parameters
    ----------
    rate : float
        The promised share of rows that alarm, between 0 and 1.
    whole_sets : bool
        Whether the scores given to `p_values` and `alarms` are those of one whole set.

    Examples
    --------
    >>> calm = [[1.0, 2.0, 3.0, 4.0]] * 4
    >>> Conformal(rate=0.1)(calm).p_values([1.0, 2.0, 3.0, 9.0])
    array([1.  , 0.75, 0.5 , 0.05])
    >>> Conformal(rate=0.1, whole_sets=False)(calm).p_values([9.0])
    array([0.2])
    """

    rate: float = 0.01
    whole_sets: bool = True

    def __post_init__(self) -> None:
        check_share("rate", self.rate)

    def __call__(self, sets: Sequence[ArrayLike | Scores]) -> Threshold:
        """Calibrate on the scores of each held-out set."""
        calibration = Calibration.of(sets)
        tail = OneMoreSet(calibration, self.whole_sets).p_values
        return Threshold.where(tail, calibration, rate=self.rate, guarantee=self.rate, rule=self)


@dataclass(frozen=True)
class MostSets:
    """One fixed value, high enough for most sets: a quantile over sets of each set's own quantile.

    In at least `share` of new normal sets at most `rate` of the rows alarm: the new set's own quantile is as
    likely to stand at any place among the M others. So M sets can vouch for M / (M + 1) of new sets at most.

    Parameters
    ----------
    rate : float
        The share of a set's rows that may alarm, between 0 and 1.
    share : float
        The share of new sets in which this must hold, between 0 and 1.

    Examples
    --------
    >>> calm = [[1.0, 2.0, 3.0, top] for top in range(4, 13)]
    >>> MostSets(rate=0.25, share=0.9)(calm).value
    3.0
    >>> MostSets(rate=0.2, share=0.5)(calm).value
    8.0
    """

    rate: float = 0.01
    share: float = 0.9

    def __post_init__(self) -> None:
        check_share("rate", self.rate)
        check_share("share", self.share)

    def __call__(self, sets: Sequence[ArrayLike | Scores]) -> Threshold:
        """Calibrate on the scores of each held-out set."""
        calibration = Calibration.of(sets)
        n_sets = calibration.n_sets
        place = math.ceil((n_sets + 1) * self.share * (1 - ROUNDING))
        if place > n_sets:
            raise InputError(
                f"{n_sets} sets can vouch for {n_sets / (n_sets + 1):.3g} of new sets at most, and "
                f"share={self.share:g} was asked. Ask for less, or give "
                f"{math.ceil(self.share / (1 - self.share) * (1 - ROUNDING))} held-out sets or more."
            )
        spared = place / (n_sets + 1)  # of new sets; the others may alarm throughout
        return Threshold.where(
            InMostSets(calibration, place).p_values,
            calibration,
            rate=self.rate,
            guarantee=1 - spared + spared * self.rate,
            rule=self,
        )


def benjamini_hochberg(p_values: ArrayLike, rate: float) -> NDArray[np.bool_]:
    """Choose rows of a batch, at most `rate` of them expected to be false (Benjamini, Hochberg, 1995).

    Proven for rows exchangeable with the calibration rows (Bates et al., 2023): each row a set, and
    ``Conformal(whole_sets=False)``. For a new set it is not proven; there, p-values of `Conformal` choose
    nothing unless (n_sets + 1) · rate > 1: fewer sets cannot rule out a normal set that is this strange.

    Parameters
    ----------
    p_values : (n,) array
        From `Threshold.p_values`; NaN (never scored) is never chosen.
    rate : float
        The share of the chosen rows that may be false, between 0 and 1.

    Examples
    --------
    >>> benjamini_hochberg([0.001, 0.02, 0.9, float("nan")], rate=0.05)
    array([ True,  True, False, False])
    """
    check_share("rate", rate)
    p_values = np.asarray(p_values, dtype=np.float64)
    scored = ~np.isnan(p_values)
    chosen = np.zeros(p_values.shape, dtype=bool)
    if scored.any():
        chosen[scored] = is_rare(false_discovery_control(p_values[scored]), rate)
    return chosen


@dataclass(frozen=True, eq=False)
class OneMoreSet:
    """How rare scores are when their set, or each row by itself, counts as one more calibration set."""

    calibration: Calibration
    whole_sets: bool

    def p_values(self, scores: Rows) -> Rows:
        """Give (M · reach + reach_new) / (M + 1); NaN stays NaN."""
        new = Calibration.of([scores]).reach(scores) if self.whole_sets else 1.0
        return (self.calibration.n_sets * self.calibration.reach(scores) + new) / (self.calibration.n_sets + 1)


@dataclass(frozen=True, eq=False)
class InMostSets:
    """How rare scores are in all but the few most extreme calibration sets."""

    calibration: Calibration
    place: int

    def p_values(self, scores: Rows) -> Rows:
        """Give the place-th smallest over sets of the share of a set's rows that score so high; NaN stays NaN."""
        shares = [1 - np.searchsorted(levels, scores) / len(levels) for levels in self.calibration.sets]  # (M, n)
        return np.where(np.isnan(scores), np.nan, np.partition(shares, self.place - 1, axis=0)[self.place - 1])

"""The tail: rates rarer than any row that was seen, by a generalized Pareto law.

    p(s) = share · (1 + shape · (s - start) / scale)^(-1 / shape)       above start, the (1 - share) quantile

Excesses over a high threshold follow this law for almost any distribution (Balkema and de Haan, 1974;
Pickands, 1975).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import genpareto

from undistract.detect.calibration import Calibration, Rows
from undistract.detect.scores import Scores
from undistract.detect.thresholds import Threshold, check_share, with_new_set
from undistract.errors import InputError

__all__ = ["ParetoTail", "Tail"]

ENOUGH = 30  # excesses; with fewer the shape is a guess


@dataclass(frozen=True)
class Tail:
    """One fixed value for rates below 1/n: `Quantile`, continued by the law of its excesses.

    The promise rests on that law, and on new sets being like the known ones taken together. Without the law
    only what the start of the tail guarantees is known: (M · share + 1) / (M + 1).

    Parameters
    ----------
    rate : float
        The promised share of rows that alarm; below `share`.
    share : float
        The highest rows that make the tail, as a share of all.

    Examples
    --------
    >>> calm = np.random.default_rng(0).exponential(size=(20, 5000))
    >>> threshold = Tail(rate=1e-6)(calm)
    >>> bool(-2 < np.log(1e6) - threshold.value < 2)     # the true value is log(1e6), and no row came near
    True
    """

    rate: float = 1e-4
    share: float = 0.05

    def __post_init__(self) -> None:
        check_share("rate", self.rate)
        check_share("share", self.share)
        if self.rate >= self.share:
            raise InputError(
                f"rate={self.rate:g} is not in the tail, which is the highest {self.share:g} of all rows; "
                "ask for a smaller rate or a larger share, or use Quantile."
            )

    def __call__(self, sets: Sequence[ArrayLike | Scores]) -> Threshold:
        """Calibrate on the scores of each held-out set."""
        calibration = Calibration.of(sets)
        tail = ParetoTail.fit(calibration, self.share)
        return Threshold(
            value=tail.score_at(self.rate),
            rate=self.rate,
            guarantee=with_new_set(self.share, calibration.n_sets),
            rule=repr(self),
            n_rows=calibration.n_rows,
            n_sets=calibration.n_sets,
            tail=tail.p_values,
        )


@dataclass(frozen=True, eq=False)
class ParetoTail:
    """A law for scores above `start`; below it, the calibration itself.

    Parameters
    ----------
    calibration : Calibration
        The scores it was fitted to.
    start, share : float
        Where the tail starts, and the share of rows above.
    shape, scale : float
        Of the generalized Pareto law: with a negative shape the tail has an end, with a positive one it is
        heavy.
    """

    calibration: Calibration
    start: float
    share: float
    shape: float
    scale: float

    @classmethod
    def fit(cls, calibration: Calibration, share: float) -> ParetoTail:
        """Fit by maximum likelihood, every set weighing the same.

        Parameters
        ----------
        calibration : Calibration
            Scores of held-out normal sets.
        share : float
            At most this share of rows makes the tail.
        """
        start = Threshold.where(calibration.reach, calibration, rate=share, guarantee=1.0, rule="start").value
        first = int(np.searchsorted(calibration.levels, start, side="right"))
        with np.errstate(over="ignore", invalid="ignore"):
            excess = calibration.levels[first:] - start
        n_finite = int(np.isfinite(excess).sum())
        if n_finite < max(ENOUGH, len(excess)):
            raise InputError(
                f"{len(excess)} of {calibration.n_rows} calibration scores lie above {start:g}, {n_finite} "
                f"of them at a finite distance; a tail needs {ENOUGH} or more, all finite. Give more rows or "
                "a larger share, or use Quantile."
            )
        weights = -np.diff(calibration.shares[first:])
        unit = excess.max()  # so that 1e308 and 1e-308 are sizes like any other
        shape, scale = _most_likely(excess / unit, weights / weights.sum())
        return cls(calibration, start, float(calibration.shares[first]), shape, scale * unit)

    def p_values(self, scores: Rows) -> Rows:
        """Give the share of rows that score at least this, by the law above `start`; NaN stays NaN."""
        with np.errstate(over="ignore"):  # a score 1e308 away is as far as any can be
            beyond = genpareto.sf((scores - self.start) / self.scale, self.shape)
        return np.where(scores > self.start, self.share * beyond, self.calibration.reach(scores))

    def score_at(self, rate: float) -> float:
        """Give the score that this share of rows exceeds."""
        return float(self.start + self.scale * genpareto.isf(min(rate / self.share, 1.0), self.shape))


def _most_likely(excess: Rows, weights: Rows) -> tuple[float, float]:
    """Find shape and scale: given θ = shape / scale the best shape is Σ w log(1 + θ y) (Grimshaw, 1993)."""

    def loss(theta: float) -> float:
        shape = float(weights @ np.log1p(theta * excess))
        # A shape below -1/2 ends right behind the largest excess: the likelihood has no peak there.
        return float(np.log(shape / theta) + shape) if shape > -0.5 else np.inf

    mean = float(weights @ excess)
    lower = -np.geomspace((1 - 1e-9) / excess.max(), 1e-6 / mean, 60)
    grid = np.concatenate([lower, np.geomspace(1e-6 / mean, 1e6 / mean, 120)])
    for _ in range(6):  # each look is 25 times closer; a finer θ would move the rate by less than 1e-6
        best = int(np.argmin([loss(theta) for theta in grid]))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 51)
    theta = float(min(grid, key=loss))
    shape = float(weights @ np.log1p(theta * excess))
    return shape, shape / theta

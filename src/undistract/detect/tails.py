"""Tail threshold: rates smaller than one row in the calibration data, by a generalized Pareto distribution.

    p(s) = share · (1 + shape · (s - start) / scale)^(-1 / shape)       above start, the (1 - share) quantile

Excesses over a high threshold follow this distribution for almost any distribution of scores (Balkema and de Haan,
1974; Pickands, 1975).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import genpareto

from undistract._schema import number, saveable
from undistract.detect.base import Rows, Scores
from undistract.detect.calibration import Calibration
from undistract.detect.thresholds import Threshold, check_fraction, new_group_bound
from undistract.errors import InputError

ENOUGH = 30  # excesses; with fewer the estimated shape is not reliable


@saveable()
@dataclass(frozen=True)
class Tail:
    """Set one fixed threshold for rates below 1/n: `Quantile`, extrapolated by a generalized Pareto distribution.

    The rate holds if the excesses follow that distribution and new groups resemble the calibration groups. Without
    these assumptions only the guarantee at the start of the tail holds: (M · share + 1) / (M + 1).

    Parameters
    ----------
    rate : float
        The expected share of rows that raise alarms; below `share`.
    share : float
        The share of rows, those with the highest scores, to which the tail is fitted.

    Examples
    --------
    >>> calm = np.random.default_rng(0).exponential(size=(20, 5000))
    >>> threshold = Tail(rate=1e-6)(calm)
    >>> bool(-2 < np.log(1e6) - threshold.value < 2)     # the true value is log(1e6), far above all rows
    True
    """

    rate: float = 1e-4
    share: float = 0.05

    def __post_init__(self) -> None:
        check_fraction("rate", self.rate)
        check_fraction("share", self.share)
        if self.rate >= self.share:
            raise InputError(
                f"rate must be smaller than share, got rate={self.rate:g} and share={self.share:g}. "
                "Use a smaller rate or a larger share, or Quantile."
            )

    def __call__(self, groups: Sequence[ArrayLike | Scores]) -> Threshold:
        """Calibrate on the scores of each held-out group."""
        calibration = Calibration.of(groups)
        tail = ParetoTail.fit(calibration, self.share)
        return Threshold(
            value=tail.score_at(self.rate),
            rate=self.rate,
            guarantee=new_group_bound(self.share, calibration.n_groups),
            rule=repr(self),
            n_rows=calibration.n_rows,
            n_groups=calibration.n_groups,
            tail=tail,
        )


@saveable({"share": number(0, 1), "scale": number(5e-324)}, public=False)
@dataclass(frozen=True, eq=False)
class ParetoTail:
    """Tail model of `Tail`: a generalized Pareto distribution above `start`, the calibration scores below.

    Parameters
    ----------
    calibration : Calibration
        The scores to which it was fitted.
    start, share : float
        The score at which the tail starts, and the share of rows above it.
    shape, scale : float
        Parameters of the distribution: with a negative shape the tail is bounded, with a positive one it is heavy.
    """

    calibration: Calibration
    start: float
    share: float
    shape: float
    scale: float

    @classmethod
    def fit(cls, calibration: Calibration, share: float) -> ParetoTail:
        """Fit by maximum likelihood, with equal weight for every group.

        Parameters
        ----------
        calibration : Calibration
            Scores of held-out normal groups.
        share : float
            At most this share of rows is in the tail.
        """
        start = Threshold.from_tail(calibration, calibration, rate=share, guarantee=1.0, rule="start").value
        first = int(np.searchsorted(calibration.sorted_scores, start, side="right"))
        with np.errstate(over="ignore", invalid="ignore"):
            excess = calibration.sorted_scores[first:] - start
        n_finite = int(np.isfinite(excess).sum())
        if n_finite < max(ENOUGH, len(excess)):
            raise InputError(
                f"A tail needs at least {ENOUGH} scores above its start, all finite, got {len(excess)} of "
                f"{calibration.n_rows} above {start:g}, {n_finite} of them finite. Use more rows or a larger share, or "
                "Quantile."
            )
        weights = -np.diff(calibration.exceedance_rates[first:])
        unit = excess.max()  # a unit that keeps scores of 1e308 and 1e-308 in range
        shape, scale = _most_likely(excess / unit, weights / weights.sum())
        return cls(calibration, start, float(calibration.exceedance_rates[first]), shape, scale * unit)

    def p_values(self, scores: Rows) -> Rows:
        """Return the share of rows that score at least this, extrapolated above `start`; NaN stays NaN."""
        with np.errstate(over="ignore"):  # inf is the right limit here
            beyond = genpareto.sf((scores - self.start) / self.scale, self.shape)
        return np.where(scores > self.start, self.share * beyond, self.calibration.p_values(scores))

    def score_at(self, rate: float) -> float:
        """Return the score that this share of rows exceeds."""
        return float(self.start + self.scale * genpareto.isf(min(rate / self.share, 1.0), self.shape))


def _most_likely(excess: Rows, weights: Rows) -> tuple[float, float]:
    """Find shape and scale: given θ = shape / scale the best shape is Σ w log(1 + θ y) (Grimshaw, 1993)."""

    def loss(theta: float) -> float:
        shape = float(weights @ np.log1p(theta * excess))
        if shape <= -0.5:
            # The likelihood is unbounded for bounded tails that end at the largest excess: exclude them.
            return np.inf
        return float(np.log(shape / theta) + shape)

    mean = float(weights @ excess)
    lower = -np.geomspace((1 - 1e-9) / excess.max(), 1e-6 / mean, 60)
    grid = np.concatenate([lower, np.geomspace(1e-6 / mean, 1e6 / mean, 120)])
    for _ in range(6):  # each grid is 25 times finer; a finer θ would change the rate by less than 1e-6
        best = int(np.argmin([loss(theta) for theta in grid]))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 51)
    theta = float(min(grid, key=loss))
    shape = float(weights @ np.log1p(theta * excess))
    return shape, shape / theta

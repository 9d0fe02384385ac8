"""Calibration: how often normal sets reach a score, each judged by a model that never saw it.

    reach_m(s) = rows of set m that score s or more / rows of set m
    reach(s)   = mean of reach_m(s) over the sets              a set counts once, large or small

The sets are alike as sets: any of them could have been the new one. The rows of one set hang together. So
the evidence about a new context is the number of sets, and no number of rows replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from undistract.detect.scores import Scores
from undistract.errors import InputError

__all__ = ["Calibration", "relative_to_set"]

Rows = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Calibration:
    """The scores of held-out normal sets, ready to say how rare a score is.

    Parameters
    ----------
    sets : tuple of (n_m,) arrays
        The scores of each set, smallest first.
    levels : (n,) array
        All scores together, smallest first.
    shares : (n + 1,) array
        What it costs to alarm at each level (see `reach`), and 0 beyond the last.

    Examples
    --------
    >>> calm = Calibration.of([[1, 2, 3, 4], [3, 5]])
    >>> calm.reach([3, 5, 6])
    array([0.75, 0.25, 0.  ])
    """

    sets: tuple[Rows, ...]
    levels: Rows
    shares: Rows

    @classmethod
    def of(cls, sets: Sequence[ArrayLike | Scores]) -> Calibration:
        """Count rows: `reach` is the share of a set's rows that score so high.

        Parameters
        ----------
        sets : sequence of (n_m,) arrays or Scores
            The scores of each held-out set (see `held_out_scores`). Rows never scored (NaN) are left out.
        """
        ranked = _ranked(sets)
        return cls._pooled(ranked, [np.arange(len(levels), 0, -1) / len(levels) for levels in ranked])

    @classmethod
    def of_alarms(cls, sets: Sequence[ArrayLike | Scores], *, gap: int = 0) -> Calibration:
        """Count alarms: `reach` is the alarms per row when all rows that score so high raise them.

        A lower threshold can also join alarms. So that a higher one never costs more, each level bears the
        most alarms of all levels from it up.

        Parameters
        ----------
        sets : sequence of (n_m,) arrays or Scores
            The scores of each held-out set, in the order of the rows.
        gap : int
            As in `find_alarms`: rows with at most so many lower rows between them are one alarm.
        """
        ranked, costs = _ranked(sets), []
        for levels, one in zip(ranked, sets, strict=True):
            before, own = _starts(score_values(one), gap)
            alarms = np.searchsorted(before, levels) - np.searchsorted(own, levels)
            costs.append(np.maximum.accumulate(alarms[::-1])[::-1] / len(levels))
        return cls._pooled(ranked, costs)

    @classmethod
    def _pooled(cls, ranked: list[Rows], costs: list[Rows]) -> Calibration:
        levels = np.concatenate(ranked)
        steps = np.concatenate([-np.diff(cost, append=0.0) for cost in costs]) / len(ranked)
        order = np.argsort(levels, kind="stable")
        # Summed from the rarest down, so that the small shares that matter carry the least rounding.
        shares = np.append(np.cumsum(steps[order][::-1])[::-1], 0.0)
        return cls(tuple(ranked), levels[order], np.minimum(shares, 1.0))

    @property
    def n_sets(self) -> int:
        """How many sets were held out."""
        return len(self.sets)

    @property
    def n_rows(self) -> int:
        """How many rows they have together."""
        return len(self.levels)

    def reach(self, scores: Rows) -> Rows:
        """Give the share of rows (or the alarms per row) that score at least this; NaN stays NaN."""
        shares = self.shares[np.searchsorted(self.levels, scores)]
        return np.where(np.isnan(scores), np.nan, shares)


def relative_to_set(scores: ArrayLike | Scores) -> Rows:
    """Measure scores from their own set's middle: (score - median) / (upper quartile - lower quartile).

    Contexts differ in how far all their rows lie from the training rows. This takes that away, so that a
    threshold carries over better to a new context. The price: it must see a whole set, and a set that is
    strange throughout looks calm.

    Parameters
    ----------
    scores : (n,) array or Scores
        Of one whole set, finite; rows never scored (NaN) stay NaN.

    Examples
    --------
    >>> relative_to_set([10.0, 11.0, 12.0, 13.0, 20.0])
    array([-1. , -0.5,  0. ,  0.5,  4. ])
    """
    values = score_values(scores)
    if np.isinf(values).any():
        raise InputError("An infinite score has no distance to its set's median; give finite scores.")
    # Any unit gives the same answer; this one keeps differences of 1e308 finite.
    values = values / (np.nanmax(np.abs(values)) or 1.0)
    lower, middle, upper = np.nanquantile(values, [0.25, 0.5, 0.75])
    away = values - middle
    # Half of the rows may be equal: then the mean distance tells the spread. All equal: all are 0.
    return np.asarray(away / (upper - lower or np.nanmean(np.abs(away)) or 1.0))


def score_values(scores: ArrayLike | Scores, name: str = "These scores") -> Rows:
    """Give the (n,) values of `Scores`, or of anything like an array; at least one row must be scored."""
    try:
        values = np.asarray(scores.values if isinstance(scores, Scores) else scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be read as numbers ({error}); give one number per row.") from error
    if values.ndim != 1 or np.isnan(values).all():
        raise InputError(
            f"{name} have shape {values.shape}, {(~np.isnan(values)).sum()} of them scored; "
            "give one score per row, (n,), with at least one row scored."
        )
    return values


def _ranked(sets: Sequence[ArrayLike | Scores]) -> list[Rows]:
    """Check and sort each set's scores, the rows never scored left out."""
    if isinstance(sets, Scores) or len(sets) == 0:
        raise InputError("Found no list of sets; give the scores of each held-out normal set.")
    arrays = [score_values(one, f"Scores of calibration set {number}") for number, one in enumerate(sets)]
    return [np.sort(values[~np.isnan(values)]) for values in arrays]


def _starts(values: Rows, gap: int) -> tuple[Rows, Rows]:
    """Give the levels between which an alarm starts at a row: the highest just before it, and its own.

    A row starts an alarm at threshold t when it is above t and none of the gap + 1 rows before it is.
    """
    before, own = [], []
    for piece in np.split(values, np.flatnonzero(np.isnan(values))):  # no alarm reaches over an unscored row
        scored = piece[~np.isnan(piece)]
        padded = np.concatenate([np.full(gap + 1, -np.inf), scored])
        highest = sliding_window_view(padded, gap + 1).max(axis=1)[: len(scored)]
        before.append(highest[highest < scored])
        own.append(scored[highest < scored])
    return np.sort(np.concatenate(before)), np.sort(np.concatenate(own))

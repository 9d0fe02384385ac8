"""Calibration of thresholds on held-out groups: how often normal groups reach a score.

    exceedance_m(s) = rows of group m that score s or more / rows of group m
    exceedance(s)   = mean of exceedance_m(s) over the groups      a group counts once, large or small

Every group is scored by a model that was fitted without it (`cross_val_scores`). Groups are exchangeable: any of them
could have been the new one. Rows within a group are not independent. So the evidence about a new context is the number
of groups, and more rows do not replace more groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit

from undistract._schema import array, require, saveable
from undistract.detect.base import Detector, Rows, Scores
from undistract.errors import InputError

if TYPE_CHECKING:
    from undistract.detect.thresholds import Threshold, ThresholdRule


def _encode(calibration: Calibration) -> dict[str, Any]:
    return {
        "scores": np.concatenate(calibration.groups),
        "counts": np.array([len(group) for group in calibration.groups], dtype=np.int64),
        "exceedance_rates": calibration.exceedance_rates,
    }


def _decode(fields: dict[str, Any]) -> Calibration:
    scores = fields["scores"]
    counts = fields["counts"]
    rates = fields["exceedance_rates"]
    require(sum(counts.tolist()) == len(scores) == len(rates) - 1, "the scores are not those of its groups")
    groups = tuple(np.split(scores, np.cumsum(counts)[:-1]))
    require(all((group[1:] >= group[:-1]).all() for group in groups), "the scores of a group are not sorted")
    require((np.diff(rates) <= 0).all() and rates[-1] == 0, "its exceedance rates do not decrease to zero")
    return Calibration(groups, np.sort(scores, kind="stable"), rates)


@saveable(
    {
        "scores": array("n"),
        "counts": array("M", dtype=np.int64, low=1, high=2**53),
        "exceedance_rates": array("s", low=0, high=1),
    },
    encode=_encode,
    decode=_decode,
    public=False,
)
@dataclass(frozen=True, eq=False)
class Calibration:
    """The scores of held-out normal groups, prepared to look up how rare a score is. Also the tail model of `Quantile`.

    Parameters
    ----------
    groups : tuple of (n_m,) arrays
        The scores of each group, ascending.
    sorted_scores : (n,) array
        All scores together, ascending.
    exceedance_rates : (n + 1,) array
        The exceedance rate at each score (see `p_values`), and 0 after the last.

    Examples
    --------
    >>> calm = Calibration.of([[1, 2, 3, 4], [3, 5]])
    >>> calm.p_values([3, 5, 6])
    array([0.75, 0.25, 0.  ])
    """

    groups: tuple[Rows, ...]
    sorted_scores: Rows
    exceedance_rates: Rows

    @classmethod
    def of(cls, groups: Sequence[ArrayLike | Scores]) -> Calibration:
        """Count rows: the exceedance is the share of a group's rows with at least this score.

        Parameters
        ----------
        groups : sequence of (n_m,) arrays or Scores
            The scores of each held-out group (see `cross_val_scores`). Rows without a score (NaN) are left out.
        """
        ranked = _ranked(groups)
        costs = [np.arange(len(levels), 0, -1) / len(levels) for levels in ranked]
        return cls._pooled(ranked, costs)

    @classmethod
    def of_alarms(cls, groups: Sequence[ArrayLike | Scores], *, gap: int = 0) -> Calibration:
        """Count alarms: the exceedance is the number of alarms per row with a threshold just below the score.

        A lower threshold can also join two alarms into one. To keep the cost monotonic, each level has the largest
        number of alarms of all levels from it upwards.

        Parameters
        ----------
        groups : sequence of (n_m,) arrays or Scores
            The scores of each held-out group, in the order of the rows.
        gap : int
            As in `find_alarms`: rows with at most `gap` lower rows between them are one alarm.
        """
        ranked = _ranked(groups)
        costs = []
        for levels, scores in zip(ranked, groups, strict=True):
            before, own = _alarm_onsets(score_values(scores), gap)
            # An alarm starts at a row for every threshold in [before, own), so count onsets by two lookups.
            alarms = np.searchsorted(before, levels) - np.searchsorted(own, levels)
            costs.append(np.maximum.accumulate(alarms[::-1])[::-1] / len(levels))
        return cls._pooled(ranked, costs)

    @classmethod
    def _pooled(cls, ranked: list[Rows], costs: list[Rows]) -> Calibration:
        scores = np.concatenate(ranked)
        steps = np.concatenate([-np.diff(cost, append=0.0) for cost in costs]) / len(ranked)
        order = np.argsort(scores, kind="stable")
        # Sum from the rarest score down, so that the small rates that matter have the least rounding error.
        rates = np.append(np.cumsum(steps[order][::-1])[::-1], 0.0)
        return cls(tuple(ranked), scores[order], np.minimum(rates, 1.0))

    @property
    def n_groups(self) -> int:
        """Number of held-out groups."""
        return len(self.groups)

    @property
    def n_rows(self) -> int:
        """Number of rows in all groups."""
        return len(self.sorted_scores)

    def p_values(self, scores: Rows) -> Rows:
        """Return the exceedance: the share of rows (or the alarms per row) that score at least this; NaN stays NaN."""
        rates = self.exceedance_rates[np.searchsorted(self.sorted_scores, scores)]
        return np.where(np.isnan(scores), np.nan, rates)


def relative_to_group(scores: ArrayLike | Scores) -> Rows:
    """Standardise scores within their group: (score - median) / (upper quartile - lower quartile).

    Contexts differ in the distance of all their rows from the training rows. This removes that difference, so a
    threshold carries over better to a new context. The cost: it needs a complete group, and a group that is anomalous
    throughout looks normal.

    Parameters
    ----------
    scores : (n,) array or Scores
        Scores of one complete group, finite; rows without a score (NaN) stay NaN.

    Examples
    --------
    >>> relative_to_group([10.0, 11.0, 12.0, 13.0, 20.0])
    array([-1. , -0.5,  0. ,  0.5,  4. ])
    """
    values = score_values(scores)
    if np.isinf(values).any():
        raise InputError("Scores must be finite, got infinite ones, which have no distance to the group's median.")
    # The result does not depend on the unit; this one keeps differences of 1e308 finite.
    values = values / (np.nanmax(np.abs(values)) or 1.0)
    lower, middle, upper = np.nanquantile(values, [0.25, 0.5, 0.75])
    deviations = values - middle
    # If half of the rows are equal the quartiles coincide: use the mean deviation. If all are equal, return zeros.
    return np.asarray(deviations / (upper - lower or np.nanmean(np.abs(deviations)) or 1.0))


def score_values(scores: ArrayLike | Scores, name: str = "These scores") -> Rows:
    """Return the (n,) values of `Scores` or of an array-like; raise an InputError if no row has a score."""
    if isinstance(scores, Scores):
        scores = scores.values
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, one per row ({error}).") from error
    if values.ndim != 1 or np.isnan(values).all():
        raise InputError(
            f"{name} must have shape (n,) and at least one row that is not NaN, got shape {values.shape} with "
            f"{(~np.isnan(values)).sum()} scored rows."
        )
    return values


def _ranked(groups: Sequence[ArrayLike | Scores]) -> list[Rows]:
    """Validate and sort the scores of each group, without rows that have no score."""
    if isinstance(groups, Scores) or len(groups) == 0:
        raise InputError("Calibration needs a list with the scores of each held-out normal group, got none.")
    arrays = [score_values(scores, f"Scores of calibration group {number}") for number, scores in enumerate(groups)]
    return [np.sort(values[~np.isnan(values)]) for values in arrays]


def _alarm_onsets(values: Rows, gap: int) -> tuple[Rows, Rows]:
    """Return the thresholds between which an alarm starts at a row, sorted: the highest score before it, and its own.

    A row starts an alarm at threshold t if its score is above t and none of the gap + 1 rows before it is.
    """
    before = []
    own = []
    for segment in np.split(values, np.flatnonzero(np.isnan(values))):  # no alarm extends across an unscored row
        scored = segment[~np.isnan(segment)]
        padded = np.concatenate([np.full(gap + 1, -np.inf), scored])
        highest = sliding_window_view(padded, gap + 1).max(axis=1)[: len(scored)]
        before.append(highest[highest < scored])
        own.append(scored[highest < scored])
    return np.sort(np.concatenate(before)), np.sort(np.concatenate(own))


def split_groups(n_groups: int, n_folds: int, *, seed: int = 0) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the training and the held-out groups of each fold, as indices; a group is never split.

    Examples
    --------
    >>> [held_out.tolist() for _, held_out in split_groups(5, 2)]
    [[2, 3, 4], [0, 1]]
    """
    if n_groups < 2 or n_folds < 2:
        raise InputError(
            f"Calibration needs at least 2 groups and 2 folds, got {n_groups} groups and n_folds={n_folds}."
        )
    fold_of_group = np.empty(n_groups, dtype=np.intp)
    shuffled = np.random.default_rng(seed).permutation(n_groups)
    for fold, members in enumerate(np.array_split(shuffled, min(n_folds, n_groups))):
        fold_of_group[members] = fold
    yield from PredefinedSplit(fold_of_group).split()


def cross_val_scores(
    learn: Callable[[list[Rows]], Callable[[Rows], ArrayLike]],
    groups: Sequence[ArrayLike],
    *,
    n_folds: int = 5,
    seed: int = 0,
) -> list[Rows]:
    """Score every group by a model that was fitted without it.

    Parameters
    ----------
    learn : callable
        ``learn(train_groups)`` takes a list of (n_m, d) arrays and returns a function that scores the rows of a group.
    groups : sequence of (n_m, d) arrays
        Normal rows, one array per context.
    n_folds : int
        Number of folds; at most one per group, and a group is never split. With few folds the models are fitted on
        fewer contexts than the final one, which usually makes the threshold a little too high.
    seed : int
        Seed of the random assignment of groups to folds.

    Returns
    -------
    list of (n_m,) arrays
        In the order of `groups`.

    Examples
    --------
    >>> def learn(train_groups):
    ...     middle = np.vstack(train_groups).mean(axis=0)
    ...     return lambda rows: np.abs(rows - middle).sum(axis=1)
    >>> cross_val_scores(learn, [[[0.0], [1.0]], [[1.0]], [[2.0]]], n_folds=3)
    [array([1.5, 0.5]), array([0.]), array([1.33333333])]
    """
    arrays = [np.asarray(rows, dtype=np.float64) for rows in groups]
    scores: list[Rows] = [np.empty(0)] * len(arrays)
    for train, held_out in split_groups(len(arrays), n_folds, seed=seed):
        score = learn([arrays[group] for group in train])
        for group in held_out:
            scores[group] = np.asarray(score(arrays[group]), dtype=np.float64)
            if scores[group].shape != (len(arrays[group]),):
                raise InputError(
                    f"The model must return one score per row, got shape {scores[group].shape} for "
                    f"{len(arrays[group])} rows."
                )
    return scores


def fit_detector_and_threshold(
    detector: Any, rule: ThresholdRule, reference: list[Rows], *, n_folds: int = 5, adapt: bool = False
) -> tuple[Detector, Threshold, list[Rows]]:
    """Fit a detector on groups of normal rows, and its threshold on cross-validated scores.

    Returns
    -------
    detector : fitted, unless `adapt` (then it is fitted on the rows to be scored)
    threshold : Threshold
    scores : list of (n_m,) arrays
        Scores of the held-out groups, from which the threshold was computed.

    Examples
    --------
    >>> from undistract.detect import Quantile
    >>> groups = list(np.random.default_rng(0).normal(size=(10, 50, 3)))
    >>> nearest, threshold, _ = fit_detector_and_threshold("nearest", Quantile(0.05), groups)
    >>> bool(nearest.anomaly_score([[0.0, 9.0, 0.0]]) > threshold.value)
    True
    """
    from undistract.detect.registry import as_detector  # it imports the rules, which import this module

    fitted = as_detector(clone(detector, safe=False))

    def learn(train: list[Rows]) -> Callable[[Rows], Any]:
        fold_detector = clone(fitted, safe=False)
        if adapt:
            return lambda held_out: clone(fold_detector, safe=False).fit(held_out).scores_
        return fold_detector.fit(np.concatenate(train)).anomaly_score  # type: ignore[no-any-return]

    scores = cross_val_scores(learn, reference, n_folds=n_folds)
    if not adapt:
        fitted.fit(np.concatenate(reference))
    return fitted, rule(scores), scores

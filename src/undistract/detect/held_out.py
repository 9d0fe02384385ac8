"""Held-out sets: each is scored by a model that learned without it, and the threshold rests on these scores.

sets in folds ─► learn from all but one fold ─► scores of that fold, in turn
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from undistract.detect.adapters import detector as as_detector
from undistract.detect.calibration import Rows
from undistract.detect.scores import Detector
from undistract.detect.thresholds import Threshold, ThresholdRule
from undistract.errors import InputError

__all__ = ["calibrated", "held_out_scores"]


def held_out_scores(
    learn: Callable[[list[Rows]], Callable[[Rows], ArrayLike]],
    sets: Sequence[ArrayLike],
    *,
    n_folds: int = 5,
    seed: int = 0,
) -> list[Rows]:
    """Score every set by a model that learned without it.

    Parameters
    ----------
    learn : callable
        ``learn(train_sets)`` takes a list of (n_m, d) arrays and returns what scores the rows of a set.
    sets : sequence of (n_m, d) arrays
        Normal rows, one array per context.
    n_folds : int
        Whole sets are left out, one fold at a time; at most one fold per set. With few folds the models know
        fewer contexts than the final one will, which usually makes the threshold a little too high.
    seed : int
        Of the order in which sets are dealt to folds.

    Returns
    -------
    list of (n_m,) arrays
        In the order of `sets`.

    Examples
    --------
    >>> def learn(train_sets):
    ...     middle = np.vstack(train_sets).mean(axis=0)
    ...     return lambda rows: np.abs(rows - middle).sum(axis=1)
    >>> held_out_scores(learn, [[[0.0], [1.0]], [[1.0]], [[2.0]]], n_folds=3)
    [array([1.5, 0.5]), array([0.]), array([1.33333333])]
    """
    arrays = [np.asarray(one, dtype=np.float64) for one in sets]
    if len(arrays) < 2 or n_folds < 2:
        raise InputError(f"{len(arrays)} sets in {n_folds} folds leave nothing to fit on; give at least 2 of each.")
    scores: list[Rows] = [np.empty(0)] * len(arrays)
    order = np.random.default_rng(seed).permutation(len(arrays))
    for fold in np.array_split(order, min(n_folds, len(arrays))):
        score = learn([arrays[number] for number in range(len(arrays)) if number not in fold])
        for number in fold:
            found = np.asarray(score(arrays[number]), dtype=np.float64)
            if found.shape != (len(arrays[number]),):
                raise InputError(
                    f"The model scored {len(arrays[number])} rows with shape {found.shape}; return one score per row."
                )
            scores[number] = found
    return scores


def calibrated(
    detector: Any, rule: ThresholdRule, known: list[Rows], *, n_folds: int = 5, adapt: bool = False
) -> tuple[Detector, Threshold, list[Rows]]:
    """Fit a detector on sets of normal rows, and its threshold on sets that a fold of it has not seen.

    Returns
    -------
    detector : fitted, unless it is to adapt to what it scores
    threshold : Threshold
    scores : list of (n_m,) arrays
        Of the held-out sets, on which the threshold rests.

    Examples
    --------
    >>> from undistract.detect import Quantile
    >>> rng = np.random.default_rng(0)
    >>> found, threshold, _ = calibrated("nearest", Quantile(0.05), list(rng.normal(size=(10, 50, 3))))
    >>> bool(found.anomaly_score([[0.0, 9.0, 0.0]]) > threshold.value)
    True
    """
    fresh = as_detector(clone(detector, safe=False))

    def learn(train: list[Rows]) -> Callable[[Rows], Any]:
        scorer = clone(fresh, safe=False)
        if adapt:
            return lambda held_out: clone(scorer, safe=False).fit(held_out).scores_
        return scorer.fit(np.concatenate(train)).anomaly_score  # type: ignore[no-any-return]

    held_out = held_out_scores(learn, known, n_folds=n_folds)
    return fresh if adapt else fresh.fit(np.concatenate(known)), rule(held_out), held_out

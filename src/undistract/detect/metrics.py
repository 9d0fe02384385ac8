"""Metrics: evaluate scores against labels.

    AUROC                     probability that an anomaly scores higher than a normal row
    average precision         mean precision over all recalls
    precision at k            share of anomalies among the k rows with the highest scores
    false-positive rate       share of normal rows above the score that detects 95 % of the anomalies

Rows within a group are not independent, so intervals come from resampling whole test groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import auc, average_precision_score, roc_curve

from undistract.detect.base import Rows, Scores
from undistract.detect.calibration import score_values
from undistract.errors import EvidenceWarning, InputError

# There is no point-adjusted F1 here: it counts a whole anomalous range as detected if one of its rows raises an alarm,
# so random scores look excellent with long ranges (Kim et al., AAAI 2022).


RECALL = 0.95


@dataclass(frozen=True)
class Quality:
    """Four metrics of how well scores rank anomalies above normal rows.

    Parameters
    ----------
    auroc, average_precision, precision_at_k : float
        High is good.
    false_positive_rate : float
        At 95 % recall; low is good.
    """

    auroc: float
    average_precision: float
    precision_at_k: float
    false_positive_rate: float


def quality(scores: ArrayLike | Scores, truth: ArrayLike, *, k: int = 10) -> Quality:
    """Evaluate the scores of one test group against labels.

    Parameters
    ----------
    scores : (n,) array or Scores
        High is anomalous. Rows without a score (NaN) are left out.
    truth : (n,) array of bool
        True (or 1) for an anomaly.
    k : int
        Number of rows with the highest scores for `precision_at_k`; ties count as in random order.

    Examples
    --------
    >>> quality([0.1, 0.4, 0.35, 0.8], [False, False, True, True], k=2)
    Quality(auroc=0.75, average_precision=0.833..., precision_at_k=0.5, false_positive_rate=0.5)
    """
    values, labels, _ = _rows([scores], [truth], k)
    return _measure(values, labels, np.ones(len(values)), k)


def quality_interval(
    scores: Sequence[ArrayLike | Scores],
    truth: Sequence[ArrayLike],
    *,
    k: int = 10,
    confidence: float = 0.95,
    n_resamples: int = 200,
    seed: int = 0,
) -> tuple[Quality, Quality, Quality]:
    """Evaluate scores over several test groups, with a bootstrap interval over groups.

    Parameters
    ----------
    scores, truth : sequences, one (n_m,) array per test group
        As in `quality`; all rows are ranked together.
    k : int
        As in `quality`.
    confidence : float
        Share of the resampled values inside the interval.
    n_resamples, seed : int
        Number of times that groups are drawn with replacement, and the seed of the draws.

    Returns
    -------
    low, quality, high : Quality
        The lower end, the value, the upper end.

    Examples
    --------
    >>> scores = [[0.1, 0.9], [0.3, 0.2], [0.2, 0.7]]
    >>> truth = [[0, 1], [0, 1], [0, 1]]
    >>> low, middle, high = quality_interval(scores, truth, k=2)
    >>> low.auroc < middle.auroc < high.auroc
    True
    """
    if len(scores) < 2:
        raise InputError(
            f"An interval needs at least 2 test groups, got {len(scores)}. Pass more, or use quality for one group."
        )
    values, labels, groups = _rows(scores, truth, k)
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(len(scores), np.full(len(scores), 1 / len(scores)), n_resamples)
    resampled = []
    for times_drawn in draws:
        weights = times_drawn[groups].astype(np.float64)  # (n,) a group drawn twice counts twice
        # Skip draws without anomalies, without normal rows, or with fewer than k rows.
        if 0 < weights @ labels < weights.sum() >= k:
            resampled.append(astuple(_measure(values, labels, weights, k)))
    if len(resampled) < n_resamples / 2:
        warnings.warn(
            f"Only {len(resampled)} of {n_resamples} draws of {len(scores)} test groups have anomalies, normal rows "
            f"and at least {k} rows, so the interval is unreliable. Use more test groups with anomalies.",
            EvidenceWarning,
            stacklevel=2,
        )
    middle = _measure(values, labels, np.ones(len(values)), k)
    edges = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    low, high = np.quantile(np.array(resampled or [astuple(middle)]), edges, axis=0)
    return Quality(*low.tolist()), middle, Quality(*high.tolist())


def _rows(
    scores: Sequence[ArrayLike | Scores], truth: Sequence[ArrayLike], k: int
) -> tuple[Rows, NDArray[np.bool_], NDArray[np.intp]]:
    """Return the score, the label and the group number of every scored row."""
    values = [score_values(group_scores, f"Test group {number}") for number, group_scores in enumerate(scores)]
    labels = [_labels(group_truth) for group_truth in truth]
    if [group.shape for group in values] != [group.shape for group in labels]:
        raise InputError(
            f"truth must have one label per score, got shapes {[group.shape for group in labels]} for "
            f"{[len(group) for group in values]} scores per group."
        )
    groups = np.repeat(np.arange(len(values)), [len(group) for group in values])
    all_values = np.concatenate(values)
    all_labels = np.concatenate(labels)
    scored = ~np.isnan(all_values)
    n_rows = int(scored.sum())
    n_anomalies = int(all_labels[scored].sum())
    if not 0 < n_anomalies < n_rows or not 0 < k <= n_rows:
        raise InputError(
            "quality needs at least one anomaly, one normal row, and k from 1 to the number of rows, got "
            f"{n_anomalies} anomalies in {n_rows} scored rows, k={k}."
        )
    return all_values[scored], all_labels[scored], groups[scored]


def _labels(truth: ArrayLike) -> NDArray[np.bool_]:
    labels = np.asarray(truth)
    if labels.dtype == object:  # of a column with missing values
        with suppress(TypeError, ValueError):
            labels = labels.astype(np.float64)
    if labels.dtype.kind not in "biuf" or np.isnan(labels).any():
        raise InputError(
            f"truth must be True or 1 for an anomaly, else False or 0, without missing values, got {labels.dtype}."
        )
    return labels.astype(bool)


def _measure(values: Rows, labels: NDArray[np.bool_], weights: Rows, k: int) -> Quality:
    # Use ranks: scikit-learn rejects infinite scores, and only the order matters.
    ranks = np.unique(values, return_inverse=True)[1]
    false_rate, true_rate, _ = roc_curve(labels, ranks, sample_weight=weights, drop_intermediate=False)
    return Quality(
        auroc=float(auc(false_rate, true_rate)),
        average_precision=float(average_precision_score(labels, ranks, sample_weight=weights)),
        precision_at_k=_precision_at(k, ranks, labels, weights),
        false_positive_rate=float(false_rate[np.argmax(true_rate >= RECALL - 1e-12)]),
    )


def _precision_at(k: int, ranks: NDArray[np.intp], labels: NDArray[np.bool_], weights: Rows) -> float:
    """Return the expected precision among the k highest scores, with ties in random order."""
    order = np.argsort(-ranks, kind="stable")
    last = ranks[order[np.searchsorted(np.cumsum(weights[order]), k)]]
    above = ranks > last
    tied = ranks == last
    n_from_tie = k - weights[above].sum()
    n_hits = weights[above] @ labels[above] + n_from_tie * (weights[tied] @ labels[tied]) / weights[tied].sum()
    return float(n_hits / k)

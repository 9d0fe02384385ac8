"""Quality: how good scores are when the truth is known.

    AUROC                     how often an anomaly outscores a normal row
    average precision         mean precision over all recalls
    precision at k            true ones among the k strangest rows
    false-positive rate       share of normal rows above the score that finds 95 % of the anomalies

Rows of a set hang together, so intervals come from resampling whole test sets.
"""

# There is no point-adjusted F1 here: it calls a whole anomalous stretch found when one row of it alarms, so
# that random scores look excellent where stretches are long (Kim et al., AAAI 2022).

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import auc, average_precision_score, roc_curve

from undistract.detect.calibration import Rows, score_values
from undistract.detect.scores import Scores
from undistract.errors import EvidenceWarning, InputError

__all__ = ["Quality", "quality", "quality_interval"]

RECALL = 0.95


@dataclass(frozen=True)
class Quality:
    """Four ways to say how well scores rank anomalies above normal rows.

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
    """Measure the scores of one set against the truth.

    Parameters
    ----------
    scores : (n,) array or Scores
        High is strange. Rows never scored (NaN) are left out.
    truth : (n,) array of bool
        True (or 1) for an anomaly.
    k : int
        How many of the strangest rows `precision_at_k` looks at; equal scores share the last places.

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
    """Measure scores over several test sets, with a bootstrap interval over sets.

    Parameters
    ----------
    scores, truth : sequences, one (n_m,) array per test set
        As in `quality`; all rows are ranked together.
    k : int
        As in `quality`.
    confidence : float
        How much of the resampled values the interval holds.
    n_resamples, seed : int
        How many times the sets are drawn again, with replacement, and the seed of the draws.

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
        raise InputError(f"{len(scores)} test set cannot show how sets differ; give at least 2, or use quality.")
    values, labels, owner = _rows(scores, truth, k)
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(len(scores), np.full(len(scores), 1 / len(scores)), n_resamples)
    found = []
    for times_drawn in draws:
        weights = times_drawn[owner].astype(np.float64)  # (n,) a set drawn twice counts twice
        # A draw with no anomaly, or with nothing else, or with too few rows measures nothing.
        if 0 < weights @ labels < weights.sum() >= k:
            found.append(astuple(_measure(values, labels, weights, k)))
    if len(found) < n_resamples / 2:
        warnings.warn(
            f"Only {len(found)} of {n_resamples} draws of {len(scores)} test sets hold anomalies, normal "
            f"rows and {k} rows in all; do not trust the interval. Give more test sets with anomalies.",
            EvidenceWarning,
            stacklevel=2,
        )
    middle = _measure(values, labels, np.ones(len(values)), k)
    edges = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    low, high = np.quantile(np.array(found or [astuple(middle)]), edges, axis=0)
    return Quality(*low.tolist()), middle, Quality(*high.tolist())


def _rows(
    scores: Sequence[ArrayLike | Scores], truth: Sequence[ArrayLike], k: int
) -> tuple[Rows, NDArray[np.bool_], NDArray[np.intp]]:
    """Give the value, the truth and the set's number of every scored row."""
    values = [score_values(one, f"Test set {number}") for number, one in enumerate(scores)]
    labels = [_truth(one) for one in truth]
    if [one.shape for one in values] != [one.shape for one in labels]:
        raise InputError(
            f"Scores come as {[len(one) for one in values]} rows per set and the truth as "
            f"{[one.shape for one in labels]}; give one truth per row."
        )
    owner = np.repeat(np.arange(len(values)), [len(one) for one in values])
    together, anomalous = np.concatenate(values), np.concatenate(labels)
    scored = ~np.isnan(together)
    n_rows, n_anomalies = int(scored.sum()), int(anomalous[scored].sum())
    if not 0 < n_anomalies < n_rows or not 0 < k <= n_rows:
        raise InputError(
            f"{n_rows} scored rows hold {n_anomalies} anomalies, and k={k}; quality needs at least one "
            "anomaly, one normal row, and k from 1 to the number of rows."
        )
    return together[scored], anomalous[scored], owner[scored]


def _truth(truth: ArrayLike) -> NDArray[np.bool_]:
    found = np.asarray(truth)
    if found.dtype == object:  # of a column with gaps
        with suppress(TypeError, ValueError):
            found = found.astype(np.float64)
    if found.dtype.kind not in "biuf" or np.isnan(found).any():
        raise InputError(
            f"The truth holds {found.dtype}, perhaps with gaps; give True or 1 for an anomaly, else False or 0."
        )
    return found.astype(bool)


def _measure(values: Rows, labels: NDArray[np.bool_], weights: Rows, k: int) -> Quality:
    # Ranks, since scikit-learn refuses infinite scores and only the order counts.
    ranks = np.unique(values, return_inverse=True)[1]
    false_rate, true_rate, _ = roc_curve(labels, ranks, sample_weight=weights, drop_intermediate=False)
    return Quality(
        auroc=float(auc(false_rate, true_rate)),
        average_precision=float(average_precision_score(labels, ranks, sample_weight=weights)),
        precision_at_k=_precision_at(k, ranks, labels, weights),
        false_positive_rate=float(false_rate[np.argmax(true_rate >= RECALL - 1e-12)]),
    )


def _precision_at(k: int, ranks: NDArray[np.intp], labels: NDArray[np.bool_], weights: Rows) -> float:
    """Give the expected precision among the k highest, equal scores in random order."""
    order = np.argsort(-ranks, kind="stable")
    last = ranks[order[np.searchsorted(np.cumsum(weights[order]), k)]]
    above, level = ranks > last, ranks == last
    places = k - weights[above].sum()  # left for the rows on the last score
    found = weights[above] @ labels[above] + places * (weights[level] @ labels[level]) / weights[level].sum()
    return float(found / k)

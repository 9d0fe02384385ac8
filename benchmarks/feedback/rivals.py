"""The rivals: what else could be done with verdicts.

    known rows         the row of a false alarm joins the rows that the detector is fitted on
    weighted members   an ensemble, its members' weights learned from the answers: confirmed anomalies above a
                       threshold, false alarms below it, near equal weights otherwise

The last follows active anomaly discovery: Das, Wong, Dietterich, Fern and Emmott (ICDM 2016), with the random
projections and histograms of LODA (Pevný 2016) as members; and Das, Wong, Fern, Dietterich and Siddiqui (2017), with
the leaves of an isolation forest. Both are our own implementations, with a smooth loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.ensemble import IsolationForest

from undistract._arrays import Floats

Members = Callable[[Sequence[Floats], int], list[Floats]]  # groups of rows, seed → their readings (n, members)

N_PROJECTIONS = 200
ALARMS = 0.03  # the share of rows above the threshold
RIDGES = (0.0001, 0.001, 0.01, 0.1)
RIDGE = 0.001  # how much weights are held near equal; chosen from these on the part for choosing


def projections(groups: Sequence[Floats], seed: int) -> list[Floats]:
    """Score every group by its own histograms along shared sparse projections: minus the log of the density."""
    rng = np.random.default_rng(seed)
    n_features = groups[0].shape[1]
    some = rng.random((n_features, N_PROJECTIONS)) < 1 / np.sqrt(n_features)
    directions = rng.normal(size=some.shape) * some
    return [np.column_stack([_surprise(one) for one in (rows @ directions).T]) for rows in groups]


def leaves(groups: Sequence[Floats], seed: int) -> list[Floats]:
    """Read all groups through the leaves of one isolation forest: minus the depth where a row ends, else 0.

    Equal weights give the forest's own ranking.
    """
    together = np.concatenate(groups)
    forest = IsolationForest(random_state=seed).fit(together)
    columns = []
    for tree in forest.estimators_:
        ends = tree.apply(together)
        used, first, place = np.unique(ends, return_index=True, return_inverse=True)
        depths = np.asarray(tree.decision_path(together[first]).sum(axis=1)).ravel() - 1
        counts = tree.tree_.n_node_samples[used]
        columns.append((place[:, None] == np.arange(len(used))) * -(depths + _more_depth(counts)))
    found = np.hstack(columns)
    return np.split(found, np.cumsum([len(rows) for rows in groups])[:-1])


def weights(readings: Floats, false_alarms: Sequence[int], anomalies: Sequence[int], ridge: float = RIDGE) -> Floats:
    """Learn the weights of members (m,) from the answers about some rows (n, m)."""
    equal = np.full(readings.shape[1], 1 / readings.shape[1])
    if not len(false_alarms) and not len(anomalies):
        return equal
    scores = readings @ equal
    threshold, scale = np.quantile(scores, 1 - ALARMS), max(float(scores.std()), 1e-12)
    rows = readings[[*false_alarms, *anomalies]]
    side = np.repeat([1.0, -1.0], [len(false_alarms), len(anomalies)])  # false alarms should score lower
    # In units of the readings, so that one ridge fits every ensemble.
    held = ridge * float((readings**2).sum(axis=1).mean()) / scale**2

    def loss(change: Floats) -> tuple[float, Floats]:
        margins = side * ((rows @ (equal + change)) - threshold) / scale
        slopes = expit(margins) * side / (scale * len(rows))
        return float(np.logaddexp(0, margins).mean() + held * change @ change / 2), rows.T @ slopes + held * change

    best: Floats = equal + minimize(loss, np.zeros_like(equal), jac=True, method="L-BFGS-B").x
    return best


ENSEMBLES: dict[str, Members] = {"weighted projections": projections, "weighted leaves": leaves}


def _surprise(values: Floats) -> Floats:
    heights, edges = np.histogram(values, bins=max(5, int(np.sqrt(len(values)))))
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(heights) - 1)
    surprise: Floats = -np.log((heights[place] + 0.5) / (len(values) + 1))
    return surprise


def _more_depth(counts: Floats) -> Floats:
    """How much deeper a leaf with several rows would go (Liu, Ting and Zhou 2008)."""
    n = np.maximum(counts, 2).astype(float)
    more: Floats = np.where(counts > 2, 2 * (np.log(n - 1) + np.euler_gamma) - 2 * (n - 1) / n, (counts == 2) * 1.0)
    return more

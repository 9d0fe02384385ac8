"""What of a row counts, feature by feature: what is kept of its deviation, and what carried its score."""

from __future__ import annotations

import numpy as np

from undistract.arrays import Floats, Rows
from undistract.detect import FocusDetector, explain
from undistract.workflow.model import Model

MOST_VARIANTS = 2048  # of a row, where a detector must be asked feature by feature


def kept_deviation(model: Model, rows: Rows, usual: Floats) -> Floats:
    """Say how rows (n, d) differ from what is usual (d,), without what distracts.

    Examples
    --------
    >>> from undistract import FeatureSet, learn
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> kept_deviation(learn(days), np.array([[20.0, 0.0, 7.0]]), np.zeros(3)).round() + 0.0
    array([[-1., 0., 7.]])
    """
    both = np.vstack([rows, usual[None, :]]).astype(np.float64)
    clean = model.focus.denoise(both)
    return np.asarray(clean[:-1] - clean[-1])


def carried(model: Model, rows: Rows, row: int, usual: Floats) -> Floats:
    """Say which share of a row's score each feature carried, (d,).

    Where no detector was learned, it is the share of the squared deviation that is kept.

    Parameters
    ----------
    model : Model
    rows : (n, d) array
        The set that was scored.
    row : int
    usual : (d,) array
        The median of the rows.

    Examples
    --------
    >>> from undistract import FeatureSet, learn
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> carried(learn(days), np.array([[20.0, 0.0, 30.0]]), 0, np.zeros(3)).round(1) + 0.0
    array([0., 0., 1.])
    """
    watch = model.watch
    if not isinstance(watch, FocusDetector):
        kept = kept_deviation(model, rows[row][None, :], usual)[0] ** 2
        return np.asarray(kept / (kept.sum() or 1.0))
    # Unless the whole set is the measure, three rows say as much as all: their median is what is usual.
    context, place = (rows, row) if watch.adapt else (np.stack([usual, usual, rows[row]]), 2)
    n_features = rows.shape[1]
    groups = None if n_features <= MOST_VARIANTS else np.array_split(np.arange(n_features), MOST_VARIANTS)
    why = explain(watch, context, [place], groups=groups)[0]  # type: ignore[arg-type]
    return np.asarray(why.contributions / (abs(why.score) or 1.0))

"""The scoring side: what was learned, applied to Dask arrays block by block, when somebody asks for the result."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from undistract.arrays import Floats, Rows, same_features
from undistract.errors import InputError
from undistract.parallel.lazy import dask_part, is_lazy_array
from undistract.parallel.threads import one_thread


class Transformer(Protocol):
    """Takes rows, and gives others: a fitted `Focus`."""

    n_features_in_: int

    def transform(self, X: Any) -> Any: ...


class Scorer(Protocol):
    """Scores rows, high is strange: a fitted detector."""

    def anomaly_score(self, X: Any) -> Any: ...


def transform(X: Any, focus: Transformer) -> Any:
    """Take out what distracts, block by block.

    Parameters
    ----------
    X : (n, d) Dask array
    focus : fitted Focus
        Sent to the workers once for all blocks.

    Returns
    -------
    (n, k) Dask array, float32 if X is

    Examples
    --------
    >>> import dask.array as da
    >>> from undistract import Focus
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(1000, 4)) * [1, 12, 1, 1]
    >>> rows[:, 0] += 3 * np.repeat(np.arange(10), 100)
    >>> focus = Focus().fit(rows, sets=np.repeat(np.arange(10), 100))
    >>> calm = transform(da.from_array(rows, chunks=(300, 4)), focus)
    >>> calm.shape, calm.chunks[0], bool(np.allclose(calm.compute(), focus.transform(rows)))
    ((1000, 3), (300, 300, 300, 100), True)
    """
    X = _checked(X, focus)
    # One row tells how wide the result is and of which kind.
    tried = np.asarray(focus.transform(np.zeros((1, X.shape[1]), dtype=X.dtype)))
    return X.map_blocks(
        _transformed,
        _sent(focus),
        dtype=tried.dtype,
        chunks=(X.chunks[0], (tried.shape[1],)),
        meta=np.empty((0, 0), dtype=tried.dtype),
    )


def anomaly_score(X: Any, detector: Scorer) -> Any:
    """Score rows block by block: high is strange.

    Every row must be scored by itself, as by a detector that was fitted on known rows. One that adapts to what it
    scores would see one block as the whole.

    Parameters
    ----------
    X : (n, d) Dask array
    detector : fitted detector, FocusDetector or Model

    Returns
    -------
    (n,) Dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from undistract import NearestDetector
    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> nearest = NearestDetector().fit(rows)
    >>> scores = anomaly_score(da.from_array(rows, chunks=(80, 3)), nearest)
    >>> scores.shape, bool((scores.compute() == nearest.anomaly_score(rows)).all())
    ((200,), True)
    """
    if getattr(detector, "adapt", False):
        raise InputError("This detector adapts to the rows that it scores, so it must see all of a set at once.")
    X = _checked(X, detector)
    return X.map_blocks(
        _scored, _sent(detector), dtype=np.float64, drop_axis=1, meta=np.empty(0), chunks=(X.chunks[0],)
    )


def _transformed(rows: Rows, focus: Transformer) -> Rows:
    with one_thread():
        return np.asarray(focus.transform(rows))


def _scored(rows: Rows, detector: Scorer) -> Floats:
    with one_thread():
        return np.asarray(detector.anomaly_score(rows), dtype=np.float64)


def _checked(X: Any, learned: Any) -> Any:
    if not is_lazy_array(X) or X.ndim != 2:
        raise InputError(f"X is {type(X).__name__}; expected a Dask array of shape (rows, features).")
    if hasattr(learned, "n_features_in_"):
        same_features(learned.n_features_in_, X.shape[1], "X")
    return X.rechunk({1: -1})


def _sent(learned: Any) -> Any:
    """Let all blocks share one copy, made when the result is computed."""
    return dask_part().delayed(learned, pure=False, traverse=False)

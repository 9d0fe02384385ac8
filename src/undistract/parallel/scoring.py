"""Apply a fitted `Focus` or detector to the blocks of a Dask array, lazily."""

from __future__ import annotations

from typing import Any

import numpy as np

from undistract._arrays import Floats, Rows, check_same_n_features
from undistract.errors import InputError
from undistract.parallel.runners import import_dask, is_dask_array, one_thread


def transform(X: Any, focus: Any) -> Any:
    """Transform a Dask array block by block.

    Parameters
    ----------
    X : (n, d) Dask array
    focus : fitted Focus
        It is sent to the workers once for all blocks.

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
    >>> focus = Focus().fit(rows, groups=np.repeat(np.arange(10), 100))
    >>> Z = transform(da.from_array(rows, chunks=(300, 4)), focus)
    >>> Z.shape, Z.chunks[0], bool(np.allclose(Z.compute(), focus.transform(rows)))
    ((1000, 3), (300, 300, 300, 100), True)
    """
    X = _check_array(X, focus)
    # Transform one row to learn the width and dtype of the result.
    sample = np.asarray(focus.transform(np.zeros((1, X.shape[1]), dtype=X.dtype)))
    return X.map_blocks(
        _transform_block,
        _delay(focus),
        dtype=sample.dtype,
        chunks=(X.chunks[0], (sample.shape[1],)),
        meta=np.empty((0, 0), dtype=sample.dtype),
    )


def anomaly_score(X: Any, detector: Any) -> Any:
    """Score the rows of a Dask array block by block; high scores are anomalous.

    The detector must score every row independently. A detector that adapts to the rows it scores would adapt to each
    block separately, so it is rejected.

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
        raise InputError(
            "A detector with adapt=True needs all rows of a group at once. Use one with adapt=False for Dask arrays."
        )
    X = _check_array(X, detector)
    return X.map_blocks(
        _score_block, _delay(detector), dtype=np.float64, drop_axis=1, meta=np.empty(0), chunks=(X.chunks[0],)
    )


def _transform_block(rows: Rows, focus: Any) -> Rows:
    with one_thread():
        return np.asarray(focus.transform(rows))


def _score_block(rows: Rows, detector: Any) -> Floats:
    with one_thread():
        return np.asarray(detector.anomaly_score(rows), dtype=np.float64)


def _check_array(X: Any, estimator: Any) -> Any:
    if not is_dask_array(X) or X.ndim != 2:
        raise InputError(f"X is {type(X).__name__}; expected a Dask array of shape (rows, features).")
    if hasattr(estimator, "n_features_in_"):
        check_same_n_features(estimator.n_features_in_, X.shape[1], "X")
    return X.rechunk({1: -1})


def _delay(estimator: Any) -> Any:
    """Wrap an estimator so that all blocks share one copy of it."""
    return import_dask().delayed(estimator, pure=False, traverse=False)

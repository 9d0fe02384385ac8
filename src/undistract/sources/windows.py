"""Sliding windows: combine consecutive rows into one feature vector, to detect temporal patterns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from undistract._arrays import Rows
from undistract.errors import EvidenceWarning, InputError
from undistract.sources.source import CHUNK_ROWS, CHUNK_VALUES, Source, TimedRows, concat_chunks, times_at


def windowed(source: Source, window: int, stride: int = 1) -> Source:
    """Return a source whose rows are `window` consecutive rows side by side, one every `stride` rows.

    A window has the time and the name of its last row, when all of it is known. The first `window` - 1 rows have no
    window.

    Parameters
    ----------
    source : Source
        With rows in the order of time.
    window, stride : int

    Examples
    --------
    >>> load = Source("mon", [[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]], times=[8, 9, 10], feature_names=["load", "heat"])
    >>> pairs = windowed(load, 2)
    >>> pairs.rows.tolist(), pairs.times.tolist()
    ([[1.0, 5.0, 2.0, 6.0], [2.0, 6.0, 3.0, 7.0]], [9, 10])
    >>> pairs.feature_names
    ('load 1 before', 'heat 1 before', 'load', 'heat')
    """
    if window < 1 or stride < 1:
        raise InputError(f"window and stride must be at least 1 row, got {window} and {stride}.")

    def read() -> Iterator[TimedRows]:
        pending: list[TimedRows] = []  # rows of the last chunk that later windows need
        last_time = None
        skip = 0  # rows at the start of `pending` where no further window begins
        n_rows = n_windows = 0
        size = max(1, CHUNK_VALUES // (window * source.n_features))
        for chunk in source.timed_chunks(min(size, CHUNK_ROWS)):
            if window > 1:
                last_time = _check_order(source, chunk[1], last_time, n_rows)
            n_rows += len(chunk[0])
            rows, times = concat_chunks([*pending, chunk])
            # First rows of the windows that are complete now.
            starts = np.arange(skip, len(rows) - window + 1, stride)
            if len(starts):
                n_windows += len(starts)
                lasts = starts + window - 1
                # A view (n, d, window) of the rows; the indexing makes the only copy.
                view = np.lib.stride_tricks.sliding_window_view(rows, window, axis=0)
                wide = view[starts].transpose(0, 2, 1).reshape(len(starts), -1)
                yield wide, times_at(times, lasts)
                skip = int(starts[-1]) + stride
            n_used = min(skip, len(rows))
            pending = [(rows[n_used:], times_at(times, slice(n_used, None)))]
            skip -= n_used
        if not n_windows:
            raise InputError(
                f"Source {source.name!r} has {n_rows} rows, too few for a window of {window}. "
                "Choose a smaller window (--window), or skip the source (--ignore)."
            )

    feature_names = row_names = None
    if source.feature_names is not None:
        feature_names = names_in_window(source.feature_names, window)
    if source.row_names is not None:
        row_names = source.row_names[window - 1 :: stride]
    return Source.from_reader(
        source.name,
        read,
        origin=source.origin,
        feature_names=feature_names,
        row_names=row_names,
        is_finite=True,
    )


def _check_order(source: Source, times: Rows | None, last_time: Any, n_before: int) -> Any:
    """Warn if times decrease, and return the time of the last row; None after a warning, so that it is issued once.

    It is a warning and not an error: when a clock is set back, an hour occurs twice, in the right order.
    """
    if times is None or (last_time is None and n_before):
        return None
    sequence = times
    row = n_before + 1
    if last_time is not None:
        sequence = np.concatenate([[last_time], times])
        row = n_before
    decreases = np.flatnonzero(sequence[1:] < sequence[:-1])
    if not len(decreases):
        return times[-1]
    first = int(decreases[0])
    warnings.warn(
        f"Source {source.name!r} goes back in time at row {row + first}, counted from 0: {sequence[first + 1]} comes "
        f"after {sequence[first]}. Windows combine rows in file order, so some windows mix rows that were not "
        "consecutive. Sort the rows by time, pass the files in the order of time, or omit windows.",
        EvidenceWarning,
        stacklevel=2,
    )
    return None


def names_in_window(names: Sequence[str], window: int) -> list[str]:
    """Return the feature names of a window: each column once per row, with its lag to the last row.

    Examples
    --------
    >>> names_in_window(["load"], 3)
    ['load 2 before', 'load 1 before', 'load']
    """
    lags = [f" {lag} before" for lag in range(window - 1, 0, -1)]
    return [name + lag for lag in [*lags, ""] for name in names]

"""Windows over time: several rows in a row become one, so that what happens one after the other can be seen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from undistract.arrays import Rows
from undistract.errors import EvidenceWarning, InputError
from undistract.sets.feature_set import CHUNK_ROWS, CHUNK_VALUES, FeatureSet
from undistract.sets.row_stream import Piece, joined


def windowed(one: FeatureSet, window: int, stride: int = 1) -> FeatureSet:
    """Return a set whose rows are windows of `window` rows side by side, one every `stride` rows.

    A window has the time and the name of its last row: that is when all of it is known. Rows before the first whole
    window have none of their own.

    Parameters
    ----------
    one : FeatureSet
        With rows in the order of time.
    window, stride : int

    Examples
    --------
    >>> load = FeatureSet("mon", [[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]], times=[8, 9, 10], feature_names=["load", "heat"])
    >>> pairs = windowed(load, 2)
    >>> pairs.rows.tolist(), pairs.times.tolist()
    ([[1.0, 5.0, 2.0, 6.0], [2.0, 6.0, 3.0, 7.0]], [9, 10])
    >>> pairs.feature_names
    ('load 1 before', 'heat 1 before', 'load', 'heat')
    """
    if window < 1 or stride < 1:
        raise InputError(f"window is {window} and stride is {stride}; expected at least one row for both.")

    def read() -> Iterator[Piece]:
        carried: list[Piece] = []
        last = None
        skip = n_rows = n_windows = 0  # rows at the start of what is carried that no further window begins with
        size = max(1, CHUNK_VALUES // (window * one.n_features))
        for piece in one.timed_chunks(min(size, CHUNK_ROWS)):
            if window > 1:
                last = _look_at_order(one, piece[1], last, n_rows)
            n_rows += len(piece[0])
            rows, times = joined([*carried, piece])
            starts = np.arange(skip, len(rows) - window + 1, stride)
            if len(starts):
                n_windows += len(starts)
                lasts = starts + window - 1
                # A view (n, d, window) of the rows; taking some of it makes the only copy.
                view = np.lib.stride_tricks.sliding_window_view(rows, window, axis=0)
                wide = view[starts].transpose(0, 2, 1).reshape(len(starts), -1)
                yield wide, None if times is None else times[lasts]
                skip = int(starts[-1]) + stride
            keep = min(skip, len(rows))
            carried, skip = [(rows[keep:], None if times is None else times[keep:])], skip - keep
        if not n_windows:
            raise InputError(
                f"Set {one.name!r} has {n_rows} rows, too few for a window of {window}. "
                "Choose a smaller window (--window), or leave the set out (--ignore)."
            )

    names = one.feature_names
    return FeatureSet.reading(
        one.name,
        read,
        source=one.source,
        feature_names=None if names is None else names_in_window(names, window),
        row_names=None if one.row_names is None else one.row_names[window - 1 :: stride],
    )


def _look_at_order(one: FeatureSet, times: Rows | None, last: Any, n_before: int) -> Any:
    """Warn of a set that goes back in time, and return the time of its last row; None once that is said.

    It is no error: the hour that a clock is put back by comes twice, in the right order.
    """
    if times is None or (last is None and n_before):
        return None
    whole = times if last is None else np.concatenate([[last], times])
    back = np.flatnonzero(whole[1:] < whole[:-1])
    if not len(back):
        return times[-1]
    earlier, later = whole[back[0]], whole[back[0] + 1]
    row = n_before + int(back[0]) + (last is None)
    warnings.warn(
        f"Set {one.name!r} goes back in time at row {row}, counted from 0: {later} comes after {earlier}. Windows join "
        "rows as they lie in the files, so some hold what did not follow one another. Sort the rows by time, give the "
        "files in the order of time, or leave windows out.",
        EvidenceWarning,
        stacklevel=2,
    )
    return None


def names_in_window(names: Sequence[str], window: int) -> list[str]:
    """Name the features of a window: each column once for every row, with how many rows before the last it was.

    Examples
    --------
    >>> names_in_window(["load"], 3)
    ['load 2 before', 'load 1 before', 'load']
    """
    lags = [f" {lag} before" if lag else "" for lag in range(window - 1, -1, -1)]
    return [name + lag for lag in lags for name in names]

"""Windows back to rows: each row is the mean of what became of it in all windows that hold it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

import numpy as np

from undistract.arrays import Rows
from undistract.errors import InputError
from undistract.sets.row_stream import Piece


def through_windows(
    pieces: Iterable[Piece], window: int, change: Callable[[Rows], Rows], *, name: Hashable = "rows"
) -> Iterator[Piece]:
    """Change rows of a time series as windows of `window` rows, one for every row, and take the windows apart again.

    Parameters
    ----------
    pieces : iterable of (rows, times or None)
        Rows (n, c) in the order of time.
    window : int
    change : callable
        Windows (m, window · c) in, as many out; rows of a window stand side by side, the earliest first.
    name : hashable
        The set, for messages.

    Yields
    ------
    (rows, times or None)
        As many rows as came in. Nothing but the piece at hand and one window is held.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [6.0], [3.0]])
    >>> level = lambda windows: np.repeat(windows.mean(axis=1, keepdims=True), 2, axis=1)  # each row: mean of its pair
    >>> np.concatenate([made for made, _ in through_windows([(rows[:3], None), (rows[3:], None)], 2, level)]).ravel()
    array([1.5 , 2.75, 4.25, 4.5 ])
    """
    if window == 1:
        yield from ((change(some), when) for some, when in pieces)
        return
    rows: Rows | None = None  # at hand: those that a later window may still hold
    for some, when in pieces:
        if rows is None:
            rows, times = some, when
            sums, counts = np.zeros(some.shape), np.zeros(len(some))
        else:
            rows = np.concatenate([rows, some])
            times = None if times is None or when is None else np.concatenate([times, when])
            sums = np.concatenate([sums, np.zeros(some.shape)])
            counts = np.concatenate([counts, np.zeros(len(some))])
        n = len(rows) - window + 1
        if n <= 0:
            continue
        view = np.lib.stride_tricks.sliding_window_view(rows, window, axis=0)  # (n, c, window)
        wide = np.ascontiguousarray(view.transpose(0, 2, 1)).reshape(n, -1)
        changed = change(wide).reshape(n, window, -1)
        for lag in range(window):
            sums[lag : lag + n] += changed[:, lag]
            counts[lag : lag + n] += 1
        # The first n rows are in no later window.
        yield (sums[:n] / counts[:n, None]).astype(some.dtype, copy=False), None if times is None else times[:n]
        rows, sums, counts = rows[n:], sums[n:], counts[n:]
        times = None if times is None else times[n:]
    if rows is not None and len(rows):
        if not counts.all():
            raise InputError(
                f"Set {name!r} has {len(rows)} rows, too few for a window of {window}. Leave the set out (--ignore)."
            )
        yield (sums / counts[:, None]).astype(rows.dtype, copy=False), times

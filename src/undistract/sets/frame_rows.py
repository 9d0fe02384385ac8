"""Frames become rows, chunk by chunk, the same rows as if all frames were there at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from undistract.sets.row_stream import Piece, joined

Extract = Callable[[Any], Any]  # frames (n, h, w) or (n, h, w, 3) of uint8 in, rows (n, d) out


def frame_rows(pieces: Iterable[Piece], extract: Extract) -> Iterator[Piece]:
    """Hand frames to an extractor together with the earlier frames that it needs.

    Parameters
    ----------
    pieces : iterable of (frames, times or None)
    extract : callable
        Frames in, as many rows out. If it has a `context`, its rows look at so many earlier frames.

    Examples
    --------
    >>> def change(frames):  # how much brighter than the frame before
    ...     means = frames.reshape(len(frames), -1).mean(axis=1)
    ...     return np.diff(means, prepend=means[0])[:, None]
    >>> change.context = 1
    >>> frames = np.arange(4, dtype=np.uint8)[:, None, None] * np.ones((2, 2), np.uint8)
    >>> [rows.ravel().tolist() for rows, _ in frame_rows([(frames[:2], None), (frames[2:], None)], change)]
    [[0.0, 1.0], [1.0, 1.0]]
    """
    context = int(getattr(extract, "context", 0))
    shown: Piece | None = None  # frames at hand, the earlier ones first
    n_given = 0  # of these, how many have given their row
    for piece in pieces:
        shown = piece if shown is None else joined([shown, piece])
        if len(shown[0]) <= context:  # the first rows, too, may look at all of their context
            continue
        yield _since(n_given, (np.asarray(extract(shown[0])), shown[1]))
        shown, n_given = _since(len(shown[0]) - context, shown) if context else None, context
    if shown is not None and not n_given:
        yield np.asarray(extract(shown[0])), shown[1]


def _since(first: int, piece: Piece) -> Piece:
    rows, times = piece
    return rows[first:], None if times is None else times[first:]

"""Rows and their times as a stream of pieces, cut anew to any size.

A piece is a pair: rows (n, d), and times (n,) or None. Nothing but the piece at hand is held.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from undistract.arrays import Rows, as_rows
from undistract.errors import InputError

Piece = tuple[Rows, Rows | None]


class RowStream:
    """Reads pieces again and again, checks that they fit together, and remembers how many rows there were.

    Parameters
    ----------
    name : hashable
        The set that the rows belong to, for messages.
    read : callable
        Returns a fresh iterator each time; a piece may also be rows alone.
    n_features, n_rows : int, optional
        How wide and how many rows are, where that is known before reading.
    """

    def __init__(
        self,
        name: Hashable,
        read: Callable[[], Iterable[Any]],
        n_features: int | None = None,
        n_rows: int | None = None,
    ) -> None:
        self._name = name
        self._read = read
        self._n_features = n_features
        self.n_rows = n_rows  # None until it is known

    def pieces(self) -> Iterator[Piece]:
        """Read once from start to end, in the pieces as they come."""
        n_rows, timed = 0, None
        for piece in self._read():
            rows, times = piece if isinstance(piece, tuple) else (piece, None)
            if len(rows) == 0:
                continue
            rows = as_rows(rows, f"Set {self._name!r}", check_finite=False)
            if self._n_features not in (None, rows.shape[1]):
                raise InputError(
                    f"Set {self._name!r} has {self._n_features} features, but from row {n_rows} on {rows.shape[1]}. "
                    "Every row of a set needs the same features."
                )
            if timed not in (None, times is not None):
                raise InputError(
                    f"Set {self._name!r} has times for some rows and none for others, from row {n_rows} on. "
                    "Give a time with every row, or with none."
                )
            self._n_features, timed = rows.shape[1], times is not None
            n_rows += len(rows)
            yield read_only(rows), None if times is None else as_times(times, len(rows), self._name)
        if self.n_rows not in (None, n_rows):
            raise InputError(
                f"Set {self._name!r} had {self.n_rows} rows before and gave {n_rows} now. "
                "Its reader must start anew each time it is called, and its source must stay as it is."
            )
        self.n_rows = n_rows

    @property
    def known_width(self) -> int | None:
        """The width of a row, where it is known."""
        return self._n_features

    @property
    def n_features(self) -> int:
        """The width of a row; reads the first piece where it is not known."""
        if self._n_features is None and next(self.pieces(), None) is None:
            raise InputError(f"Set {self._name!r} is empty: it gave no rows. Leave it out, or give it rows.")
        assert self._n_features is not None
        return self._n_features

    def __len__(self) -> int:
        if self.n_rows is None:
            for _ in self.pieces():
                pass
        assert self.n_rows is not None
        return self.n_rows


def recut(pieces: Iterable[Piece], size: int) -> Iterator[Piece]:
    """Cut pieces anew: all have `size` rows, the last may have fewer.

    Examples
    --------
    >>> [rows.shape for rows, times in recut([(np.zeros((5, 2)), None), (np.ones((2, 2)), None)], 3)]
    [(3, 2), (3, 2), (1, 2)]
    """
    waiting: list[Piece] = []
    n_waiting = 0
    for rows, times in pieces:
        cuts = [0, *range(size - n_waiting, len(rows), size), len(rows)]
        for start, stop in pairwise(cuts):
            waiting.append((rows[start:stop], None if times is None else times[start:stop]))
            n_waiting += stop - start
            if n_waiting == size:
                yield joined(waiting)
                waiting, n_waiting = [], 0
    if waiting:
        yield joined(waiting)


def joined(pieces: list[Piece]) -> Piece:
    """Join pieces to one; a single piece is not copied."""
    if len(pieces) == 1:
        return pieces[0]
    times = [times for _, times in pieces if times is not None]
    return (
        read_only(np.concatenate([rows for rows, _ in pieces])),
        read_only(np.concatenate(times)) if times else None,
    )


def as_times(times: Any, n_rows: int, name: Hashable) -> Rows:
    """Return one time per row, or say what is wrong with them."""
    array = np.asarray(times)
    if array.shape != (n_rows,):
        raise InputError(f"Set {name!r} has {n_rows} rows but times of shape {array.shape}. Give one time per row.")
    return read_only(array)


def read_only(array: Rows) -> Rows:
    """Return a view that cannot be written to; the giver's own array stays the giver's."""
    view = array.view()
    view.flags.writeable = False
    return view

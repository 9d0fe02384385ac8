"""From whatever holds sets to a stream of (name, rows)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np

from undistract.algebra.set_moments import SetMoments
from undistract.arrays import Rows, as_rows, same_features
from undistract.errors import InputError

Piece = Rows | SetMoments

# Small sets of a stream are read together, so that BLAS sees blocks worth its while.
BATCH_ROWS = 4096


def named_pieces(sets: Any) -> Iterator[tuple[Hashable, Piece]]:
    """Name every piece of every set.

    Parameters
    ----------
    sets : mapping or iterable
        A mapping from name to rows, or an iterable of (name, rows) pairs, of arrays (named 0, 1, …), or of objects with
        a ``name`` and ``chunks()``. In place of rows, `SetMoments` will do.

    Examples
    --------
    >>> [(name, rows.shape) for name, rows in named_pieces({"mon": [[1, 2]], "tue": [[3, 4], [5, 6]]})]
    [('mon', (1, 2)), ('tue', (2, 2))]
    >>> [name for name, rows in named_pieces([[[1, 2]], [[3, 4]]])]
    [0, 1]
    """
    one_thing = (isinstance(sets, np.ndarray) and sets.ndim < 3) or isinstance(sets, str) or hasattr(sets, "columns")
    if one_thing or hasattr(sets, "toarray") or not isinstance(sets, Iterable):
        raise InputError(
            f"Sets came as one {type(sets).__name__}; expected several: a list of arrays, or a mapping from name to "
            "rows. For one array of rows with a label per row use fit(X, sets=labels)."
        )
    items = sets.items() if isinstance(sets, Mapping) else sets
    for number, item in enumerate(items):
        if hasattr(item, "name") and hasattr(item, "chunks"):
            n_rows = 0
            for chunk in item.chunks():
                yield item.name, as_rows(chunk, f"Set {item.name!r}", n_before=n_rows)
                n_rows += len(chunk)
            if not n_rows:
                raise InputError(f"Set {item.name!r} is empty: it gave no rows. Leave it out, or give it rows.")
        elif isinstance(item, tuple | list) and len(item) == 2 and is_pair(*item):
            yield _checked(*item)
        else:
            yield _checked(number, item)


def is_pair(first: Any, second: Any) -> bool:
    """Tell a name and its rows from a set that was written as two rows."""
    if isinstance(second, SetMoments) or isinstance(first, str | bytes):
        return True
    if not isinstance(first, Hashable):
        return False
    # Two tuples may be two rows, or a name and rows that are tuples: rows have two dimensions.
    return not isinstance(first, tuple) or np.ndim(second) == 2


def _checked(name: Hashable, piece: Any) -> tuple[Hashable, Piece]:
    return name, piece if isinstance(piece, SetMoments) else as_rows(piece, f"Set {name!r}")


def batches(sets: Any) -> Iterator[tuple[Hashable, SetMoments] | list[tuple[Hashable, Rows]]]:
    """Yield sets one at a time where they are large or come in pieces, else many small ones together."""
    seen: set[Hashable] = set()
    small: list[tuple[Hashable, Rows]] = []
    n_waiting = 0
    for name, pieces in groupby(named_pieces(sets), key=lambda pair: pair[0]):
        if name in seen:
            raise twice(name)
        seen.add(name)
        whole = _joined(piece for _, piece in pieces)
        if small and (isinstance(whole, SetMoments) or n_waiting >= BATCH_ROWS):
            yield small
            small, n_waiting = [], 0
        if isinstance(whole, SetMoments):
            yield name, whole
        else:
            if small:
                same_features(small[0][1].shape[1], whole.shape[1], f"Set {name!r}")
            small.append((name, whole))
            n_waiting += len(whole)
    if small:
        yield small


def twice(name: Hashable) -> InputError:
    """Return the error that a set counts once."""
    return InputError(
        f"Set {name!r} is already in these moments. Join its pieces as SetMoments first, then add the set once."
    )


def _joined(pieces: Iterator[Piece]) -> Piece:
    """Join the pieces of one set; a single small piece stays as it is, to be summed up with its neighbours."""
    joined = next(pieces)
    if not isinstance(joined, SetMoments) and len(joined) >= BATCH_ROWS:
        joined = SetMoments.of(joined)
    for piece in pieces:
        one, two = (part if isinstance(part, SetMoments) else SetMoments.of(part) for part in (joined, piece))
        joined = one + two
    return joined

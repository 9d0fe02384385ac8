"""Sets that come one by one: each is read by a worker, or sent to one in pieces where its rows lie here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from undistract.algebra.named_sets import is_pair, twice
from undistract.arrays import Rows, as_rows
from undistract.errors import InputError
from undistract.parallel.lazy import dask_part, is_lazy, is_lazy_array
from undistract.parallel.leaf import OneSet, Piece, Watcher
from undistract.parallel.plan import leaf_rows
from undistract.sets.feature_set import FeatureSet
from undistract.sets.find import find_sets
from undistract.sets.paths import ARRAYS

Noted = dict[int, Rows]


def set_pieces(
    sets: Any, *, watch: Callable[[int], Watcher] | None, noted: Noted, travels: Callable[[Any], bool]
) -> Iterator[Piece]:
    """Cut sets into pieces, each as soon as it is asked for.

    Parameters
    ----------
    sets : iterable
        Of FeatureSets, (name, rows), (name, Dask array), (name, Delayed) or paths; or a mapping.
    watch : callable, optional
        Makes what notes something of set number n while it is read, where it is read.
    noted : dict
        Gets what was noted here.
    travels : callable
        Tells whether a set can be sent as it is, unread.
    """
    seen: set[Hashable] = set()
    for number, (name, held) in enumerate(_named(sets)):
        if name in seen:
            raise twice(name)
        seen.add(name)
        watcher = None if watch is None else watch(number)
        for piece, (source, shape, mark, made) in _numbered(_cut(name, held, watcher, travels)):
            yield Piece(source, (name,), (number,), (piece,), *shape, mark, made)
        if watcher is not None and len(watcher.rows):  # it was read here
            noted[number] = watcher.rows


Cut = tuple[OneSet, tuple[int, int | None], Callable[[], str | None], Any]


def _numbered(cuts: tuple[int, Iterator[Cut]]) -> Iterator[tuple[int, Cut]]:
    n_pieces, pieces = cuts
    return ((n_pieces, piece) for piece in pieces)


def _named(sets: Any) -> Iterator[tuple[Hashable, Any]]:
    """Name every set; paths are looked up, so that tables are compared with one another."""
    if isinstance(sets, str | Path):
        sets = [sets]
    if isinstance(sets, list | tuple) and sets and all(isinstance(one, str | Path) for one in sets):
        sets = find_sets(sets)
        yield from ((one.name, _Path(one) if _is_array_file(one) else one) for one in sets)
        return
    one_thing = isinstance(sets, np.ndarray) and sets.ndim < 3
    if one_thing or is_lazy(sets) or hasattr(sets, "columns") or not isinstance(sets, Iterable):
        raise InputError(
            f"Sets came as one {type(sets).__name__}; expected several: a list of sets, pairs (name, rows), or paths. "
            "For one array of rows give a label per row too: gather(X, labels=labels)."
        )
    for number, item in enumerate(sets.items() if isinstance(sets, Mapping) else sets):
        if hasattr(item, "name") and hasattr(item, "chunks") and not is_lazy(item):
            yield item.name, item
        elif isinstance(item, str | Path):
            raise InputError(
                f"{item} is a path among other sets. Give paths as a list of their own, or read_sets of it."
            )
        elif isinstance(item, tuple | list) and len(item) == 2 and (is_lazy(item[1]) or is_pair(*item)):
            yield item[0], item[1]
        else:
            yield number, item


class _Path:
    """A .npy file, which can be cut where it lies."""

    def __init__(self, one: FeatureSet) -> None:
        self.one = one


def _is_array_file(one: FeatureSet) -> bool:
    return one.source is not None and Path(one.source).suffix.lower() in ARRAYS


def _cut(
    name: Hashable, held: Any, watcher: Watcher | None, travels: Callable[[Any], bool]
) -> tuple[int, Iterator[Cut]]:
    """Return into how many pieces a set is cut, and these."""
    if is_lazy(held):
        return _made_by_dask(name, held)
    if isinstance(held, _Path):
        if watcher is None and len(held.one) > leaf_rows(held.one.n_features):
            spans = find_sets([str(held.one.source)], split_every=leaf_rows(held.one.n_features))
            return len(spans), (_read_there(one, None) for one in spans)
        held = held.one
    if not isinstance(held, FeatureSet):
        if hasattr(held, "name") and hasattr(held, "chunks"):
            held = FeatureSet.reading(held.name, held.chunks)
        else:
            held = FeatureSet(name, as_rows(held, f"Set {name!r}", check_finite=False))
    if held.array is None and travels(held):
        return 1, iter([_read_there(held, watcher)])
    step = leaf_rows(held.n_features)
    here = held if watcher is None else watcher.watch(held)
    return -(-len(held) // step), (_sent(name, rows) for rows in here.chunks(step))


def _read_there(one: FeatureSet, watcher: Watcher | None) -> Cut:
    return OneSet(one, watcher), _about(one), partial(_mark_of_file, one), None


def _sent(name: Hashable, rows: Rows) -> Cut:
    # What Dask sends is copied on the way; a slice of a memory map must not take all of the map with it.
    return OneSet(FeatureSet(name, np.asarray(rows))), (len(rows), rows.shape[1]), partial(_mark_of_rows, rows), None


def _made_by_dask(name: Hashable, held: Any) -> tuple[int, Iterator[Cut]]:
    if not is_lazy_array(held):
        return 1, iter([(OneSet(), (leaf_rows(), None), partial(str, held.key), held)])
    if held.ndim != 2:
        raise InputError(f"Set {name!r} has shape {held.shape}, expected (rows, features).")
    blocks = held.rechunk({1: -1}).to_delayed().ravel()
    width = held.shape[1]
    sizes = [leaf_rows(width) if np.isnan(size) else int(size) for size in held.chunks[0]]
    return len(blocks), (
        (OneSet(), (size, width), partial(str, block.key), block) for size, block in zip(sizes, blocks, strict=True)
    )


def _about(one: FeatureSet) -> tuple[int, int | None]:
    """How many rows there are and how wide, as far as can be told without reading them."""
    width = one.known_width
    if one.known_length is not None:
        return one.known_length, width
    file = Path(one.source or "")
    if width is None or not file.is_file():
        return leaf_rows(), None
    return 1 + file.stat().st_size // (8 * width), width


def _mark_of_file(one: FeatureSet) -> str | None:
    """Tell a file by its path, size and time, and what is made of it by how that is done."""
    tokenize = dask_part("dask.base").tokenize
    file = Path(one.source or "")
    if not file.is_file():
        return None
    told = file.stat()
    try:
        way = tokenize(one, ensure_deterministic=True)
    except Exception:  # whatever cannot be told from others is computed anew
        return None
    return f"{file.resolve()} {told.st_size} {told.st_mtime_ns} {way}"


def _mark_of_rows(rows: Rows) -> str:
    return f"{rows.dtype.str} {rows.shape} {hashlib.sha256(np.ascontiguousarray(rows).data).hexdigest()}"

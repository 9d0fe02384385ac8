"""Whether sets are the same as before: their names, and the files they come from, as short numbers to compare."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.sets.feature_set import FeatureSet

Prints = npt.NDArray[np.uint64]


def names_of(sets: Sequence[FeatureSet]) -> Prints:
    """Return a number for the name of every set, (M,).

    Examples
    --------
    >>> days = [FeatureSet(day, [[1.0]]) for day in ("mon", "tue", "mon")]
    >>> names = names_of(days)
    >>> bool(names[0] == names[2]), bool(names[0] == names[1])
    (True, False)
    """
    return _prints([repr(one.name)] for one in sets)


def contents_of(sets: Sequence[FeatureSet]) -> Prints:
    """Return a number for what every set holds, (M,), without reading it: another number means that it has changed.

    Of files it is the path, the size and the time of the last change; of arrays the shape and two rows. What comes from
    a reader of one's own, and names no file as its source, is taken to be the same.

    Examples
    --------
    >>> before, after = (contents_of([FeatureSet("mon", [[value]])]) for value in (1.0, 2.0))
    >>> bool(before[0] == after[0])
    False
    """
    known: dict[str | None, list[Any]] = {}
    for one in sets:
        if one.source not in known:
            known[one.source] = [_stated(path) for path in _files(one.source)]
    return _prints([one.source, known[one.source], _array(one)] for one in sets)


def _prints(things: Any) -> Prints:
    digests = [hashlib.sha256(json.dumps(thing).encode()).digest()[:8] for thing in things]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _array(one: FeatureSet) -> list[Any]:
    rows = one.array
    return [] if rows is None else [rows.shape, rows.dtype.str, rows[0].tobytes().hex(), rows[-1].tobytes().hex()]


def named_paths(source: str | None) -> list[Path]:
    """Return the files or folders that the source of a set names, where all of them are still there; else none.

    Parameters
    ----------
    source : str, optional
        A path, one with a key behind it, or several.

    Examples
    --------
    >>> named_paths("no-such.csv, no-such-either.csv")
    []
    """
    if source is None:
        return []
    for found in ([source], [source.rpartition(":")[0]], source.split(", ")):
        # Many paths in a row are longer than any name may be; os.path says that there is no such file.
        if all(name and os.path.exists(name) for name in found):
            return [Path(name) for name in found]
    return []


def lasting(source: str | None) -> str | None:
    """Return the source of a set so that it names the same files from any folder; what names none stays as it is.

    Examples
    --------
    >>> lasting("the plant's historian")
    "the plant's historian"
    """
    paths = named_paths(source)
    if source is None or not paths:
        return source
    key = source[len(str(paths[0])) :] if len(paths) == 1 else ""  # :train of days.npz:train
    return ", ".join(os.path.abspath(path) for path in paths) + (key if key.startswith(":") else "")


def _files(source: str | None) -> list[Path]:
    """Return the files that a source names, and those of a folder."""
    return [file for path in named_paths(source) for file in (sorted(path.iterdir()) if path.is_dir() else [path])]


def _stated(path: Path) -> list[Any]:
    stat = path.lstat() if path.is_symlink() and not path.exists() else path.stat()  # a link may lead nowhere
    return [str(path.resolve()), stat.st_size, stat.st_mtime_ns]

"""Files that are mapped into memory: what was read of them is given back, so that a long reading takes no more of it.

A page of a mapped file stays in memory once it was read, until the system needs the room. Nothing is lost when it goes
before: the next to ask reads it from the file again.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from undistract.arrays import Rows

PIECE_BYTES = 2**23


def mapping_of(array: Any) -> mmap.mmap | None:
    """Return the mapped file that an array is a view of; None where it is none, or where changes are its own.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile() as file:
    ...     rows = np.memmap(file.name, mode="w+", shape=(4, 2))
    ...     private = np.memmap(file.name, mode="c", shape=(4, 2))
    ...     [mapping_of(one) is not None for one in (np.asarray(rows[1:]), private, np.ones(3))]
    [True, False, False]
    """
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            # A private copy has changes that no file has; they must not go.
            held = getattr(array, "_mmap", None)
            return held if isinstance(held, mmap.mmap) and array.mode in ("r", "r+", "w+") else None
        array = array.base
    return None


def give_back(mapped: mmap.mmap) -> None:
    """Let go of the pages that were read, where the system knows how."""
    if hasattr(mapped, "madvise"):
        with suppress(OSError, ValueError):  # one that is closed, or a system that would rather not
            mapped.madvise(mmap.MADV_DONTNEED)


def mapped_pieces(rows: Rows, mapped: mmap.mmap) -> Iterator[Rows]:
    """Read rows (n, d) of a mapped file piece by piece, and give back each when the next is asked for."""
    step = max(1, PIECE_BYTES // max(1, rows.itemsize * rows.shape[1]))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]
        give_back(mapped)

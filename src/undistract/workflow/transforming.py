"""Rows of any number through a focus, into a file: read in chunks, written in chunks, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.arrays import Rows, as_rows
from undistract.detect import FocusDetector
from undistract.errors import InputError
from undistract.files import WholeFile
from undistract.focus import Focus
from undistract.progress import watched
from undistract.sets.feature_set import FeatureSet
from undistract.workflow.model import Model
from undistract.workflow.reading import Reading, read_sets
from undistract.workflow.scoring import check_features

HEADER_BYTES = 128  # of a .npy file; there is room for any number of rows
DTYPES = ("float32", "float64")


def transform(
    source: Any,
    focus: Focus | FocusDetector | Model | str | Path,
    target: str | Path,
    *,
    chunk_rows: int | None = None,
    dtype: npt.DTypeLike | None = None,
    progress: bool | None = False,
) -> np.memmap[Any, Any]:
    """Take out what distracts of as many rows as there are, and write the rest to a .npy file.

    Memory stays flat, however long the file is. It is written beside the target and takes its place at the end: killed
    half-way, or with the disk full, nothing half is left.

    Parameters
    ----------
    source : path, array, memory map, FeatureSet, or an iterable of FeatureSets
        A path is read as `read_sets` does; a model says how its rows are made. Several sets follow one another.
    focus : Focus, FocusDetector, Model, or the path of one
    target : path
        Ends in .npy; an existing file is replaced.
    chunk_rows : int, optional
        How many rows are read at a time; by default 4096, and fewer where they are wide.
    dtype : {"float32", "float64"}, optional
        Of what is written. By default float32 stays float32, and all else becomes float64.
    progress : bool or None
        True shows on a terminal how far it is, None only when it takes long.

    Returns
    -------
    (n, k) memory map, read-only
        As ``focus.transform`` gives it, to rounding.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 4)).astype(np.float32) * [1, 12, 1, 1]
    >>> focus = Focus(n_remove=1).fit(X, sets=np.repeat(np.arange(10), 100))
    >>> with TemporaryDirectory() as folder:
    ...     clean = transform(X, focus, Path(folder, "clean.npy"), chunk_rows=300)
    ...     clean.shape, bool(np.allclose(clean, focus.transform(X)))
    ((1000, 3), True)
    """
    target = Path(target)
    if target.suffix.lower() != ".npy":
        raise InputError(
            f"{target} ends in {target.suffix!r}; rows are written as .npy. Choose a name such as clean.npy."
        )
    if dtype is not None and np.dtype(dtype).name not in DTYPES:
        raise InputError(f"dtype is {dtype!r}; expected one of {', '.join(DTYPES)}.")
    model = _as_model(focus)
    sets = [check_features(one, model) for one in _as_sets(source, model.reading)]
    out = _Out(model.focus, None if dtype is None else np.dtype(dtype))
    with WholeFile(target) as file:
        file.write(bytes(HEADER_BYTES))
        for name, rows in _chunks(sets, chunk_rows, progress):
            file.write(np.ascontiguousarray(out.of(name, rows)))
        # How many rows there were is known now.
        file.write(out.header(), at=0)
    mapped: np.memmap[Any, Any] = np.load(target, mmap_mode="r")
    return mapped


@dataclass
class _Out:
    """What is written: its dtype is that of the first rows, and all others follow it."""

    focus: Focus
    asked: np.dtype[Any] | None
    dtype: np.dtype[Any] | None = None
    n_rows: int = 0

    def of(self, name: Any, rows: Rows) -> Rows:
        checked = as_rows(rows, f"Set {name!r}, from row {self.n_rows} of all on,")
        own = np.dtype(np.float32 if checked.dtype == np.float32 else np.float64)
        self.dtype = self.dtype or self.asked or own
        if self.asked is None and own != self.dtype:
            raise InputError(f"Set {name!r} is {own}, what came before is {self.dtype}. Say which to write: dtype=.")
        self.n_rows += len(checked)
        return self.focus.projection_(checked.astype(own, copy=False)).astype(self.dtype, copy=False)

    def header(self) -> bytes:
        """Return the beginning of a .npy file, version 1.0, padded to one length whatever the number of rows."""
        assert self.dtype is not None
        shape = (self.n_rows, self.focus.projection_.n_out)
        words = f"{{'descr': {self.dtype.str!r}, 'fortran_order': False, 'shape': {shape}, }}"
        start = b"\x93NUMPY\x01\x00" + (HEADER_BYTES - 10).to_bytes(2, "little")
        return start + words.encode().ljust(HEADER_BYTES - 11) + b"\n"


def _as_model(focus: Any) -> Model:
    if isinstance(focus, str | Path):
        focus = Model.load(focus)
    if isinstance(focus, Focus | FocusDetector):
        names = getattr(focus, "feature_names_in_", None)
        focus = Model(focus, feature_names=None if names is None else tuple(names))
    if not isinstance(focus, Model):
        raise InputError(f"focus is a {type(focus).__name__}; expected a Focus, a Model, or the path of one.")
    return focus.without_expired(time())


def _as_sets(source: Any, reading: Reading) -> list[FeatureSet]:
    if isinstance(source, FeatureSet):
        return [source]
    if isinstance(source, str | Path):
        return read_sets(source, reading)
    if not hasattr(source, "__array__") and isinstance(source, Iterable):
        listed = list(source)
        if listed and all(isinstance(one, FeatureSet) for one in listed):
            return listed
        source = listed
    columns = getattr(source, "columns", ())
    names = list(columns) if len(columns) and all(isinstance(name, str) for name in columns) else None
    return [FeatureSet("rows", source, feature_names=names)]


def _chunks(sets: list[FeatureSet], size: int | None, progress: bool | None) -> Iterator[tuple[Any, Rows]]:
    every = ((one.name, rows) for one in sets for rows in one.chunks(size))
    lengths = [one.known_length for one in sets]
    if None in lengths:
        return every
    # How many rows a chunk has by default depends on how wide they are; a bar need not know it to the digit.
    total = sum(-(-int(length or 0) // (size or 4096)) for length in lengths)
    return watched(every, total=total, what="Transforming rows", progress=progress)

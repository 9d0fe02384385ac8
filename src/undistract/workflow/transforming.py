"""Rows of any number through a focus, into a file: read in chunks, written in chunks, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from time import time
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.detect import FocusDetector
from undistract.errors import InputError
from undistract.focus import Focus
from undistract.progress import watched
from undistract.sets.feature_set import FeatureSet
from undistract.sets.row_stream import Piece
from undistract.workflow.model import Model
from undistract.workflow.reading import Reading, read_sets
from undistract.workflow.row_files import Chunk, OneDtype, write_array
from undistract.workflow.scoring import check_features


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

    See Also
    --------
    undistract.workflow.denoise : the same rows in their original features, as arrays, tables or pictures.

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
    wanted = OneDtype(dtype)
    model = as_model(focus)
    sets = [check_features(one, model) for one in as_sets(source, model.reading)]
    projection = model.focus.projection_
    every = in_chunks(sets, chunk_rows, what="Transforming rows", progress=progress)
    chunks = (Chunk(one, projection(wanted.checked(one.name, rows))) for one, (rows, _) in every)
    write_array(target, chunks, wanted, projection.n_out)
    mapped: np.memmap[Any, Any] = np.load(target, mmap_mode="r")
    return mapped


def as_model(focus: Any) -> Model:
    """Return a model of whatever holds one; what people taught for a time that is over does not count.

    Examples
    --------
    >>> as_model("no-such.focus")
    Traceback (most recent call last):
    ...
    undistract.errors.FileError: There is no file no-such.focus. Is the path right?
    """
    if isinstance(focus, str | Path):
        focus = Model.load(focus)
    if isinstance(focus, Focus | FocusDetector):
        names = getattr(focus, "feature_names_in_", None)
        focus = Model(focus, feature_names=None if names is None else tuple(names))
    if not isinstance(focus, Model):
        raise InputError(f"focus is a {type(focus).__name__}; expected a Focus, a Model, or the path of one.")
    return focus.without_expired(time())


def as_sets(source: Any, reading: Reading) -> list[FeatureSet]:
    """Return the sets that a path, an array or a collection of sets holds.

    Examples
    --------
    >>> [(one.name, len(one)) for one in as_sets([[1.0, 2.0], [3.0, 4.0]], Reading())]
    [('rows', 2)]
    """
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


def in_chunks(
    sets: list[FeatureSet], size: int | None, *, what: str, progress: bool | None
) -> Iterator[tuple[FeatureSet, Piece]]:
    """Read sets one after the other, chunk by chunk, and show how far it is where that can be known."""
    every = ((one, piece) for one in sets for piece in one.timed_chunks(size))
    return watched(every, total=n_chunks(sets, size), what=what, progress=progress)


def spans(sets: Iterable[FeatureSet]) -> list[dict[str, Any]]:
    """Say where each set begins among rows that follow one another, as plain values.

    Examples
    --------
    >>> spans([FeatureSet("mon", [[1.0], [2.0], [3.0]]), FeatureSet("tue", [[1.0]])])
    [{'set': 'mon', 'first': 0, 'rows': 3}, {'set': 'tue', 'first': 3, 'rows': 1}]
    """
    found, start = [], 0
    for one in sets:
        found.append({"set": str(one.name), "first": start, "rows": len(one)})
        start += len(one)
    return found


def n_chunks(sets: list[FeatureSet], size: int | None) -> int | None:
    """Say about how many chunks there will be; None where nobody has counted the rows yet.

    Examples
    --------
    >>> n_chunks([FeatureSet("mon", [[1.0], [2.0], [3.0]])], 2)
    2
    """
    lengths = [one.known_length for one in sets]
    if None in lengths:
        return None
    # How many rows a chunk has by default depends on how wide they are; a bar need not know it to the digit.
    return sum(-(-int(length or 0) // (size or 4096)) for length in lengths)

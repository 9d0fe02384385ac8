"""Rows in their own features, without what distracts: arrays, tables and pictures, of any number.

    paths ─► sets ─► chunks ─► x - A_r W_rᵀ(x - μ) ─► .npy, .csv, .tsv, .parquet, or a folder of .png

Where the model learned from windows over time, a row is the mean of what became of it in all windows that hold it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from undistract.algebra.elsewhere import denoising
from undistract.arrays import Rows
from undistract.detect import FocusDetector
from undistract.errors import InputError
from undistract.focus import Focus
from undistract.progress import watched
from undistract.sets.feature_set import CHUNK_VALUES, FeatureSet
from undistract.sets.row_stream import Piece
from undistract.sets.windows import windowed
from undistract.workflow.model import Model
from undistract.workflow.overlapping import through_windows
from undistract.workflow.picture_folder import write_pictures
from undistract.workflow.reading import Reading
from undistract.workflow.row_files import TEXT, Chunk, OneDtype, write_array, write_table
from undistract.workflow.scoring import check_features
from undistract.workflow.transforming import as_model, as_sets, n_chunks

TABLES = (*TEXT, ".parquet")


@dataclass(frozen=True)
class Denoised:
    """What was written, and where.

    Parameters
    ----------
    path : Path
    n_rows, n_columns : int
    cut_off : float or None
        Of pictures: which share of their values lay beyond black or white.
    """

    path: Path
    n_rows: int
    n_columns: int
    cut_off: float | None = None


def denoise(
    source: Any,
    focus: Focus | FocusDetector | Model | str | Path,
    target: str | Path,
    *,
    removal: str = "oblique",
    chunk_rows: int | None = None,
    dtype: npt.DTypeLike | None = None,
    progress: bool | None = False,
) -> Denoised:
    """Write rows as they would be without what distracts, in their own features: signals, tables, pictures.

    Memory stays flat, and the target appears whole or not at all.

    Parameters
    ----------
    source : path, array, memory map, FeatureSet, or an iterable of FeatureSets
        A path is read as the model says. Where it learned from windows over time, the rows of the series are given, not
        the windows. Several sets follow one another.
    focus : Focus, FocusDetector, Model, or the path of one
    target : path
        Ends in .npy, .csv, .tsv or .parquet; an existing file is replaced. Without an ending it is a folder, new or
        empty, and each row becomes a .png picture: for models of ``pixels``.
    removal : {"oblique", "kept_span"}
        Oblique keeps all other readings as they are, and is the closest to the clean row where the cushion is healthy
        (docs/denoising.md). The kept span never amplifies.
    chunk_rows : int, optional
        How many rows are read at a time.
    dtype : {"float32", "float64"}, optional
        Of a .npy file. By default float32 stays float32, and all else becomes float64.
    progress : bool or None
        True shows on a terminal how far it is, None only when it takes long.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat(rng.normal(size=(10, 4)), 100, axis=0)  # ten machines, four sensors each
    >>> hum = rng.normal(size=(1000, 1)) * [1.0, -2.0, 0.5, 1.0]  # the same wires in all of them
    >>> focus = Focus(n_remove=1).fit(clean + hum, sets=np.repeat(np.arange(10), 100))
    >>> with TemporaryDirectory() as folder:
    ...     told = denoise(clean + hum, focus, Path(folder, "clean.npy"))
    ...     told.n_rows, bool(abs(np.load(told.path) - clean).max() < 0.2 * abs(hum).max())
    (1000, True)
    """
    target, model, wanted = Path(target), as_model(focus), OneDtype(dtype)
    ending = target.suffix.lower()
    shape = _shape(model, target) if not ending else None
    if ending not in ("", ".npy", *TABLES):
        raise InputError(
            f"{target} ends in {target.suffix!r}; what is denoised is written as .npy, {', '.join(TABLES)}, or as "
            "pictures into a folder, whose name has no ending."
        )
    sets = [_fitting(one, model) for one in as_sets(source, series_reading(model.reading))]
    projection = denoising(model.focus.spectrum_, model.focus.n_removed_, removal)

    def change(rows: Rows) -> Rows:
        changed: Rows = projection.back(projection(rows))
        return changed

    n_rows = 0

    def chunks() -> Iterator[Chunk]:
        nonlocal n_rows
        for one in sets:
            checked = _checked(one, model, wanted, chunk_rows)
            for rows, times in through_windows(checked, _window(one, model), change, name=one.name):
                n_rows += len(rows)
                yield Chunk(one, rows, times)

    shown = watched(chunks(), total=n_chunks(sets, chunk_rows), what="Denoising rows", progress=progress)
    n_columns = sets[0].n_features
    if shape is not None:
        n_pictures, cut_off = write_pictures(target, shown, sets, shape)
        return Denoised(target, n_pictures, n_columns, cut_off)
    if ending == ".npy":
        write_array(target, shown, wanted, n_columns)
    else:
        many = len(sets) > 1 or model.reading.group is not None
        write_table(target, shown, _names(sets[0], model), model.reading, which=many)
    return Denoised(target, n_rows, n_columns)


def series_reading(reading: Reading) -> Reading:
    """Return how rows are read that are to be denoised: as the model says, but before windows are made of them.

    Examples
    --------
    >>> series_reading(Reading(columns=("load",), window=30, stride=10)) == Reading(columns=("load",))
    True
    """
    return replace(reading, window=1, stride=1)


def _window(one: FeatureSet, model: Model) -> int:
    """Tell how many rows in a row make one of the model's; one where the rows are windows already."""
    return 1 if one.n_features == model.focus.n_features_in_ else model.reading.window


def _fitting(one: FeatureSet, model: Model) -> FeatureSet:
    window = _window(one, model)
    check_features(one if window == 1 else windowed(one, window), model)
    return one


def _checked(one: FeatureSet, model: Model, dtype: OneDtype, size: int | None) -> Iterator[Piece]:
    window = _window(one, model)
    if window > 1:  # a chunk of rows becomes `window` times as many values
        size = min(size or CHUNK_VALUES, max(1, CHUNK_VALUES // model.focus.n_features_in_))
    return ((dtype.checked(one.name, rows), times) for rows, times in one.timed_chunks(size))


def _names(one: FeatureSet, model: Model) -> tuple[str, ...]:
    if one.feature_names is not None:
        return one.feature_names
    known = model.feature_names
    if known is not None and len(known) == one.n_features:
        return known
    return tuple(f"f{number}" for number in range(one.n_features))


def _shape(model: Model, target: Path) -> tuple[int, ...]:
    """Say how rows are laid out as pictures, or why they are none."""
    extractor = model.reading.extractor()
    if extractor is None:
        raise InputError(
            f"{target} has no ending, so it would be a folder of pictures; but the model learned from rows of numbers. "
            "End the name in .npy, .csv, .tsv or .parquet."
        )
    if extractor.image_shape is None:
        raise InputError(
            f"The model learned from {extractor.name}, which cannot be turned back into pictures; only pixels can. "
            "End the name in .npy, or learn with --features pixels."
        )
    shape: tuple[int, ...] = extractor.image_shape
    return shape

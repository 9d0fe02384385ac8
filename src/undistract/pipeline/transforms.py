"""Transform and denoise rows of any number: constant memory, files written atomically.

    transform   rows ─► chunks ─► coordinates of the kept subspace ─► .npy
    denoise     rows ─► chunks ─► x - A_r W_rᵀ(x - μ), the original features ─► .npy, a table, or a folder of .png

For a model of windows over time, a denoised row is the mean over all windows that contain it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from undistract._arrays import Rows
from undistract._io import AtomicDirectory
from undistract._progress import track
from undistract.algebra.projection import Projection
from undistract.detect import FocusDetector
from undistract.errors import InputError
from undistract.focus import Focus
from undistract.pipeline.export import TABLE_FORMATS, DtypePolicy, write_array, write_table
from undistract.pipeline.model import Model
from undistract.pipeline.scoring import check_features
from undistract.report.images import png
from undistract.sources.discover import discover_sources
from undistract.sources.options import ReadOptions
from undistract.sources.source import CHUNK_VALUES, Source, TimedRows
from undistract.sources.windows import windowed

HALF_STEP = 0.5 / 255  # values less than this beyond black or white are rounding, not clipping


class Chunk(NamedTuple):
    """Rows of one source that are to be written."""

    source: Source
    rows: Rows
    times: Rows | None = None


def transform(
    source: Any,
    focus: Focus | FocusDetector | Model | str | Path,
    target: str | Path,
    *,
    chunk_rows: int | None = None,
    dtype: npt.DTypeLike | None = None,
    progress: bool | None = False,
) -> np.memmap[Any, Any]:
    """Transform any number of rows, and write the result to a .npy file.

    Memory use is constant. The file is written to a temporary path and moved at the end: if the process is killed or
    the disk is full, no partial file is left.

    Parameters
    ----------
    source : path, array, memory map, Source, or an iterable of Sources
        A path is read with the options of the model. Several sources are written one after the other.
    focus : Focus, FocusDetector, Model, or the path of one
    target : path
        Ends in .npy; an existing file is replaced.
    chunk_rows : int, optional
        The number of rows to read at a time; by default 4096, fewer for wide rows.
    dtype : {"float32", "float64"}, optional
        Of the output. By default float32 stays float32, and other types become float64.
    progress : bool or None
        True shows a progress bar on a terminal, None only if it takes long.

    Returns
    -------
    (n, k) memory map, read-only
        Equal to ``focus.transform`` up to rounding.

    See Also
    --------
    undistract.pipeline.denoise : the same rows in their original features, as arrays, tables or pictures.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 4)).astype(np.float32) * [1, 12, 1, 1]
    >>> focus = Focus(n_remove=1).fit(X, groups=np.repeat(np.arange(10), 100))
    >>> with TemporaryDirectory() as folder:
    ...     clean = transform(X, focus, Path(folder, "clean.npy"), chunk_rows=300)
    ...     clean.shape, bool(np.allclose(clean, focus.transform(X)))
    ((1000, 3), True)
    """
    target = Path(target)
    if target.suffix.lower() != ".npy":
        raise InputError(f"The target must end in .npy, got {target}. Choose a name such as clean.npy.")
    policy = DtypePolicy(dtype)
    model = as_model(focus)
    sources = as_sources(source, model.reading)
    for item in sources:
        check_features(item, model)
    projection = model.focus.projection_
    chunks = (
        projection(policy.apply(item.name, rows)) for item in sources for rows, _ in item.timed_chunks(chunk_rows)
    )
    tracked = track(chunks, total=n_chunks(sources, chunk_rows), what="Transforming rows", progress=progress)
    write_array(target, tracked, policy, projection.n_out)
    mapped: np.memmap[Any, Any] = np.load(target, mmap_mode="r")
    return mapped


@dataclass(frozen=True)
class Denoised:
    """The output of `denoise`; `cut_off` is the share of values of pictures that were clipped to black or white."""

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
    """Write rows without their distracting part, in their original features: signals, tables, pictures.

    Memory use is constant, and the target is written atomically.

    Parameters
    ----------
    source : path, array, memory map, Source, or an iterable of Sources
        A path is read with the options of the model. For a model of windows over time, pass the rows of the series,
        not the windows. Several sources are written one after the other.
    focus : Focus, FocusDetector, Model, or the path of one
    target : path
        Ends in .npy, .csv, .tsv or .parquet; an existing file is replaced. A name without an extension is a folder, new
        or empty, and each row becomes a .png picture: for models of ``pixels``.
    removal : {"oblique", "orthogonal"}
        "oblique" leaves all other directions unchanged, and is closest to the clean row if the ridge is large enough
        (docs/denoising.md). "orthogonal" never amplifies.
    chunk_rows : int, optional
        The number of rows to read at a time.
    dtype : {"float32", "float64"}, optional
        Of a .npy file. By default float32 stays float32, and other types become float64.
    progress : bool or None
        True shows a progress bar on a terminal, None only if it takes long.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat(rng.normal(size=(10, 4)), 100, axis=0)  # ten machines, four sensors each
    >>> hum = rng.normal(size=(1000, 1)) * [1.0, -2.0, 0.5, 1.0]  # the same wires in all of them
    >>> focus = Focus(n_remove=1).fit(clean + hum, groups=np.repeat(np.arange(10), 100))
    >>> with TemporaryDirectory() as folder:
    ...     result = denoise(clean + hum, focus, Path(folder, "clean.npy"))
    ...     result.n_rows, bool(abs(np.load(result.path) - clean).max() < 0.2 * abs(hum).max())
    (1000, True)
    """
    target = Path(target)
    model = as_model(focus)
    policy = DtypePolicy(dtype)
    extension = target.suffix.lower()
    shape: tuple[int, ...] | None = None
    if not extension:
        shape = _picture_shape(model, target)
    elif extension not in (".npy", *TABLE_FORMATS):
        raise InputError(
            f"The target must end in .npy, {', '.join(TABLE_FORMATS)}, or be a folder without an extension, "
            f"got {target}."
        )
    sources = as_sources(source, series_reading(model.reading))
    for item in sources:
        window = _window(item, model)
        check_features(item if window == 1 else windowed(item, window), model)
    projection = Projection.of(model.focus.spectrum_, model.focus.n_removed_, removal)

    def change(rows: Rows) -> Rows:
        changed: Rows = projection.inverse(projection(rows))
        return changed

    def chunks() -> Iterator[Chunk]:
        for item in sources:
            checked = _checked_chunks(item, model, policy, chunk_rows)
            for rows, times in apply_windowed(checked, _window(item, model), change, name=item.name):
                yield Chunk(item, rows, times)

    tracked = track(chunks(), total=n_chunks(sources, chunk_rows), what="Denoising rows", progress=progress)
    n_columns = sources[0].n_features
    if shape is not None:
        n_pictures, cut_off = write_pictures(target, tracked, sources, shape)
        return Denoised(target, n_pictures, n_columns, cut_off)
    if extension == ".npy":
        write_array(target, (chunk.rows for chunk in tracked), policy, n_columns)
    else:
        options = model.reading
        tables = _tables(tracked, _column_names(sources[0], model), options, len(sources) > 1)
        write_table(tables, target, delimiter=options.delimiter, decimal=options.decimal, header=options.header)
    return Denoised(target, policy.n_rows, n_columns)


def series_reading(reading: ReadOptions) -> ReadOptions:
    """Return the options of a model for reading rows to denoise: the same, without windows.

    Examples
    --------
    >>> series_reading(ReadOptions(columns=("load",), window=30, stride=10)) == ReadOptions(columns=("load",))
    True
    """
    return replace(reading, window=1, stride=1)


def _tables(
    chunks: Iterable[Chunk], names: Sequence[str], options: ReadOptions, several: bool
) -> Iterator[dict[str, Any]]:
    """Yield chunks as columns that can be read with the same options: name of the source, time, features."""
    for chunk in chunks:
        columns: dict[str, Any] = {}
        if several or options.group is not None:
            columns[options.group or _free("set", names)] = [str(chunk.source.name)] * len(chunk.rows)
        if chunk.times is not None:
            columns[options.time or _free("time", names)] = chunk.times
        yield columns | {name: chunk.rows[:, number] for number, name in enumerate(names)}


def _free(name: str, taken: Sequence[str]) -> str:
    """Return a column name that no feature has."""
    while name in taken:
        name += "_"
    return name


def _window(source: Source, model: Model) -> int:
    """Return how many consecutive rows make one feature vector of the model; 1 if the rows are windows already."""
    return 1 if source.n_features == model.focus.n_features_in_ else model.reading.window


def _checked_chunks(source: Source, model: Model, policy: DtypePolicy, size: int | None) -> Iterator[TimedRows]:
    if _window(source, model) > 1:  # a chunk of rows becomes `window` times as many values
        size = min(size or CHUNK_VALUES, max(1, CHUNK_VALUES // model.focus.n_features_in_))
    return ((policy.apply(source.name, rows), times) for rows, times in source.timed_chunks(size))


def _column_names(source: Source, model: Model) -> tuple[str, ...]:
    if source.feature_names is not None:
        return source.feature_names
    names = model.feature_names
    if names is not None and len(names) == source.n_features:
        return names
    return tuple(f"f{number}" for number in range(source.n_features))


def _picture_shape(model: Model, target: Path) -> tuple[int, ...]:
    """Return the shape of a row as a picture; raise if rows are not pictures."""
    extractor = model.reading.extractor()
    if extractor is None:
        raise InputError(
            f"{target} has no extension, so it would be a folder of pictures, but the model was trained on rows of "
            "numbers. End the name in .npy, .csv, .tsv or .parquet."
        )
    if extractor.image_shape is None:
        raise InputError(
            f"The model was trained on {extractor.name}, which cannot be turned back into pictures; only pixels can. "
            "End the name in .npy, or train with --features pixels."
        )
    shape: tuple[int, ...] = extractor.image_shape
    return shape


def as_model(focus: Any) -> Model:
    """Return the model of a path, a focus or a detector, without expired feedback.

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
        raise InputError(f"focus must be a Focus, a Model, or the path of one, got a {type(focus).__name__}.")
    return focus.without_expired(time())


def as_sources(source: Any, reading: ReadOptions) -> list[Source]:
    """Return the sources of a path, an array or a collection of sources.

    Examples
    --------
    >>> [(item.name, len(item)) for item in as_sources([[1.0, 2.0], [3.0, 4.0]], ReadOptions())]
    [('rows', 2)]
    """
    if isinstance(source, Source):
        return [source]
    if isinstance(source, str | Path):
        return discover_sources(source, reading)
    if not hasattr(source, "__array__") and isinstance(source, Iterable):
        items = list(source)
        if items and all(isinstance(item, Source) for item in items):
            return items
        source = items
    names: list[str] | None = None
    columns = getattr(source, "columns", ())  # of a data frame
    if len(columns) and all(isinstance(name, str) for name in columns):
        names = list(columns)
    return [Source("rows", source, feature_names=names)]


def group_offsets(sources: Iterable[Source]) -> list[dict[str, Any]]:
    """Return the first row and the number of rows of each source in their concatenation, as plain values.

    Examples
    --------
    >>> group_offsets([Source("mon", [[1.0], [2.0], [3.0]]), Source("tue", [[1.0]])])
    [{'set': 'mon', 'first': 0, 'rows': 3}, {'set': 'tue', 'first': 3, 'rows': 1}]
    """
    offsets = []
    start = 0
    for source in sources:
        offsets.append({"set": str(source.name), "first": start, "rows": len(source)})
        start += len(source)
    return offsets


def n_chunks(sources: list[Source], size: int | None) -> int | None:
    """Estimate the number of chunks; None if the number of rows is not known yet.

    Examples
    --------
    >>> n_chunks([Source("mon", [[1.0], [2.0], [3.0]])], 2)
    2
    """
    lengths = [source.known_length for source in sources]
    if None in lengths:
        return None
    # The default chunk size depends on the width of the rows; for a progress bar an estimate is enough.
    return sum(-(-int(length or 0) // (size or 4096)) for length in lengths)


def apply_windowed(
    chunks: Iterable[TimedRows], window: int, change: Callable[[Rows], Rows], *, name: Hashable = "rows"
) -> Iterator[TimedRows]:
    """Apply `change` to all windows of a time series, and average the results per row.

    `change` maps windows (m, window · c), with concatenated rows and the earliest first, to as many results. Yields as
    many rows (n, c) and times as come in; memory: the current chunk and one window.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [6.0], [3.0]])
    >>> level = lambda windows: np.repeat(windows.mean(axis=1, keepdims=True), 2, axis=1)  # each row: mean of its pair
    >>> means = apply_windowed([(rows[:3], None), (rows[3:], None)], 2, level)
    >>> np.concatenate([mean for mean, _ in means]).ravel()
    array([1.5 , 2.75, 4.25, 4.5 ])
    """
    if window == 1:
        yield from ((change(chunk), chunk_times) for chunk, chunk_times in chunks)
        return
    rows: Rows | None = None  # pending: rows that a later window may still contain
    for chunk, chunk_times in chunks:
        if rows is None:
            rows = chunk
            times = chunk_times
            sums = np.zeros(chunk.shape)
            counts = np.zeros(len(chunk))
        else:
            rows = np.concatenate([rows, chunk])
            times = None if times is None or chunk_times is None else np.concatenate([times, chunk_times])
            sums = np.concatenate([sums, np.zeros(chunk.shape)])
            counts = np.concatenate([counts, np.zeros(len(chunk))])
        n = len(rows) - window + 1
        if n <= 0:
            continue
        view = np.lib.stride_tricks.sliding_window_view(rows, window, axis=0)  # (n, c, window)
        wide = np.ascontiguousarray(view.transpose(0, 2, 1)).reshape(n, -1)
        changed = change(wide).reshape(n, window, -1)
        for lag in range(window):
            sums[lag : lag + n] += changed[:, lag]
            counts[lag : lag + n] += 1
        # No later window contains the first n rows.
        means = (sums[:n] / counts[:n, None]).astype(chunk.dtype, copy=False)
        if times is None:
            yield means, None
        else:
            yield means, times[:n]
            times = times[n:]
        rows, sums, counts = rows[n:], sums[n:], counts[n:]
    if rows is not None and len(rows):
        if not counts.all():
            raise InputError(
                f"{name!r} has {len(rows)} rows, too few for a window of {window}. Leave it out (--ignore)."
            )
        yield (sums / counts[:, None]).astype(rows.dtype, copy=False), times


def write_pictures(
    folder: Path, chunks: Iterable[Chunk], sources: Sequence[Source], shape: tuple[int, ...]
) -> tuple[int, float]:
    """Write each row (height · width) as a grey picture: 0 is black, 1 is white, and other values are clipped.

    The folder is new or empty, and written atomically; several sources get one folder each. Return the number of
    pictures, and the share of clipped values.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> day = Source("mon", [[0.0, 1.0], [0.5, 1.5]], row_names=["a.jpg", "b.jpg"])
    >>> with TemporaryDirectory() as parent:
    ...     counts = write_pictures(Path(parent, "new"), [Chunk(day, day.rows)], [day], (1, 2))
    ...     counts, sorted(file.name for file in Path(parent, "new").iterdir())
    ((2, 0.25), ['a.png', 'b.png'])
    """
    folders = dict(zip(map(id, sources), folder_names(sources), strict=True))
    n_rows = n_clipped = n_values = 0
    names: Sequence[str] = ()
    current: Source | None = None
    number = 0  # of the next row of the current source
    with AtomicDirectory(folder) as output:
        for source, rows, _ in chunks:
            if source is not current:
                current = source
                number = 0
                names = picture_names(source)
            n_clipped += int(((rows < -HALF_STEP) | (rows > 1 + HALF_STEP)).sum())
            n_values += rows.size
            for row in rows:
                name = names[number] if names else f"{number:06}.png"
                output.write(f"{folders[id(source)]}{name}", png(np.asarray(row).reshape(shape), limits=(0.0, 1.0)))
                number += 1
            n_rows += len(rows)
    return n_rows, n_clipped / max(n_values, 1)


def folder_names(sources: Sequence[Source]) -> list[str]:
    """Return a folder name with a slash for each source; a single source gets an empty name.

    Names come from files and are sanitised, so that they cannot lead to another folder.

    Examples
    --------
    >>> folder_names([Source(name, [[1.0]]) for name in ("anna/left", "../anna", "anna_left")])
    ['anna_left/', 'anna/', 'anna_left-2/']
    >>> folder_names([Source(name, [[1.0]]) for name in ("anna", "../anna", "anna-2")])
    ['anna/', 'anna-2/', 'anna-2-2/']
    """
    if len(sources) == 1:
        return [""]
    names: dict[str, str] = {}  # casefolded, because some disks ignore case → as written
    duplicates: Counter[str] = Counter()
    for source in sources:
        plain = _safe_name(str(source.name)) or "set"
        name = plain
        while name.casefold() in names:
            duplicates[plain] += 1
            name = f"{plain}-{duplicates[plain] + 1}"
        names[name.casefold()] = f"{name}/"
    return list(names.values())


def picture_names(source: Source) -> list[str]:
    """Return a file name for each named row; empty if rows have no names or names that collide.

    Examples
    --------
    >>> picture_names(Source("anna", [[1.0], [2.0]], row_names=["a.jpg", "b.pgm"]))
    ['a.png', 'b.png']
    >>> picture_names(Source("anna", [[1.0], [2.0]], row_names=["a.jpg", "a.pgm"]))
    ['a.jpg.png', 'a.pgm.png']
    """
    if source.row_names is None:
        return []
    # Without the extension if that is unique, else with it.
    for names in ([Path(name).stem for name in source.row_names], list(source.row_names)):
        plain = [_safe_name(name) for name in names]
        if all(plain) and len({name.casefold() for name in plain}) == len(plain):
            return [f"{name}.png" for name in plain]
    return []


def _safe_name(name: str) -> str:
    return re.sub(r"[^\w .-]+", "_", name).strip("._ ")[:200]

"""Find sources in files and folders. One reader per file type; headers are checked now, rows are read on demand.

A new file format is one new file with a reader, and one line in ARRAY_READERS, TABLE_READERS or VIDEO_READERS.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from undistract._text import format_names
from undistract.errors import InputError
from undistract.sources.arrays import npy_sources, npz_sources
from undistract.sources.arrow_tables import open_arrow, open_parquet
from undistract.sources.grouping import split_source
from undistract.sources.images import IMAGES, Extract, image_files, image_source, natural
from undistract.sources.missing import handle_missing
from undistract.sources.options import DEFAULTS, ReadOptions
from undistract.sources.source import Source
from undistract.sources.tables import Table, choose_columns, grouped_sources, open_text, table_source
from undistract.sources.videos import VIDEOS, video_source
from undistract.sources.windows import windowed

Paths = str | Path | Iterable[str | Path]

# (path, name, options) -> list of Source
ARRAY_READERS = {".npy": npy_sources, ".npz": npz_sources}
# (path, options) -> Table
TABLE_READERS: dict[str, Callable[[Path, ReadOptions], Table]] = {
    ".csv": open_text,
    ".tsv": open_text,
    ".parquet": open_parquet,
    ".arrow": open_arrow,
    ".feather": open_arrow,
}
# (path, extract, name=name, cache=cache) -> Source
VIDEO_READERS = dict.fromkeys(VIDEOS, video_source)
READABLE = (*ARRAY_READERS, *TABLE_READERS, *VIDEO_READERS)


def discover_sources(
    paths: Paths,
    options: ReadOptions | None = None,
    *,
    ignore: str | Sequence[str] = (),
    extract: Extract | None = None,
    cache: Any = None,
) -> list[Source]:
    """Find sources in files and folders. Headers are checked now, rows are read on demand.

    Parameters
    ----------
    paths : path or iterable of paths
        Files, folders, or patterns such as ``calm/*.csv``; see `source_files`. Each file is a source, and so is each
        folder of images.
    options : ReadOptions, optional
    ignore : str or sequence of str
        Patterns of files and folders to skip.
    extract : callable, optional
        Turns frames of images and videos into rows; by default the extractor of `options.features`.
    cache : RowCache, optional
        Stores the rows of videos, so that they are decoded once.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for day in (1, 2, 10):
    ...         np.save(Path(folder, f"day{day}.npy"), np.full((4, 2), day))
    ...     days = discover_sources(folder)
    ...     [(day.name, day.rows[0].tolist()) for day in days]
    [('day1.npy', [1, 1]), ('day2.npy', [2, 2]), ('day10.npy', [10, 10])]
    """
    options = options or DEFAULTS
    if options.group is not None and options.split_every is not None:
        raise InputError("group= and split_every= both define groups. Pass only one of them.")
    files = source_files(paths, ignore)
    # All tables are opened first: the features are the columns that they have in common.
    tables = _open_tables(files, options)
    columns: list[str] = []
    if tables:
        columns = choose_columns([*tables.values()], options.columns, group=options.group, time=options.time)
    sources: list[Source] = []
    if options.group is not None:
        groups = grouped_sources([*tables.values()], options.group, columns, options.time)
        sources = [handle_missing(source, options.missing) for source in groups]
        files = {}
    extract = extract or options.extractor()
    for name, path in files.items():
        kind = _kind(path)
        if name in tables:
            parts = [table_source(tables[name], name, columns, options.time)]
        elif kind in ARRAY_READERS:
            parts = ARRAY_READERS[kind](path, name, options)
        elif extract is None:
            raise InputError(f"{path} contains images; choose how to turn them into rows: features= (--features).")
        elif kind in VIDEO_READERS:
            parts = [VIDEO_READERS[kind](path, extract, name=name, cache=cache)]
        else:
            parts = [image_source(not_ignored(path, ignore), extract, name=name, resize=options.resize)]
        if options.split_every is not None and kind != ".npy":  # .npy files are split by their reader, without a copy
            parts = [part for source in parts for part in split_source(source, options.split_every)]
        # Rows of extractors have no missing values; those of arrays are reported by the check of each chunk.
        if name in tables or (kind in ARRAY_READERS and options.missing != "error"):
            parts = [handle_missing(source, options.missing) for source in parts]
        sources += parts
    if options.window == options.stride == 1:
        return sources
    return [windowed(source, options.window, options.stride) for source in sources]


def _kind(path: Path) -> str:
    """Return the ending that selects the reader; empty for a folder of images."""
    return "" if path.is_dir() else path.suffix.lower()


def _open_tables(files: dict[str, Path], options: ReadOptions) -> dict[str, Table]:
    tables = {}
    for name, path in files.items():
        if _kind(path) in TABLE_READERS:
            if path.stat().st_size == 0:
                raise InputError(f"{path} is empty (0 bytes). Skip it with --ignore, or add rows.")
            tables[name] = TABLE_READERS[_kind(path)](path, options)
        elif any(option is not None for option in (options.group, options.time, options.columns)):
            raise InputError(
                f"{name} has no named columns; group=, time= and columns= are for tables. "
                "Read the tables separately, or omit these options."
            )
    return tables


def source_files(paths: Paths, ignore: str | Sequence[str] = ()) -> dict[str, Path]:
    """Return the path of each source by its name, which is the path relative to the common folder.

    Parameters
    ----------
    paths : path or iterable of paths
        Files, folders, or patterns such as ``calm/*.mp4``. In a folder and its
        subfolders each data file is a source, and so is each folder of images.
    ignore : str or sequence of str
        Patterns; files and folders whose name or path matches are skipped.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for file in ("calm/day10.npy", "calm/day2.npy", "calm/day3.bak"):
    ...         Path(folder, file).parent.mkdir(exist_ok=True)
    ...         Path(folder, file).touch()
    ...     list(source_files(Path(folder, "calm")))
    ['day2.npy', 'day10.npy']
    """
    ignored = _as_list(ignore)
    if isinstance(paths, str | Path):
        paths = [paths]
    patterns = [str(path) for path in paths]
    sources: dict[Path, Path] = {}  # by resolved path, so that nothing counts twice
    for pattern in patterns:
        try:
            for path in _expand(Path(pattern), ignored):
                sources.setdefault(path.resolve(), path)
        except OSError as error:  # a name that is too long, a folder without permission
            raise InputError(f"{pattern!r:.200} cannot be opened: {error.strerror}. Pass another path.") from error
    if not sources:
        hint = f" Files that match {format_names(ignored)} are skipped." if ignored else ""
        raise InputError(f"No data found in {format_names(patterns) or 'an empty list'}; expected {_kinds()}.{hint}")
    # Names are relative to the common folder: they are the same on every machine with the same tree.
    absolute = {path: Path(os.path.abspath(path)) for path in sources.values()}
    try:
        common = os.path.commonpath([location.parent for location in absolute.values()])
    except ValueError:  # two drives of Windows have no common folder
        return {location.as_posix(): path for path, location in absolute.items()}
    return {location.relative_to(common).as_posix(): path for path, location in absolute.items()}


def _as_list(patterns: str | Sequence[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)


def _expand(path: Path, ignored: list[str]) -> Iterator[Path]:
    if path.is_dir():
        yield from _in_folder(path, ignored)
    elif path.exists():
        # A path that is named explicitly is read or raises an error; in a folder, unknown files are skipped.
        if path.suffix.lower() not in (*READABLE, *IMAGES):
            raise InputError(f"{path} has the unknown ending {path.suffix!r}; expected {_kinds()}.")
        if path.suffix.lower() in IMAGES:
            raise InputError(
                f"{path} is a single image; a source is a folder of images. Pass the folder: {path.parent}."
            )
        if not _matches(path, ignored):
            yield path
    else:
        if not glob.has_magic(str(path)):
            raise InputError(f"{path}: there is no such file. The current folder is {Path.cwd()}; check the spelling.")
        matches = sorted(glob.glob(str(path), recursive=True), key=natural)
        if not matches:
            raise InputError(
                f"{path}: no file or folder matches the pattern. The current folder is {Path.cwd()}; check the "
                "spelling."
            )
        for match in map(Path, matches):
            if match.is_dir() or match.suffix.lower() in (*READABLE, *IMAGES):
                yield from _expand(match, ignored)


def _in_folder(folder: Path, ignored: list[str]) -> Iterator[Path]:
    if _matches(folder, ignored):
        return
    if any(not _matches(image, ignored) for image in image_files(folder)):
        yield folder
    for entry in sorted(folder.iterdir(), key=lambda entry: natural(entry.name)):
        if entry.name.startswith(".") or _matches(entry, ignored):
            continue
        if entry.is_dir() and not entry.is_symlink():  # a link may form a cycle
            yield from _in_folder(entry, ignored)
        elif entry.suffix.lower() in READABLE:
            yield entry


def _matches(path: Path, patterns: list[str]) -> bool:
    return any(fnmatch(path.name, pattern) or fnmatch(path.as_posix(), pattern) for pattern in patterns)


def not_ignored(folder: Path, ignore: str | Sequence[str]) -> list[Path]:
    """Return the images of a folder that match no pattern."""
    ignored = _as_list(ignore)
    return [image for image in image_files(folder) if not _matches(image, ignored)]


def _kinds() -> str:
    return f"{', '.join(READABLE)}, or folders of images ({', '.join(IMAGES)})"

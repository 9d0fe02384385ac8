"""The front door for files: paths in, sets out.

paths ─► set_paths ─► one reader per kind of file ─► FeatureSets, read when they are asked for
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from undistract.errors import InputError
from undistract.sets.array_files import npy_sets, npz_sets
from undistract.sets.arrow_tables import open_arrow, open_parquet
from undistract.sets.feature_set import FeatureSet
from undistract.sets.frame_rows import Extract
from undistract.sets.images import image_set
from undistract.sets.missing import Missing, without_missing
from undistract.sets.paths import ARCHIVES, ARRAYS, TABLES, TEXT_TABLES, not_ignored, set_paths
from undistract.sets.sorting import cut_every
from undistract.sets.table_columns import choose_columns
from undistract.sets.table_sets import grouped_sets, table_set
from undistract.sets.tables import Table
from undistract.sets.text_tables import open_text


def find_sets(
    paths: str | Path | Iterable[str | Path],
    *,
    ignore: str | Sequence[str] = (),
    group: str | None = None,
    time: str | None = None,
    columns: Sequence[str] | str | None = None,
    missing: Missing = "refuse",
    key: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    header: bool = True,
    extract: Extract | None = None,
    resize: tuple[int, int] | None = None,
    read_video: Callable[..., FeatureSet] | None = None,
    split_every: int | None = None,
) -> list[FeatureSet]:
    """Find sets in files and folders. Headers are read and compared now, rows when they are asked for.

    Parameters
    ----------
    paths : path or iterable of paths
        Files, folders, or patterns such as ``calm/*.csv``; see `set_paths`. A file is a set, a folder of images too.
    ignore : str or sequence of str
        Patterns of files and folders to leave out.
    group : str, optional
        A column of tables that says which set a row belongs to; rows of one set may lie anywhere, in any file.
    time : str, optional
        A column of tables that is kept as times.
    columns : sequence of str, or "numeric", optional
        Columns of tables that are features; else all are, and must hold numbers.
    missing : {"refuse", "drop", "impute"}
        What happens where a value is missing: an error, the row goes, or the mean of its column in its set.
    key : str, optional
        Which arrays of a .npz file are taken; a pattern such as ``*_train``.
    delimiter, decimal, header
        How text tables are written; see `open_text`.
    extract : callable, optional
        Makes rows of frames; needed for images and videos.
    resize : (width, height), optional
        Scale images to it.
    read_video : callable, optional
        ``read_video(path, extract, name=name)`` makes a set of a video.
    split_every : int, optional
        Cut every set into sets of so many rows, for one long recording.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for day in (1, 2, 10):
    ...         np.save(Path(folder, f"day{day}.npy"), np.full((4, 2), day))
    ...     days = find_sets(folder)
    ...     [(day.name, day.rows[0].tolist()) for day in days]
    [('day1.npy', [1, 1]), ('day2.npy', [2, 2]), ('day10.npy', [10, 10])]
    """
    if group is not None and split_every is not None:
        raise InputError("group= and split_every= both say what a set is. Give one of them.")
    found = set_paths(paths, ignore)
    tables = {
        name: _open_table(path, delimiter=delimiter, decimal=decimal, header=header)
        for name, path in found.items()
        if path.suffix.lower() in TABLES and not path.is_dir()
    }
    others = [name for name in found if name not in tables]
    if others and any(option is not None for option in (group, time, columns)):
        raise InputError(
            f"{others[0]} has no columns with names; group=, time= and columns= are for tables. "
            "Give the tables apart, or leave these options out."
        )
    features = choose_columns([*tables.values()], columns, group=group, time=time) if tables else []

    def sets_of(name: str, path: Path) -> list[FeatureSet]:
        if path.is_dir():
            return [image_set(not_ignored(path, ignore), _needed(extract, path), name=name, resize=resize)]
        if name in tables:
            return [table_set(tables[name], name, features, time)]
        if path.suffix.lower() in ARCHIVES:
            return npz_sets(path, name, key=key)
        if read_video is None:
            raise InputError(f"{path} is a video, and no way to read videos was given: read_video=video_set.")
        return [read_video(path, _needed(extract, path), name=name)]

    if group is not None:
        sets = grouped_sets([*tables.values()], group, features, time)
    else:
        sets = []
        for name, path in found.items():
            if path.suffix.lower() in ARRAYS and not path.is_dir():
                sets += npy_sets(path, name, split_every)  # an array is cut where it lies
            elif split_every is None:
                sets += sets_of(name, path)
            else:
                sets += [piece for one in sets_of(name, path) for piece in cut_every(one, split_every)]
    return [without_missing(one, missing) for one in sets]


def _open_table(path: Path, **writing: Any) -> Table:
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty: it has 0 bytes. Leave it out (--ignore), or give it rows.")
    openers: dict[str, Callable[[Path], Table]] = {".parquet": open_parquet, ".arrow": open_arrow}
    openers |= {".feather": open_arrow, **dict.fromkeys(TEXT_TABLES, partial(open_text, **writing))}
    return openers[path.suffix.lower()](path)


def _needed(extract: Extract | None, path: Path) -> Extract:
    if extract is None:
        raise InputError(f"{path} holds pictures; say how to make rows of them: extract= (--features pixels).")
    return extract

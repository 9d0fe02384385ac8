"""Which files and folders hold sets: paths, patterns and folders spelled out, in natural order, each once."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from undistract.arrays import listed
from undistract.errors import InputError
from undistract.sets.images import IMAGES, image_files, natural

ARRAYS, ARCHIVES = (".npy",), (".npz",)
TEXT_TABLES = (".csv", ".tsv")
VIDEOS = (".mp4", ".avi", ".mkv", ".mov", ".webm")
TABLES = (*TEXT_TABLES, ".parquet", ".arrow", ".feather")
READABLE = (*ARRAYS, *ARCHIVES, *TABLES, *VIDEOS)


def set_paths(paths: str | Path | Iterable[str | Path], ignore: str | Sequence[str] = ()) -> dict[str, Path]:
    """Return everything that is a set, by its name: the path below what all of them have in common.

    Parameters
    ----------
    paths : path or iterable of paths
        Files, folders, or patterns such as ``calm/*.mp4``. In a folder, and in all folders below it, each data file
        is a set, and so are the images of one folder together.
    ignore : str or sequence of str
        Patterns; what they fit by name or by path is left out.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for file in ("calm/day10.npy", "calm/day2.npy", "calm/day3.bak"):
    ...         Path(folder, file).parent.mkdir(exist_ok=True)
    ...         Path(folder, file).touch()
    ...     list(set_paths(Path(folder, "calm")))
    ['day2.npy', 'day10.npy']
    """
    ignored = [ignore] if isinstance(ignore, str) else list(ignore)
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    found: dict[Path, Path] = {}  # by where it really lies, so that nothing counts twice
    for one in given:
        try:
            for path in _spelled_out(Path(one), ignored):
                found.setdefault(path.resolve(), path)
        except OSError as error:  # a name that is too long, a folder that may not be read
            raise InputError(
                f"{str(one)!r:.200} cannot be looked into: {error.strerror}. Give another path."
            ) from error
    if not found:
        asked = listed([str(one) for one in given]) or "nothing"
        without = f" Without what fits {listed(ignored)}, nothing is left." if ignored else ""
        raise InputError(f"No data was found in {asked}; expected {_kinds()}.{without}")
    places = {path: Path(os.path.abspath(path)) for path in found.values()}
    try:
        common = os.path.commonpath([place.parent for place in places.values()])
    except ValueError:  # two drives of Windows have nothing in common
        return {place.as_posix(): path for path, place in places.items()}
    return {place.relative_to(common).as_posix(): path for path, place in places.items()}


def _spelled_out(path: Path, ignored: list[str]) -> Iterator[Path]:
    if path.is_dir():
        yield from _in_folder(path, ignored)
    elif path.exists():
        # What is named by hand is read, or refused with a word about it.
        if path.suffix.lower() not in (*READABLE, *IMAGES):
            raise InputError(f"{path} ends in {path.suffix!r}, which is not known here; expected {_kinds()}.")
        if path.suffix.lower() in IMAGES:
            raise InputError(f"{path} is one image; a set is a folder of them. Name the folder: {path.parent}.")
        if not _fits(path, ignored):
            yield path
    else:
        matches = sorted(glob.glob(str(path), recursive=True), key=natural) if glob.has_magic(str(path)) else []
        if not matches:
            wanted = "no file or folder fits the pattern" if glob.has_magic(str(path)) else "there is no such file"
            raise InputError(f"{path}: {wanted}. Looked from {Path.cwd()}; check the spelling.")
        for match in matches:
            one = Path(match)
            if one.is_dir() or one.suffix.lower() in (*READABLE, *IMAGES):
                yield from _spelled_out(one, ignored)


def _in_folder(folder: Path, ignored: list[str]) -> Iterator[Path]:
    if _fits(folder, ignored):
        return
    if any(not _fits(image, ignored) for image in image_files(folder)):
        yield folder
    for entry in sorted(folder.iterdir(), key=lambda entry: natural(entry.name)):
        if entry.name.startswith(".") or _fits(entry, ignored):
            continue
        if entry.is_dir() and not entry.is_symlink():  # a link may lead round in circles
            yield from _in_folder(entry, ignored)
        elif entry.suffix.lower() in READABLE:
            yield entry


def _fits(path: Path, patterns: list[str]) -> bool:
    return any(fnmatch(path.name, pattern) or fnmatch(path.as_posix(), pattern) for pattern in patterns)


def not_ignored(folder: Path, ignore: str | Sequence[str]) -> list[Path]:
    """Return the images of a folder that no pattern leaves out."""
    ignored = [ignore] if isinstance(ignore, str) else list(ignore)
    return [image for image in image_files(folder) if not _fits(image, ignored)]


def _kinds() -> str:
    return f"{', '.join(READABLE)}, or folders of images ({', '.join(IMAGES)})"

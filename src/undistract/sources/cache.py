"""Cache rows that were extracted from videos, so that a clip is decoded only once.

An entry is one uncompressed .npz file: the chunks of rows and times in order, and the report about lost frames. Its
name is a hash of everything the rows depend on: the content of the video, the extractor with its settings, the options
of the video reader, and the version of this package.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract._arrays import Rows
from undistract.errors import EvidenceWarning
from undistract.sources.source import Source, TimedRows
from undistract.sources.videos import LostFrames, VideoReport, video_rows
from undistract.version import __version__

# Fingerprints of sources: hashes of their names and of the files they come from, to detect changes.


Prints = npt.NDArray[np.uint64]


def name_hashes(groups: Sequence[Source]) -> Prints:
    """Return a hash of the name of each source, (M,).

    Examples
    --------
    >>> days = [Source(day, [[1.0]]) for day in ("mon", "tue", "mon")]
    >>> names = name_hashes(days)
    >>> bool(names[0] == names[2]), bool(names[0] == names[1])
    (True, False)
    """
    return _prints([repr(source.name)] for source in groups)


def content_hashes(groups: Sequence[Source]) -> Prints:
    """Return a hash of the content of each source, (M,), without reading it; a different hash means a change.

    For files the hash covers path, size and modification time; for arrays the shape and two rows. A custom reader that
    names no file is assumed to be unchanged.

    Examples
    --------
    >>> before, after = (content_hashes([Source("mon", [[value]])]) for value in (1.0, 2.0))
    >>> bool(before[0] == after[0])
    False
    """
    states: dict[str | None, list[Any]] = {}  # many sources may share one file
    for source in groups:
        if source.origin not in states:
            states[source.origin] = [_file_state(path) for path in _files(source.origin)]
    return _prints([source.origin, states[source.origin], _array_state(source)] for source in groups)


def _prints(records: Any) -> Prints:
    digests = [hashlib.sha256(json.dumps(record).encode()).digest()[:8] for record in records]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _array_state(source: Source) -> list[Any]:
    rows = source.array
    if rows is None:
        return []
    return [rows.shape, rows.dtype.str, rows[0].tobytes().hex(), rows[-1].tobytes().hex()]


def source_paths(source: str | None) -> list[Path]:
    """Return the files or folders that the origin of a source names, if all of them still exist; else an empty list.

    Parameters
    ----------
    source : str, optional
        A path, a path with ``:key``, or several paths joined by commas.

    Examples
    --------
    >>> source_paths("no-such.csv, no-such-either.csv")
    []
    """
    if source is None:
        return []
    for names in ([source], [source.rpartition(":")[0]], source.split(", ")):
        # Not Path.exists: many joined paths are longer than a file name may be, and it would raise an error.
        if all(name and os.path.exists(name) for name in names):
            return [Path(name) for name in names]
    return []


def absolute_source(source: str | None) -> str | None:
    """Return the origin of a source with absolute paths; text that names no files is returned unchanged.

    Examples
    --------
    >>> absolute_source("the plant's historian")
    "the plant's historian"
    """
    paths = source_paths(source)
    if source is None or not paths:
        return source
    key = ""
    if len(paths) == 1 and source[len(str(paths[0])) :].startswith(":"):
        key = source[len(str(paths[0])) :]  # :train of days.npz:train
    return ", ".join(os.path.abspath(path) for path in paths) + key


def _files(source: str | None) -> list[Path]:
    """Return the files that an origin names; for a folder, its files."""
    files: list[Path] = []
    for path in source_paths(source):
        if path.is_dir():
            files += sorted(path.iterdir())
        else:
            files.append(path)
    return files


def _file_state(path: Path) -> list[Any]:
    is_dangling = path.is_symlink() and not path.exists()
    stat = path.stat(follow_symlinks=not is_dangling)
    return [str(path.resolve()), stat.st_size, stat.st_mtime_ns]


ENDING = ".npz"
PART = "part-"
REPORT = "report.json"
DAY = 86_400.0  # seconds


def cache_folder() -> Path:
    """Return the folder of cached rows: UNDISTRACT_CACHE, or the cache folder of this user."""
    folder = os.environ.get("UNDISTRACT_CACHE")
    if folder:
        return Path(folder)
    homes = {"win32": os.environ.get("LOCALAPPDATA"), "darwin": "~/Library/Caches"}
    home = homes.get(sys.platform) or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "undistract" / "rows"


@dataclass(frozen=True)
class RowCache:
    """Rows on disk, addressed by content.

    Parameters
    ----------
    folder : path
    limit : int
        In bytes. The least recently used entries are deleted first.

    Examples
    --------
    >>> from undistract.features import make_extractor
    >>> from undistract.sources.videos import video_source
    >>> calm = video_source("calm.mp4", make_extractor("flow"), cache=RowCache(Path("rows")))
    """

    folder: Path
    limit: int = 2**31

    def rows(self, path: Path, extract: Any, **reading: Any) -> Iterator[TimedRows]:
        """Yield the rows of a video, from the cache if there is an intact entry, else from the video.

        Rows of an extractor without a `fingerprint` are never cached: nothing identifies what they depend on.
        """
        fingerprint = getattr(extract, "fingerprint", None)
        if fingerprint is None or not path.is_file():  # the video reader reports a missing file
            yield from video_rows(path, extract, **reading)
            return
        on_report = reading.pop("on_report", None)
        entry = self.folder / (_key(path, fingerprint, reading) + ENDING)
        report = _report_if_intact(entry)
        if report is not None:
            with suppress(OSError):
                os.utime(entry)  # mark as recently used
            yield from _read(entry)
        else:
            reports: list[VideoReport] = []
            chunks = video_rows(path, extract, on_report=reports.append, **reading)
            yield from self._store(entry, chunks, reports)
            report = reports[0]
        if on_report is not None:
            on_report(report)
        elif report.lost:
            warnings.warn(str(report), EvidenceWarning, stacklevel=2)

    def _store(self, entry: Path, chunks: Iterator[TimedRows], reports: list[VideoReport]) -> Iterator[TimedRows]:
        """Yield the chunks and write them to disk; a read that stops half-way leaves no files behind."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            scratch = TemporaryDirectory(dir=self.folder, prefix=PART)
            writer = _EntryWriter(Path(scratch.name, "rows"))
        except OSError:  # a cache that cannot be written is no reason to fail
            yield from chunks
            return
        with scratch:
            try:
                for rows, times in chunks:
                    writer.add(rows, times)
                    yield rows, times
                writer.add_report(reports[0])
            finally:
                writer.close()
            if writer.is_complete:
                with suppress(OSError):
                    writer.path.replace(entry)
                    self._evict(entry)

    def _evict(self, newest: Path) -> None:
        # Parts belong to a read that was killed, or to one that is still running.
        for part in self.folder.glob(PART + "*"):
            if time.time() - max(path.stat().st_mtime for path in (part, *part.iterdir())) > DAY:
                rmtree(part, ignore_errors=True)
        entries = sorted(self.folder.glob("*" + ENDING), key=lambda entry: (entry == newest, entry.stat().st_mtime))
        total = sum(entry.stat().st_size for entry in entries)
        for entry in entries:
            if total <= self.limit:
                return
            total -= entry.stat().st_size
            entry.unlink(missing_ok=True)


def _key(path: Path, fingerprint: str, reading: dict[str, Any]) -> str:
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    settings = json.dumps([content, path.name, fingerprint, sorted(reading.items()), __version__], default=str)
    return hashlib.sha256(settings.encode()).hexdigest()


class _EntryWriter:
    """Writes chunks into one .npz file; gives up silently if the disk is full or a type cannot be stored."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self._archive = zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED)
        self._n_chunks = 0
        self._has_failed = False
        self.is_complete = False

    def add(self, rows: Rows, times: Rows | None) -> None:
        if self._has_failed:
            return
        arrays = {"rows": rows}
        if times is not None:
            arrays["times"] = times
        try:
            for name, array in arrays.items():
                with self._archive.open(f"{self._n_chunks}/{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asarray(array), version=(1, 0), allow_pickle=False)
        except (OSError, ValueError):
            self._has_failed = True
        self._n_chunks += 1

    def add_report(self, report: VideoReport) -> None:
        if self._has_failed:
            return
        with suppress(OSError):
            self._archive.writestr(REPORT, json.dumps({"n_chunks": self._n_chunks, **asdict(report)}))
            self.is_complete = True

    def close(self) -> None:
        # A full disk may show only here, when the last buffers are written.
        for file in (self._archive, self._file):
            try:
                file.close()
            except (OSError, ValueError):
                self.is_complete = False


def _report_if_intact(entry: Path) -> VideoReport | None:
    """Return the report of an entry, or None if there is no entry or it is damaged."""
    if not entry.is_file():
        return None
    try:
        with zipfile.ZipFile(entry) as archive:
            if archive.testzip() is not None:  # compares the checksums of all members
                return None
            report = json.loads(archive.read(REPORT))
            if f"{report.pop('n_chunks') - 1}/rows.npy" not in archive.namelist():
                return None
        report["lost"] = tuple(LostFrames(**lost) for lost in report["lost"])
        return VideoReport(**report)
    # Anything can be wrong with damaged bytes: BadZipFile, NotImplementedError for a flipped method, struct.error.
    except Exception:
        return None


def _read(entry: Path) -> Iterator[TimedRows]:
    with np.load(entry, allow_pickle=False) as arrays:
        number = 0
        while f"{number}/rows" in arrays:
            times = arrays.get(f"{number}/times")
            yield arrays[f"{number}/rows"], times
            number += 1

"""A cache for rows: what was extracted from a video once is read from disk the next time.

An entry is one safetensors file. Its name is the sum of all that the rows depend on: the content of the video, the
extractor with its settings, how frames were read, and the version of this package.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np

from undistract.arrays import Floats, Rows
from undistract.errors import EvidenceWarning
from undistract.sets.row_stream import Piece
from undistract.sets.video_report import Lost, VideoReport
from undistract.sets.videos import video_rows
from undistract.version import __version__

CHUNK_ROWS = 1024
ENDING = ".safetensors"
PART = "part-"
DAY = 86_400.0  # seconds
KINDS = {np.dtype(np.float32): "F32", np.dtype(np.float64): "F64"}  # what an entry calls them


def cache_folder() -> Path:
    """Return where rows are kept: UNDISTRACT_CACHE, or the cache folder of this user."""
    named = os.environ.get("UNDISTRACT_CACHE")
    if named:
        return Path(named)
    homes = {"win32": os.environ.get("LOCALAPPDATA"), "darwin": "~/Library/Caches"}
    home = homes.get(sys.platform) or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "undistract" / "rows"


@dataclass(frozen=True)
class RowCache:
    """Rows on disk, by content.

    Parameters
    ----------
    folder : path
    limit : int
        In bytes. The entries that were not used for longest go first.

    Examples
    --------
    >>> from undistract.features import make_extractor
    >>> from undistract.sets.videos import video_set
    >>> calm = video_set("calm.mp4", make_extractor("flow"), cache=RowCache(Path("rows")))
    """

    folder: Path
    limit: int = 2**31

    def rows(self, path: Path, extract: Any, **reading: Any) -> Iterator[Piece]:
        """Read the rows of a video, from the cache where they are there and whole, else from the video.

        Only an extractor with a `fingerprint` says what its rows depend on; those of any other are made anew.
        """
        words = getattr(extract, "fingerprint", None)
        if words is None or not path.is_file():  # who reads the video says what is wrong with its path
            yield from video_rows(path, extract, **reading)
            return
        on_report = reading.pop("on_report", None)
        entry = self.folder / (_key(path, words, reading) + ENDING)
        report = _whole(entry)
        if report is not None:
            with suppress(OSError):
                os.utime(entry)  # used just now
            yield from _read(entry)
        else:
            reports: list[VideoReport] = []
            yield from self._kept(entry, video_rows(path, extract, on_report=reports.append, **reading), reports)
            report = reports[0]
        if on_report is not None:
            on_report(report)
        elif report.lost:
            warnings.warn(str(report), EvidenceWarning, stacklevel=2)

    def _kept(self, entry: Path, chunks: Iterator[Piece], reports: list[VideoReport]) -> Iterator[Piece]:
        """Pass the chunks on and write them down on the way; a reading that stops half-way leaves nothing."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            scratch = TemporaryDirectory(dir=self.folder, prefix=PART)
            raw = _Raw(Path(scratch.name, "rows"))
        except OSError:  # a cache that cannot be written is no reason to fail
            yield from chunks
            return
        with scratch as part:
            all_times: list[Any] = [np.empty(0)]
            with raw:
                for rows, times in chunks:
                    all_times.append(times)
                    raw.add(rows)
                    yield rows, times
            if raw.whole:
                with suppress(OSError):
                    whole = Path(part, "whole")
                    _write(whole, raw, np.concatenate(all_times), reports[0])
                    whole.replace(entry)
                    self._make_room(entry)

    def _make_room(self, newest: Path) -> None:
        for left in self.folder.glob(PART + "*"):  # by a reading that was killed, or is still under way
            if time.time() - max(path.stat().st_mtime for path in (left, *left.iterdir())) > DAY:
                rmtree(left, ignore_errors=True)
        entries = sorted(self.folder.glob("*" + ENDING), key=lambda entry: (entry == newest, entry.stat().st_mtime))
        total = sum(entry.stat().st_size for entry in entries)
        for entry in entries:
            if total <= self.limit:
                return
            total -= entry.stat().st_size
            entry.unlink(missing_ok=True)


def _key(path: Path, words: str, reading: dict[str, Any]) -> str:
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    settings = json.dumps([content, path.name, words, sorted(reading.items()), __version__], default=str)
    return hashlib.sha256(settings.encode()).hexdigest()


class _Raw:
    """Rows as bytes in a file, for as long as the disk takes them and all are of one type that comes back the same."""

    def __init__(self, path: Path) -> None:
        self.path, self.width, self.whole = path, 0, True
        self.kind: np.dtype[Any] | None = None
        self._file = path.open("wb")

    def __enter__(self) -> Self:
        return self

    def add(self, rows: Rows) -> None:
        self.kind, self.width = self.kind or rows.dtype, rows.shape[1]
        self.whole = self.whole and rows.dtype == self.kind and self.kind in KINDS
        if self.whole:
            try:
                self._file.write(np.ascontiguousarray(rows, dtype=self.kind.newbyteorder("<")).tobytes())
            except OSError:
                self.whole = False

    def __exit__(self, *error: object) -> None:
        try:
            self._file.close()
        except OSError:  # the disk is full: some of it was still on its way
            self.whole = False


def _write(path: Path, raw: _Raw, times: Floats, report: VideoReport) -> None:
    """Write a safetensors file around rows that are too many for memory: its header, the rows, the times."""
    n_bytes, tail = raw.path.stat().st_size, times.astype("<f8").tobytes()
    with raw.path.open("rb") as rows:
        digest = hashlib.file_digest(rows, "sha256")
        digest.update(tail)
        kind = KINDS[raw.kind or np.dtype(np.float32)]
        header = {
            "rows": {"dtype": kind, "shape": [len(times), raw.width], "data_offsets": [0, n_bytes]},
            "times": {"dtype": "F64", "shape": [len(times)], "data_offsets": [n_bytes, n_bytes + len(tail)]},
            "__metadata__": {"sum": digest.hexdigest(), "report": json.dumps(asdict(report))},
        }
        words = json.dumps(header).encode()
        words += b" " * (-len(words) % 8)
        rows.seek(0)
        with path.open("wb") as file:
            file.write(len(words).to_bytes(8, "little") + words)
            while block := rows.read(2**20):
                file.write(block)
            file.write(tail)


def _whole(entry: Path) -> VideoReport | None:
    """Return the report of an entry, or None where there is none or its sum is wrong."""
    from safetensors import SafetensorError, safe_open

    if not entry.is_file():
        return None
    try:
        with safe_open(entry, framework="numpy") as held:
            metadata = held.metadata()
        with entry.open("rb") as file:
            file.seek(8 + int.from_bytes(file.read(8), "little"))
            digest = hashlib.sha256()
            while block := file.read(2**20):
                digest.update(block)
        report = json.loads(metadata["report"])
        report["lost"] = tuple(Lost(**lost) for lost in report["lost"])
        return VideoReport(**report) if digest.hexdigest() == metadata["sum"] else None
    except (SafetensorError, OSError, ValueError, KeyError, TypeError):
        return None


def _read(entry: Path) -> Iterator[Piece]:
    from safetensors import safe_open

    with safe_open(entry, framework="numpy") as held:
        rows, times = held.get_slice("rows"), held.get_tensor("times")
        for start in range(0, len(times), CHUNK_ROWS):
            stop = min(start + CHUNK_ROWS, len(times))
            yield rows[start:stop], times[start:stop]

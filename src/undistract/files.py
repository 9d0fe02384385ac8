"""Files and folders that are whole or not there: a reader sees the old one or the new one, never a half."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

from undistract.errors import FileError


def write_whole(path: str | os.PathLike[str], data: bytes | Callable[[Path], None]) -> Path:
    """Write a file at once: beside it first, then in its place.

    Killed half-way, or with the disk full, the old file stays as it was. A file that is replaced keeps its
    permissions, and a symbolic link still points where it did.

    Parameters
    ----------
    path : str or path
    data : bytes or callable
        What is to be in it, or what writes it there: a large file need not be in memory twice.

    Returns
    -------
    Path
        As given.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "note.txt", b"calm").read_bytes()
    b'calm'
    """
    with WholeFile(path) as file:
        if isinstance(data, bytes):
            file.write(data)
        else:
            file.written_by(data)
    return file.path


def keep_apart(target: str | os.PathLike[str], read: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse to write where something is read from: it would be lost.

    Examples
    --------
    >>> keep_apart("clean.csv", ["today.csv"])
    >>> keep_apart(__file__, [__file__])
    Traceback (most recent call last):
    ...
    undistract.errors.FileError: ...files.py is what is read; written there, it would be lost. Save under another name.
    """
    for source in read:
        if os.path.exists(target) and os.path.exists(source) and os.path.samefile(target, source):
            raise FileError(f"{target} is what is read; written there, it would be lost. Save under another name.")


class WholeFile:
    """A file that is written piece by piece, and takes its place when all of it is there.

    What fails inside of the ``with`` leaves the old file as it was, and nothing beside it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with WholeFile(Path(folder) / "note.txt") as file:
    ...         for piece in (b"____", b" and ", b"quiet"):
    ...             file.write(piece)
    ...         file.write(b"calm", at=0)
    ...     file.path.read_bytes()
    b'calm and quiet'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._target = Path(os.path.realpath(self.path))
        # Its own name for every writer, so that two at a time do not mix; short, so that it fits where the target does.
        self._beside = self._target.parent / f".{secrets.token_hex(8)}.tmp"
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        target = self._target
        with self._in_words():
            if not target.parent.is_dir():
                raise FileError(f"{self.path} cannot be written: there is no folder {target.parent}. Make it first.")
            if target.exists() and not target.is_file():
                raise FileError(f"{self.path} is not a file, so it cannot be replaced by one. Give the path of a file.")
            self._file = self._beside.open("xb")
            if target.exists():
                self._beside.chmod(target.stat().st_mode & 0o7777)
        return self

    def write(self, data: Any, *, at: int | None = None) -> None:
        """Write bytes, or the memory of a contiguous array, at the end or over what stands at a place."""
        assert self._file is not None
        with self._in_words():
            if at is not None:
                self._file.seek(at)
            self._file.write(data)
            if at is not None:
                self._file.seek(0, os.SEEK_END)

    def written_by(self, write: Callable[[Path], None]) -> None:
        """Let somebody else write it; they may put another file in its place, with permissions of its own."""
        assert self._file is not None
        with self._in_words():
            self._file.close()
            mode = self._beside.stat().st_mode & 0o7777
            write(self._beside)
            self._beside.chmod(mode)
            self._file = self._beside.open("rb+")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None and self._file is not None:
                with self._in_words():
                    self._file.flush()
                    os.fsync(self._file.fileno())
                    self._file.close()
                    os.replace(self._beside, self._target)
                    _settle(self._target.parent)
        finally:
            self._clear()

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._clear()
            raise FileError(
                f"{self.path} cannot be written: {error.strerror or error}. What was there before is unchanged. "
                "Make room or choose another place, and try again."
            ) from error

    def _clear(self) -> None:
        with suppress(OSError):
            if self._file is not None:
                self._file.close()  # what could not be written is tried once more here
        with suppress(OSError):
            self._beside.unlink(missing_ok=True)


class WholeFolder:
    """A folder that is filled beside its place, and takes it when all of it is there.

    What fails inside of the ``with`` leaves nothing behind. A folder that holds something is never replaced: who knows
    what else lies in it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place:
    ...     with WholeFolder(Path(place) / "pictures") as folder:
    ...         folder.write("monday/1.png", b"calm")
    ...     (Path(place) / "pictures" / "monday" / "1.png").read_bytes()
    b'calm'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._target = Path(os.path.realpath(self.path))
        self._beside = self._target.parent / f".{secrets.token_hex(8)}.tmp"

    def __enter__(self) -> Self:
        target = self._target
        if not target.parent.is_dir():
            raise FileError(f"{self.path} cannot be made: there is no folder {target.parent}. Make it first.")
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            what = "holds something already" if target.is_dir() else "is a file"
            raise FileError(f"{self.path} {what}, so it is left as it is. Give a new or an empty folder.")
        with self._in_words():
            self._beside.mkdir()
        return self

    def write(self, name: str, data: bytes) -> None:
        """Write one file, by its path below the folder."""
        path = self._beside / name
        with self._in_words():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                with self._in_words():
                    if self._target.exists():
                        self._target.rmdir()  # empty, or it stays
                    os.replace(self._beside, self._target)
                    _settle(self._target.parent)
        finally:
            shutil.rmtree(self._beside, ignore_errors=True)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise FileError(
                f"{self.path} cannot be written: {error.strerror or error}. Nothing of it is left. "
                "Make room or choose another place, and try again."
            ) from error


def _settle(folder: Path) -> None:
    """Let the new name survive a power cut too, where the system can say so of folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

"""Atomic writes: a reader sees the old file or folder or the new one, never a partial one."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

from undistract.errors import FileError


def atomic_write(path: str | os.PathLike[str], data: bytes | Callable[[Path], None]) -> Path:
    """Write a file atomically: a temporary file in the same folder, then `os.replace`.

    If the process is killed or the disk is full, the old file is unchanged. A replaced file keeps its permissions, and
    a symbolic link keeps its target.

    Parameters
    ----------
    path : str or path
    data : bytes or callable
        The content, or a function that writes it to a given path. With a function, a large file is not held in memory
        twice.

    Returns
    -------
    Path
        `path`, unresolved.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     atomic_write(Path(folder) / "note.txt", b"calm").read_bytes()
    b'calm'
    """
    with AtomicFile(path) as file:
        if isinstance(data, bytes):
            file.write(data)
        else:
            file.write_with(data)
    return file.path


def refuse_overwriting_inputs(target: str | os.PathLike[str], read: Iterable[str | os.PathLike[str]]) -> None:
    """Raise `FileError` if `target` is one of the files that are read, because writing would destroy it.

    Examples
    --------
    >>> refuse_overwriting_inputs("clean.csv", ["today.csv"])
    >>> refuse_overwriting_inputs(__file__, [__file__])
    Traceback (most recent call last):
    ...
    undistract.errors.FileError: ..._io.py is an input and would be overwritten. Save under another name.
    """
    for source in read:
        if os.path.exists(target) and os.path.exists(source) and os.path.samefile(target, source):
            raise FileError(f"{target} is an input and would be overwritten. Save under another name.")


class AtomicFile:
    """A file that is written in parts and replaces the target when the ``with`` block ends.

    If the block raises, the old file is unchanged and the temporary file is deleted.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with AtomicFile(Path(folder) / "note.txt") as file:
    ...         for data in (b"____", b" and ", b"quiet"):
    ...             file.write(data)
    ...         file.write(b"calm", at=0)
    ...     file.path.read_bytes()
    b'calm and quiet'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._target = Path(os.path.realpath(self.path))
        # A random name, so that two writers do not mix; short, so that it fits wherever the target name fits.
        self._temporary = self._target.parent / f".{secrets.token_hex(8)}.tmp"
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        target = self._target
        with self._as_file_error():
            if not target.parent.is_dir():
                raise FileError(f"{self.path} cannot be written: there is no folder {target.parent}. Make it first.")
            if target.exists() and not target.is_file():
                raise FileError(f"{self.path} is not a file, so it cannot be replaced. Pass the path of a file.")
            self._file = self._temporary.open("xb")
            if target.exists():
                self._temporary.chmod(target.stat().st_mode & 0o7777)
        return self

    def write(self, data: Any, *, at: int | None = None) -> None:
        """Append bytes (or the memory of a contiguous array), or overwrite at the offset `at`."""
        assert self._file is not None
        with self._as_file_error():
            if at is not None:
                self._file.seek(at)
            self._file.write(data)
            if at is not None:
                self._file.seek(0, os.SEEK_END)

    def write_with(self, write: Callable[[Path], None]) -> None:
        """Let a function write the file; it may replace the temporary file by one with other permissions."""
        assert self._file is not None
        with self._as_file_error():
            self._file.close()
            mode = self._temporary.stat().st_mode & 0o7777
            write(self._temporary)
            self._temporary.chmod(mode)
            self._file = self._temporary.open("rb+")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None and self._file is not None:
                with self._as_file_error():
                    self._file.flush()
                    os.fsync(self._file.fileno())
                    self._file.close()
                    os.replace(self._temporary, self._target)
                    _fsync_folder(self._target.parent)
        finally:
            self._clear()

    @contextmanager
    def _as_file_error(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._clear()
            raise FileError(
                f"{self.path} cannot be written: {error.strerror or error}. The old file is unchanged. "
                "Free disk space or choose another path, and try again."
            ) from error

    def _clear(self) -> None:
        with suppress(OSError):
            if self._file is not None:
                self._file.close()  # flushes again, and may fail again
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)


class AtomicDirectory:
    """A folder that is filled under a temporary name and renamed when the ``with`` block ends.

    If the block raises, nothing is left. A folder with content is never replaced, because it may contain other files.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as parent:
    ...     with AtomicDirectory(Path(parent) / "pictures") as folder:
    ...         folder.write("monday/1.png", b"calm")
    ...     (Path(parent) / "pictures" / "monday" / "1.png").read_bytes()
    b'calm'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._target = Path(os.path.realpath(self.path))
        self._temporary = self._target.parent / f".{secrets.token_hex(8)}.tmp"

    def __enter__(self) -> Self:
        target = self._target
        if not target.parent.is_dir():
            raise FileError(f"{self.path} cannot be created: there is no folder {target.parent}. Make it first.")
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            problem = "is not empty" if target.is_dir() else "is a file"
            raise FileError(f"{self.path} {problem}, so it was not changed. Pass a new or an empty folder.")
        with self._as_file_error():
            self._temporary.mkdir()
        return self

    def write(self, name: str, data: bytes) -> None:
        """Write a file at a path relative to the folder."""
        path = self._temporary / name
        with self._as_file_error():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                with self._as_file_error():
                    if self._target.exists():
                        self._target.rmdir()  # fails if it is not empty
                    os.replace(self._temporary, self._target)
                    _fsync_folder(self._target.parent)
        finally:
            shutil.rmtree(self._temporary, ignore_errors=True)

    @contextmanager
    def _as_file_error(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise FileError(
                f"{self.path} cannot be written: {error.strerror or error}. Nothing was left behind. "
                "Free disk space or choose another path, and try again."
            ) from error


def _fsync_folder(folder: Path) -> None:
    """Flush the folder entry, so that the new name survives a power cut (if the system supports it)."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

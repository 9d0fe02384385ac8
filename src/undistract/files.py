"""Files that are whole or not there: a reader sees the old one or the new one, never a half."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from undistract.errors import FileError


def write_whole(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write a file at once: beside it first, then in its place.

    Killed half-way, or with the disk full, the old file stays as it was. A file that is replaced keeps its
    permissions, and a symbolic link still points where it did.

    Parameters
    ----------
    path : str or path
    data : bytes

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
    given = Path(path)
    target = Path(os.path.realpath(given))
    # Its own name for every writer, so that two at a time do not mix; short, so that it fits where the target does.
    beside = target.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        if not target.parent.is_dir():
            raise FileError(f"{given} cannot be written: there is no folder {target.parent}. Make it first.")
        if target.exists() and not target.is_file():
            raise FileError(f"{given} is not a file, so it cannot be replaced by one. Give the path of a file.")
        with beside.open("xb") as file:
            if target.exists():
                beside.chmod(target.stat().st_mode & 0o7777)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
        _settle(target.parent)
    except OSError as error:
        raise FileError(
            f"{given} cannot be written: {error.strerror or error}. What was there before is unchanged. "
            "Make room or choose another place, and try again."
        ) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    return given


def _settle(folder: Path) -> None:
    """Let the new name survive a power cut too, where the system can say so of folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

"""Where published images are looked for, and how they get there.

    data=DIR, or UNDISTRACT_DATA, or a cache folder that is filled by one download  ─►  checked  ─►  Pictures

A checksum that others have published is asked of every download that has one. Of the rest the first download is
trusted: the sum of what it gave is written beside the file, as `sha256sum` would, and asked every time from then on.
Anybody can pin a file in the same way. Beyond that, images other than those behind our figures raise a warning.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from undistract.errors import DownloadError, EvidenceWarning, InputError
from undistract.extras import need
from undistract.sets.pictures import Pictures
from undistract.sets.publishers import CHARACTERS, SILHOUETTES, Source

FOLDER_VARIABLE = "UNDISTRACT_DATA"
PATIENCE, PIECE = 30, 2**16  # seconds until a silent server is given up; bytes
BY_HAND = (
    "To go without a download, put the files into a folder DIR as "
    + " and ".join(f"DIR/{source.file} (or the publisher's {source.original})" for source in (SILHOUETTES, CHARACTERS))
    + f", and name it with --data DIR, data=DIR or {FOLDER_VARIABLE}=DIR."
)


def pictures(source: Source, data: str | Path | None = None) -> Pictures:
    """Return published images from a folder that has them, or from the cache, which is filled where it is empty.

    Parameters
    ----------
    source : Source
    data : path, optional
        The folder. Without it the one that UNDISTRACT_DATA names; without that, the cache of this machine.
    """
    given = data or os.environ.get(FOLDER_VARIABLE)
    folder = Path(given or _library("pooch").os_cache("undistract"))
    packed, original = folder / source.file, folder / source.original
    if not given and not packed.is_file() and not original.is_file():
        fetch(source, folder)
    if packed.is_file():
        _ask_record(packed)
        return Pictures.load(packed)
    if original.is_file():
        _ask_known_sum(source, original)
        return source.read(original)
    raise InputError(f"There is no {source.file} in {folder}. {BY_HAND} Without a folder they are downloaded once.")


def fetch(source: Source, folder: Path) -> Path:
    """Download images, check and convert them; return the file, with its sum recorded beside it.

    Either the whole file appears in `folder` or nothing does, whatever happens on the way.

    Examples
    --------
    >>> from undistract.sets.publishers import SILHOUETTES
    >>> fetch(SILHOUETTES, Path("my-data"))  # doctest: +SKIP
    PosixPath('my-data/caltech101_silhouettes/caltech101_silhouettes_28.npz')
    """
    packed = folder / source.file
    with _explained(source, folder):
        packed.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(packed.parent).free // 10**6
        if free < source.megabytes:
            raise OSError(errno.ENOSPC, f"{free} MB are free, {source.title} takes {source.megabytes} MB")
        with TemporaryDirectory(dir=packed.parent) as scratch:
            original = Path(scratch) / Path(source.original).name
            _download(source, original)
            _ask_known_sum(source, original)
            found = source.read(original)
            if found.fingerprint() != source.fingerprint:
                warnings.warn(
                    f"{source.title}: the images from {source.url} are not the very ones that the figures of this "
                    f"project were made with (fingerprint {found.fingerprint()}, ours is {source.fingerprint}). Yours "
                    "may differ from ours.",
                    EvidenceWarning,
                    stacklevel=2,
                )
            part = Path(scratch) / packed.name
            found.save(part)
            record = _record(packed)
            if record.is_file():  # trusted before, or pinned by hand
                _ask_record(part, record)
            else:
                record.write_text(f"{_sum(part)}  {packed.name}\n", encoding="utf-8")
            part.replace(packed)
    return packed


def _library(name: str) -> Any:
    return need(name, extra="paper", to=f"Downloading images (or name a folder that has them: {FOLDER_VARIABLE})")


def _download(source: Source, path: Path) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    words = f"{source.title}, about {source.megabytes} MB, from {source.url}"
    console.print(f"Downloading {words}", highlight=False, soft_wrap=True)
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TextColumn(source.title))
    bar = Progress(*columns, console=console, disable=not console.is_terminal)
    # The answer is closed whatever happens: an error that is told must not leave a connection open.
    with _library("requests").get(source.url, stream=True, timeout=PATIENCE) as answer, path.open("wb") as file, bar:
        answer.raise_for_status()
        task = bar.add_task("", total=int(answer.headers.get("content-length", 0)) or None)
        for piece in answer.iter_content(PIECE):
            file.write(piece)
            bar.advance(task, len(piece))


@contextmanager
def _explained(source: Source, folder: Path) -> Iterator[None]:
    """Turn what can go wrong on the way into one sentence each, with what to do next."""
    failures = _library("requests").exceptions
    host = urlsplit(source.url).hostname
    try:
        yield
    except failures.HTTPError as error:
        answer = error.response
        raise DownloadError(f"{source.url} answered {answer.status_code} {answer.reason}. {BY_HAND}") from error
    except (failures.ConnectionError, failures.Timeout) as error:
        raise DownloadError(f"There is no connection to {host} for {source.title}. {BY_HAND}") from error
    except failures.RequestException as error:
        raise DownloadError(f"The transfer from {source.url} broke off: {error}. Try again. {BY_HAND}") from error
    except DownloadError:
        raise
    except InputError as error:
        raise DownloadError(f"What {source.url} sent was not used. {error}") from error
    except OSError as error:
        room = " Make room" if error.errno == errno.ENOSPC else " Mend that"
        raise DownloadError(f"Cannot write into {folder}: {error.strerror}.{room}, and try again. {BY_HAND}") from error


def _ask_known_sum(source: Source, path: Path) -> None:
    if source.known_sum is None:
        return
    algorithm, _, expected = source.known_sum.partition(":")
    found = _sum(path, algorithm)
    if found != expected:
        raise DownloadError(
            f"{path.name} of {source.title} ({source.url}) has the {algorithm} {found}, expected {expected}. It was "
            f"not used: the transfer was damaged, or the publisher changed the file. Try again. {BY_HAND}"
        )


def _ask_record(path: Path, record: Path | None = None) -> None:
    record = record or _record(path)
    if not record.is_file():
        return
    found, expected = _sum(path), record.read_text(encoding="utf-8").partition(" ")[0].strip()
    if found != expected:
        raise InputError(
            f"{path.name} has the sha256 {found}, but {record} says {expected}: one of them was changed. Delete the "
            "first to fetch it again, or the second to trust what is there."
        )


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _sum(path: Path, algorithm: str = "sha256") -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()

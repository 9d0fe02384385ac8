"""Read arrays from .npy files (memory-mapped in blocks) and .npz files (decompressed in blocks).

A header can promise more data than the file contains. Headers and the zip directory are compared with the file size
before anything is decompressed.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from undistract._arrays import Rows
from undistract._text import format_names
from undistract.errors import InputError
from undistract.sources.checks import check_compression_ratio, reading_errors
from undistract.sources.grouping import split_spans
from undistract.sources.options import DEFAULTS, ReadOptions
from undistract.sources.source import Source

BLOCK_BYTES = 2**23
MAX_COLUMN_ORDER_BYTES = 2**28  # bytes of an array in column order that is decompressed at once


class _Header(NamedTuple):
    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[np.generic]

    @property
    def n_bytes(self) -> int:
        size = self.dtype.itemsize
        # Python integers: numpy integers would overflow with a hostile shape.
        for length in self.shape:
            size *= length
        return size

    @property
    def is_rows(self) -> bool:
        return len(self.shape) == 2 and self.dtype.kind in "buif" and 0 not in self.shape

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}"


def npy_sources(path: Path, name: str, options: ReadOptions = DEFAULTS) -> list[Source]:
    """Return the source in a .npy file, or one per `options.split_every` rows, named ``name[0:1000]`` and so on.

    The file is mapped into memory block by block, so that a long read leaves no mapped pages behind.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "calm.npy", np.ones((5, 2), np.float32))
    ...     (calm,) = npy_sources(Path(folder) / "calm.npy", "calm")
    ...     len(calm), calm.n_features, next(calm.chunks()).dtype
    ...     npy_sources(Path(folder) / "calm.npy", "calm", ReadOptions(split_every=2))[-1].name
    (5, 2, dtype('float32'))
    'calm[2:5]'
    """
    with _reading(path), path.open("rb") as file:
        header = _read_header(file)
        available = path.stat().st_size - file.tell()
    _check(path.name, header, available)
    n_rows = header.shape[0]
    if options.split_every is None:
        return [_npy_source(path, name, header, 0, n_rows)]
    spans = split_spans(n_rows, options.split_every)
    return [_npy_source(path, f"{name}[{start}:{stop}]", header, start, stop) for start, stop in spans]


def _npy_source(path: Path, name: str, header: _Header, first: int, last: int) -> Source:
    width = header.shape[1]
    step = max(1, BLOCK_BYTES // (width * header.dtype.itemsize))

    def read() -> Iterator[Rows]:
        for start in range(first, last, step):
            with _reading(path):
                # A new mapping per block: pages of the previous one are released with it.
                mapped = np.load(path, mmap_mode="r")
            if mapped.shape != header.shape:
                raise InputError(
                    f"{path.name} had shape {header.shape} and now has {mapped.shape}. Discover the files again."
                )
            yield mapped[start : min(start + step, last)]

    return Source.from_reader(name, read, origin=str(path), n_features=width, n_rows=last - first)


def npz_sources(path: Path, name: str, options: ReadOptions = DEFAULTS) -> list[Source]:
    """Return one source per two-dimensional array in a .npz file.

    Parameters
    ----------
    path : Path
    name : str
        Name of the source if there is one array; with several arrays the sources are called ``name:key``.
    options : ReadOptions
        With `key`, only arrays with this name are read; ``*`` matches anything, as in ``*_train``.
    """
    key = options.key
    with _reading(path), zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        headers: dict[str, _Header] = {}
        for label, info in members.items():
            with archive.open(info) as member:
                headers[label] = _read_header(member)
    if key is None:
        expected = "that is rows of numbers"
        chosen = [label for label, header in headers.items() if header.is_rows]
    else:
        expected = f"that is called {key!r}"
        chosen = [label for label in headers if fnmatchcase(label, key)]
    if not chosen:
        contents = format_names([f"{label}: {header}" for label, header in headers.items()]) or "nothing"
        raise InputError(f"{path.name} has no array {expected}; it contains {contents}. Choose one with key=.")
    sources = []
    for label in chosen:
        # The directory of the archive has both sizes: nothing is decompressed for this check.
        info = members[label]
        check_compression_ratio(path.name, repr(label), info.file_size, info.compress_size)
        _check(f"{label!r} in {path.name}", headers[label], info.file_size, by_rows=True)
        source_name = f"{name}:{label}" if len(chosen) > 1 else name
        sources.append(_npz_source(path, source_name, info, headers[label]))
    return sources


def _npz_source(path: Path, name: str, info: zipfile.ZipInfo, header: _Header) -> Source:
    n_rows, width = header.shape
    row_bytes = width * header.dtype.itemsize
    step = max(1, BLOCK_BYTES // row_bytes)
    if header.by_columns:
        step = n_rows  # a row is complete only when the last column has been read

    def read() -> Iterator[Rows]:
        with _reading(path), zipfile.ZipFile(path) as archive, archive.open(info) as member:
            _read_header(member)
            for start in range(0, n_rows, step):
                n_bytes = min(step, n_rows - start) * row_bytes
                block = member.read(n_bytes)
                if len(block) < n_bytes:
                    raise EOFError(f"it ends at row {start + len(block) // row_bytes} of {n_rows}")
                values = np.frombuffer(block, header.dtype)
                if header.by_columns:
                    yield values.reshape((width, -1)).T
                else:
                    yield values.reshape((-1, width))

    origin = f"{path}:{info.filename.removesuffix('.npy')}"
    return Source.from_reader(name, read, origin=origin, n_features=width, n_rows=n_rows)


def _read_header(file: IO[bytes]) -> _Header:
    version = np.lib.format.read_magic(file)
    # Later versions are for records with fields, and their headers may be gigabytes long.
    if version != (1, 0):
        raise ValueError(f"it is written in version {version} of the format; expected plain numbers")
    return _Header(*np.lib.format.read_array_header_1_0(file))


def _check(label: str, header: _Header, available: int, *, by_rows: bool = False) -> None:
    """Raise an error if the array is not rows of numbers, or if the file is shorter than the header promises."""
    if not header.is_rows:
        raise InputError(
            f"{label} contains {header}; expected real numbers of shape (rows, features). Reshape it, or choose "
            "another array."
        )
    if available < header.n_bytes:
        raise InputError(
            f"{label} should contain {header}, {header.n_bytes} bytes, but has {available} bytes. Is the file complete?"
        )
    if by_rows and header.by_columns and header.n_bytes > MAX_COLUMN_ORDER_BYTES:
        raise InputError(
            f"{label} contains {header} in column order, which cannot be decompressed row by row. "
            "Save it with numpy.ascontiguousarray, or as .npy."
        )


def _reading(path: Path) -> AbstractContextManager[None]:
    advice = "Expected real numbers written by numpy.save or numpy.savez. Is it complete?"
    return reading_errors(path.name, path.suffix, advice)

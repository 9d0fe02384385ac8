"""Arrays in files: .npy, mapped into memory piece by piece, and .npz, unpacked piece by piece.

A file can ask for more than it holds. What its header and its directory say is compared before anything is unpacked.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from undistract.arrays import Rows, listed
from undistract.errors import InputError
from undistract.sets.explained import explained
from undistract.sets.feature_set import FeatureSet
from undistract.sets.packed import refuse_packed
from undistract.sets.sorting import cut_spans

PIECE_BYTES = 2**23
LARGEST_TURNED = 2**28  # bytes of an array in column order that is unpacked as a whole


class _Header(NamedTuple):
    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[np.generic]

    @property
    def n_bytes(self) -> int:
        size = self.dtype.itemsize
        for length in self.shape:  # Python's own integers: numpy's would overflow on a hostile shape
            size *= length
        return size

    @property
    def is_rows(self) -> bool:
        return len(self.shape) == 2 and self.dtype.kind in "buif" and 0 not in self.shape

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}"


def npy_sets(path: Path, name: str, split_every: int | None = None) -> list[FeatureSet]:
    """Make a set of a .npy file, or one of every so many rows, named ``name[0:1000]`` and so on.

    The file is mapped into memory a piece at a time: a long reading leaves no mapped pages behind.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "calm.npy", np.ones((5, 2), np.float32))
    ...     (calm,) = npy_sets(Path(folder) / "calm.npy", "calm")
    ...     len(calm), calm.n_features, next(calm.chunks()).dtype
    ...     npy_sets(Path(folder) / "calm.npy", "calm", 2)[-1].name
    (5, 2, dtype('float32'))
    'calm[2:5]'
    """
    with _reading(path), path.open("rb") as file:
        header = _read_header(file)
        available = path.stat().st_size - file.tell()
    _check(path.name, header, available)
    n_rows = header.shape[0]
    if split_every is None:
        return [_npy_set(path, name, header, 0, n_rows)]
    spans = cut_spans(n_rows, split_every)
    return [_npy_set(path, f"{name}[{start}:{stop}]", header, start, stop) for start, stop in spans]


def _npy_set(path: Path, name: str, header: _Header, first: int, last: int) -> FeatureSet:
    width = header.shape[1]
    step = max(1, PIECE_BYTES // (width * header.dtype.itemsize))

    def read() -> Iterator[Rows]:
        for start in range(first, last, step):
            with _reading(path):
                mapped = np.load(path, mmap_mode="r")
            if mapped.shape != header.shape:
                raise InputError(f"{path.name} had shape {header.shape} and has {mapped.shape} now. Find it anew.")
            yield mapped[start : min(start + step, last)]

    return FeatureSet.reading(name, read, source=str(path), n_features=width, n_rows=last - first)


def npz_sets(path: Path, name: str, *, key: str | None = None) -> list[FeatureSet]:
    """Make a set of every array of rows in a .npz file.

    Parameters
    ----------
    path : Path
    name : str
        Of the set where there is one, else of the file: the sets are then ``name:key``.
    key : str, optional
        Take only the arrays with this name; ``*`` stands for anything, as in ``*_train``.
    """
    with _reading(path), zipfile.ZipFile(path) as archive:
        packed = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        headers: dict[str, _Header] = {}
        for label, info in packed.items():
            with archive.open(info) as member:
                headers[label] = _read_header(member)
    chosen = [
        label for label, header in headers.items() if (header.is_rows if key is None else fnmatchcase(label, key))
    ]
    if not chosen:
        found = listed([f"{label}: {header}" for label, header in headers.items()])
        wanted = "that is rows of numbers" if key is None else f"that is called {key!r}"
        raise InputError(f"{path.name} has no array {wanted}; it holds {found or 'nothing'}. Name one with key=.")
    for label in chosen:
        info = packed[label]
        refuse_packed(path.name, repr(label), info.file_size, info.compress_size)
        _check(f"{label!r} in {path.name}", headers[label], info.file_size, turned=True)
    return [
        _npz_set(path, name if len(chosen) == 1 else f"{name}:{label}", packed[label], headers[label])
        for label in chosen
    ]


def _npz_set(path: Path, name: str, info: zipfile.ZipInfo, header: _Header) -> FeatureSet:
    n_rows, width = header.shape
    row_bytes = width * header.dtype.itemsize
    step = n_rows if header.by_columns else max(1, PIECE_BYTES // row_bytes)

    def read() -> Iterator[Rows]:
        with _reading(path), zipfile.ZipFile(path) as archive, archive.open(info) as member:
            _read_header(member)
            for start in range(0, n_rows, step):
                n_bytes = min(step, n_rows - start) * row_bytes
                block = member.read(n_bytes)
                if len(block) < n_bytes:
                    raise EOFError(f"it ends at row {start + len(block) // row_bytes} of {n_rows}")
                values = np.frombuffer(block, header.dtype)
                yield values.reshape((width, -1)).T if header.by_columns else values.reshape((-1, width))

    source = f"{path}:{info.filename.removesuffix('.npy')}"
    return FeatureSet.reading(name, read, source=source, n_features=width, n_rows=n_rows)


def _read_header(file: IO[bytes]) -> _Header:
    version = np.lib.format.read_magic(file)
    if version != (1, 0):  # later ones are for records with fields, and their headers may be gigabytes long
        raise ValueError(f"it is written in version {version} of the format; expected plain numbers")
    return _Header(*np.lib.format.read_array_header_1_0(file))


def _check(what: str, header: _Header, available: int, *, turned: bool = False) -> None:
    """Refuse what is no rows, and a header that promises other than the file has."""
    if not header.is_rows:
        raise InputError(
            f"{what} holds {header}; expected real numbers of shape (rows, features). Reshape it, or choose another."
        )
    if available < header.n_bytes:
        raise InputError(
            f"{what} should hold {header}, {header.n_bytes} bytes, but there are {available}. Is the file complete?"
        )
    if turned and header.by_columns and header.n_bytes > LARGEST_TURNED:
        raise InputError(
            f"{what} holds {header} in column order, which cannot be unpacked row by row. "
            "Save it with numpy.ascontiguousarray, or as .npy."
        )


def _reading(path: Path) -> AbstractContextManager[None]:
    return explained(
        path.name, path.suffix, "Expected real numbers that numpy.save or numpy.savez wrote. Is it complete?"
    )

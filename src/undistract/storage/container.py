"""One safetensors file: a JSON header of ours in its metadata, and arrays.

    8 bytes, length │ {"__metadata__": {"undistract": "<our header>"}, "<array>": {dtype, shape, offsets}, …} │ numbers

Our header contains the sha256 of itself and of all arrays, so that a damaged file is rejected.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from undistract._io import atomic_write
from undistract.errors import FileError, InputError

Array = npt.NDArray[Any]

FORMAT: Final = "undistract"
FORMAT_VERSION: Final = 1
# Enough for half a million group names. A header is read completely, so this limits the memory it needs.
LARGEST_HEADER = 2**24
DTYPES = {"BOOL", "U8", "I8", "U16", "I16", "F16", "U32", "I32", "F32", "U64", "I64", "F64"}
AGAIN = "Create it again, or fetch another copy."


def write_container(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Path:
    """Write header and arrays atomically."""
    signed = {**header, "sha256": digest_of(header, arrays)}
    text = json.dumps(signed, allow_nan=False)
    if len(text) > LARGEST_HEADER // 2:  # safetensors escapes the quotes again
        raise InputError(
            f"The names and settings take {len(text)} bytes, expected at most {LARGEST_HEADER // 2}. "
            "Use shorter group names, or merge groups."
        )

    def write(temporary: Path) -> None:
        try:
            save_file(dict(arrays), temporary, metadata={FORMAT: text})
        except SafetensorError as error:
            # The arrays are valid, so this is an error of the disk, wrapped by safetensors.
            match = re.search(r"os error (\d+)", str(error))
            if match is None:
                raise OSError(str(error)) from error
            number = int(match[1])
            raise OSError(number, os.strerror(number)) from error

    return atomic_write(path, write)


def read_container(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read header and arrays; raise `FileError` if the checksum does not match."""
    with _opened(path) as (file, header):
        # Copy: aligned, writable, and independent of later changes to the mapped file.
        arrays = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118  not a mapping
        expected = header.pop("sha256", None)
        digest = digest_of(header, arrays)
        if digest != expected:
            raise FileError(f"{path} is damaged: its sha256 is {digest}, expected {expected!r:.80}. {AGAIN}")
    return header, arrays


def read_header(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, tuple[str, list[int]]]]:
    """Read only the header, with dtype and shape of each array; the arrays are neither read nor checked."""
    with _opened(path) as (file, header):
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        return header, {name: (tensor.get_dtype(), tensor.get_shape()) for name, tensor in slices.items()}


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Open a file written by `write_container`; any problem becomes a `FileError`."""
    path = Path(path)
    try:
        _check_size(path)
        with safe_open(path, framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118
                dtype = file.get_slice(name).get_dtype()
                if dtype not in DTYPES:
                    raise FileError(
                        f"{path} holds {name!r:.80} as {dtype}, expected {', '.join(sorted(DTYPES))}. {AGAIN}"
                    )
            yield file, _our_header(path, file.metadata())
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from error
    except SafetensorError as error:
        raise FileError(f"{path} is not a complete safetensors file ({error}). {AGAIN}") from error


def _check_size(path: Path) -> None:
    if not path.exists():
        raise FileError(f"There is no file {path}. Is the path right?")
    if not path.is_file():  # reading a pipe might never end
        raise FileError(f"{path} is not a file. Pass the path of a file that undistract.save wrote.")
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
    if path.stat().st_size < 8 + length:
        raise FileError(f"{path} is not a safetensors file, or is cut off. Pass a file that undistract.save wrote.")
    if length > LARGEST_HEADER:
        raise FileError(f"{path} has a header of {length} bytes, expected {LARGEST_HEADER} at most. {AGAIN}")


def _our_header(path: Path, metadata: Mapping[str, str] | None) -> dict[str, Any]:
    if FORMAT not in (metadata or {}):
        raise FileError(f"{path} is a safetensors file of another program. Pass a file that undistract.save wrote.")
    try:
        header = json.loads((metadata or {})[FORMAT], parse_constant=_no_constant)
        version = header["format_version"]
        if header["format"] != FORMAT or type(version) is not int or version < 1:
            raise ValueError(f"format {header['format']!r:.40}, version {version!r:.40}")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FileError(
            f"{path} has a header that cannot be read ({type(error).__name__}: {error}). {AGAIN}"
        ) from error
    if version > FORMAT_VERSION:
        raise FileError(
            f"{path} is written in format {version} by undistract {header.get('package_version')!r:.40}; this version "
            f"reads up to format {FORMAT_VERSION}. Upgrade: pip install --upgrade undistract"
        )
    return dict(header)


def _no_constant(constant: str) -> float:
    # Python's parser accepts NaN and Infinity, which JSON does not have.
    raise ValueError(f"{constant} is not JSON")


def digest_of(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Return the sha256 of a header (without its checksum) and of all arrays."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()

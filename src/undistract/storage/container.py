"""One safetensors file: a JSON header of ours in its metadata, and arrays.

    8 bytes, length │ {"__metadata__": {"undistract": "<our header>"}, "<array>": {dtype, shape, place}, …} │ numbers

Our header carries the sha256 of itself and of all arrays, so that a damaged file is refused, not believed.
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

from undistract.errors import FileError, InputError
from undistract.files import write_whole

Array = npt.NDArray[Any]

FORMAT: Final = "undistract"
FORMAT_VERSION: Final = 1
# Room for half a million names of sets; a header is read whole, so this bounds the memory it takes.
LARGEST_HEADER = 2**24
DTYPES = {"BOOL", "U8", "I8", "U16", "I16", "F16", "U32", "I32", "F32", "U64", "I64", "F64"}
AGAIN = "Make it anew, or fetch it again from where it came."


def write_container(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Path:
    """Write header and arrays, all at once."""
    signed = {**header, "sha256": digest_of(header, arrays)}
    text = json.dumps(signed, allow_nan=False)
    if len(text) > LARGEST_HEADER // 2:  # quotes are escaped once more
        raise InputError(
            f"The names and settings take {len(text)} bytes, a file holds {LARGEST_HEADER // 2}. "
            "Give sets shorter names, or join some of them."
        )

    def write(beside: Path) -> None:
        try:
            save_file(dict(arrays), beside, metadata={FORMAT: text})
        except SafetensorError as error:  # of the disk: the arrays are as they must be
            found = re.search(r"os error (\d+)", str(error))
            raise (OSError(int(found[1]), os.strerror(int(found[1]))) if found else OSError(str(error))) from error

    return write_whole(path, write)


def read_container(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read header and arrays, and refuse a file that is not as it was written."""
    with _opened(path) as (file, header):
        # A copy of its own: aligned, writable, and not at the mercy of whoever changes the file.
        arrays = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118  it is no mapping
        expected = header.pop("sha256", None)
        found = digest_of(header, arrays)
        if found != expected:
            raise FileError(f"{path} is damaged: its sha256 is {found}, its header says {expected!r:.80}. {AGAIN}")
    return header, arrays


def read_header(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, tuple[str, list[int]]]]:
    """Read the header alone, with dtype and shape of each array; numbers are neither read nor checked."""
    with _opened(path) as (file, header):
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        return header, {name: (one.get_dtype(), one.get_shape()) for name, one in slices.items()}


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Open a file of ours; what is wrong with it becomes one sentence, with what to do next."""
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
        raise FileError(f"{path} is not a whole safetensors file ({error}). {AGAIN}") from error


def _check_size(path: Path) -> None:
    if not path.exists():
        raise FileError(f"There is no file {path}. Is the path right?")
    if not path.is_file():  # a pipe would never end
        raise FileError(f"{path} is not a file. Give the path of one that undistract.save wrote.")
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
    if path.stat().st_size < 8 + length:
        raise FileError(
            f"{path} is not a safetensors file, or only its beginning. Give one that undistract.save wrote."
        )
    if length > LARGEST_HEADER:
        raise FileError(f"{path} has a header of {length} bytes, expected {LARGEST_HEADER} at most. {AGAIN}")


def _our_header(path: Path, metadata: Mapping[str, str] | None) -> dict[str, Any]:
    if FORMAT not in (metadata or {}):
        raise FileError(f"{path} is a safetensors file of another program. Give one that undistract.save wrote.")
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
            f"{path} is written in format {version} by undistract {header.get('package_version')!r:.40}; this one "
            f"reads up to format {FORMAT_VERSION}. Upgrade: pip install --upgrade undistract"
        )
    return dict(header)


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def digest_of(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Return the sha256 of a header (without its own) and of all arrays."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()

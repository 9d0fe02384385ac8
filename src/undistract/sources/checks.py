"""Checks that several readers share: errors of parsers, and decompression bombs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from undistract.errors import InputError

# Measured data compress to a half or a tenth of their size, silhouettes to a tenth. Only constant data reach 1 / 200.
MAX_RATIO, SAFE_BYTES = 200, 2**24


@contextmanager
def reading_errors(
    file: object, kind: str, advice: str = "Is the file complete, and does its ending match its content?"
) -> Iterator[None]:
    """Turn any error inside the block into an `InputError` about the file, with the expected kind and advice.

    Examples
    --------
    >>> with reading_errors("calm.npy", "an array"):
    ...     raise ValueError("bad magic")
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: calm.npy cannot be read as an array (bad magic). Is the file complete...
    """
    try:
        yield
    except (InputError, ImportError):
        raise
    # Parsers raise anything on hostile bytes: numpy alone raises ValueError, SyntaxError, TokenError, zlib.error, ...
    except Exception as error:
        reason = next(iter(str(error).splitlines()), "").strip(" .") or type(error).__name__
        raise InputError(f"{file} cannot be read as {kind} ({reason}). {advice}") from error


def check_compression_ratio(file: str, content: str, unpacked: int, packed: int) -> None:
    """Raise an error if `content` would decompress to more than 16 MB and more than 200 times its compressed size.

    Examples
    --------
    >>> check_compression_ratio("calm.npz", "'x'", 2**24, 1)
    >>> check_compression_ratio("calm.npz", "'x'", 2 * 10**9, 2 * 10**6)
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: calm.npz compresses 2000 MB of 'x' into 2.0 MB, more than 200 to 1. Measured...
    """
    if unpacked > max(SAFE_BYTES, MAX_RATIO * packed):
        raise InputError(
            f"{file} compresses {unpacked / 1e6:.0f} MB of {content} into {packed / 1e6:.1f} MB, more than "
            f"{MAX_RATIO} to 1. Measured data do not compress that well. If the data are right, save them as .npy."
        )

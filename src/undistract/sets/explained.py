"""Broken files: whatever a library raises becomes one error that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from undistract.errors import InputError


@contextmanager
def explained(what: object, kind: str, advice: str = "Is it complete, and what its name says?") -> Iterator[None]:
    """Read a file inside of this.

    Parameters
    ----------
    what : object
        The file.
    kind, advice : str
        What it should be, and what to do if it is not.

    Examples
    --------
    >>> with explained("calm.npy", "an array"):
    ...     raise ValueError("bad magic")
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: calm.npy cannot be read as an array (bad magic). Is it complete...
    """
    try:
        yield
    except (InputError, ImportError):
        raise
    # Parsers raise anything on hostile bytes: numpy alone ValueError, SyntaxError, TokenError, zlib.error and more.
    except Exception as error:
        words = next(iter(str(error).splitlines()), "").strip(" .") or type(error).__name__
        raise InputError(f"{what} cannot be read as {kind} ({words}). {advice}") from error

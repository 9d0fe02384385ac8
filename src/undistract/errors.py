"""Errors and warnings of this package."""

from __future__ import annotations


class InputError(ValueError):
    """Invalid input. The message names what was found, what was expected and what to do next.

    Examples
    --------
    >>> from undistract.algebra import Moments, Spectrum
    >>> Spectrum.of(Moments.of([[[1.0, 2.0], [2.0, 1.0]]]))
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: 1 group cannot show how groups differ...
    """


class DownloadError(InputError):
    """A download failed. The message names the address, the reason and how to continue offline."""


class FileError(InputError):
    """A file cannot be read or written. The message names the file, the problem and what to do next.

    Examples
    --------
    >>> import undistract
    >>> undistract.load("no-such.focus")
    Traceback (most recent call last):
    ...
    undistract.errors.FileError: There is no file no-such.focus. Is the path right?
    """


class ClusterError(InputError):
    """A cluster failed. The message describes what happened and how to continue.

    Examples
    --------
    >>> from undistract.parallel import open_cluster
    >>> with open_cluster("tcp://127.0.0.1:1"):  # doctest: +SKIP
    ...     pass
    Traceback (most recent call last):
    ...
    undistract.errors.ClusterError: There is no scheduler at tcp://127.0.0.1:1...
    """


class EvidenceWarning(UserWarning):
    """The evidence for a result is weak. The message gives the numbers and suggests a remedy."""


class NoGroupsWarning(UserWarning):
    """`Focus` was fitted without `groups`, so it cannot learn what to ignore and removes nothing."""

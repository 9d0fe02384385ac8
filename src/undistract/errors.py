"""What we say when something given to us cannot be used, or should not be trusted too far."""

from __future__ import annotations


class InputError(ValueError):
    """Something given cannot be used: the message says what was found, what was expected, what to do next.

    Examples
    --------
    >>> from undistract.algebra import Moments, Spectrum
    >>> Spectrum.of(Moments.of([[[1.0, 2.0], [2.0, 1.0]]]))
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: 1 set cannot show what tells sets apart...
    """


class DownloadError(InputError):
    """Data could not be fetched: the message says from where, why, and how to go on without a connection."""


class FileError(InputError):
    """A file cannot be read or written: the message says which, what is wrong with it, and what to do next.

    Examples
    --------
    >>> import undistract
    >>> undistract.load("no-such.focus")
    Traceback (most recent call last):
    ...
    undistract.errors.FileError: There is no file no-such.focus. Is the path right?
    """

    status = 507  # over HTTP: not the caller's fault, and to be sent again


class ClusterError(InputError):
    """A cluster did not do its work: the message says what happened, and how to go on.

    Examples
    --------
    >>> from undistract.parallel import opened_cluster
    >>> with opened_cluster("tcp://127.0.0.1:1"):  # doctest: +SKIP
    ...     pass
    Traceback (most recent call last):
    ...
    undistract.errors.ClusterError: There is no scheduler at tcp://127.0.0.1:1...
    """


class EvidenceWarning(UserWarning):
    """The answer stands on thin evidence: the message gives the numbers and says what would help."""


class NoSetsWarning(UserWarning):
    """`Focus` was fitted without `sets`, so it knows nothing to ignore and removes nothing."""

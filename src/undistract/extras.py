"""Import an optional library, or say which extra to install."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


class MissingExtraError(ImportError):
    """A library that this part needs is not installed; the message has the one command that mends it."""


def need(module: str, *, extra: str, to: str) -> ModuleType:
    """Import `module`, or raise `MissingExtraError` with the command that installs it.

    Parameters
    ----------
    module : str
        The module to import, such as ``"matplotlib.pyplot"``.
    extra : str
        The extra of this package that brings it.
    to : str
        What it is needed for, as the start of a sentence ("Drawing plots").

    Examples
    --------
    >>> need("math", extra="none", to="Counting").floor(2.5)
    2
    >>> need("no_such_library", extra="plot", to="Drawing plots")
    Traceback (most recent call last):
    ...
    undistract.extras.MissingExtraError: Drawing plots needs no_such_library: pip install "undistract[plot]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(f'{to} needs {library}: pip install "undistract[{extra}]"') from error

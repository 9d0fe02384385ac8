"""Import optional dependencies; if one is missing, the error names the extra to install."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message contains the command that installs it."""


def import_optional(module: str, *, extra: str, to: str) -> ModuleType:
    """Import `module`, or raise `MissingExtraError` with the command that installs it.

    Parameters
    ----------
    module : str
        The module to import, such as ``"matplotlib.pyplot"``.
    extra : str
        The extra of this package that installs it.
    to : str
        The purpose, as the subject of the error message ("Drawing plots").

    Examples
    --------
    >>> import_optional("math", extra="none", to="Counting").floor(2.5)
    2
    >>> import_optional("no_such_library", extra="plot", to="Drawing plots")
    Traceback (most recent call last):
    ...
    undistract._optional.MissingExtraError: Drawing plots needs no_such_library: pip install "undistract[plot]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(f'{to} needs {library}: pip install "undistract[{extra}]"') from error

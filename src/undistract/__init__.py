"""Teach an anomaly detector what to ignore: FOCUS, learned from sets of normal data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from undistract.algebra import Moments, SetMoments, Spectrum, rank_functions
    from undistract.errors import EvidenceWarning, InputError, NoSetsWarning
    from undistract.focus import Focus

__all__ = [
    "EvidenceWarning",
    "Focus",
    "InputError",
    "Moments",
    "NoSetsWarning",
    "SetMoments",
    "Spectrum",
    "rank_functions",
]

_ROOMS = {
    "algebra": ("Moments", "SetMoments", "Spectrum", "rank_functions"),
    "errors": ("EvidenceWarning", "InputError", "NoSetsWarning"),
    "focus": ("Focus",),
}
_HOME = {name: f"undistract.{room}" for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    # Names are fetched when first used, so that `import undistract` stays quick.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'undistract' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

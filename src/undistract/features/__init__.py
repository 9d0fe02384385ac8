"""Extractors that turn frames into rows. Names are imported on first use, so that `undistract --help` stays fast."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from undistract.features.registry import EXTRACTORS, describe_extractors, make_extractor

if TYPE_CHECKING:
    from undistract.features.base import Concat, Extractor
    from undistract.features.cells import Cells
    from undistract.features.flow import Flow
    from undistract.features.gradients import Gradients
    from undistract.features.network import Network
    from undistract.features.pixels import Pixels

__all__ = [
    "EXTRACTORS",
    "Cells",
    "Concat",
    "Extractor",
    "Flow",
    "Gradients",
    "Network",
    "Pixels",
    "describe_extractors",
    "make_extractor",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = name.lower() if name.lower() in EXTRACTORS else "base"
    return getattr(import_module(f"undistract.features.{module}"), name)

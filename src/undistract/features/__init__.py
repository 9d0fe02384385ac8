"""From frames to rows."""

from undistract.features.cells import Cells
from undistract.features.extractor import Extractor, Together
from undistract.features.flow import Flow
from undistract.features.gradients import Gradients
from undistract.features.network import Network
from undistract.features.pixels import Pixels
from undistract.features.spec import EXTRACTORS, make_extractor

__all__ = [
    "EXTRACTORS",
    "Cells",
    "Extractor",
    "Flow",
    "Gradients",
    "Network",
    "Pixels",
    "Together",
    "make_extractor",
]

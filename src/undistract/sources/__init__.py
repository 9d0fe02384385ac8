"""Sources of rows: files, arrays, images, videos and small data sets."""

from undistract.sources.discover import (
    discover_sources,
)
from undistract.sources.images import (
    image_source,
)
from undistract.sources.source import (
    Source,
)
from undistract.sources.windows import (
    windowed,
)

__all__ = ["Source", "discover_sources", "image_source", "windowed"]

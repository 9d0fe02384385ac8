"""`flow`: speed and direction of motion, cell by cell, from optical flow.

The flow is DIS (Kroeger, Timofte, Dai and Van Gool, ECCV 2016) in the implementation of OpenCV with its fast preset.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from undistract._arrays import Floats
from undistract._optional import import_optional
from undistract.features.base import Extractor, check_at_least, repeat_first
from undistract.features.grid import (
    Float32,
    Frames,
    Size,
    area_average,
    cell_map,
    check_pool,
    direction_maps,
    grey_frames,
    pooled,
    pooled_names,
)


@dataclass(frozen=True)
class Flow(Extractor):
    """Motion by direction and cell, weighted by speed, and the mean speed; in pixels of `size` per frame.

    Parameters
    ----------
    size : (width, height)
        Frames are averaged to this size first, so that speeds of all cameras are comparable.
    cells : (columns, rows)
    bins : int
        Directions, the first to the right, counted clockwise.
    pool : {"none", "max"}
        All cells, or the largest value over the cells for each kind.

    Examples
    --------
    >>> Flow(pool="max", bins=4).feature_names
    ('largest motion at 0°', ..., 'largest motion at 270°', 'largest speed')
    """

    size: Size = (240, 160)
    cells: Size = (16, 12)
    bins: int = 8
    pool: str = "none"

    def __post_init__(self) -> None:
        check_at_least(self, size=32, cells=1, bins=1)
        check_pool(self)

    @property
    def context(self) -> int:
        return 1

    @property
    def feature_names(self) -> tuple[str, ...]:
        kinds = [*(f"motion at {360 * bin / self.bins:g}°" for bin in range(self.bins)), "speed"]
        return pooled_names(self.cells, kinds, self.pool)

    def __call__(self, frames: Frames) -> Float32:
        small = area_average(grey_frames(frames), self.size)
        # DIS needs 8 bits. A single frame has no motion: compare it with itself.
        images = np.rint(small * 255).astype(np.uint8)
        if len(images) == 1:
            images = np.repeat(images, 2, axis=0)
        x, y = _optical_flow(images)
        kinds = direction_maps(x, y, self.bins, self.cells, turn=2 * np.pi)
        kinds.append(area_average(np.sqrt(x * x + y * y), self.cells))
        return repeat_first(pooled(kinds, self.pool), self.context)[: len(frames)]

    def feature_map(self, values: Floats) -> Floats | None:
        return None if self.pool == "max" else cell_map(values, self.cells)


def _optical_flow(images: Frames) -> tuple[Float32, Float32]:
    """Return the motion of each pixel from each frame to the next, along x and y, (n - 1, h, w) each."""
    cv2 = import_optional("cv2", extra="video", to="Optical flow")
    steps = []
    for before, after in pairwise(images):
        # A new object per pair: it would start from the previous flow, and rows would depend on the chunk.
        steps.append(cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_FAST).calc(before, after, None))
    flow = np.stack(steps)
    return np.ascontiguousarray(flow[..., 0]), np.ascontiguousarray(flow[..., 1])

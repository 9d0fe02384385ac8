"""`cells`: strength of change in small blocks of space and time.

|∂x|, |∂y| and |∂t| are averaged over blocks of 10 x 10 pixels and 5 frames (after Lu, Shi and Jia, ICCV 2013, who use
the gradients of every pixel of such blocks).

A row is a frame and contains all of its cells, cell by cell: ``rows.reshape(n, n_cells, n_kinds)``. ``pool=max`` keeps
only the largest value over all cells, for each kind. In a distance between complete frames, one small moving object is
lost among a hundred cells; a maximum keeps it, but loses its position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from undistract._arrays import Floats
from undistract.features.base import Extractor, check_at_least, repeat_first
from undistract.features.grid import (
    Float32,
    Frames,
    Size,
    area_average,
    cell_map,
    check_pool,
    gradients_xy,
    grey_frames,
    pooled,
    pooled_names,
)

MOVING = np.float32(0.02)  # share of full brightness, from one frame to the next: above the noise of a camera


@dataclass(frozen=True)
class Cells(Extractor):
    """Mean strength of change along x, y and time, in small blocks of space and time.

    Parameters
    ----------
    size : (width, height)
        Frames are averaged to this size first, so that cells of all cameras are comparable.
    cells : (columns, rows)
    frames : int
        Length of a block in frames, the current one included.
    pool : {"none", "max"}
        All cells, or the largest value over the cells for each kind.

    Examples
    --------
    >>> import numpy as np
    >>> still = np.zeros((8, 120, 160), np.uint8)
    >>> Cells()(still).shape, Cells(pool="max")(still).tolist()[0]
    ((8, 576), [0.0, 0.0, 0.0])
    """

    size: Size = (160, 120)
    cells: Size = (16, 12)
    frames: int = 5
    pool: str = "none"

    def __post_init__(self) -> None:
        check_at_least(self, size=2, cells=1, frames=1)
        check_pool(self)

    @property
    def context(self) -> int:
        return self.frames

    @property
    def feature_names(self) -> tuple[str, ...]:
        return pooled_names(self.cells, ["change along x", "change along y", "change in time"], self.pool)

    def __call__(self, frames: Frames) -> Float32:
        small = area_average(grey_frames(frames), self.size)  # (n, h, w)
        # A clip shorter than a block: repeat its last frame, and cut the extra rows off below.
        if len(small) <= self.context:
            small = np.concatenate([small, np.repeat(small[-1:], self.context + 1 - len(small), axis=0)])
        moved = np.abs(np.diff(small, axis=0))  # (n - 1, h, w)
        # Only moving edges count as change along x and y; static background does not.
        moving = moved > MOVING
        edges = [np.abs(slope[1:]) * moving for slope in gradients_xy(small)]
        kinds = [_mean_of_last(area_average(kind, self.cells), self.frames) for kind in (*edges, moved)]
        return repeat_first(pooled(kinds, self.pool), self.context)[: len(frames)]

    def feature_map(self, values: Floats) -> Floats | None:
        return None if self.pool == "max" else cell_map(values, self.cells)


def _mean_of_last(maps: Float32, count: int) -> Float32:
    """Average each map (n, rows, columns) with the count - 1 before it, (n - count + 1, rows, columns)."""
    # The order of summation does not depend on the start of the chunk; with a running sum it would.
    return np.asarray(sum(maps[k : len(maps) - count + 1 + k] for k in range(count)) / np.float32(count))

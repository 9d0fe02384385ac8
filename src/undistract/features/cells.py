"""`cells`: how strongly small blocks of space and time change.

|∂x|, |∂y| and |∂t| are averaged over blocks of 10 x 10 pixels and 5 frames (after Lu, Shi and Jia, ICCV 2013, who take
the gradients of every pixel of such blocks).

A row is a frame and holds all of its cells, one cell after the other, so that the strangest can be asked for:
``rows.reshape(n, n_cells, n_kinds)``. ``pool=max`` asks at once: the largest value over all cells, for each kind. A
distance between whole frames drowns one small mover among a hundred cells; a maximum does not, but forgets the place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from undistract.features.area import Float32, Frames, Size, area_average, grey_frames, slopes
from undistract.features.extractor import backfilled, check_at_least, spec_of
from undistract.features.maps import check_pool, pooled, pooled_names

MOVING = np.float32(0.02)  # of full brightness, from one frame to the next: more than noise


@dataclass(frozen=True)
class Cells:
    """Mean strength of change along x, y and time, in small blocks of space and time.

    Parameters
    ----------
    size : (width, height)
        Frames are averaged to it first, so that cells of all cameras are alike.
    cells : (columns, rows)
    frames : int
        How many frames a block spans, this one and those before.
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

    name = fingerprint = property(spec_of)
    grey = True
    image_shape = None

    @property
    def context(self) -> int:
        return self.frames

    @property
    def feature_names(self) -> tuple[str, ...]:
        return pooled_names(self.cells, ["change along x", "change along y", "change in time"], self.pool)

    def __call__(self, frames: Frames) -> Float32:
        small = area_average(grey_frames(frames), self.size)  # (n, h, w)
        if len(small) <= self.context:
            small = np.concatenate([small, np.repeat(small[-1:], self.context + 1 - len(small), axis=0)])
        moved = np.abs(np.diff(small, axis=0))  # (n - 1, h, w)
        # Only edges that move count as change along x and y; a wall does not.
        moving = moved > MOVING
        edges = [np.abs(slope[1:]) * moving for slope in slopes(small)]
        kinds = [_mean_of_last(area_average(kind, self.cells), self.frames) for kind in (*edges, moved)]
        return backfilled(pooled(kinds, self.pool), self.context)[: len(frames)]


def _mean_of_last(maps: Float32, count: int) -> Float32:
    """Average each map (n, rows, columns) with the count - 1 before it, (n - count + 1, rows, columns)."""
    # Summed in the same order wherever the chunk began; a running sum would not be.
    return np.asarray(sum(maps[k : len(maps) - count + 1 + k] for k in range(count)) / np.float32(count))

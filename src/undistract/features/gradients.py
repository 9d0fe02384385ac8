"""`gradients`: histograms of edge directions, after Dalal and Triggs (CVPR 2005)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from undistract._arrays import Floats
from undistract.features.base import Extractor, check_at_least
from undistract.features.grid import (
    Float32,
    Frames,
    Size,
    area_average,
    cell_map,
    cell_names,
    direction_maps,
    flatten_cells,
    gradients_xy,
    grey_frames,
)

FAINT_EDGE = np.float32(0.01)  # a cell with a weaker mean edge is noise, and is not scaled to length one


@dataclass(frozen=True)
class Gradients(Extractor):
    """Histograms of edge directions, cell by cell, each cell scaled to length one.

    Parameters
    ----------
    size : (width, height)
        Frames are averaged to this size first, so that edges of all cameras are comparable.
    cells : (columns, rows)
    bins : int
        Number of directions from 0 to 180 degrees; an edge between two counts partly in both.

    Examples
    --------
    >>> import numpy as np
    >>> frames = np.zeros((1, 16, 16), np.uint8)
    >>> frames[:, :, 8:] = 255  # a vertical edge: the gradient is along x, at 0 degrees
    >>> Gradients(size=(16, 16), cells=(1, 1), bins=4)(frames).round(1).tolist()
    [[1.0, 0.0, 0.0, 0.0]]
    """

    size: Size = (240, 160)
    cells: Size = (8, 6)
    bins: int = 8

    def __post_init__(self) -> None:
        check_at_least(self, size=3, cells=1, bins=1)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return cell_names(self.cells, [f"edges at {180 * bin / self.bins:g}°" for bin in range(self.bins)])

    def __call__(self, frames: Frames) -> Float32:
        grey = area_average(grey_frames(frames), self.size)
        along_x, along_y = gradients_xy(grey)
        histogram = flatten_cells(direction_maps(along_x, along_y, self.bins, self.cells, turn=np.pi))
        by_kind = histogram.reshape(len(grey), -1, self.bins)
        # L2 normalisation per cell with a small constant, so that flat cells stay near zero.
        length = np.sqrt(np.square(by_kind).sum(axis=2, keepdims=True) + FAINT_EDGE**2)
        return np.asarray((by_kind / length).reshape(len(grey), -1))

    def feature_map(self, values: Floats) -> Floats:
        return cell_map(values, self.cells)

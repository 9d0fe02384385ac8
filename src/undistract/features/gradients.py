"""`gradients`: where edges run which way, after Dalal and Triggs (CVPR 2005)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from undistract.features.area import Float32, Frames, Size, area_average, grey_frames, slopes
from undistract.features.extractor import check_at_least, spec_of
from undistract.features.maps import by_cell, cell_names, direction_maps

FAINT_EDGE = np.float32(0.01)  # a cell whose mean edge is weaker than this is noise, and stays small


@dataclass(frozen=True)
class Gradients:
    """Histograms of edge directions, cell by cell, each cell scaled to length one.

    Parameters
    ----------
    size : (width, height)
        Frames are averaged to it first, so that edges of all cameras are alike.
    cells : (columns, rows)
    bins : int
        Directions from 0 to 180 degrees; an edge between two counts in both.

    Examples
    --------
    >>> import numpy as np
    >>> frames = np.zeros((1, 16, 16), np.uint8)
    >>> frames[:, :, 8:] = 255  # one upright edge: the gradient runs along x, at 0 degrees
    >>> Gradients(size=(16, 16), cells=(1, 1), bins=4)(frames).round(1).tolist()
    [[1.0, 0.0, 0.0, 0.0]]
    """

    size: Size = (240, 160)
    cells: Size = (8, 6)
    bins: int = 8

    def __post_init__(self) -> None:
        check_at_least(self, size=3, cells=1, bins=1)

    name = fingerprint = property(spec_of)
    grey = True
    context = 0
    image_shape = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        return cell_names(self.cells, [f"edges at {180 * bin / self.bins:g}°" for bin in range(self.bins)])

    def __call__(self, frames: Frames) -> Float32:
        grey = area_average(grey_frames(frames), self.size)
        along_x, along_y = slopes(grey)
        histogram = by_cell(direction_maps(along_x, along_y, self.bins, self.cells, turn=np.pi))
        by_kind = histogram.reshape(len(grey), -1, self.bins)
        length = np.sqrt(np.square(by_kind).sum(axis=2, keepdims=True) + FAINT_EDGE**2)
        return np.asarray((by_kind / length).reshape(len(grey), -1))

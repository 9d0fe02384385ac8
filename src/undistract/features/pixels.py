"""`pixels`: a small grey image; each value is the mean of an area."""

from __future__ import annotations

from dataclasses import dataclass

from undistract._arrays import Floats
from undistract.features.base import Extractor, check_at_least
from undistract.features.grid import Float32, Frames, Size, area_average, grey_frames


@dataclass(frozen=True)
class Pixels(Extractor):
    """A small grey image; rows can be displayed as images.

    Parameters
    ----------
    size : (width, height)

    Examples
    --------
    >>> import numpy as np
    >>> frames = np.zeros((1, 40, 60), np.uint8)
    >>> frames[:, :20] = 255
    >>> Pixels(size=(2, 2))(frames).round(3).tolist()
    [[1.0, 1.0, 0.0, 0.0]]
    """

    size: Size = (24, 16)

    def __post_init__(self) -> None:
        check_at_least(self, size=1)

    @property
    def feature_names(self) -> tuple[str, ...]:
        width, height = self.size
        return tuple(f"pixel {x},{y}" for y in range(height) for x in range(width))

    @property
    def image_shape(self) -> tuple[int, int]:
        return self.size[1], self.size[0]

    def __call__(self, frames: Frames) -> Float32:
        return area_average(grey_frames(frames), self.size).reshape(len(frames), -1)

    def feature_map(self, values: Floats) -> Floats:
        return values.reshape(*values.shape[:-1], *self.image_shape)

"""`pixels`: a small grey picture, each value the mean of an area."""

from __future__ import annotations

from dataclasses import dataclass

from undistract.features.area import Float32, Frames, Size, area_average, grey_frames
from undistract.features.extractor import check_at_least, spec_of


@dataclass(frozen=True)
class Pixels:
    """A small grey picture; rows can be shown as one.

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

    name = fingerprint = property(spec_of)
    grey = True
    context = 0

    @property
    def feature_names(self) -> tuple[str, ...]:
        width, height = self.size
        return tuple(f"pixel {x},{y}" for y in range(height) for x in range(width))

    @property
    def image_shape(self) -> tuple[int, int]:
        return self.size[1], self.size[0]

    def __call__(self, frames: Frames) -> Float32:
        return area_average(grey_frames(frames), self.size).reshape(len(frames), -1)

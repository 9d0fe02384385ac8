"""Frames as numbers: grey, and averaged over areas.

An area average is a product with two small matrices, (rows, height) · frame · (width, columns): it takes any size
to any other, and a frame gives the same numbers in whatever company it comes.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from undistract.errors import InputError

Frames = npt.NDArray[np.uint8]
Float32 = npt.NDArray[np.float32]
Size = tuple[int, int]  # width, height, as people say it

LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # ITU-R BT.601


def grey_frames(frames: npt.ArrayLike) -> Float32:
    """Return frames (n, h, w[, 3]) of uint8 as grey values (n, h, w) from 0 to 1.

    Examples
    --------
    >>> grey_frames(np.full((1, 2, 2), 255, np.uint8)).tolist()
    [[[1.0, 1.0], [1.0, 1.0]]]
    """
    array = np.asarray(frames)
    colour = array.ndim == 4 and array.shape[3] == 3
    if array.dtype != np.uint8 or not (array.ndim == 3 or colour) or 0 in array.shape:
        raise InputError(
            f"Frames have shape {array.shape} and dtype {array.dtype}; expected (n, height, width) or "
            "(n, height, width, 3) of uint8. Give whole numbers from 0 to 255."
        )
    # One frame after the other: a picture is then the same however many stand beside it.
    grey = np.stack([frame @ LUMA for frame in array.astype(np.float32)]) if colour else array.astype(np.float32)
    return np.asarray(grey / np.float32(255))


def area_average(images: Float32, size: Size) -> Float32:
    """Average images (..., h, w) over `size` = (columns, rows) equal areas; a pixel on a border counts in parts.

    Examples
    --------
    >>> area_average(np.array([[0, 2, 4, 6]], np.float32), (2, 1)).tolist()
    [[1.0, 5.0]]
    """
    columns, rows = size
    down, across = _shares(images.shape[-2], rows), _shares(images.shape[-1], columns)
    return np.asarray(down @ images @ across.T)


@lru_cache(maxsize=64)
def _shares(length: int, parts: int) -> Float32:
    """Return how much each pixel counts in each part, (parts, length); every row sums to one."""
    edges = np.arange(parts + 1) * (length / parts)
    pixels = np.arange(length)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    shares = np.maximum(overlap, 0.0) * (parts / length)
    return np.ascontiguousarray(shares, dtype=np.float32)


def slopes(images: Float32) -> tuple[Float32, Float32]:
    """Return differences of neighbours along x and y, (n, h, w) each; zero at the borders."""
    along_x, along_y = np.zeros_like(images), np.zeros_like(images)
    along_x[:, :, 1:-1] = (images[:, :, 2:] - images[:, :, :-2]) / 2
    along_y[:, 1:-1] = (images[:, 2:] - images[:, :-2]) / 2
    return along_x, along_y

"""Grey frames, averages over areas, and maps over the cells of a frame.

An area average is a product with two small matrices, (rows, height) · frame · (width, columns). It converts any size to
any other, and the result for a frame does not depend on the other frames in the chunk.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract._arrays import Floats
from undistract.errors import InputError

Frames = npt.NDArray[np.uint8]
Float32 = npt.NDArray[np.float32]
Size = tuple[int, int]  # width, height
POOLS = ("none", "max")

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
            "(n, height, width, 3) of uint8. Pass integers from 0 to 255."
        )
    grey = array.astype(np.float32)
    if colour:
        # Frame by frame: BLAS may round differently for another number of frames.
        grey = np.stack([frame @ LUMA for frame in grey])
    return np.asarray(grey / np.float32(255))


def area_average(images: Float32, size: Size) -> Float32:
    """Average images (..., h, w) over `size` = (columns, rows) equal areas; a pixel on a border counts partly in both.

    Examples
    --------
    >>> area_average(np.array([[0, 2, 4, 6]], np.float32), (2, 1)).tolist()
    [[1.0, 5.0]]
    """
    columns, rows = size
    down = _shares(images.shape[-2], rows)
    across = _shares(images.shape[-1], columns)
    return np.asarray(down @ images @ across.T)


@lru_cache(maxsize=64)
def _shares(length: int, parts: int) -> Float32:
    """Return the weight of each pixel in each part, (parts, length); every row sums to one."""
    # Overlap of each pixel [p, p + 1] with each part, divided by the length of a part.
    edges = np.arange(parts + 1) * (length / parts)
    pixels = np.arange(length)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    shares = np.maximum(overlap, 0.0) * (parts / length)
    return np.ascontiguousarray(shares, dtype=np.float32)


def gradients_xy(images: Float32) -> tuple[Float32, Float32]:
    """Return central differences along x and y, (n, h, w) each; zero at the borders."""
    along_x = np.zeros_like(images)
    along_y = np.zeros_like(images)
    along_x[:, :, 1:-1] = (images[:, :, 2:] - images[:, :, :-2]) / 2
    along_y[:, 1:-1] = (images[:, 2:] - images[:, :-2]) / 2
    return along_x, along_y


def cell_names(cells: Size, kinds: list[str]) -> tuple[str, ...]:
    """Return the names of features in cell order, row by row, with the kinds of one cell side by side.

    Examples
    --------
    >>> cell_names((2, 1), ["speed"])
    ('speed at 0,0', 'speed at 1,0')
    """
    columns, rows = cells
    return tuple(f"{kind} at {column},{row}" for row in range(rows) for column in range(columns) for kind in kinds)


def flatten_cells(kinds: list[Float32]) -> Float32:
    """Return maps (n, rows, columns), one per kind, as rows (n, rows · columns · kinds), cell by cell."""
    return np.stack(kinds, axis=-1).reshape(len(kinds[0]), -1)


def direction_maps(x: Float32, y: Float32, bins: int, cells: Size, *, turn: float) -> list[Float32]:
    """Return the mean length of vectors (n, h, w) per cell and direction: one map (n, rows, columns) per bin.

    `turn` is π if opposite directions are equivalent, else 2π. A vector between two bins counts partly in both.
    """
    # Linear interpolation between the two nearest bins (Dalal and Triggs), so that a small rotation is a small change.
    length = np.sqrt(x * x + y * y)
    position = np.arctan2(y, x) * np.float32(bins / turn) % np.float32(bins)  # 0 ... bins, in bins
    lower = np.floor(position)
    upper_share = position - lower
    lower = lower.astype(np.int16) % bins
    upper = (lower + 1) % bins
    low = length * (1 - upper_share)
    high = length * upper_share
    return [area_average(low * (lower == bin) + high * (upper == bin), cells) for bin in range(bins)]


def pooled(kinds: list[Float32], pool: str) -> Float32:
    """Return maps (n, rows, columns) cell by cell, or the maximum of each."""
    if pool == "max":
        return np.stack([kind.max(axis=(1, 2)) for kind in kinds], axis=1)
    return flatten_cells(kinds)


def pooled_names(cells: Size, kinds: list[str], pool: str) -> tuple[str, ...]:
    """Return the names of the features of `pooled`."""
    if pool == "max":
        return tuple(f"largest {kind}" for kind in kinds)
    return cell_names(cells, kinds)


def check_pool(extractor: Any) -> None:
    """Raise an error for an unknown kind of pooling."""
    if extractor.pool not in POOLS:
        raise InputError(f"pool must be one of {', '.join(POOLS)}, got {extractor.pool}.")


def cell_map(values: Floats, cells: Size) -> Floats:
    """Return the sum of values (..., d) over the kinds of each cell, (..., rows, columns)."""
    columns, rows = cells
    return np.asarray(values.reshape(*values.shape[:-1], rows, columns, -1).sum(axis=-1))

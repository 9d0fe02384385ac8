"""What is laid over a frame: a map of what counts in it; or taken off it: the light that was ignored."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from undistract.arrays import Floats
from undistract.report.plots import AMBER
from undistract.report.png import Picture, colour

THICKEST = 0.8  # the frame shines through


def overlaid(frame: Picture, weights: Floats, top: float, tint: str = AMBER[0]) -> Picture:
    """Lay a map over a frame, which turns grey: clear at zero, the tint at `top`.

    Parameters
    ----------
    frame : (height, width, 3) array of uint8
    weights : (rows, columns) array
    top : float
    tint : str
        A colour such as #E69F00.

    Examples
    --------
    >>> overlaid(np.zeros((1, 2, 3), np.uint8), np.array([[0.0, 5.0]]), 5.0).tolist()
    [[[0, 0, 0], [184, 127, 0]]]
    """
    grey = frame.mean(axis=2, keepdims=True)
    share = THICKEST * np.clip(enlarged(weights / (top or 1.0), frame.shape[:2]), 0.0, 1.0)[..., None]
    mixed: Picture = np.rint((1.0 - share) * grey + share * colour(tint)).astype(np.uint8)
    return mixed


def taken_off(frame: Picture, taken: Floats) -> Picture:
    """Take a smooth part of its brightness, 0 to 1, off a frame.

    Parameters
    ----------
    frame : (height, width, 3) array of uint8
    taken : (rows, columns) array
        What the frame averaged over areas has too much, from -1 to 1.

    Examples
    --------
    >>> taken_off(np.full((1, 2, 3), 100, np.uint8), np.array([[0.2]])).tolist()
    [[[49, 49, 49], [49, 49, 49]]]
    """
    left = frame - 255.0 * enlarged(taken, frame.shape[:2])[..., None]
    return np.rint(np.clip(left, 0.0, 255.0)).astype(np.uint8)


def enlarged(values: Floats, size: tuple[int, int]) -> Floats:
    """Enlarge a map (rows, columns) to `size` = (height, width), straight from the middle of one area to the next.

    Examples
    --------
    >>> enlarged(np.array([[0.0, 1.0]]), (1, 4)).tolist()
    [[0.0, 0.25, 0.75, 1.0]]
    """
    down, across = (_between(length, parts) for length, parts in zip(size, values.shape, strict=True))
    return np.asarray(down @ values @ across.T)


@lru_cache(maxsize=64)
def _between(length: int, parts: int) -> Floats:
    """Return how much each of `parts` areas counts in each pixel, (length, parts); every row sums to one."""
    place = np.clip((np.arange(length) + 0.5) * parts / length - 0.5, 0, parts - 1)  # in areas, from their middles
    return np.asarray(np.maximum(0.0, 1.0 - np.abs(place[:, None] - np.arange(parts))))

"""Nuisances of characters: light, a slant, the width of the pen; each is drawn for every image."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import grey_dilation, grey_erosion

from undistract._arrays import Rows
from undistract.datasets.illumination import add_illumination

Images = NDArray[np.float32]  # (n, height, width), 0 is paper, 1 is ink
Distortion = Callable[[Images, np.random.Generator], Images]

AMPLITUDE = 0.5  # of the light, as in the paper's experiment
SLANT = 0.35  # columns to the side for each row up; the standard deviation


def light(images: Images, rng: np.random.Generator) -> Images:
    """Let light fall on every image."""
    rows, _ = add_illumination(images, 1.0, AMPLITUDE, rng)
    return rows.reshape(images.shape)


def slant(images: Images, rng: np.random.Generator) -> Images:
    """Push every row of an image to the side, in proportion to its height above the middle."""
    n, height, width = images.shape
    slope = rng.normal(0.0, SLANT, size=n)
    above = (height - 1) / 2 - np.arange(height)
    place = np.arange(width) - slope[:, None, None] * above[:, None]  # (n, height, width), where a pixel comes from
    left = np.floor(place).astype(int)
    share = (place - left).astype(np.float32)
    return (1 - share) * _at(images, left) + share * _at(images, left + 1)


def pen(images: Images, rng: np.random.Generator) -> Images:
    """Make the strokes of every image wider or thinner, by up to one pixel on each side."""
    amount = rng.uniform(-1.0, 1.0, size=len(images)).astype(np.float32)[:, None, None]
    wide, thin = (change(images, size=(1, 3, 3)) for change in (grey_dilation, grey_erosion))
    other = np.where(amount > 0, wide, thin)
    mixed: Images = images + np.abs(amount) * (other - images)
    return mixed


def _at(images: Images, column: NDArray[np.intp]) -> Rows:
    """Read pixels by their column; beyond the edge is paper."""
    n, height, width = images.shape
    found = images[np.arange(n)[:, None, None], np.arange(height)[:, None], np.clip(column, 0, width - 1)]
    return np.where((column >= 0) & (column < width), found, np.float32(0))


DISTORTIONS: dict[str, Distortion] = {"light": light, "slant": slant, "pen": pen}

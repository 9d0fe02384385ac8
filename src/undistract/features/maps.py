"""Maps over the cells of a frame, and how they become features: cell by cell, or the largest of all cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from undistract.errors import InputError
from undistract.features.area import Float32, Size, area_average

POOLS = ("none", "max")


def cell_names(cells: Size, kinds: list[str]) -> tuple[str, ...]:
    """Name features laid out cell by cell, row by row, the kinds of one cell side by side.

    Examples
    --------
    >>> cell_names((2, 1), ["speed"])
    ('speed at 0,0', 'speed at 1,0')
    """
    columns, rows = cells
    return tuple(f"{kind} at {column},{row}" for row in range(rows) for column in range(columns) for kind in kinds)


def by_cell(kinds: list[Float32]) -> Float32:
    """Lay maps (n, rows, columns), one per kind, out as rows (n, rows · columns · kinds), cell by cell."""
    return np.stack(kinds, axis=-1).reshape(len(kinds[0]), -1)


def direction_maps(x: Float32, y: Float32, bins: int, cells: Size, *, turn: float) -> list[Float32]:
    """Average the length of vectors (n, h, w) over cells, by direction: one map (n, rows, columns) per bin.

    `turn` is π where a direction and its opposite are the same, 2π where not. A vector between two bins counts in both.
    """
    length = np.sqrt(x * x + y * y)
    place = np.arctan2(y, x) * np.float32(bins / turn) % np.float32(bins)  # 0 ... bins, in bins
    lower = np.floor(place)
    upper_share = place - lower
    lower = lower.astype(np.int16) % bins
    upper = (lower + 1) % bins
    low, high = length * (1 - upper_share), length * upper_share
    return [area_average(low * (lower == bin) + high * (upper == bin), cells) for bin in range(bins)]


def pooled(kinds: list[Float32], pool: str) -> Float32:
    """Lay maps (n, rows, columns) out cell by cell, or keep the largest value of each."""
    return np.stack([kind.max(axis=(1, 2)) for kind in kinds], axis=1) if pool == "max" else by_cell(kinds)


def pooled_names(cells: Size, kinds: list[str], pool: str) -> tuple[str, ...]:
    """Name what `pooled` lays out."""
    return tuple(f"largest {kind}" for kind in kinds) if pool == "max" else cell_names(cells, kinds)


def check_pool(extractor: Any) -> None:
    """Refuse a way of pooling that does not exist."""
    if extractor.pool not in POOLS:
        raise InputError(f"pool={extractor.pool} was given; expected one of {', '.join(POOLS)}.")

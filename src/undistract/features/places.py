"""Where in a frame features lie: values of features, laid out as a map over the frame."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from undistract.arrays import Floats
from undistract.features.area import area_average


def place_map(extractor: Any, values: Floats) -> Floats | None:
    """Sum values, one per feature, by their place in the frame.

    Parameters
    ----------
    extractor : Extractor
    values : (..., d) array
        Such as what each feature carried of a score.

    Returns
    -------
    (..., rows, columns) array, or None where no feature has a place
        Several extractors side by side share the finest of their maps; the sum stays the same.

    Examples
    --------
    >>> from undistract.features import make_extractor
    >>> place_map(make_extractor("cells(cells=2x1)"), np.array([1.0, 1.0, 1.0, 0.0, 0.0, 5.0]))
    array([[3., 5.]])
    >>> place_map(make_extractor("cells(pool=max)"), np.ones(3)) is None
    True
    """
    if hasattr(extractor, "parts"):
        pieces = zip(extractor.parts, np.split(values, _bounds(extractor), axis=-1), strict=True)
        found = [place_map(part, some) for part, some in pieces]
        return _joined([one for one in found if one is not None])
    if extractor.image_shape is not None:
        return values.reshape(*values.shape[:-1], *extractor.image_shape)
    if not hasattr(extractor, "cells") or getattr(extractor, "pool", "none") != "none":
        return None
    columns, rows = extractor.cells
    return np.asarray(values.reshape(*values.shape[:-1], rows, columns, -1).sum(axis=-1))


@lru_cache(maxsize=16)
def _bounds(extractor: Any) -> list[int]:
    """Say where the features of each part end, but the last; a network must be run to know."""
    return list(accumulate(len(part.feature_names) for part in extractor.parts))[:-1]


def _joined(maps: list[Floats]) -> Floats | None:
    if len(maps) < 2:
        return maps[0] if maps else None
    rows, columns = (max(one.shape[axis] for one in maps) for axis in (-2, -1))
    fine = [area_average(one.astype(np.float32), (columns, rows)) for one in maps]
    shares = [one.shape[-2] * one.shape[-1] / (rows * columns) for one in maps]  # of a coarse area in a fine one
    return np.asarray(sum(map(np.multiply, fine, shares)), dtype=np.float64)

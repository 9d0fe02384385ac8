"""Where in a frame features lie: values of features, laid out as a map over the frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from undistract.arrays import Floats
from undistract.features.area import area_average


def place_map(extractor: Any, values: Floats) -> Floats | None:
    """Sum values, one per feature, by their place in the frame.

    Parameters
    ----------
    extractor : Extractor
    values : (d,) array
        Such as what each feature carried of a score.

    Returns
    -------
    (rows, columns) array, or None where no feature has a place
        Several extractors side by side share the finest of their maps; the sum stays the same.

    Examples
    --------
    >>> from undistract.features import make_extractor
    >>> place_map(make_extractor("cells(cells=2x1)"), np.array([1.0, 1.0, 1.0, 0.0, 0.0, 5.0]))
    array([[3., 5.]])
    >>> place_map(make_extractor("cells(pool=max)"), np.ones(3)) is None
    True
    """
    maps = [found for found in _maps(extractor, values) if found is not None]
    if not maps:
        return None
    rows, columns = (max(one.shape[axis] for one in maps) for axis in (0, 1))
    fine = [area_average(one.astype(np.float32), (columns, rows)) * (one.size / (rows * columns)) for one in maps]
    return maps[0] if len(maps) == 1 else np.asarray(sum(fine), dtype=np.float64)


def _maps(extractor: Any, values: Floats) -> list[Floats | None]:
    """Return one map per extractor; None for those that have none."""
    parts = getattr(extractor, "parts", None)
    if parts is not None:
        bounds = np.cumsum([len(part.feature_names) for part in parts])[:-1]
        return [place_map(part, some) for part, some in zip(parts, np.split(values, bounds), strict=True)]
    if extractor.image_shape is not None:
        return [values.reshape(extractor.image_shape)]
    if not hasattr(extractor, "cells") or getattr(extractor, "pool", "none") != "none":
        return [None]
    columns, rows = extractor.cells
    return [values.reshape(rows, columns, -1).sum(axis=2)]

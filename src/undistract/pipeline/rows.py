"""Rows as a person sees them: a video frame, an image, a window of a time series, or a table row."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any, Literal

from undistract._arrays import Floats, Rows
from undistract.pipeline.model import Model
from undistract.report.data import CaptionedImage, image_pictures
from undistract.sources.source import Source
from undistract.sources.videos import VIDEOS
from undistract.sources.windows import names_in_window

RowType = Literal["video", "image", "window", "row"]


def row_type(model: Model, source: Source) -> RowType:
    """Return the type of the rows of a source: "video", "image", "window" (of a time series) or "row".

    Examples
    --------
    >>> from undistract import Focus
    >>> row_type(Model(Focus()), Source("match", [[1.0, 2.0]], origin="match.mp4"))
    'video'
    >>> row_type(Model(Focus()), Source("monday", [[1.0, 2.0]]))
    'row'
    """
    path = None if source.origin is None else Path(source.origin)
    if path is not None and path.suffix.lower() in VIDEOS:
        return "video"
    if model.image_shape is not None or (path is not None and path.is_dir()):
        return "image"
    return "window" if model.reading.window > 1 else "row"


def feature_names(model: Model) -> tuple[str, ...]:
    """Return names of the features for people; without names, the column number and in windows the lag.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract import Focus, ReadOptions
    >>> rng = np.random.default_rng(0)
    >>> focus = Focus().fit_groups(rng.normal(size=4) + rng.normal(size=(50, 4)) for day in range(9))
    >>> feature_names(Model(focus)), feature_names(Model(focus, reading=ReadOptions(window=2)))
    (('x0', 'x1', 'x2', 'x3'), ('x0 1 before', 'x1 1 before', 'x0', 'x1'))
    """
    names: Any = model.feature_names
    if names is None:
        names = getattr(model.focus, "feature_names_in_", None)
    if names is not None:
        return tuple(map(str, names))
    window = model.reading.window
    n_columns = model.focus.n_features_in_ // window
    return tuple(names_in_window([f"x{column}" for column in range(n_columns)], window))


def frame_shape(model: Model, n_features: int) -> tuple[int, ...] | None:
    """Return the image shape of a row of `n_features`, in windows that of the last frame; None if it is no image.

    Examples
    --------
    >>> from undistract import Focus, ReadOptions
    >>> frame_shape(Model(Focus(), reading=ReadOptions("pixels(size=3x2)", window=5)), 30)
    (2, 3)
    >>> frame_shape(Model(Focus()), 30) is None
    True
    """
    if model.image_shape is not None:
        return model.image_shape
    extractor = model.reading.extractor()
    if extractor is None or extractor.image_shape is None:
        return None
    shape: tuple[int, ...] = extractor.image_shape
    if prod(shape) * model.reading.window != n_features:
        return None
    return shape


def last_image(values: Rows, shape: tuple[int, ...]) -> Rows:
    """Reshape a row (d,) to an image, (height, width) or (height, width, 3); of a window take the last frame.

    Examples
    --------
    >>> import numpy as np
    >>> last_image(np.arange(8.0), (2, 2)).tolist()
    [[4.0, 5.0], [6.0, 7.0]]
    """
    image: Rows = values[len(values) - prod(shape) :].reshape(shape)
    if image.ndim == 3 and shape[2] != 3:
        image = image.mean(axis=2)
    return image


def frame_map(model: Model, values: Floats) -> Floats | None:
    """Map values (..., d) to the cells of the frame, summed over a window; None if features have no position.

    Examples
    --------
    >>> from undistract import Focus, ReadOptions
    >>> import numpy as np
    >>> frame_map(Model(Focus(), reading=ReadOptions("pixels(size=2x1)", window=2)), np.array([1.0, 2.0, 3.0, 4.0]))
    array([[4., 6.]])
    """
    extractor = model.reading.extractor()
    if extractor is None:
        return None
    per_frame = values.reshape(*values.shape[:-1], model.reading.window, -1).sum(axis=-2)
    feature_map: Floats | None = extractor.feature_map(per_frame)
    return feature_map


def row_pictures(model: Model, row: Rows) -> tuple[CaptionedImage, ...]:
    """Return pictures of a row that is an image: before, after, removed; empty if it is no image.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract import Focus
    >>> row_pictures(Model(Focus()), np.ones(3))
    ()
    """
    shape = frame_shape(model, len(row))
    if shape is None:
        return ()
    clean = model.focus.denoise(row[None, :])[0]
    return image_pictures(*(last_image(values, shape) for values in (row, clean)))

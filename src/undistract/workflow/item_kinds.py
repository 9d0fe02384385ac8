"""What a row is to a person: a frame of a video, an image, a window of a time series, or a row of a table."""

from __future__ import annotations

from math import prod
from pathlib import Path

from undistract.arrays import Floats, Rows
from undistract.features.places import place_map
from undistract.sets.feature_set import FeatureSet
from undistract.sets.paths import VIDEOS
from undistract.sets.windows import names_in_window
from undistract.workflow.model import Model


def kind_of(model: Model, one: FeatureSet) -> str:
    """Say what a row of a set is to a person: of a "video", an "image", a "window" of a time series, or a "row".

    Examples
    --------
    >>> from undistract import Focus
    >>> kind_of(Model(Focus()), FeatureSet("match", [[1.0, 2.0]], source="match.mp4"))
    'video'
    >>> kind_of(Model(Focus()), FeatureSet("monday", [[1.0, 2.0]]))
    'row'
    """
    source = None if one.source is None else Path(one.source)
    if source is not None and source.suffix.lower() in VIDEOS:
        return "video"
    if model.image_shape is not None or (source is not None and source.is_dir()):
        return "image"
    return "window" if model.reading.window > 1 else "row"


def feature_names(model: Model) -> tuple[str, ...]:
    """Name the features for people; where a model knows no names, by column, and in windows by how long before.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract import Focus, Reading
    >>> rng = np.random.default_rng(0)
    >>> focus = Focus().fit_sets(rng.normal(size=4) + rng.normal(size=(50, 4)) for day in range(9))
    >>> feature_names(Model(focus)), feature_names(Model(focus, reading=Reading(window=2)))
    (('x0', 'x1', 'x2', 'x3'), ('x0 1 before', 'x1 1 before', 'x0', 'x1'))
    """
    known = model.feature_names if model.feature_names is not None else getattr(model.focus, "feature_names_in_", None)
    if known is not None:
        return tuple(map(str, known))
    n_features, window = model.focus.n_features_in_, model.reading.window
    return tuple(names_in_window([f"x{place}" for place in range(n_features // window)], window))


def frame_shape(model: Model, n_features: int) -> tuple[int, ...] | None:
    """Return the shape of the image that a row of so many features is, or of the last one in a window of them.

    Examples
    --------
    >>> from undistract import Focus, Reading
    >>> frame_shape(Model(Focus(), reading=Reading("pixels(size=3x2)", window=5)), 30)
    (2, 3)
    >>> frame_shape(Model(Focus()), 30) is None
    True
    """
    if model.image_shape is not None:
        return model.image_shape
    extractor = model.reading.extractor()
    shape: tuple[int, ...] | None = None if extractor is None else extractor.image_shape
    return shape if shape is not None and prod(shape) * model.reading.window == n_features else None


def last_image(values: Rows, shape: tuple[int, ...]) -> Rows:
    """Lay a row (d,) out as an image, (height, width) or (height, width, 3); of a window of images the last.

    Examples
    --------
    >>> import numpy as np
    >>> last_image(np.arange(8.0), (2, 2)).tolist()
    [[4.0, 5.0], [6.0, 7.0]]
    """
    image = values[len(values) - prod(shape) :].reshape(shape)
    return image.mean(axis=2) if image.ndim == 3 and shape[2] != 3 else image


def frame_map(model: Model, values: Floats) -> Floats | None:
    """Lay values (..., d) out over the frame; those of a window are summed up. None where features have no place.

    Examples
    --------
    >>> from undistract import Focus, Reading
    >>> import numpy as np
    >>> frame_map(Model(Focus(), reading=Reading("pixels(size=2x1)", window=2)), np.array([1.0, 2.0, 3.0, 4.0]))
    array([[4., 6.]])
    """
    extractor = model.reading.extractor()
    if extractor is None:
        return None
    return place_map(extractor, values.reshape(*values.shape[:-1], model.reading.window, -1).sum(axis=-2))

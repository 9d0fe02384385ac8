"""Extractors turn frames into rows. They are small frozen objects that are described by a specification string.

    "pixels(size=24x16)+flow(cells=8x6)"  ─► make_extractor ─►  extractor(frames (n, h, w[, 3])) = rows (n, d)

A row may use earlier frames (`context`). The first rows of a clip, which lack them, repeat the first complete row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from undistract._arrays import Floats
from undistract.errors import InputError
from undistract.features.grid import Float32, Frames, area_average

MAX_SETTING = 2**13  # pixels of a side, cells, bins, frames: a specification may come from an untrusted model file


class Extractor(ABC):
    """Base class of all extractors, which are frozen dataclasses; the fields are the settings.

    Attributes
    ----------
    name : str
        Specification from which `make_extractor` makes the same extractor.
    fingerprint : str
        Identifies everything the rows depend on: the name, and the content of a model file if there is one.
    grey : bool
        Whether grey frames are enough.
    context : int
        Number of earlier frames that a row uses.
    feature_names : tuple of str
        One per feature.
    image_shape : (height, width) or None
        Shape of a row as an image, if it is one.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.features import Pixels
    >>> extract: Extractor = Pixels(size=(3, 2))
    >>> extract(np.zeros((5, 20, 30), np.uint8)).shape, extract.name, extract.image_shape
    ((5, 6), 'pixels(size=3x2)', (2, 3))
    """

    grey: bool = True

    @property
    def name(self) -> str:
        settings = ",".join(f"{field.name}={format_value(getattr(self, field.name))}" for field in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__.lower()}({settings})"

    @property
    def fingerprint(self) -> str:
        return self.name

    @property
    def context(self) -> int:
        return 0

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]: ...

    @property
    def image_shape(self) -> tuple[int, int] | None:
        return None

    @abstractmethod
    def __call__(self, frames: Frames) -> Float32:
        """Turn frames (n, h, w[, 3]) of uint8 into rows (n, d) of float32."""

    def feature_map(self, values: Floats) -> Floats | None:
        """Return the sum of values (..., d), one per feature, by position in the frame.

        Parameters
        ----------
        values : (..., d) array
            For example the contribution of each feature to a score.

        Returns
        -------
        (..., rows, columns) array, or None if the features have no position
        """
        return None


@dataclass(frozen=True)
class Concat(Extractor):
    """Several extractors, with their features side by side.

    Examples
    --------
    >>> from undistract.features import make_extractor
    >>> both = make_extractor("pixels(size=3x2)+gradients(cells=1x1,bins=4)")
    >>> both(np.zeros((5, 20, 30), np.uint8)).shape
    (5, 10)
    """

    parts: tuple[Extractor, ...]

    @property
    def name(self) -> str:
        return "+".join(part.name for part in self.parts)

    @property
    def fingerprint(self) -> str:
        return "+".join(part.fingerprint for part in self.parts)

    @property
    def grey(self) -> bool:  # type: ignore[override]
        return all(part.grey for part in self.parts)

    @property
    def context(self) -> int:
        return max(part.context for part in self.parts)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.feature_names)

    def __call__(self, frames: Frames) -> Float32:
        return np.hstack([part(frames) for part in self.parts])

    @cached_property
    def _bounds(self) -> list[int]:
        """Where the features of each part end, except the last; cached, because a network must be run."""
        return list(accumulate(len(part.feature_names) for part in self.parts))[:-1]

    def feature_map(self, values: Floats) -> Floats | None:
        """Return the sum of the maps of all parts, at the finest of their resolutions."""
        split = np.split(values, self._bounds, axis=-1)
        all_maps = (part.feature_map(part_values) for part, part_values in zip(self.parts, split, strict=True))
        maps = [part_map for part_map in all_maps if part_map is not None]
        if len(maps) < 2:
            return next(iter(maps), None)
        rows = max(part_map.shape[-2] for part_map in maps)
        columns = max(part_map.shape[-1] for part_map in maps)
        total: Any = 0
        for part_map in maps:
            # Averaging repeats a coarse value in each fine cell; the share keeps the sum the same.
            share = part_map.shape[-2] * part_map.shape[-1] / (rows * columns)
            total = total + share * area_average(part_map.astype(np.float32), (columns, rows))
        return np.asarray(total, dtype=np.float64)


def format_value(value: Any) -> str:
    """Return one setting as it is written in a specification."""
    if isinstance(value, tuple) and len(value) == 2:  # a size
        return "x".join(map(str, value))
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    text = str(value)
    if set(text) & set(",()+="):
        return f'"{text}"'
    return text


def repeat_first(rows: Float32, context: int) -> Float32:
    """Repeat the first row for the first `context` frames, which lack context; `rows` start at frame `context`.

    Zeros would make the start of every clip the same, and different from all other rows.
    """
    return np.concatenate([np.repeat(rows[:1], context, axis=0), rows])


def check_at_least(extractor: Extractor, **minimum: int) -> None:
    """Raise an error for settings below their minimum, or too large for any memory."""
    for setting, bound in minimum.items():
        value = getattr(extractor, setting)
        if int(np.min(value)) < bound or int(np.max(value)) > MAX_SETTING:
            raise InputError(
                f"{type(extractor).__name__.lower()}: {setting} must be from {bound} to {MAX_SETTING}, got "
                f"{format_value(value):.80}."
            )

"""Extractors: frames in, rows out; small frozen objects with a name that makes them again.

    "pixels(size=24x16)+flow(cells=8x6)"  ─► make_extractor ─►  extractor(frames (n, h, w[, 3])) = rows (n, d)

A row may look at earlier frames (`context`). The first rows of a clip, which have none, repeat the first that has.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from undistract.errors import InputError
from undistract.features.area import Float32, Frames

LARGEST = 2**13  # pixels of a side, cells, bins, frames: a spec may come with a file of others

__all__ = ["Extractor", "Together", "backfilled", "check_at_least", "spec_of", "written"]


class Extractor(Protocol):
    """Anything that turns frames into rows.

    Attributes
    ----------
    name : str
        A spec that `make_extractor` turns into the same extractor.
    fingerprint : str
        What the rows depend on: the name, and the content of a model file where there is one.
    grey : bool
        Whether grey frames are enough.
    context : int
        How many earlier frames a row looks at.
    feature_names : tuple of str
        One per feature.
    image_shape : (height, width) or None
        Where a row is a picture.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.features import Pixels
    >>> extract: Extractor = Pixels(size=(3, 2))
    >>> extract(np.zeros((5, 20, 30), np.uint8)).shape, extract.name, extract.image_shape
    ((5, 6), 'pixels(size=3x2)', (2, 3))
    """

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def grey(self) -> bool: ...
    @property
    def context(self) -> int: ...
    @property
    def feature_names(self) -> tuple[str, ...]: ...
    @property
    def image_shape(self) -> tuple[int, int] | None: ...
    def __call__(self, frames: Frames) -> Float32:
        """Turn frames (n, h, w[, 3]) of uint8 into rows (n, d) of float32."""


@dataclass(frozen=True)
class Together:
    """Several extractors side by side.

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
    def grey(self) -> bool:
        return all(part.grey for part in self.parts)

    @property
    def context(self) -> int:
        return max(part.context for part in self.parts)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.feature_names)

    @property
    def image_shape(self) -> None:
        return None

    def __call__(self, frames: Frames) -> Float32:
        return np.hstack([part(frames) for part in self.parts])


def spec_of(extractor: Any) -> str:
    """Write an extractor down with all of its settings: ``name(setting=value,...)``."""
    settings = ",".join(f"{field.name}={written(getattr(extractor, field.name))}" for field in fields(extractor))
    return f"{type(extractor).__name__.lower()}({settings})"


def written(value: Any) -> str:
    """Write one setting as a spec does."""
    if isinstance(value, tuple):
        return ("x" if len(value) == 2 else "/").join(map(str, value))  # a size, or three numbers
    text = str(value)
    return f'"{text}"' if set(text) & set(",()+=") else text


def backfilled(rows: Float32, context: int) -> Float32:
    """Let the first rows, which lack context, repeat the first that has it; `rows` start at frame `context`.

    Zeros would make the start of every clip look alike, and unlike all else.
    """
    return np.concatenate([np.repeat(rows[:1], context, axis=0), rows])


def check_at_least(extractor: Any, **least: int) -> None:
    """Refuse settings below their least value, and those that no memory would hold."""
    for setting, bound in least.items():
        value = getattr(extractor, setting)
        parts = value if isinstance(value, tuple) else (value,)
        if min(parts) < bound or max(parts) > LARGEST:
            raise InputError(
                f"{type(extractor).__name__.lower()}: {setting}={written(value):.80} was given; it is at least {bound} "
                f"and at most {LARGEST}."
            )

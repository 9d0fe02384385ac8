"""Values that are a little off: of the same kind, so that nothing breaks, and only what states something notices."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from itertools import islice
from types import GeneratorType
from typing import Any

import numpy as np


class Nudges:
    """Lets values be a little off, and remembers whether there was anything to change."""

    def __init__(self) -> None:
        self.asked = self.changed = 0

    def nudged(self, value: Any, at: int = -1) -> Any:
        """Return the value a little off, at its end or at its beginning."""
        self.asked += 1
        found = off(value, at)
        self.changed += found is not value
        return found

    def without_first(self, values: Any) -> Iterator[Any]:
        """Go through values, but for the first."""
        self.asked, self.changed = self.asked + 1, self.changed + 1
        iterator = iter(values)
        next(iterator, None)
        return iterator


def off(value: Any, at: int = -1) -> Any:
    """Return a value of the same kind that is a little off; the value itself where its kind is not known.

    Of what has parts the last one that can be is changed, or the first (`at=0`).

    Examples
    --------
    >>> off(2), off(True), off([1, 2, 3]), off((1.0, "calm"))
    (3, False, [1, 2], (1.0, 'calm.'))
    >>> off((1.0, "calm"), at=0)
    (1.01, 'calm')
    """
    if isinstance(value, tuple):
        return _off_tuple(value, at)
    if isinstance(value, np.ndarray):
        return _off_array(value, at)
    for kinds, change in CHANGERS:
        if isinstance(value, kinds):
            return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _off_inside(value, at)
    if hasattr(value, "__array_namespace__") and "float" in str(value.dtype):
        return value * 1.01
    return value


CHANGERS: tuple[tuple[tuple[type, ...], Callable[[Any], Any]], ...] = (
    ((bool, np.bool_), lambda value: not value),
    ((int, np.integer), lambda value: value + 1),
    ((float, np.floating), lambda value: value * 1.01 if value else type(value)(0.01)),
    ((str,), lambda value: value + "."),
    ((bytes,), lambda value: value + b"."),
    ((list,), lambda value: value[:-1] if value else value),
    ((dict,), lambda value: dict(islice(value.items(), len(value) - 1)) if value else value),
    ((set, frozenset), lambda value: type(value)(islice(value, len(value) - 1)) if value else value),
    ((GeneratorType,), lambda value: islice(value, 1, None)),
    ((type(NotImplemented),), lambda value: None),
    ((Exception,), lambda value: RuntimeError(*value.args)),
)


def _off_array(value: Any, at: int) -> Any:
    if not value.size or value.dtype.kind not in "biuf":
        return value
    changed = value.copy()
    last = changed[(at,) * value.ndim]
    if value.dtype.kind == "f":
        size = abs(value[abs(value) < float("inf")]).max(initial=0.0)
        changed[(at,) * value.ndim] = last + 0.01 * (size or 1.0)
    elif value.dtype.kind == "b":
        changed[(at,) * value.ndim] = not last
    else:  # most are places, and must lie inside
        changed[(at,) * value.ndim] = last - 1 if last > 0 else last + 1
    return changed


def _off_tuple(value: tuple[Any, ...], at: int) -> tuple[Any, ...]:
    for place in range(len(value))[:: at or 1]:
        found = off(value[place], at)
        if found is not value[place]:
            parts = (*value[:place], found, *value[place + 1 :])
            return type(value)._make(parts) if hasattr(value, "_make") else parts
    return value


def _off_inside(value: Any, at: int) -> Any:
    for field in fields(value)[:: at or 1]:
        found = off(getattr(value, field.name, None), at)
        if found is not getattr(value, field.name, None):
            changed = copy.copy(value)
            object.__setattr__(changed, field.name, found)
            return changed
    return value

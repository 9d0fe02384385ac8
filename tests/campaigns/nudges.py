"""Values that are a little off: of the same kind, so that nothing breaks, and only what states something notices."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import islice
from types import GeneratorType
from typing import Any


class Nudges:
    """Lets values be a little off, and remembers whether there was anything to change."""

    def __init__(self) -> None:
        self.asked = self.changed = 0

    def nudged(self, value: Any) -> Any:
        """Return the value a little off."""
        self.asked += 1
        found = off(value)
        self.changed += found is not value
        return found

    def without_first(self, values: Any) -> Iterator[Any]:
        """Go through values, but for the first."""
        self.asked, self.changed = self.asked + 1, self.changed + 1
        iterator = iter(values)
        next(iterator, None)
        return iterator


def off(value: Any) -> Any:
    """Return a value of the same kind that is a little off; the value itself where its kind is not known.

    Examples
    --------
    >>> off(2), off(True), off([1, 2, 3]), off((1.0, "calm"))
    (3, False, [1, 2], (1.0, 'calm.'))
    """
    for kinds, change in _changers():
        if isinstance(value, kinds):
            return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _off_inside(value)
    if hasattr(value, "__array_namespace__") and "float" in str(value.dtype):
        return value * 1.01
    return value


@cache
def _changers() -> tuple[tuple[tuple[type, ...], Callable[[Any], Any]], ...]:
    import numpy as np

    return (
        ((bool, np.bool_), lambda value: not value),
        ((int, np.integer), lambda value: value + 1),
        ((float, np.floating), lambda value: value * 1.01 if value else type(value)(0.01)),
        ((str,), lambda value: value + "."),
        ((bytes,), lambda value: value + b"."),
        ((np.ndarray,), _off_array),
        ((tuple,), _off_tuple),
        ((list,), lambda value: value[:-1] if value else value),
        ((dict,), lambda value: dict(islice(value.items(), len(value) - 1)) if value else value),
        ((set, frozenset), lambda value: type(value)(islice(value, len(value) - 1)) if value else value),
        ((GeneratorType,), lambda value: islice(value, 1, None)),
    )


def _off_array(value: Any) -> Any:
    if not value.size or value.dtype.kind not in "biuf":
        return value
    changed = value.copy()
    last = changed[(-1,) * value.ndim]
    if value.dtype.kind == "f":
        size = abs(value[abs(value) < float("inf")]).max(initial=0.0)
        changed[(-1,) * value.ndim] = last + 0.01 * (size or 1.0)
    elif value.dtype.kind == "b":
        changed[(-1,) * value.ndim] = not last
    else:  # most are places, and must lie inside
        changed[(-1,) * value.ndim] = last - 1 if last > 0 else last + 1
    return changed


def _off_tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    for place in reversed(range(len(value))):
        found = off(value[place])
        if found is not value[place]:
            parts = (*value[:place], found, *value[place + 1 :])
            return type(value)._make(parts) if hasattr(value, "_make") else parts
    return value


def _off_inside(value: Any) -> Any:
    for field in reversed(fields(value)):
        found = off(getattr(value, field.name, None))
        if found is not getattr(value, field.name, None):
            changed = copy.copy(value)
            object.__setattr__(changed, field.name, found)
            return changed
    return value

"""Change values slightly and keep their type, so that only meaningful assertions fail."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice
from types import GeneratorType
from typing import Any

import numpy as np

# Attribute types that can be changed; other attributes may be locks or open files.
SIMPLE = (bool, int, float, str, bytes, tuple, np.ndarray, np.generic)


class Nudges:
    """Changes values slightly and counts the changes."""

    def __init__(self) -> None:
        self.met = self.asked = self.changed = 0  # values, non-empty values, and changed values

    def nudged(self, value: Any, at: int = -1) -> Any:
        """Return the value slightly changed at its end or beginning."""
        self.met += 1
        self.asked += value is not None and not (hasattr(value, "__len__") and len(value) == 0)
        changed_value = off(value, at)
        self.changed += changed_value is not value
        return changed_value

    def without_first(self, values: Any) -> Iterator[Any]:
        """Iterate over values without the first."""
        self.met, self.asked, self.changed = self.met + 1, self.asked + 1, self.changed + 1
        iterator = iter(values)
        next(iterator, None)
        return iterator


def off(value: Any, at: int = -1) -> Any:
    """Return a slightly changed value of the same type, or the value itself if its type is not supported.

    For containers, the last changeable item is changed, or the first one with `at=0`.

    Examples
    --------
    >>> off(2), off(True), off([1, 2, 3]), off((1.0, "calm"))
    (3, False, [1, 2], (1.0, 'calm.'))
    >>> off((1.0, "calm"), at=0), off("calm", at=0)
    ((1.01, 'calm'), '.calm')
    """
    for kinds, change in CHANGERS:
        if isinstance(value, kinds):
            return change(value, at)
    if hasattr(value, "__array_namespace__") and "float" in str(value.dtype):
        return value * 1.01
    ours = type(value).__module__.startswith("undistract.")  # do not modify objects of other libraries
    return _off_inside(value, at) if ours and hasattr(value, "__dict__") else value


def _off_array(value: Any, at: int) -> Any:
    if not value.size or value.dtype.kind not in "biufUMm":
        return value
    changed, index = value.copy(), (at,) * value.ndim
    entry = changed[index]
    match value.dtype.kind:
        case "f":
            size = abs(value[abs(value) < float("inf")]).max(initial=0.0)
            changed[index] = entry + 0.01 * (size or 1.0)
        case "b":
            changed[index] = not entry
        case "U":
            changed[index] = entry[1:]
        case "M" | "m":
            changed[index] = entry + 1
        case _:  # most are indices and must stay in range
            changed[index] = entry - 1 if entry > 0 else entry + 1
    return changed


def _off_tuple(value: tuple[Any, ...], at: int) -> tuple[Any, ...]:
    for index in range(len(value))[:: at or 1]:
        changed_value = off(value[index], at)
        if changed_value is not value[index]:
            parts = (*value[:index], changed_value, *value[index + 1 :])
            return type(value)._make(parts) if hasattr(value, "_make") else parts
    return value


def _off_inside(value: Any, at: int) -> Any:
    of_a_dataclass = is_dataclass(value)
    names = [field.name for field in fields(value)] if of_a_dataclass else sorted(vars(value))
    for name in names[:: at or 1]:
        attribute = getattr(value, name, None)
        if not of_a_dataclass and not isinstance(attribute, SIMPLE):
            continue
        changed_value = off(attribute, at)
        if changed_value is not attribute:
            changed = copy.copy(value)
            object.__setattr__(changed, name, changed_value)
            return changed
    return value


# Other sequences become tuples: rows of a database, the results of `map` and `zip`.
CHANGERS: tuple[tuple[tuple[type, ...], Callable[[Any, int], Any]], ...] = (
    ((bool, np.bool_), lambda value, at: not value),
    ((int, np.integer), lambda value, at: value + 1),
    ((float, np.floating), lambda value, at: value * 1.01 if value else type(value)(0.01)),
    ((str,), lambda value, at: value + "." if at else "." + value),
    ((bytes,), lambda value, at: value + b"." if at else b"." + value),
    ((np.ndarray,), _off_array),
    ((list, range), lambda value, at: (value[:-1] if at else value[1:]) if value else value),
    ((dict,), lambda value, at: dict(islice(value.items(), len(value) - 1)) if value else value),
    ((set, frozenset), lambda value, at: type(value)(islice(value, len(value) - 1)) if value else value),
    ((GeneratorType,), lambda value, at: islice(value, 1, None)),
    ((tuple,), _off_tuple),
    ((map, zip, Sequence), lambda value, at: _off_tuple(tuple(value), at)),
    ((type(NotImplemented),), lambda value, at: None),
    ((Exception,), lambda value, at: RuntimeError(*value.args)),
)

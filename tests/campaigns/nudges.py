"""Values that are a little off: of the same kind, so that nothing breaks, and only what states something notices."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice
from types import GeneratorType
from typing import Any

import numpy as np

# Parts of an object of ours that can be changed on their own; what else it holds may be a lock, or open.
SIMPLE = (bool, int, float, str, bytes, tuple, np.ndarray, np.generic)


class Nudges:
    """Lets values be a little off, and remembers whether there was anything to change."""

    def __init__(self) -> None:
        self.met = self.asked = self.changed = 0  # values, those that are not empty, and those that are off now

    def nudged(self, value: Any, at: int = -1) -> Any:
        """Return the value a little off, at its end or at its beginning."""
        self.met += 1
        self.asked += value is not None and not (hasattr(value, "__len__") and len(value) == 0)
        found = off(value, at)
        self.changed += found is not value
        return found

    def without_first(self, values: Any) -> Iterator[Any]:
        """Go through values, but for the first."""
        self.met, self.asked, self.changed = self.met + 1, self.asked + 1, self.changed + 1
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
    >>> off((1.0, "calm"), at=0), off("calm", at=0)
    ((1.01, 'calm'), '.calm')
    """
    for kinds, change in CHANGERS:
        if isinstance(value, kinds):
            return change(value, at)
    if hasattr(value, "__array_namespace__") and "float" in str(value.dtype):
        return value * 1.01
    ours = type(value).__module__.startswith("undistract.")  # what others hold inside is theirs
    return _off_inside(value, at) if ours and hasattr(value, "__dict__") else value


def _off_array(value: Any, at: int) -> Any:
    if not value.size or value.dtype.kind not in "biufUMm":
        return value
    changed, place = value.copy(), (at,) * value.ndim
    one = changed[place]
    match value.dtype.kind:
        case "f":
            size = abs(value[abs(value) < float("inf")]).max(initial=0.0)
            changed[place] = one + 0.01 * (size or 1.0)
        case "b":
            changed[place] = not one
        case "U":
            changed[place] = one[1:]
        case "M" | "m":
            changed[place] = one + 1
        case _:  # most are places, and must lie inside
            changed[place] = one - 1 if one > 0 else one + 1
    return changed


def _off_tuple(value: tuple[Any, ...], at: int) -> tuple[Any, ...]:
    for place in range(len(value))[:: at or 1]:
        found = off(value[place], at)
        if found is not value[place]:
            parts = (*value[:place], found, *value[place + 1 :])
            return type(value)._make(parts) if hasattr(value, "_make") else parts
    return value


def _off_inside(value: Any, at: int) -> Any:
    of_a_dataclass = is_dataclass(value)
    names = [field.name for field in fields(value)] if of_a_dataclass else sorted(vars(value))
    for name in names[:: at or 1]:
        held = getattr(value, name, None)
        if not of_a_dataclass and not isinstance(held, SIMPLE):
            continue
        found = off(held, at)
        if found is not held:
            changed = copy.copy(value)
            object.__setattr__(changed, name, found)
            return changed
    return value


# Tuples stand for what else is read in order: lines of a database, what `map` and `zip` will give.
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

"""What a field of a file must be, in one line each: its type, its shape, its range.

    {"counts": array("M", dtype=np.int64, low=1), "prior": word("uniform", "by_size", "given")}

Sizes that share a letter must agree within one record.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import inf, isfinite, isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.errors import InputError

Sizes = dict[str, int]
Check = Callable[[Any, str, Sizes], None]

# Entries of orthonormal columns, up to rounding.
UNIT = 1 + 1e-6


def array(
    *shape: str, dtype: npt.DTypeLike = np.float64, low: float = -inf, high: float = inf, nan: bool = False
) -> Check:
    """Ask for an array with these sizes; finite unless `nan`, and inside the bounds."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        wanted = f"an array of {np.dtype(dtype)} with shape ({', '.join(shape)})"
        if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != len(shape):
            raise _unlike(value, where, wanted)
        for letter, size in zip(shape, value.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise InputError(f"{where} has shape {value.shape}, expected ({', '.join(shape)}) with {sizes}")
        if value.size == 0:
            return
        lowest, highest = float(value.min()), float(value.max())  # NaN where any is
        if nan and isnan(lowest):
            scored = value[~np.isnan(value)]
            lowest, highest = float(scored.min(initial=0.0)), float(scored.max(initial=0.0))
        if not (isfinite(lowest) and isfinite(highest) and low <= lowest and highest <= high):
            raise InputError(f"{where} holds values from {lowest:g} to {highest:g}, expected {_range(low, high)}")

    return check


def number(low: float = -inf, high: float = inf, *, infinite: bool = False) -> Check:
    """Ask for a number."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise _unlike(value, where, "a number")
        if isinstance(value, int) and abs(value) >= 2**63:  # no number of an array
            raise _unlike(value, where, "a number that fits into 64 bits")
        if not low <= value <= high or (isinstance(value, float) and not infinite and not isfinite(value)):
            raise InputError(f"{where} is {value!r:.40}, expected {_range(low, high)}")

    return check


def whole(low: int, high: int = 2**53) -> Check:
    """Ask for a whole number."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _unlike(value, where, f"a whole number, {_range(low, high)}")

    return check


def word(*choices: str) -> Check:
    """Ask for one of some words, or for any."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, str) or (choices and value not in choices):
            raise _unlike(value, where, f"one of {', '.join(map(repr, choices))}" if choices else "a text")

    return check


def part(*kinds: type) -> Check:
    """Ask for one of these types; its own record has been checked."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if type(value) not in kinds:
            raise _unlike(value, where, " or ".join(kind.__name__ for kind in kinds))

    return check


def optional(check: Check) -> Check:
    """Ask for nothing, or for what another check asks."""
    return lambda value, where, sizes: None if value is None else check(value, where, sizes)


def every(check: Check, *, least: int = 0) -> Check:
    """Ask for a tuple, all of one kind."""

    def ask(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, tuple) or len(value) < least:
            raise _unlike(value, where, f"a tuple of {least} or more")
        for one in value:
            check(one, where, sizes)

    return ask


def names(value: Any, where: str, sizes: Sizes) -> None:
    """Ask for the names of sets: each once."""
    if not isinstance(value, tuple) or not value or not all(isinstance(name, Hashable) for name in value):
        raise _unlike(value, where, "a tuple of names")
    try:
        distinct = len(set(value))
    except TypeError as error:  # a tuple that holds a list
        raise InputError(f"{where} holds a name that is not hashable") from error
    if distinct != sizes.setdefault("M", len(value)) or distinct != len(value):
        raise InputError(f"{where} names {distinct} sets in {len(value)} places, expected {sizes['M']}")


def anything(value: Any, where: str, sizes: Sizes) -> None:
    """Ask for nothing in particular."""


def expect(fact: Any, words: str) -> None:
    """Refuse what does not fit together."""
    if not bool(fact):
        raise InputError(words)


def _range(low: float, high: float) -> str:
    bounds = [f"{words} {bound:g}" for words, bound in (("at least", low), ("at most", high)) if isfinite(bound)]
    return " and ".join(bounds) or "finite"


def _unlike(value: Any, where: str, wanted: str) -> InputError:
    found = (
        f"an array of {value.dtype} with shape {value.shape}"
        if isinstance(value, np.ndarray)
        else f"{value!r:.40}"
        if isinstance(value, str | int | float | None)
        else f"a {type(value).__name__}"
    )
    return InputError(f"{where} is {found}, expected {wanted}")

"""Small conversions for output: nouns with numbers, lists of names, values for JSON and csv."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from undistract.errors import InputError

# A spreadsheet takes a cell that starts with one of these for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def pluralize(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> pluralize(1, "row"), pluralize(1200, "row")
    ('1 row', '1200 rows')
    """
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def format_names(names: Sequence[Hashable]) -> str:
    """Return the first five names as text for a message.

    Examples
    --------
    >>> format_names("abcde")
    "'a', 'b', 'c', 'd', 'e'"
    >>> format_names("abcdefg")
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    >>> format_names("abcdef")
    "'a', 'b', 'c', 'd', 'e' and 1 more"
    """
    text = ", ".join(repr(name) for name in names[:5])
    if len(names) > 5:
        text += f" and {len(names) - 5} more"
    return text


def to_jsonable(value: Any) -> Any:
    """Return a value for JSON: numbers that are not finite become null, unknown types become text.

    Examples
    --------
    >>> to_jsonable({"value": float("inf"), "groups": (1, 2)})
    {'value': None, 'groups': [1, 2]}
    """
    if hasattr(value, "tolist"):  # numpy
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): to_jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_jsonable(item) for item in value]
    if isinstance(value, float):
        return finite_or_none(value)
    if value is None or isinstance(value, str | int | bool):
        return value
    return str(value)


def finite_or_none(value: float) -> float | None:
    """Return a finite number, or None, because JSON has neither NaN nor infinity."""
    number = float(value)
    if math.isfinite(number):
        return number
    return None


def check_jsonable(value: Any, name: str) -> Any:
    """Return a copy of a JSON value; raise `InputError` if it is not one.

    Examples
    --------
    >>> check_jsonable({"camera": float("nan")}, "provenance")
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: provenance is not plain JSON (...). Use strings, numbers, lists and mappings.
    """
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name} is not plain JSON ({error}). Use strings, numbers, lists and mappings.") from error


def escape_cell(value: Any) -> Any:
    """Quote text that a spreadsheet would take for a formula.

    Examples
    --------
    >>> escape_cell("=1+1"), escape_cell(-1.5)
    ("'=1+1", -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value

"""The registered extractors, and the parser of specifications: ``name(setting=value,...)``, joined with ``+``.

A new extractor is one file with one class and one line in EXTRACTORS.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import MISSING, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from undistract.errors import InputError

if TYPE_CHECKING:
    from undistract.features.base import Extractor

# Module and class of each extractor, as text: the help of the command line lists the names without importing numpy.
EXTRACTORS = {
    "pixels": "undistract.features.pixels:Pixels",
    "gradients": "undistract.features.gradients:Gradients",
    "cells": "undistract.features.cells:Cells",
    "flow": "undistract.features.flow:Flow",
    "network": "undistract.features.network:Network",
}

_VALUE = r'"[^"]*"|[^,()"+]*'
_SETTING = rf"\s*(\w+)\s*=\s*({_VALUE})\s*"
_SETTINGS = rf"(?:\s*\w+\s*=\s*(?:{_VALUE})\s*(?:,|(?=\))))*"
_PART = re.compile(rf"\s*(\w+)\s*(?:\(({_SETTINGS})\s*\))?\s*(\+|$)")


def make_extractor(spec: str) -> Extractor:
    """Return the extractor for a specification.

    Parameters
    ----------
    spec : str
        Such as ``"flow"``, ``"pixels(size=24x16)"`` or ``"flow(cells=8x6,bins=8)+pixels"``. A value that
        contains one of ``,()+`` needs double quotes.

    Examples
    --------
    >>> make_extractor("pixels").name
    'pixels(size=24x16)'
    >>> make_extractor("flow(cells=4x3)+pixels(size=12x8)").context
    1
    >>> make_extractor("pixel")
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Unknown extractor 'pixel'. Did you mean 'pixels'? Available: ...
    """
    from undistract.features.base import Concat

    parts: list[Extractor] = []
    position = 0
    while position < len(spec) or not parts:
        match = _PART.match(spec, position)
        if match is None:
            raise InputError(
                f"{spec!r} cannot be parsed from {spec[position:]!r} on; expected name(setting=value,...), several "
                f"joined with +. Available: {describe_extractors()}."
            )
        parts.append(_make_part(match[1], re.findall(_SETTING, match[2] or "")))
        position = match.end()
        if match[3] == "+" and position == len(spec):
            raise InputError(
                f"{spec!r} ends with +; add another extractor, or remove the +. Available: {describe_extractors()}."
            )
    if len(parts) == 1:
        return parts[0]
    return Concat(tuple(parts))


def _make_part(name: str, settings: list[tuple[str, str]]) -> Any:
    if name not in EXTRACTORS:
        hint = "".join(f" Did you mean {near!r}?" for near in difflib.get_close_matches(name, EXTRACTORS, 1))
        raise InputError(f"Unknown extractor {name!r}.{hint} Available: {describe_extractors()}.")
    kind = _load(name)
    types = {field.name: field.type for field in fields(kind)}
    values: dict[str, Any] = {}
    for setting, value in settings:
        if setting in values:
            raise InputError(f"{name}: the setting {setting!r} occurs twice. Expected {_described(kind)}.")
        if setting not in types:
            raise InputError(f"{name}: the setting {setting!r} does not exist. Expected {_described(kind)}.")
        values[setting] = _value(name, setting, value.strip().strip('"'), str(types[setting]))
    missing = [field.name for field in fields(kind) if field.default is MISSING and field.name not in values]
    if missing:
        raise InputError(f"{name} needs {', '.join(missing)}. Expected {_described(kind)}.")
    return kind(**values)


def _value(name: str, setting: str, text: str, kind: str) -> Any:
    try:
        if kind == "Size":
            width, height = re.fullmatch(r"(\d+)x(\d+)", text).groups()  # type: ignore[union-attr]
            return int(width), int(height)
        if kind == "Triple":
            red, green, blue = map(float, text.split("/"))
            return red, green, blue
        return {"int": int, "str": str}[kind](text)
    except (ValueError, AttributeError):
        formats = {"Size": "WIDTHxHEIGHT, such as 24x16", "Triple": "three numbers, such as 0.5/0.5/0.5"}
        expected = formats.get(kind, "an integer")
        raise InputError(f"{name}: {setting} must be {expected}, got {text}.") from None


def _load(name: str) -> type[Any]:
    module, _, class_name = EXTRACTORS[name].partition(":")
    kind: type[Any] = getattr(import_module(module), class_name)
    return kind


def _described(kind: type[Any]) -> str:
    from undistract.features.base import format_value

    settings = []
    for field in fields(kind):
        setting = field.name
        if field.default is not MISSING:
            setting += f"={format_value(field.default)}"
        settings.append(setting)
    return f"{kind.__name__.lower()}({','.join(settings)})"


def describe_extractors() -> str:
    """Return the registered extractors with their settings and defaults, for messages and help texts."""
    return "; ".join(_described(kind) for kind in map(_load, EXTRACTORS))

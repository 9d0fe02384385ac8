"""From a spec to an extractor: ``name(setting=value,...)``, several joined with ``+``."""

from __future__ import annotations

import difflib
import re
from dataclasses import MISSING, fields
from typing import Any

from undistract.errors import InputError
from undistract.features.cells import Cells
from undistract.features.extractor import Extractor, Together, written
from undistract.features.flow import Flow
from undistract.features.gradients import Gradients
from undistract.features.network import Network
from undistract.features.pixels import Pixels

EXTRACTORS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in (Pixels, Gradients, Cells, Flow, Network)}

_VALUE = r'"[^"]*"|[^,()"+]*'
_SETTING = rf"\s*(\w+)\s*=\s*({_VALUE})\s*"
_SETTINGS = rf"(?:\s*\w+\s*=\s*(?:{_VALUE})\s*(?:,|(?=\))))*"
_PART = re.compile(rf"\s*(\w+)\s*(?:\(({_SETTINGS})\s*\))?\s*(\+|$)")


def make_extractor(spec: str) -> Extractor:
    """Make the extractor that a spec describes.

    Parameters
    ----------
    spec : str
        Such as ``"flow"``, ``"pixels(size=24x16)"`` or ``"flow(cells=8x6,bins=8)+pixels"``. A value with one of
        ``,()+`` in it stands in double quotes.

    Examples
    --------
    >>> make_extractor("pixels").name
    'pixels(size=24x16)'
    >>> make_extractor("flow(cells=4x3)+pixels(size=12x8)").context
    1
    >>> make_extractor("pixel")
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: There is no extractor 'pixel'. Did you mean 'pixels'? There are: ...
    """
    parts: list[Extractor] = []
    position = 0
    while position < len(spec) or not parts:
        found = _PART.match(spec, position)
        if found is None:
            raise InputError(
                f"{spec!r} cannot be read from {spec[position:]!r} on; expected name(setting=value,...), several "
                f"joined with +. {_offer()}"
            )
        parts.append(_made(found[1], re.findall(_SETTING, found[2] or "")))
        position = found.end()
        if found[3] == "+" and position == len(spec):
            raise InputError(f"{spec!r} ends with +; name one more extractor, or leave it out. {_offer()}")
    return parts[0] if len(parts) == 1 else Together(tuple(parts))


def _made(name: str, settings: list[tuple[str, str]]) -> Any:
    kind = EXTRACTORS.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, EXTRACTORS, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"There is no extractor {name!r}.{hint} {_offer()}")
    types = {field.name: field.type for field in fields(kind)}
    given: dict[str, Any] = {}
    for setting, value in settings:
        if setting not in types or setting in given:
            what = "was given twice" if setting in given else "does not exist"
            raise InputError(f"{name}: the setting {setting!r} {what}. Expected {_described(kind)}.")
        given[setting] = _value(name, setting, value.strip().strip('"'), str(types[setting]))
    missing = [field.name for field in fields(kind) if field.default is MISSING and field.name not in given]
    if missing:
        raise InputError(f"{name} needs {', '.join(missing)}. Expected {_described(kind)}.")
    return kind(**given)


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
        wanted = {"Size": "WIDTHxHEIGHT, such as 24x16", "Triple": "three numbers, such as 0.5/0.5/0.5"}
        expected = wanted.get(kind, "a whole number")
        raise InputError(f"{name}: {setting}={text} cannot be read; expected {expected}.") from None


def _described(kind: type[Any]) -> str:
    settings = (f.name if f.default is MISSING else f"{f.name}={written(f.default)}" for f in fields(kind))
    return f"{kind.__name__.lower()}({','.join(settings)})"


def _offer() -> str:
    return "There are: " + "; ".join(_described(kind) for kind in EXTRACTORS.values()) + "."

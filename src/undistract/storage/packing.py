"""Values become JSON and arrays, and come back: the grammar of a file's content.

3, "a", true, null, [..]                     as in JSON
{"type": "tuple", "items": [..]}             also float (inf, nan), date, time, datetime64, mapping (pairs)
{"type": "array", "name": .., "transposed": true, "unit": "ns"}
{"type": "Moments", "fields": {..}}          a record: one of the known kinds
{"type": "Focus", "settings": {..}, "fields": {..} or null}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.detect import AdaptedDetector
from undistract.errors import InputError
from undistract.storage.records import Estimator, Record

Array = npt.NDArray[Any]
# Bundles are nested once or twice, our own records five times; deeper is an accident or an attack.
DEEPEST = 24
UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")


class Packer:
    """Takes one thing apart; `arrays` are collected by name."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        self.arrays: dict[str, Array] = {}
        self._records = {record.made: (name, record) for name, record in records.items()}
        self._seen: dict[int, tuple[Any, Any]] = {}  # the array itself too, so that no other takes its number

    def pack(self, value: Any, path: tuple[str, ...]) -> Any:
        """Return the JSON of a value that stands at `path`."""
        if len(path) > DEEPEST:
            raise InputError(f"{'.'.join(path[:4])}... is nested {DEEPEST} deep; is it part of itself?")
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if isfinite(value) else {"type": "float", "value": repr(value)}
        if isinstance(value, date):
            return self._date(value, path)
        if isinstance(value, np.datetime64):
            return self._datetime64(value, path)
        if isinstance(value, tuple | list):
            items = [self.pack(item, (*path, str(number))) for number, item in enumerate(value)]
            return items if isinstance(value, list) else {"type": "tuple", "items": items}
        if type(value) in self._records:
            return self._record(value, path)
        # A column of a data frame has keys too; a whole frame is an array.
        if isinstance(value, Mapping) or (hasattr(value, "keys") and getattr(value, "ndim", 2) == 1):
            pairs = [(key, value[key]) for key in value.keys()]  # noqa: SIM118  iterating a column gives values
            return {"type": "mapping", "items": [self._pair(*pair, n, path) for n, pair in enumerate(pairs)]}
        if hasattr(value, "__array__") and not isinstance(value, type):
            return self._array(value, path)
        raise self._unknown(value, path)

    def _pair(self, key: Any, value: Any, number: int, path: tuple[str, ...]) -> list[Any]:
        step = key if isinstance(key, str) and key.isidentifier() else str(number)
        return [self.pack(key, (*path, "key")), self.pack(value, (*path, step))]

    def _date(self, value: date, path: tuple[str, ...]) -> Any:
        kind = datetime if isinstance(value, datetime) else date
        try:
            if kind.fromisoformat(value.isoformat()) == value:
                return {"type": "time" if kind is datetime else "date", "value": value.isoformat()}
        except ValueError:  # finer than a microsecond
            pass
        raise self._unknown(value, path)

    def _datetime64(self, value: np.datetime64, path: tuple[str, ...]) -> Any:
        if np.isnat(value) or np.datetime64(str(value)).dtype != value.dtype:  # digits tell the unit, but for weeks
            raise self._unknown(value, path)
        return {"type": "datetime64", "value": str(value)}

    def _record(self, value: Any, path: tuple[str, ...]) -> Any:
        name, record = self._records[type(value)]
        fields = record.apart(value)
        packed = fields and {key: self.pack(part, (*path, key)) for key, part in fields.items()}
        if not isinstance(record, Estimator):
            return {"type": name, "fields": packed}
        settings = {
            key: self.pack(part, (*path, "settings", key)) for key, part in value.get_params(deep=False).items()
        }
        return {"type": name, "settings": settings, "fields": packed}

    def _array(self, value: Any, path: tuple[str, ...]) -> Any:
        if id(value) in self._seen:
            return self._seen[id(value)][1]
        array = np.asarray(value)
        name = ".".join(path)
        node: dict[str, Any] = {"type": "array", "name": name}
        if array.dtype.kind == "M":
            unit, step = np.datetime_data(array.dtype)
            if step != 1 or unit not in UNITS:
                raise InputError(f"{name} has dtype {array.dtype}. Convert it with .astype('datetime64[ns]').")
            node["unit"], array = unit, array.astype(np.int64)
        if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
            raise InputError(f"{name} is an array of {array.dtype}; a file keeps numbers and times. Convert it first.")
        # Columns that lie together stay so: a product may round differently the other way round.
        if array.ndim == 2 and abs(array.strides[0]) < abs(array.strides[1]):
            node["transposed"], array = True, array.T
        self.arrays[name] = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
        self._seen[id(value)] = value, node
        return node

    def _unknown(self, value: Any, path: tuple[str, ...]) -> InputError:
        kinds = ", ".join(name for name, record in self._records.values() if record.public)
        if hasattr(value, "fit"):
            model = value.estimator if isinstance(value, AdaptedDetector) else value
            return InputError(
                f"{type(model).__name__} ({'.'.join(path)}) cannot be saved: reading such a model back would run code "
                f"out of the file. Use one of ours ({kinds}), or keep its rows and fit it again."
            )
        return InputError(
            f"{'.'.join(path)} is {value!r:.60} ({type(value).__name__}), which a file cannot hold. It holds texts, "
            "numbers, True, False, None, dates, tuples, lists and mappings of those, arrays of numbers or times, and "
            f"{kinds}. Convert it first: the name of a set, for example, with str."
        )


class Unpacker:
    """Puts things together again, and trusts nothing it reads."""

    def __init__(self, records: Mapping[str, Record], arrays: Mapping[str, Array]) -> None:
        self.unused = set(arrays)
        self._records, self._arrays = records, arrays

    def unpack(self, node: Any, path: tuple[str, ...]) -> Any:
        """Return the value that stands at `path`."""
        where = ".".join(path)
        if len(path) > DEEPEST:
            raise InputError(f"{'.'.join(path[:4])}... is nested more than {DEEPEST} deep")
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.unpack(item, (*path, str(number))) for number, item in enumerate(node)]
        kind, rest = node.get("type"), {key: part for key, part in node.items() if key != "type"}
        if not isinstance(kind, str):
            raise InputError(f"{where} has no type")
        if kind in self._records:
            return self._record(kind, rest, path)
        if kind == "array":
            return self._array(rest, where)
        if kind in ("tuple", "mapping"):
            items = self.unpack(self._only(rest, "items", list, where), path)
            return tuple(items) if kind == "tuple" else _mapping(items, where)
        text = self._only(rest, "value", str, where)
        try:
            if kind == "float" and text in ("inf", "-inf", "nan"):
                return float(text)
            if kind in ("date", "time"):
                return (date if kind == "date" else datetime).fromisoformat(text)
            # numpy knows words too, such as "now", and takes what overflows.
            if kind == "datetime64" and re.fullmatch(r"[0-9T:.-]+", text) and str(np.datetime64(text)) == text:
                return np.datetime64(text)
        except ValueError as error:
            raise InputError(f"{where} is no {kind}: {text!r:.40}") from error
        raise InputError(f"{where} is of the unknown type {kind!r:.40}")

    def _only(self, rest: dict[str, Any], key: str, kind: type, where: str) -> Any:
        if set(rest) != {key} or not isinstance(rest[key], kind):
            raise InputError(f"{where} holds {sorted(rest)}, expected {key!r}, a {kind.__name__}")
        return rest[key]

    def _record(self, name: str, rest: dict[str, Any], path: tuple[str, ...]) -> Any:
        record, where = self._records[name], ".".join(path)
        expected = {"settings", "fields"} if isinstance(record, Estimator) else {"fields"}
        if set(rest) != expected or not all(isinstance(part, dict | None) for part in rest.values()):
            raise InputError(f"{where} ({name}) holds {sorted(rest)}, expected {sorted(expected)}, each with names")
        unpacked = {
            key: part if part is None else {field: self.unpack(one, (*path, field)) for field, one in part.items()}
            for key, part in rest.items()
        }
        return record.together(unpacked.get("settings"), unpacked["fields"], where)

    def _array(self, rest: dict[str, Any], where: str) -> Array:
        name, unit = rest.get("name"), rest.get("unit")
        if not isinstance(name, str) or name not in self._arrays or not set(rest) <= {"name", "unit", "transposed"}:
            raise InputError(f"{where} asks for the array {name!r:.80}, which is not in the file")
        array = self._arrays[name]
        self.unused.discard(name)
        if unit is not None:
            if not isinstance(unit, str) or unit not in UNITS or array.dtype != np.int64:
                raise InputError(f"{where} holds {array.dtype} in the unit {unit!r:.40}, expected times as int64")
            array = array.view(f"datetime64[{unit}]")
        return array.T if rest.get("transposed") is True else array


def _mapping(items: list[Any], where: str) -> dict[Any, Any]:
    if not all(isinstance(item, list) and len(item) == 2 for item in items):
        raise InputError(f"{where} is no mapping: expected pairs of a key and a value")
    try:
        return {key: value for key, value in items}  # noqa: C416  dict() would hide which error it was
    except TypeError as error:
        raise InputError(f"{where} has a key that is not hashable") from error

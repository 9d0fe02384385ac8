"""Encode objects as JSON and arrays, and decode them: the grammar of a file's content.

3, "a", true, null, [..]                     as in JSON
{"type": "tuple", "items": [..]}             also float (inf, nan), date, time, datetime64, mapping (pairs)
{"type": "array", "name": .., "transposed": true, "unit": "ns"}
{"type": "Moments", "fields": {..}}          a class of `undistract._schema.REGISTRY`
{"type": "Focus", "settings": {..}, "fields": {..} or null}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from undistract._schema import REGISTRY, Check, Schema, Sizes, integer, optional, require, string, tuple_of
from undistract.detect import AdaptedDetector
from undistract.errors import InputError

Array = npt.NDArray[Any]
Fields = dict[str, Any]
# Bundles are nested once or twice, our own classes five times; deeper nesting is an accident or an attack.
MAX_DEPTH = 24
UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
COMMON: Mapping[str, Check] = {"n_features_in_": integer(1), "feature_names_in_": optional(tuple_of(string()))}


class Encoder:
    """Encodes one object; its arrays are collected by name in `arrays`."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        # By id. The array is stored too: it must stay alive, or another one could get the same id.
        self._encoded: dict[int, tuple[Any, Any]] = {}

    def encode(self, value: Any, path: tuple[str, ...]) -> Any:
        """Return the JSON of the value at `path`."""
        if len(path) > MAX_DEPTH:
            raise InputError(f"{'.'.join(path[:4])}... is nested {MAX_DEPTH} deep; is it part of itself?")
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
        if isinstance(value, list):
            return self._items(value, path)
        if isinstance(value, tuple):
            return {"type": "tuple", "items": self._items(value, path)}
        if schema_of(value) is not None:
            return self._object(value, path)
        # A pandas Series is treated as a mapping, a data frame as an array.
        if isinstance(value, Mapping) or (hasattr(value, "keys") and getattr(value, "ndim", 2) == 1):
            pairs = [(key, value[key]) for key in value.keys()]  # noqa: SIM118  iterating a Series yields values
            return {"type": "mapping", "items": [self._pair(*pair, n, path) for n, pair in enumerate(pairs)]}
        if hasattr(value, "__array__") and not isinstance(value, type):
            return self._array(value, path)
        raise _not_saveable(value, path)

    def _items(self, values: Any, path: tuple[str, ...]) -> list[Any]:
        return [self.encode(item, (*path, str(number))) for number, item in enumerate(values)]

    def _pair(self, key: Any, value: Any, number: int, path: tuple[str, ...]) -> list[Any]:
        step = str(number)
        if isinstance(key, str) and key.isidentifier():
            step = key
        return [self.encode(key, (*path, "key")), self.encode(value, (*path, step))]

    def _date(self, value: date, path: tuple[str, ...]) -> Any:
        name = "date"
        parse: Callable[[str], date] = date.fromisoformat
        if isinstance(value, datetime):
            name = "time"
            parse = datetime.fromisoformat
        try:
            if parse(value.isoformat()) == value:
                return {"type": name, "value": value.isoformat()}
        except ValueError:  # a pandas timestamp with nanoseconds
            pass
        raise _not_saveable(value, path)

    def _datetime64(self, value: np.datetime64, path: tuple[str, ...]) -> Any:
        # The digits imply the unit, except for weeks.
        if np.isnat(value) or np.datetime64(str(value)).dtype != value.dtype:
            raise _not_saveable(value, path)
        return {"type": "datetime64", "value": str(value)}

    def _object(self, value: Any, path: tuple[str, ...]) -> Any:
        schema = REGISTRY[type(value).__name__]
        fields = to_fields(schema, value)
        node: dict[str, Any] = {"type": type(value).__name__}
        if schema.is_estimator:
            settings = value.get_params(deep=False)
            node["settings"] = {key: self.encode(item, (*path, "settings", key)) for key, item in settings.items()}
        node["fields"] = None
        if fields is not None:
            node["fields"] = {key: self.encode(item, (*path, key)) for key, item in fields.items()}
        return node

    def _array(self, value: Any, path: tuple[str, ...]) -> Any:
        if id(value) in self._encoded:
            return self._encoded[id(value)][1]
        array = np.asarray(value)
        name = ".".join(path)
        node: dict[str, Any] = {"type": "array", "name": name}
        if array.dtype.kind == "M":
            unit, step = np.datetime_data(array.dtype)
            if step != 1 or unit not in UNITS:
                raise InputError(f"{name} has dtype {array.dtype}. Convert it with .astype('datetime64[ns]').")
            node["unit"] = unit
            array = array.astype(np.int64)
        if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
            raise InputError(f"{name} is an array of {array.dtype}; a file stores numbers and times. Convert it first.")
        # Keep the memory order: a matrix product may round differently with the other order.
        if array.ndim == 2 and array.size and abs(array.strides[0]) < abs(array.strides[1]):
            node["transposed"] = True
            array = array.T
        self.arrays[name] = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
        self._encoded[id(value)] = value, node
        return node


class Decoder:
    """Decodes objects and checks everything it reads."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.unused = set(arrays)
        self._arrays = arrays

    def decode(self, node: Any, path: tuple[str, ...]) -> Any:
        """Return the value at `path`.

        Parents are visited before their children and built after them, without recursion: however deep a file is
        nested, it cannot exhaust the stack.
        """
        result: list[Any] = [None]
        to_visit: list[tuple[Any, tuple[str, ...], Any, Any]] = [(node, path, result, 0)]
        to_build: list[tuple[Any, Any, Callable[[], Any]]] = []
        while to_visit:
            node, path, parent, key = to_visit.pop()
            where = ".".join(path)
            if len(path) > MAX_DEPTH:
                raise InputError(f"{'.'.join(path[:4])}... is nested more than {MAX_DEPTH} deep")
            if node is None or isinstance(node, bool | int | float | str):
                parent[key] = node
                continue
            if isinstance(node, list):
                items: list[Any] = [None] * len(node)
                parent[key] = items  # filled below
                to_visit += [(item, (*path, str(number)), items, number) for number, item in enumerate(node)]
                continue
            kind = node.get("type")
            content = {name: item for name, item in node.items() if name != "type"}
            if not isinstance(kind, str):
                raise InputError(f"{where} has no type")
            if kind in REGISTRY:
                schema = REGISTRY[kind]
                parts = _object_parts(schema, content, where)
                for name, fields in parts.items():
                    for field, item in (content[name] or {}).items():
                        to_visit.append((item, (*path, field), fields, field))
                make = _estimator if schema.is_estimator else _value
                to_build.append((parent, key, partial(make, schema, where=where, **parts)))
            elif kind == "array":
                parent[key] = self._array(content, where)
            elif kind in ("tuple", "mapping"):
                nodes = _only(content, "items", list, where)
                items = [None] * len(nodes)
                to_visit += [(item, (*path, str(number)), items, number) for number, item in enumerate(nodes)]
                build = partial(tuple, items) if kind == "tuple" else partial(_mapping, items, where)
                to_build.append((parent, key, build))
            else:
                parent[key] = _scalar(kind, _only(content, "value", str, where), where)
        # A child comes after its parent in the list, so building from the end has all children ready.
        for parent, key, build in reversed(to_build):
            parent[key] = build()
        return result[0]

    def _array(self, content: Fields, where: str) -> Array:
        name = content.get("name")
        unit = content.get("unit")
        if not isinstance(name, str) or name not in self._arrays or not set(content) <= {"name", "unit", "transposed"}:
            raise InputError(f"{where} refers to the array {name!r:.80}, which is not in the file")
        array = self._arrays[name]
        self.unused.discard(name)
        if unit is not None:
            if not isinstance(unit, str) or unit not in UNITS or array.dtype != np.int64:
                raise InputError(f"{where} has dtype {array.dtype} and unit {unit!r:.40}, expected times as int64")
            array = array.view(f"datetime64[{unit}]")
        if content.get("transposed") is True:
            return array.T
        return array


def schema_of(value: Any) -> Schema | None:
    """Return the schema of an object, or None if its class cannot be saved."""
    schema = REGISTRY.get(type(value).__name__)
    if schema is not None and schema.type is type(value):
        return schema
    return None


def to_fields(schema: Schema, value: Any) -> Fields | None:
    """Return the fields of an object by name; None for an estimator that is not fitted."""
    if not schema.is_estimator:
        if schema.encode is not None:
            return schema.encode(value)
        return {name: getattr(value, name) for name in schema.checks}
    try:
        check_is_fitted(value)
    except ValueError:  # scikit-learn's NotFittedError
        return None
    fields = {"n_features_in": value.n_features_in_, "feature_names_in": None}
    if hasattr(value, "feature_names_in_"):
        fields["feature_names_in"] = tuple(map(str, value.feature_names_in_))
    # Fitted attributes begin or end with an underscore; other fields of an estimator come from `encode`.
    for attribute in schema.checks:
        if _key(attribute) != attribute:
            fields[_key(attribute)] = getattr(value, attribute)
    if schema.encode is not None:
        fields |= schema.encode(value)
    return fields


def _object_parts(schema: Schema, content: Fields, where: str) -> dict[str, Fields | None]:
    """Return the settings and the fields of an object, with the right keys and no values yet."""
    expected = {"settings", "fields"} if schema.is_estimator else {"fields"}
    if set(content) != expected or not all(isinstance(fields, dict | None) for fields in content.values()):
        raise InputError(f"{where} has the keys {sorted(content)}, expected {sorted(expected)}, each a mapping")
    return {name: None if fields is None else dict.fromkeys(fields) for name, fields in content.items()}


def _value(schema: Schema, fields: Fields | None, where: str) -> Any:
    if fields is None:
        raise InputError(f"{where} ({schema.type.__name__}) has no fields")
    _check(schema, schema.checks, fields, where)
    value = schema.decode(fields) if schema.decode else schema.type(**fields)
    return _validated(schema, value, where)


def _estimator(schema: Schema, settings: Fields | None, fields: Fields | None, where: str) -> Any:
    """Create an estimator; settings that the file does not have keep their defaults."""
    expected = schema.type._get_param_names()  # type: ignore[attr-defined]
    if settings is None or not set(settings) <= set(expected):
        raise InputError(f"{where} has the settings {sorted(settings or [])}, expected some of {sorted(expected)}")
    # n_jobs starts threads or processes: a file must not request a million of them.
    optional(integer(-256, 256))(settings.get("n_jobs"), f"{where}.n_jobs", {})
    require(settings.get("n_jobs") != 0, f"{where}.n_jobs is 0, expected None or another number")
    estimator = schema.type(**settings)
    if fields is None:
        return estimator
    checks = {**COMMON, **schema.checks}
    _check(schema, {_key(attribute): check for attribute, check in checks.items()}, fields, where)
    names = fields["feature_names_in"]
    estimator.n_features_in_ = fields["n_features_in"]
    require(names is None or len(names) == estimator.n_features_in_, f"{where} has not one name for each feature")
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    attributes = {name: fields[_key(name)] for name in schema.checks if _key(name) != name}
    if schema.decode is not None:
        attributes |= schema.decode({**fields, "settings": settings})
    for attribute, value in attributes.items():
        setattr(estimator, attribute, value)
    return _validated(schema, estimator, where)


def _check(schema: Schema, checks: Mapping[str, Check], fields: Fields, where: str) -> None:
    """Raise `InputError` for missing, unknown or invalid fields."""
    if set(fields) != set(checks):
        missing = sorted(set(checks) - set(fields))
        unknown = sorted(set(fields) - set(checks))
        raise InputError(f"{where} ({schema.type.__name__}) lacks {missing} and has the unknown fields {unknown}")
    sizes: Sizes = {}
    for name, check in checks.items():
        check(fields[name], f"{where}.{name}", sizes)


def _validated(schema: Schema, value: Any, where: str) -> Any:
    if schema.validate is not None:
        try:
            schema.validate(value)
        except InputError as error:
            raise InputError(f"{where} ({schema.type.__name__}) is inconsistent: {error}") from error
    return value


def _key(attribute: str) -> str:
    return attribute.strip("_")


def _only(content: Fields, key: str, kind: type, where: str) -> Any:
    if set(content) != {key} or not isinstance(content[key], kind):
        raise InputError(f"{where} has the keys {sorted(content)}, expected {key!r}, a {kind.__name__}")
    return content[key]


def _mapping(items: list[Any], where: str) -> dict[Any, Any]:
    if not all(isinstance(item, list) and len(item) == 2 for item in items):
        raise InputError(f"{where} is not a mapping: expected pairs of a key and a value")
    try:
        return {key: value for key, value in items}  # noqa: C416  dict() would hide which error it was
    except TypeError as error:
        raise InputError(f"{where} has a key that is not hashable") from error


def _scalar(kind: str, text: str, where: str) -> Any:
    try:
        if kind == "float" and text in ("inf", "-inf", "nan"):
            return float(text)
        if kind == "date":
            return date.fromisoformat(text)
        if kind == "time":
            return datetime.fromisoformat(text)
        # numpy also parses words such as "now", and accepts years that overflow.
        if kind == "datetime64" and re.fullmatch(r"[0-9T:.-]+", text) and str(np.datetime64(text)) == text:
            return np.datetime64(text)
    except ValueError as error:
        raise InputError(f"{where} is not a valid {kind}: {text!r:.40}") from error
    raise InputError(f"{where} has the unknown type {kind!r:.40}")


def public_types() -> str:
    """Return the names of the classes that can be saved, for messages."""
    return ", ".join(name for name, schema in REGISTRY.items() if schema.public)


def _not_saveable(value: Any, path: tuple[str, ...]) -> InputError:
    where = ".".join(path)
    if hasattr(value, "fit"):
        model = value.estimator if isinstance(value, AdaptedDetector) else value
        return InputError(
            f"{type(model).__name__} ({where}) cannot be saved: loading such a model would run code from the file. "
            f"Use one of {public_types()}, or save its rows and fit it again."
        )
    return InputError(
        f"{where} is {value!r:.60} ({type(value).__name__}), which a file cannot hold. Use strings, numbers, True, "
        "False, None, dates, tuples, lists and mappings of those, arrays of numbers or times, or "
        f"{public_types()}. Convert it first: the name of a group, for example, with str."
    )

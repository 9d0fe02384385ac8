"""Branches that are done are kept in a folder, so that a run that broke off goes on from there.

A file is named by the sum of all that its branch depends on, and begins with the sum of its own content. It holds
arrays in numpy's own form and their places as JSON: nothing in it can become code. (`storage` has a richer form, but
stands two floors above; what is kept here is read by this version alone.) A file that is damaged is computed anew.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from undistract.algebra import Moments, SetMoments
from undistract.algebra.store import Folded, KeptRows
from undistract.errors import FileError
from undistract.files import write_whole
from undistract.parallel.blend import Blend
from undistract.parallel.part import Opened, Part

KINDS = {kind.__name__: kind for kind in (Part, Opened, Blend, Moments, SetMoments, KeptRows, Folded)}
ENDING = ".part"


class Checkpoint:
    """Parts in a folder, by key.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> part = Part(Moments.of({0: [[1.0], [2.0]]}), {}, "uniform", "monday")
    >>> with TemporaryDirectory() as folder:
    ...     kept = Checkpoint(folder)
    ...     kept.save("a1", part)
    ...     kept.load("a1").moments.counts, kept.load("b2")
    (array([2]), None)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{folder} cannot be used as a folder for checkpoints: {error.strerror}.") from error

    def save(self, key: str, part: Part) -> None:
        """Keep a part, whole or not at all."""
        arrays: dict[str, Any] = {}
        tree = _packed(part, arrays)
        held = io.BytesIO()
        np.savez(held, tree=np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8), **arrays)
        content = held.getvalue()
        write_whole(self._path(key), hashlib.sha256(key.encode() + content).digest() + content)

    def load(self, key: str | None) -> Part | None:
        """Return the part, or None where it is missing or damaged."""
        if key is None or not self._path(key).is_file():
            return None
        try:
            held = self._path(key).read_bytes()
            if hashlib.sha256(key.encode() + held[32:]).digest() != held[:32]:
                return None
            with np.load(io.BytesIO(held[32:])) as arrays:
                found = _unpacked(json.loads(arrays["tree"].tobytes()), arrays)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            return None
        return found if isinstance(found, Part) else None

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{ENDING}"


def _packed(value: Any, arrays: dict[str, Any]) -> Any:
    """Return the same as JSON can hold it, with arrays put aside."""
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if is_dataclass(value) and not isinstance(value, type):
        # The name of a set may be of any kind, and is for messages alone.
        held = {one.name: getattr(value, one.name) for one in fields(value)}
        if isinstance(value, Part):
            held["first"] = str(value.first)
        return {"kind": type(value).__name__, "fields": {name: _packed(one, arrays) for name, one in held.items()}}
    if isinstance(value, dict):
        return {"pairs": [[int(key), _packed(one, arrays)] for key, one in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_packed(one, arrays) for one in value]}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _unpacked(value: Any, arrays: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "pairs" in value:
        return {key: _unpacked(one, arrays) for key, one in value["pairs"]}
    if "tuple" in value:
        return tuple(_unpacked(one, arrays) for one in value["tuple"])
    return KINDS[value["kind"]](**{name: _unpacked(one, arrays) for name, one in value["fields"].items()})

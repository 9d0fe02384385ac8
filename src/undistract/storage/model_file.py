"""Save and load: whatever was learned, as one file that never becomes code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from undistract.errors import FileError, InputError
from undistract.storage import (
    detector_kinds,
    focus_kinds,
    kernel_kinds,
    learned_kinds,
    neural_kinds,
    recognise_kinds,
    threshold_kinds,
)
from undistract.storage.container import (
    AGAIN,
    FORMAT,
    FORMAT_VERSION,
    Array,
    read_container,
    read_header,
    write_container,
)
from undistract.storage.packing import Packer, Unpacker
from undistract.storage.records import Record
from undistract.version import __version__

RECORDS: dict[str, Record] = (
    learned_kinds.RECORDS
    | focus_kinds.RECORDS
    | threshold_kinds.RECORDS
    | detector_kinds.RECORDS
    | neural_kinds.RECORDS
    | kernel_kinds.RECORDS
    | recognise_kinds.RECORDS
)
BUNDLE = "bundle"


def save(thing: Any, path: str | os.PathLike[str], *, provenance: Any = None) -> Path:
    """Save what was learned as one file, all at once: killed half-way, the old file stays as it was.

    Parameters
    ----------
    thing : an estimator or detector of ours, Moments, SetMoments, Spectrum, Scores, Threshold, a rule, or a mapping
        A mapping is a bundle: names with any of these, with plain values (texts, numbers, lists, mappings) and arrays.
        Names of sets may be texts, numbers, True, False, None, dates, and tuples of those.
    path : str or path
        An existing file is replaced.
    provenance : JSON, optional
        Where it comes from: sources, command, time. `describe_file` shows it.

    Returns
    -------
    Path
        As given.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from undistract import Focus, NearestDetector, load, save
    >>> X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 9, 1]
    >>> focus = Focus(n_remove=1).fit(X, sets=np.repeat([0, 1, 2, 3, 4, 5], 10))
    >>> detector = NearestDetector().fit(focus.transform(X))
    >>> with TemporaryDirectory() as folder:
    ...     path = save({"focus": focus, "detector": detector}, f"{folder}/street.focus")
    ...     model = load(path)
    >>> Z = model["focus"].transform(X)
    >>> bool((model["detector"].anomaly_score(Z) == detector.anomaly_score(focus.transform(X))).all())
    True
    """
    kind = _kind(thing)
    if kind is None and not hasattr(thing, "fit"):  # the packer has more to say about other people's models
        public = ", ".join(name for name, record in RECORDS.items() if record.public)
        raise InputError(f"save got a {type(thing).__name__}; expected one of {public}, or a mapping of them.")
    packer = Packer(RECORDS)
    content = packer.pack(thing, (_root(thing),))
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": __version__,
        "kind": kind,
        "provenance": _plain(provenance),
        "content": content,
    }
    # What is written can be read: the file is put together again before it replaces another.
    _together(json.loads(json.dumps(content)), packer.arrays, _root(thing))
    return write_container(path, header, packer.arrays)


def load(path: str | os.PathLike[str], *, kind: str | type | None = None) -> Any:
    """Load what `save` wrote; no code is run, and whatever is not as it must be is refused with a `FileError`.

    Parameters
    ----------
    path : str or path
    kind : str or type, optional
        What it must be, such as ``"Focus"`` or ``Focus``; ``"bundle"`` or ``dict`` for a mapping.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from undistract import Scores, load, save
    >>> with TemporaryDirectory() as folder:
    ...     path = save(Scores("camera-3", [0.1, 7.5]), f"{folder}/match.scores")
    ...     scores = load(path, kind=Scores)
    >>> scores.name, scores.values
    ('camera-3', array([0.1, 7.5]))
    """
    header, arrays = read_container(path)
    found = header.get("kind")
    wanted = BUNDLE if kind is dict else kind.__name__ if isinstance(kind, type) else kind
    if wanted is not None and found != wanted:
        raise FileError(
            f"{path} holds a {found!r:.40}, expected a {wanted!r}. Give another file, or ask for that kind."
        )
    try:
        thing = _together(header.get("content"), arrays, Path(path).name)
        if found != _kind(thing):
            raise InputError(f"it says that it holds a {found!r:.40}, and it holds a {type(thing).__name__}")
    # A forged file can be wrong in ways that nobody thought of: what numpy or scikit-learn say of it counts too.
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError) as error:
        words = str(error).rstrip(".") or type(error).__name__
        raise FileError(f"{path} cannot be used: {words}. {AGAIN}") from error
    return thing


def describe_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Say what a file holds, from its header alone: nothing is loaded, and the arrays are not looked at.

    Returns
    -------
    dict
        ``kind``, ``format_version``, ``package_version``, ``provenance``, ``bytes``, ``arrays`` (dtype and shape of
        each), and ``content``: settings, names and plain values, with arrays in words. It can be printed as JSON.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from undistract import Focus, describe_file, save
    >>> with TemporaryDirectory() as folder:
    ...     about = describe_file(save(Focus(cutoff=0.9), f"{folder}/new.focus", provenance={"camera": 3}))
    >>> about["kind"], about["content"]["settings"]["cutoff"], about["provenance"]
    ('Focus', 0.9, {'camera': 3})
    """
    header, stored = read_header(path)
    about = {key: header.get(key) for key in ("kind", "format_version", "package_version", "provenance")}
    arrays: dict[str, str] = {}
    try:
        content = _in_words(header.get("content"), stored, arrays)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise FileError(f"{path} has a header that cannot be read ({error!r:.80}). {AGAIN}") from error
    return {"path": str(path), "bytes": Path(path).stat().st_size, **about, "arrays": arrays, "content": content}


def _together(content: Any, arrays: Mapping[str, Array], root: str) -> Any:
    unpacker = Unpacker(RECORDS, arrays)
    thing = unpacker.unpack(content, (root,))
    if unpacker.unused:
        raise InputError(f"nobody asks for its arrays {sorted(unpacker.unused)[:5]}")
    return thing


def _kind(thing: Any) -> str | None:
    if isinstance(thing, Mapping):
        return BUNDLE
    return next((name for name, record in RECORDS.items() if record.made is type(thing)), None)


def _root(thing: Any) -> str:
    return (_kind(thing) or type(thing).__name__).lower()


def _plain(provenance: Any) -> Any:
    try:
        return json.loads(json.dumps(provenance, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"provenance is not plain JSON ({error}). Give texts, numbers, lists and mappings.") from error


def _in_words(node: Any, stored: Mapping[str, tuple[str, list[int]]], arrays: dict[str, str]) -> Any:
    """Strip the grammar off a file's content, so that people can read it; the arrays it names are collected."""
    if isinstance(node, list):
        return [_in_words(item, stored, arrays) for item in node]
    if not isinstance(node, dict):
        return node
    kind = node["type"]
    if kind == "array":
        dtype, shape = stored[node["name"]]
        words = f"{dtype} {tuple(shape[::-1] if node.get('transposed') else shape)}"
        return arrays.setdefault(node["name"], words)
    if kind == "tuple":
        return _in_words(node["items"], stored, arrays)
    if kind == "mapping":
        return {str(_in_words(key, stored, arrays)): _in_words(part, stored, arrays) for key, part in node["items"]}
    if "value" in node:
        return node["value"]
    settings, fields = (
        {key: _in_words(part, stored, arrays) for key, part in (node.get(name) or {}).items()}
        for name in ("settings", "fields")
    )
    return {"type": kind, **({"settings": settings} if settings else {}), **fields}

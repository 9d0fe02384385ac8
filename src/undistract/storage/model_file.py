"""Save and load fitted objects as one file that is never executed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from undistract import detect, few_shot, kernel  # noqa: F401  register their classes
from undistract._text import check_jsonable
from undistract.errors import FileError, InputError
from undistract.neural import estimator  # noqa: F401
from undistract.storage import types  # noqa: F401
from undistract.storage.codec import Decoder, Encoder, public_types, schema_of
from undistract.storage.container import (
    AGAIN,
    FORMAT,
    FORMAT_VERSION,
    Array,
    read_container,
    read_header,
    write_container,
)
from undistract.version import __version__

BUNDLE = "bundle"


def save(thing: Any, path: str | os.PathLike[str], *, provenance: Any = None) -> Path:
    """Save a fitted object as one file, atomically: if the process is killed, the old file is unchanged.

    Parameters
    ----------
    thing : estimator, detector, Moments, GroupMoments, Spectrum, Scores, Threshold, a threshold rule, or a mapping
        A mapping is a bundle: names with any of these, plain values (strings, numbers, lists, mappings) or arrays.
        Group names may be strings, numbers, True, False, None, dates, and tuples of those.
    path : str or path
        An existing file is replaced.
    provenance : JSON, optional
        Origin of the file: sources, command, time. `describe_file` shows it.

    Returns
    -------
    Path
        `path`, unresolved.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from undistract import Focus, NearestDetector, load, save
    >>> X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 9, 1]
    >>> focus = Focus(n_remove=1).fit(X, groups=np.repeat([0, 1, 2, 3, 4, 5], 10))
    >>> detector = NearestDetector().fit(focus.transform(X))
    >>> with TemporaryDirectory() as folder:
    ...     path = save({"focus": focus, "detector": detector}, f"{folder}/street.focus")
    ...     model = load(path)
    >>> Z = model["focus"].transform(X)
    >>> bool((model["detector"].anomaly_score(Z) == detector.anomaly_score(focus.transform(X))).all())
    True
    """
    kind = _kind(thing)
    if kind is None and not hasattr(thing, "fit"):  # the packer has a better message for models of other libraries
        raise InputError(f"save got a {type(thing).__name__}; expected one of {public_types()}, or a mapping of them.")
    encoder = Encoder()
    content = encoder.encode(thing, (_root(thing),))
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": __version__,
        "kind": kind,
        "provenance": check_jsonable(provenance, "provenance"),
        "content": content,
    }
    # Prove that the file can be loaded before it replaces another one.
    _decode(json.loads(json.dumps(content)), encoder.arrays, _root(thing))
    return write_container(path, header, encoder.arrays)


def load(path: str | os.PathLike[str], *, kind: str | type | None = None) -> Any:
    """Load a file written by `save`. No code is run; every field is checked, and invalid files raise `FileError`.

    Parameters
    ----------
    path : str or path
    kind : str or type, optional
        The expected type, such as ``"Focus"`` or ``Focus``; ``"bundle"`` or ``dict`` for a mapping.

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
    actual = header.get("kind")
    expected = kind
    if kind is dict:
        expected = BUNDLE
    elif isinstance(kind, type):
        expected = kind.__name__
    if expected is not None and actual != expected:
        raise FileError(f"{path} holds a {actual!r:.40}, expected a {expected!r}. Pass another file, or another kind.")
    try:
        thing = _decode(header.get("content"), arrays, Path(path).name)
        if actual != _kind(thing):
            raise InputError(f"its header names the type {actual!r:.40}, but it holds a {type(thing).__name__}")
    # A forged file can be wrong in unforeseen ways, so errors of numpy and scikit-learn are reported as well.
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError) as error:
        message = str(error).rstrip(".") or type(error).__name__
        raise FileError(f"{path} cannot be used: {message}. {AGAIN}") from error
    return thing


def describe_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Describe a file from its header only; the arrays are not read.

    Returns
    -------
    dict
        ``kind``, ``format_version``, ``package_version``, ``provenance``, ``bytes``, ``arrays`` (dtype and shape of
        each), and ``content``: settings, names and plain values, with a short text for each array. It is valid JSON.

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
        content = _readable(header.get("content"), stored, arrays)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise FileError(f"{path} has a header that cannot be read ({error!r:.80}). {AGAIN}") from error
    return {"path": str(path), "bytes": Path(path).stat().st_size, **about, "arrays": arrays, "content": content}


def _decode(content: Any, arrays: Mapping[str, Array], root: str) -> Any:
    decoder = Decoder(arrays)
    thing = decoder.decode(content, (root,))
    if decoder.unused:
        raise InputError(f"unreferenced arrays: {sorted(decoder.unused)[:5]}")
    return thing


def _kind(thing: Any) -> str | None:
    if isinstance(thing, Mapping):
        return BUNDLE
    schema = schema_of(thing)
    return None if schema is None else schema.type.__name__


def _root(thing: Any) -> str:
    return (_kind(thing) or type(thing).__name__).lower()


def _readable(node: Any, stored: Mapping[str, tuple[str, list[int]]], arrays: dict[str, str]) -> Any:
    """Return a file's content in readable form, without type tags; collect the arrays it refers to."""
    if isinstance(node, list):
        return [_readable(item, stored, arrays) for item in node]
    if not isinstance(node, dict):
        return node
    kind = node["type"]
    if kind == "array":
        dtype, shape = stored[node["name"]]
        if node.get("transposed"):
            shape = shape[::-1]
        return arrays.setdefault(node["name"], f"{dtype} {tuple(shape)}")
    if kind == "tuple":
        return _readable(node["items"], stored, arrays)
    if kind == "mapping":
        return {str(_readable(key, stored, arrays)): _readable(item, stored, arrays) for key, item in node["items"]}
    if "value" in node:
        return node["value"]
    settings, fields = (
        {key: _readable(item, stored, arrays) for key, item in (node.get(name) or {}).items()}
        for name in ("settings", "fields")
    )
    if settings:
        return {"type": kind, "settings": settings, **fields}
    return {"type": kind, **fields}

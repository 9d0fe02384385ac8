"""What was learned, for other programs: the projection as .onnx, or the arrays as .npz; and any file of ours opened."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from undistract.errors import InputError
from undistract.files import write_whole
from undistract.storage import describe_file, export_onnx
from undistract.workflow.model import Model
from undistract.workflow.score_files import write_scores
from undistract.workflow.scoring import ScoredSets

ENDINGS = (".onnx", ".npz")

# Values of a basis of all that is kept: beyond 1 GB it is left out.
LARGEST_BASIS = 2**27


def open_file(path: str | Path) -> Model | ScoredSets:
    """Open what `Model.save` or `ScoredSets.save` wrote, whichever it is.

    Examples
    --------
    >>> open_file("no-such.focus")
    Traceback (most recent call last):
    ...
    undistract.errors.FileError: There is no file no-such.focus. Is the path right?
    """
    content = describe_file(path)["content"]
    scores = isinstance(content, dict) and content.get("kind") == "scores"
    return ScoredSets.load(path) if scores else Model.load(path)


def what_to_report(path: str | Path, model: str | Path | None = None) -> tuple[Model, ScoredSets | None]:
    """Open a model, or scores with the model that made them; `model` says where that is, if it has moved.

    Examples
    --------
    >>> model, scored = what_to_report("today.scores")  # doctest: +SKIP
    """
    found = open_file(path)
    if isinstance(found, Model):
        return found, None
    place = model or found.model
    if place is None:
        raise InputError(f"{Path(path).name} does not say which model made it. Say where that is: --with MODEL.")
    if not Path(place).exists():
        raise InputError(f"The model of {Path(path).name} is not at {place}. Say where it is: --with MODEL.")
    return Model.load(place), found


def convert(thing: Model | ScoredSets, path: str | Path) -> Path:
    """Write a model or scores for other programs; what the name ends in says how.

    Parameters
    ----------
    thing : Model or ScoredSets
        A model becomes .onnx (rows in, rows without what distracts out) or .npz (its arrays); scores become .csv,
        .parquet or .npz. With more than some 11 000 features, .npz has no `components`: what is kept is the orthogonal
        complement of `patterns`, and a basis of it takes more than 1 GB.
    path : path

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from undistract import FeatureSet, learn
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> with TemporaryDirectory() as folder, np.load(convert(learn(days), Path(folder, "street.npz"))) as arrays:
    ...     arrays["patterns"].shape, arrays["components"].shape
    ((3, 1), (2, 3))
    """
    if isinstance(thing, ScoredSets):
        return write_scores(thing, path)
    ending = Path(path).suffix.lower()
    if ending == ".onnx":
        return export_onnx(thing.focus, path)
    if ending == ".npz":
        return _write_arrays(thing, path)
    raise InputError(f"A model cannot be written as {Path(path).name!r}; end the name in {', '.join(ENDINGS)}.")


def _write_arrays(model: Model, path: str | Path) -> Path:
    focus = model.focus
    held = io.BytesIO()
    basis: dict[str, Any] = {"components": focus.components_} if focus.n_features_in_**2 <= LARGEST_BASIS else {}
    np.savez_compressed(
        held,
        mean=focus.moments_.mean,
        distraction=focus.distraction_,
        patterns=focus.patterns_[:, : focus.n_removed_],
        filters=focus.filters_[:, : focus.n_removed_],
        feature_names=np.array(model.feature_names or ()),
        **basis,
    )
    return write_whole(path, held.getvalue())

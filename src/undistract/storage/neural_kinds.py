"""`NeuralFocus` as a record of a file: the weights of its network are arrays like any others, and never code."""

from __future__ import annotations

from typing import Any

import numpy as np

from undistract.neural.architecture import ENCODERS, Architecture, shapes_of
from undistract.neural.estimator import NeuralFocus
from undistract.neural.rows import RowScale
from undistract.neural.settings import BESIDE, MOST
from undistract.storage.checks import UNIT, Sizes, array, every, expect, number, optional, part, whole, word
from undistract.storage.records import Estimator, Fields, Record


def _weights(value: Any, where: str, sizes: Sizes) -> None:
    """Ask for arrays by name; whether they are those of the network is asked when all is together."""
    expect(isinstance(value, dict) and all(isinstance(name, str) for name in value), f"{where} are no named arrays")
    for name, one in value.items():
        fits = isinstance(one, np.ndarray) and one.dtype == np.float32 and np.isfinite(one).all()
        expect(fits, f"{where}.{name} is not an array of finite float32")


def _architecture_agrees(shape: Architecture) -> None:
    images = shape.image_shape
    expect((shape.encoder == "convolutional") == (images is not None), f"{shape.encoder} and images {images}")
    expect(images is None or len(images) == 3, f"its image shape is {images}")
    expect(images is None or int(np.prod(images, dtype=object)) == shape.n_features, f"images {images} are other rows")


FIELDS = {
    "architecture": part(Architecture),
    "weights": _weights,
    "row_scale": part(RowScale),
    "content_scale": part(RowScale),
    "components": array("k", "c", low=-UNIT, high=UNIT),
    "beside": word(*BESIDE),
    "weight": number(0, MOST),
    "losses": array("e"),
    "held_out_losses": array("f"),
    "n_epochs": whole(0, MOST),
    "share_inside": every(number(0, 1), least=2),
    "rebuilt": number(high=1),
    "n_sets_seen": whole(2),
    "n_rows_seen": whole(4),
    "n_held_out": whole(0),
}


def _take(focus: NeuralFocus) -> Fields:
    return {name: getattr(focus, f"{name}_", None) for name in FIELDS}


def _give(fields: Fields) -> Fields:
    if fields["architecture"] is None:
        expect(all(fields[name] is None for name in FIELDS), "it learned from no sets, and yet learned something")
        return {"architecture_": None}
    lost = [name for name in FIELDS if fields[name] is None]
    expect(not lost, f"it lacks {lost}")
    return {f"{name}_": fields[name] for name in FIELDS}


def _agrees(focus: NeuralFocus) -> None:
    shape = focus.architecture_
    if shape is None:
        return
    expect(shape.n_features == focus.n_features_in_, "its network is about other features")
    found, wanted = {name: one.shape for name, one in focus.weights_.items()}, shapes_of(shape)
    expect(
        found == wanted,
        f"its weights are not those of its network: {sorted(set(found.items()) ^ set(wanted.items()))[:3]}",
    )
    for scale, size in ((focus.row_scale_, shape.n_features), (focus.content_scale_, shape.n_components)):
        expect(len(scale.mean) == size, f"a scale of {len(scale.mean)} for {size} numbers")
    expect(focus.components_.shape[1] == shape.n_components, "its basis is one of another encoding")
    expect(len(focus.share_inside_) == 2, "it names more shares than two")


RECORDS: dict[str, Record] = {
    "Architecture": Record(
        Architecture,
        {
            "encoder": word(*ENCODERS),
            "n_features": whole(1),
            "n_components": whole(1, MOST),
            "n_hidden": whole(1, MOST),
            "image_shape": optional(every(whole(1), least=3)),
        },
        _architecture_agrees,
    ),
    "RowScale": Record(RowScale, {"mean": array("d"), "spread": number(5e-324)}),
    "NeuralFocus": Estimator(
        NeuralFocus,
        {name: optional(check) for name, check in FIELDS.items()},
        _agrees,
        _take,
        _give,
        public=True,
    ),
}

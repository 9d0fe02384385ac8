"""`Recogniser` as a record of a file: examples, their classes, and the likelihood, which is not solved again."""

from __future__ import annotations

from typing import Any

import numpy as np

from undistract.algebra import Moments
from undistract.algebra.likelihood import Likelihood
from undistract.arrays import LARGEST, quiet
from undistract.recognise import Recogniser
from undistract.storage.checks import UNIT, Sizes, array, expect, number, optional, part, whole
from undistract.storage.learned_kinds import ROOT
from undistract.storage.records import Estimator, Fields, Record

MOST_CHARACTERS = 2**26  # that names of one width may take


def _likelihood_agrees(likelihood: Likelihood) -> None:
    n_features, n_directions = likelihood.directions.shape
    expect(n_directions <= n_features, f"{n_directions} directions of {n_features} features")
    with quiet():
        answer = likelihood(likelihood.origin[None], likelihood.origin[None])
    expect(np.isfinite(answer).all(), "it gives no number for its own mean")


def _classes(value: Any, where: str, sizes: Sizes) -> None:
    """Ask for texts, or for an array of numbers or times; whether each is there once is asked when all is together."""
    texts = isinstance(value, tuple) and all(isinstance(one, str) for one in value)
    numbers = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biufM"
    expect(texts or numbers, f"{where} are neither texts, numbers nor times; fit it again with such names of classes")


def _take(recogniser: Recogniser) -> Fields:
    classes = recogniser.classes_
    texts = classes.dtype.kind in "UO"
    return {
        "classes": tuple(classes.tolist()) if texts else classes,
        "width": classes.dtype.itemsize // np.dtype("U1").itemsize if classes.dtype.kind == "U" else None,
        "owner": recogniser._owner.astype(np.int64),
    }


def _give(fields: Fields) -> Fields:
    classes, width = fields["classes"], fields["width"]
    if isinstance(classes, tuple):
        longest = max(map(len, classes), default=0)
        expect(width is None or longest <= width, f"names of up to {longest} letters in a width of {width}")
        expect(
            (width or 0) * len(classes) <= MOST_CHARACTERS,
            f"{len(classes)} names of {width} letters each take more than {MOST_CHARACTERS} in all; give shorter names",
        )
        classes = np.array(classes, dtype=object if width is None else f"U{width}")
    else:
        expect(width is None, "numbers have no width")
    return {"classes_": classes, "_owner": fields["owner"].astype(np.intp)}


def _agrees(recogniser: Recogniser) -> None:
    classes, owner, d = recogniser.classes_, recogniser._owner, recogniser.n_features_in_
    expect(len(classes) > 0 and (classes[1:] > classes[:-1]).all(), "its classes are not in order, each once")
    expect(np.array_equal(np.unique(owner), np.arange(len(classes))), "its examples are not those of its classes")
    sizes = recogniser.examples_.shape[1], len(recogniser.likelihood_.origin)
    expect(all(size == d for size in sizes), f"its parts are not all of {d} features")
    taught = recogniser.moments
    expect(isinstance(taught, Moments | None), "it was taught by no moments")
    expect(taught is None or taught.n_features == d, f"its moments are not of {d} features")


RECORDS: dict[str, Record] = {
    "Likelihood": Record(
        Likelihood,
        {
            "origin": array("d"),
            "directions": array("d", "q", low=-UNIT, high=UNIT),
            "inside": array("q", low=0, high=LARGEST),
            "apart": array("q", "b", low=-ROOT, high=ROOT),
            "cushion": number(0),
            "ridge": number(5e-324),
        },
        _likelihood_agrees,
    ),
    "Recogniser": Estimator(
        Recogniser,
        {
            "classes": _classes,
            "width": optional(whole(1)),  # of texts in an array of their own kind; None: plain ones, or numbers
            "owner": array("m", dtype=np.int64, low=0),
            "examples": array("m", "d"),
            "likelihood": part(Likelihood),
        },
        _agrees,
        _take,
        _give,
        public=True,
        attributes={"examples": "examples_", "likelihood": "likelihood_"},
    ),
}

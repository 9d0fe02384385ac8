"""Detectors of ours as records of a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import NearestNeighbors

from undistract.algebra.soft_filter import SoftFilter
from undistract.arrays import LARGEST
from undistract.detect import (
    DensityRatioDetector,
    DiscriminativeDetector,
    FocusDetector,
    NearestDetector,
    RidgeMahalanobis,
    SparseCombinationDetector,
    Threshold,
)
from undistract.detect.rows import FAR, LEAST_RIDGE, Standard, check_choice, check_number
from undistract.focus import Focus
from undistract.storage.checks import UNIT, Check, array, expect, number, optional, part, whole
from undistract.storage.records import Estimator, Fields, Record

DETECTORS = (
    NearestDetector,
    RidgeMahalanobis,
    DiscriminativeDetector,
    SparseCombinationDetector,
    DensityRatioDetector,
)


def _about(detector: Any, *sizes: int) -> None:
    d = detector.n_features_in_
    expect(all(size == d for size in (len(detector._standard.mean), *sizes)), f"its parts are not all of {d} features")


def _nearest_agrees(detector: NearestDetector) -> None:
    _about(detector, detector._rows.shape[1])
    check_number("n_neighbors", detector.n_neighbors, least=1)
    check_choice("how", detector.how, ("mean", "kth"))
    expect(detector.n_neighbors < len(detector._rows), f"{len(detector._rows)} rows have fewer neighbours")


def _search(fields: Fields) -> Fields:
    return {"_search": NearestNeighbors(n_jobs=fields["settings"].get("n_jobs")).fit(fields["rows"])}


def _take_discriminative(detector: DiscriminativeDetector) -> Fields:
    coefficients, orders = zip(*detector._models, strict=True)
    return {"coefficients": np.stack(coefficients), "orders": np.stack(orders).astype(np.int64)}


def _give_discriminative(fields: Fields) -> Fields:
    orders = fields["orders"]
    expect(len(orders) > 0 and (orders < len(fields["rows"])).all(), "its windows name rows that it does not have")
    return {"_models": list(zip(fields["coefficients"], orders.astype(np.intp), strict=True))}


def _discriminative_agrees(detector: DiscriminativeDetector) -> None:
    basis, n_columns = detector._basis, detector._rows.shape[1]
    _about(detector, len(detector._filter.directions), *([] if basis is None else [len(basis)]))
    expect(n_columns == 1 + (detector.n_features_in_ if basis is None else basis.shape[1]), "its rows are too wide")
    check_number("ridge", detector.ridge, least=LEAST_RIDGE, whole=False)
    check_number("window", detector.window, least=1)
    check_choice("average", detector.average, ("probability", "margin"))
    expect(detector.window < len(detector._models[0][1]), "a window has no rows before it")


def _take_known(watch: FocusDetector) -> Fields:
    known = getattr(watch, "known_", None)
    rows, counts = (None, None) if known is None else (np.concatenate(known), [len(one) for one in known])
    return {
        "known": None if rows is None else rows.astype(np.float64),
        "known_counts": None if counts is None else np.array(counts, dtype=np.int64),
    }


def _give_known(fields: Fields) -> Fields:
    rows, counts = fields["known"], fields["known_counts"]
    if rows is None:
        return {}
    expect(counts is not None and counts.sum() == len(rows), "its known rows are not those of its sets")
    return {"known_": np.split(rows, np.cumsum(counts)[:-1])}


def _watch_agrees(watch: FocusDetector) -> None:
    expect(watch.focus_.n_features_in_ == watch.n_features_in_, "its focus is about other features")
    expect(isinstance(watch.adapt, bool), "adapt is neither True nor False")
    known = getattr(watch, "known_", [])
    expect(all(one.shape[1] == watch.n_features_in_ for one in known), "its known rows have other features")
    if not watch.adapt:
        n_out = watch.focus_.projection_.n_out
        expect(
            getattr(watch.detector_, "n_features_in_", None) == n_out, f"its detector is not one of {n_out} features"
        )


def _give_filter(fields: Fields) -> SoftFilter:
    stretch, shrink = fields["stretch"], fields["shrink"]
    expect((stretch is None) != (shrink is None), "it needs either stretch or shrink")
    if stretch is None:
        stretch = 1 / np.maximum(1 - shrink, 1 / LARGEST)
    return SoftFilter(fields["directions"], stretch)


_SCORES: dict[str, Check] = {"standard": part(Standard), "scores": array("n", nan=True)}
_COMMON = {"standard": "_standard", "scores": "scores_"}

RECORDS: dict[str, Record] = {
    "Standard": Record(Standard, {"exponent": whole(-1100, 1100), "mean": array("d"), "spread": number(5e-324)}),
    "SoftFilter": Record(
        SoftFilter,
        {
            "directions": array("d", "r", low=-UNIT, high=UNIT),
            "stretch": optional(array("r", low=1, high=LARGEST)),
            "shrink": optional(array("r", low=0, high=1)),  # 1 - 1/stretch, as older files have it
        },
        take=lambda one: {"directions": one.directions, "stretch": one.stretch, "shrink": None},
        give=_give_filter,
        later={"stretch": None, "shrink": None},
    ),
    "NearestDetector": Estimator(
        NearestDetector,
        {**_SCORES, "rows": array("n", "d", low=-FAR, high=FAR)},
        _nearest_agrees,
        give=_search,
        public=True,
        attributes={**_COMMON, "rows": "_rows"},
    ),
    "RidgeMahalanobis": Estimator(
        RidgeMahalanobis,
        {
            **_SCORES,
            "mean": array("d", low=-FAR, high=FAR),
            "directions": array("d", "r", low=-UNIT, high=UNIT),
            "variances": array("r", low=0),
            "floor": number(1e-50),
        },
        lambda detector: _about(detector, len(detector.mean_)),
        public=True,
        attributes={
            **_COMMON,
            "mean": "mean_",
            "directions": "directions_",
            "variances": "variances_",
            "floor": "floor_",
        },
    ),
    "DiscriminativeDetector": Estimator(
        DiscriminativeDetector,
        {
            **_SCORES,
            "filter": part(SoftFilter),
            "basis": optional(array("d", "b", low=-UNIT, high=UNIT)),
            "rows": array("n", "c", low=-FAR * FAR**0.1, high=FAR * FAR**0.1),
            "coefficients": array("s", "c", low=-FAR, high=FAR),
            "orders": array("s", "t", dtype=np.int64, low=0),
            "probabilities": array("n", nan=True),
            "margins": array("n", nan=True),
            "counts": array("n", dtype=np.int64, low=0),
        },
        _discriminative_agrees,
        _take_discriminative,
        _give_discriminative,
        public=True,
        attributes={
            **_COMMON,
            "filter": "_filter",
            "basis": "_basis",
            "rows": "_rows",
            "probabilities": "probabilities_",
            "margins": "margins_",
            "counts": "counts_",
        },
    ),
    "SparseCombinationDetector": Estimator(
        SparseCombinationDetector,
        {**_SCORES, "bases": array("K", "d", "s", low=-UNIT, high=UNIT)},
        lambda detector: _about(detector, detector.bases_.shape[1]),
        public=True,
        attributes={**_COMMON, "bases": "bases_"},
    ),
    "DensityRatioDetector": Estimator(
        DensityRatioDetector,
        {**_SCORES, "coefficients": array("c", low=-FAR, high=FAR)},
        lambda detector: _about(detector, len(detector._coefficients) - 1),
        public=True,
        attributes={**_COMMON, "coefficients": "_coefficients"},
    ),
    "FocusDetector": Estimator(
        FocusDetector,
        {
            "focus": part(Focus),
            "detector": part(*DETECTORS),
            "threshold": part(Threshold),
            "offset": number(infinite=True),
            "scores": array("n", nan=True),
            "known": optional(array("k", "d")),
            "known_counts": optional(array("M", dtype=np.int64, low=1, high=2**53)),
        },
        _watch_agrees,
        _take_known,
        _give_known,
        public=True,
        attributes={
            "focus": "focus_",
            "detector": "detector_",
            "threshold": "threshold_",
            "offset": "offset_",
            "scores": "scores_",
        },
        later={"known": None, "known_counts": None},
    ),
    # A detector's penalty may come as FrozenEstimator(focus).
    "FrozenEstimator": Record(FrozenEstimator, {"estimator": part(Focus)}),
}

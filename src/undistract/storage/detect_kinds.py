"""Detectors, scores and thresholds as records of a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import NearestNeighbors

from undistract.detect import (
    AlarmBudget,
    Calibration,
    Conformal,
    DensityRatioDetector,
    DiscriminativeDetector,
    FocusDetector,
    MostSets,
    NearestDetector,
    Quantile,
    RidgeMahalanobis,
    Scores,
    SparseCombinationDetector,
    Tail,
    Threshold,
)
from undistract.detect.budget import AlarmPrice
from undistract.detect.conformal import InMostSets, OneMoreSet
from undistract.detect.rows import FAR, LEAST_RIDGE, Standard, check_choice, check_number
from undistract.detect.soft_filter import SoftFilter
from undistract.detect.tail import ParetoTail
from undistract.focus import Focus
from undistract.storage.checks import UNIT, Check, anything, array, expect, number, optional, part, whole, word
from undistract.storage.records import Estimator, Fields, Record

TAILS = (Calibration, ParetoTail, OneMoreSet, InMostSets, AlarmPrice)
DETECTORS = (
    NearestDetector,
    RidgeMahalanobis,
    DiscriminativeDetector,
    SparseCombinationDetector,
    DensityRatioDetector,
)


def _take_calibration(calibration: Calibration) -> Fields:
    sets = calibration.sets
    return {
        "scores": np.concatenate(sets),
        "counts": np.array([len(one) for one in sets], dtype=np.int64),
        "shares": calibration.shares,
    }


def _give_calibration(fields: Fields) -> Calibration:
    scores, counts, shares = fields["scores"], fields["counts"], fields["shares"]
    expect(sum(counts.tolist()) == len(scores) == len(shares) - 1, "the scores are not those of its sets")
    sets = tuple(np.split(scores, np.cumsum(counts)[:-1]))
    expect(all((one[1:] >= one[:-1]).all() for one in sets), "the scores of a set are not in order")
    expect((np.diff(shares) <= 0).all() and shares[-1] == 0, "its shares do not fall to zero")
    return Calibration(sets, np.sort(scores, kind="stable"), shares)


def _take_threshold(threshold: Threshold) -> Fields:
    owner = getattr(threshold.tail, "__self__", None)
    return {name: getattr(threshold, name) for name in _THRESHOLD} | {"tail": owner or threshold.tail}


def _give_threshold(fields: Fields) -> Threshold:
    tail = fields.pop("tail")
    return Threshold(**fields, tail=tail.reach if isinstance(tail, Calibration) else tail.p_values)


def _place_exists(tail: InMostSets) -> None:
    expect(tail.place <= tail.calibration.n_sets, f"place {tail.place} of {tail.calibration.n_sets} sets")


def _about(detector: Any, *sizes: int) -> None:
    d = detector.n_features_in_
    expect(all(size == d for size in (len(detector._standard.mean), *sizes)), f"its parts are not all of {d} features")


def _nearest_agrees(detector: NearestDetector) -> None:
    _about(detector, detector._rows.shape[1])
    check_number("n_neighbors", detector.n_neighbors, least=1)
    check_choice("how", detector.how, ("mean", "kth"))
    expect(detector.n_neighbors < len(detector._rows), f"{len(detector._rows)} rows have fewer neighbours")


def _search(fields: Fields) -> Fields:
    n_jobs = fields["settings"].get("n_jobs")
    # Threads are started for it: a file must not ask for a million.
    optional(whole(-256, 256))(n_jobs, "n_jobs", {})
    expect(n_jobs != 0, "n_jobs is 0, expected None or another number")
    return {"_search": NearestNeighbors(n_jobs=n_jobs).fit(fields["rows"])}


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


def _watch_agrees(watch: FocusDetector) -> None:
    expect(watch.focus_.n_features_in_ == watch.n_features_in_, "its focus is about other features")
    expect(isinstance(watch.adapt, bool), "adapt is neither True nor False")
    if not watch.adapt:
        n_out = watch.focus_.projection_.n_out
        expect(
            getattr(watch.detector_, "n_features_in_", None) == n_out, f"its detector is not one of {n_out} features"
        )


def _rule(made: type, *settings: str) -> Record:
    # A rule checks its own settings when it is made.
    return Record(made, dict.fromkeys(settings, anything), public=True)


_SCORES: dict[str, Check] = {"standard": part(Standard), "scores": array("n", nan=True)}
_COMMON = {"standard": "_standard", "scores": "scores_"}
_THRESHOLD: dict[str, Check] = {
    "value": number(infinite=True),
    "rate": number(0),
    "guarantee": number(0),
    "rule": word(),
    "n_rows": whole(1),
    "n_sets": whole(1),
}

RECORDS: dict[str, Record] = {
    "Scores": Record(Scores, {"name": anything, "values": array("n", nan=True), "times": anything}, public=True),
    "Calibration": Record(
        Calibration,
        {
            "scores": array("n"),
            "counts": array("M", dtype=np.int64, low=1, high=2**53),
            "shares": array("s", low=0, high=1),
        },
        take=_take_calibration,
        give=_give_calibration,
    ),
    "ParetoTail": Record(
        ParetoTail,
        {
            "calibration": part(Calibration),
            "start": number(),
            "share": number(0, 1),
            "shape": number(),
            "scale": number(5e-324),
        },
    ),
    "OneMoreSet": Record(OneMoreSet, {"calibration": part(Calibration), "whole_sets": part(bool)}),
    "InMostSets": Record(InMostSets, {"calibration": part(Calibration), "place": whole(1)}, _place_exists),
    "AlarmPrice": Record(
        AlarmPrice, {"by_alarm": part(Calibration), "by_row": part(Calibration), "alarms_for_a_row": number(0)}
    ),
    "Threshold": Record(
        Threshold, {**_THRESHOLD, "tail": part(*TAILS)}, take=_take_threshold, give=_give_threshold, public=True
    ),
    "Quantile": _rule(Quantile, "rate"),
    "Conformal": _rule(Conformal, "rate", "whole_sets"),
    "MostSets": _rule(MostSets, "rate", "share"),
    "Tail": _rule(Tail, "rate", "share"),
    "AlarmBudget": _rule(AlarmBudget, "alarms", "rows_per_day", "gap", "share"),
    "Standard": Record(Standard, {"exponent": whole(-1100, 1100), "mean": array("d"), "spread": number(5e-324)}),
    "SoftFilter": Record(
        SoftFilter, {"directions": array("d", "r", low=-UNIT, high=UNIT), "shrink": array("r", low=0, high=1)}
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
        },
        _watch_agrees,
        public=True,
        attributes={
            "focus": "focus_",
            "detector": "detector_",
            "threshold": "threshold_",
            "offset": "offset_",
            "scores": "scores_",
        },
    ),
    # A detector's penalty may come as FrozenEstimator(focus).
    "FrozenEstimator": Record(FrozenEstimator, {"estimator": part(Focus)}),
}

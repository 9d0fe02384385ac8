"""Scores and thresholds as records of a file."""

from __future__ import annotations

import numpy as np

from undistract.detect import AlarmBudget, Calibration, Conformal, MostSets, Quantile, Scores, Tail, Threshold
from undistract.detect.budget import AlarmPrice
from undistract.detect.conformal import InMostSets, OneMoreSet
from undistract.detect.tail import ParetoTail
from undistract.storage.checks import Check, anything, array, expect, number, part, whole, word
from undistract.storage.records import Fields, Record

TAILS = (Calibration, ParetoTail, OneMoreSet, InMostSets, AlarmPrice)


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


def _rule(made: type, *settings: str) -> Record:
    # A rule checks its own settings when it is made.
    return Record(made, dict.fromkeys(settings, anything), public=True)


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
}

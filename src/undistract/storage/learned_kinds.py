"""What FOCUS learned, as records of a file: moments, spectrum, cut, and what a projection is made of."""

from __future__ import annotations

import numpy as np

from undistract.algebra import Cut, Evidence, Moments, SetMoments, Spectrum, Taught
from undistract.algebra.complement import Complement
from undistract.algebra.cushion import Variances
from undistract.algebra.directions import Known
from undistract.algebra.frequent_directions import FrequentDirections
from undistract.algebra.sketch import SketchedMoments
from undistract.algebra.store import Folded, KeptRows
from undistract.arrays import LARGEST, Floats, quiet
from undistract.storage.checks import UNIT, array, every, expect, names, number, optional, part, whole, word
from undistract.storage.records import Fields, Record

ROOT = float(np.sqrt(LARGEST))  # what can be squared


def _symmetric(matrix: Floats) -> None:
    # Sums are symmetric to the bit; a set taken out again leaves a little rounding.
    expect(matrix.shape[0] == matrix.shape[1], f"a scatter has shape {matrix.shape}")
    expect(np.abs(matrix - matrix.T).max() <= 1e-6 * np.abs(matrix).max(), "a scatter is not symmetric")


def _folded_agrees(folded: Folded) -> None:
    for matrix in (folded.within, folded.between_means, *(folded.wander or ())):
        _symmetric(matrix)
        expect(matrix.shape == folded.within.shape, "its matrices differ in size")
    expect(folded.wander is None or len(folded.wander) == 2, "the wandering of set means takes two matrices")


def _set_agrees(one: SetMoments) -> None:
    expect((one.deviations is None) != (one.folded is None), "it needs either deviations or a scatter")
    if one.deviations is not None:
        expect(len(one.deviations) == one.count, f"{len(one.deviations)} deviations for {one.count} rows")
    if one.folded is not None:
        _symmetric(one.folded)
    _finite_mean(one)


def _sketch_agrees(sketch: SketchedMoments) -> None:
    for half in (sketch.inside, sketch.apart):
        width, n_features = half.rows.shape[1], sketch.n_features
        expect(width == n_features, f"it has rows of {width} for {n_features} features")
        expect(half.size == sketch.size, "its two parts differ in size")
    _finite_mean(sketch)


def _directions_agree(sketch: FrequentDirections) -> None:
    expect(len(sketch.rows) <= 2 * sketch.size, f"{len(sketch.rows)} rows for a size of {sketch.size}")


def _finite_mean(moments: SetMoments | Moments | SketchedMoments) -> None:
    with quiet():
        expect(np.isfinite(moments.mean).all(), "its mean is not finite")


def _moments_agree(moments: Moments) -> None:
    store, n_features = moments.store, moments.n_features
    if isinstance(store, KeptRows):
        expect(store.anchors.shape == (moments.n_sets, n_features), "it has not one anchor for each set")
        n_rows = sum(moments.counts.tolist())  # of Python's own numbers, which do not overflow
        expect(len(store.deviations) == n_rows, f"{len(store.deviations)} rows are kept of {n_rows}")
    else:
        expect(len(store.within) == n_features, f"matrices of {len(store.within)} for {n_features} features")
    _finite_mean(moments)


def _spectrum_agrees(spectrum: Spectrum) -> None:
    n_directions = len(spectrum.distraction)
    expect(spectrum.n_moving <= n_directions <= spectrum.n_features, "it has more directions than features")
    # What people told stands before what the sets show.
    expect(spectrum.taught is not None or (np.diff(spectrum.distraction) <= 0).all(), "its directions are not in order")


def _give_spectrum(fields: Fields) -> Spectrum:
    wide = Known(*(fields.pop(name) for name in ("filters", "patterns", "unevenness")))
    return Spectrum(directions=wide, **fields)


def _complement_agrees(complement: Complement) -> None:
    features = complement.features
    expect((np.diff(features) > 0).all() and (features < len(complement.reading)).all(), "its features are no places")


RECORDS: dict[str, Record] = {
    "KeptRows": Record(
        KeptRows, {"anchors": array("M", "d"), "offsets": array("M", "d"), "deviations": array("n", "d")}
    ),
    "Folded": Record(
        Folded,
        {
            "within": array("d", "d", low=-LARGEST, high=LARGEST),
            "between_means": array("d", "d", low=-LARGEST, high=LARGEST),
            "wander": optional(every(array("d", "d", low=-LARGEST, high=LARGEST))),
            "spread_sum": array("d", low=0.0, high=LARGEST),
        },
        _folded_agrees,
    ),
    "SetMoments": Record(
        SetMoments,
        {
            "count": whole(1),
            "origin": array("d"),
            "offset": array("d"),
            "deviations": optional(array("n", "d", low=-ROOT, high=ROOT)),
            "folded": optional(array("d", "d", low=-LARGEST, high=LARGEST)),
        },
        _set_agrees,
        public=True,
    ),
    "Moments": Record(
        Moments,
        {
            "names": names,
            "counts": array("M", dtype=np.int64, low=1, high=2**53),
            "weights": array("M", low=1e-100, high=1e100),
            "prior": word("uniform", "by_size", "given"),
            "origin": array("d"),
            "offset": array("d"),
            "store": part(KeptRows, Folded),
        },
        _moments_agree,
        public=True,
    ),
    "FrequentDirections": Record(
        FrequentDirections,
        {
            "size": whole(1, 2**31),
            "rows": array("n", "d", low=-ROOT, high=ROOT),
            "dropped": number(0, LARGEST),
            "mass": number(0, LARGEST),
        },
        _directions_agree,
    ),
    "SketchedMoments": Record(
        SketchedMoments,
        {
            "names": names,
            "counts": array("M", dtype=np.int64, low=1, high=2**53),
            "weights": array("M", low=1e-100, high=1e100),
            "prior": word("uniform", "by_size", "given"),
            "origin": array("d"),
            "offset": array("d"),
            "inside": part(FrequentDirections),
            "apart": part(FrequentDirections),
            "traces": array("M", low=0.0, high=LARGEST),
            "variances_inside": array("d", low=0.0, high=LARGEST),
            "variances_apart": array("d", low=0.0, high=LARGEST),
            "spread": array("d", low=0.0, high=LARGEST),
        },
        _sketch_agrees,
        public=True,
    ),
    "Evidence": Record(
        Evidence,
        {"n_sets": whole(1), "n_rows": whole(1), "n_directions": whole(0), "pure_distractor": number(0, 1)},
    ),
    "Variances": Record(Variances, {"total": number(0), "within": number(0), "mean": number(0)}),
    "Spectrum": Record(
        Spectrum,
        {
            "distraction": array("q", low=0, high=1),
            "debiased": array("q", low=0, high=1),
            "filters": array("d", "q"),
            "patterns": array("d", "q"),
            "origin": array("d"),
            "cushion": number(0),
            "n_moving": whole(0),
            "unevenness": array("q", low=0.0),
            "evidence": part(Evidence),
            "taught": optional(array("q", low=0.0)),
            "variances": optional(part(Variances)),
        },
        _spectrum_agrees,
        give=_give_spectrum,
        public=True,
        later={"taught": None, "variances": None},
    ),
    "Taught": Record(
        Taught,
        {
            "familiar": array("n", "d", low=-ROOT, high=ROOT),
            "strengths": array("n", low=0.0, high=1e100),
            "protected": array("p", "d", low=-ROOT, high=ROOT),
        },
    ),
    "Cut": Record(Cut, {"n_removed": whole(0), "cutoff": number(0, 1), "rule": word(), "cautions": every(word())}),
    "Complement": Record(
        Complement,
        {
            "features": array("k", dtype=np.int64, low=0),
            "reading": array("d", "r", low=-UNIT, high=UNIT),
            "spread": array("r", "k", low=-UNIT, high=UNIT),
        },
        _complement_agrees,
    ),
}

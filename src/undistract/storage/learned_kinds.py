"""What FOCUS learned, as records of a file: moments, spectrum, cut, projection, and `Focus` itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from undistract.algebra import Cut, Evidence, Moments, Projection, SetMoments, Spectrum, Taught
from undistract.algebra.complement import Complement
from undistract.algebra.directions import Known
from undistract.algebra.frequent_directions import FrequentDirections
from undistract.algebra.growing import Growing
from undistract.algebra.projection import Eigen, KeptSpan, Oblique, Soft
from undistract.algebra.sketch import SketchedMoments
from undistract.algebra.soft_filter import SoftFilter
from undistract.algebra.spectrum import Variances
from undistract.algebra.store import Folded, KeptRows
from undistract.algebra.strength import check_strength
from undistract.arrays import LARGEST, Floats, quiet
from undistract.focus import Focus
from undistract.learned import Settings
from undistract.storage.checks import (
    UNIT,
    anything,
    array,
    every,
    expect,
    names,
    number,
    optional,
    part,
    whole,
    word,
)
from undistract.storage.records import Estimator, Fields, Record

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


def _take_focus(focus: Focus) -> Fields:
    growing, waiting = focus.growing_, focus.is_waiting
    if waiting and any(getattr(focus, name) is not value for name, value in focus.settings_._asdict().items()):
        waiting = focus.projection_ is None  # settings were changed since: what was wanted is found now
    projection = None if waiting else focus.projection_
    solved: Fields = dict.fromkeys(("moments", "spectrum", "cut", "removal"))
    if projection is not None:
        solved = {"moments": focus.moments_, "spectrum": focus.spectrum_, "cut": focus.cut_}
        solved["removal"] = projection.removal  # the setting may have been changed since
    return solved | {
        "complement": getattr(projection, "rest", None)
        or (projection.complement if isinstance(projection, KeptSpan) else None),
        "kept_filters": getattr(projection, "kept_filters", None),
        "kept_patterns": getattr(projection, "kept_patterns", None),
        "soft_filter": getattr(projection, "filter", None),
        "strength": getattr(projection, "strength", None),
        "open_sets": tuple(growing.opened.items()),
        "closed_sets": "all" if growing.closed is solved["moments"] is not None else growing.closed,
        "keys": tuple(growing.keys.items()),
    }


def _give_focus(fields: Fields) -> Fields:
    closed = fields["moments"] if fields["closed_sets"] == "all" else fields["closed_sets"]
    opened, keys = (_pairs(fields[name], name.replace("_", " ")) for name in ("open_sets", "keys"))
    expect(all(isinstance(piece, SetMoments) for piece in opened.values()), "open sets are no sums")
    expect(closed is None or isinstance(closed, Moments | SketchedMoments), "closed sets are no sums")
    expect(opened or closed is not None, "it has no sets")
    for n_rows in keys.values():
        whole(1)(n_rows, "keys", {})
    given, default = fields["settings"], Focus().get_params()
    settings = Settings(*(given.get(name, default[name]) for name in Settings._fields))
    made = {"growing_": Growing(opened, closed, keys), "settings_": settings}
    solved = [fields[name] for name in ("moments", "spectrum", "cut", "removal")]
    if all(part is None for part in solved):
        expect(not any(hasattr(value, "fit") for value in settings), "one of its settings is an estimator")
        settings.check()
        expect(fields["complement"] is None, "it has a projection of nothing")
        return made
    expect(all(part is not None for part in solved), "it lacks what its sets say")
    return made | {
        "moments_": fields["moments"],
        "spectrum_": fields["spectrum"],
        "cut_": fields["cut"],
        "projection_": _projection(fields),
    }


def _pairs(pairs: tuple[Any, ...], what: str) -> dict[Any, Any]:
    expect(all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs), f"{what} are no pairs")
    names(tuple(name for name, _ in pairs) or (None,), what, {})
    return dict(pairs)


def _projection(fields: Fields) -> Projection:
    """Make the projection of the spectrum's own arrays, as `Projection.of` does, without solving anything again."""
    spectrum, n_removed = fields["spectrum"], fields["cut"].n_removed
    n_features, n_directions = spectrum.patterns.shape
    expect(n_removed <= spectrum.n_moving, f"{n_removed} directions are removed, {spectrum.n_moving} vary")
    removed = spectrum.origin, spectrum.directions.first(n_removed)
    complement, kept = fields["complement"], (fields["kept_filters"], fields["kept_patterns"])
    soft, strength = fields["soft_filter"], fields["strength"]
    if fields["removal"] == "soft":
        expect(soft is not None and soft.directions.shape == (n_features, n_removed), "it lacks the soft filter")
        expect(complement is None and kept == (None, None), "a soft projection keeps nothing but its filter")
        check_strength(strength)
        return Soft(*removed, soft, strength)
    expect(soft is None and strength is None, "only a soft projection has a filter")
    spanned = {"kept_span": n_removed, "eigen": n_directions, "oblique": None}[fields["removal"]]
    if spanned is None:
        expect(complement is None and kept == (None, None), "an oblique projection keeps nothing but its directions")
        return Oblique(*removed)
    expect(complement is not None, "it lacks the complement")
    expect(complement.reading.shape[0] == n_features, f"the complement is not one of {n_features} features")
    expect(len(complement.features) == n_features - spanned, "the complement has not the size of what is kept")
    if fields["removal"] == "kept_span":
        expect(kept == (None, None), "a kept span has no filters of its own")
        return KeptSpan.made(*removed, complement)
    for columns in kept:
        expect(columns is not None and columns.shape == (n_features, n_directions - n_removed), "kept columns are lost")
    return Eigen(*removed, *kept, complement)


def _focus_agrees(focus: Focus) -> None:
    d, growing = focus.n_features_in_, focus.growing_
    parts: list[Any] = [*growing.opened.values(), *([growing.closed] if growing.closed else [])]
    if not focus.is_waiting:
        parts += [focus.moments_, focus.spectrum_]
    expect(all(len(one.origin) == d for one in parts), f"its parts are not all about {d} features")
    names(growing.names, "sets", {})
    expect(focus.taught_ is None or focus.taught_.n_features == d, f"what people taught is not about {d} features")
    if focus.is_waiting:
        expect(focus.taught_ is None, "people taught what was not learned yet")
        return
    expect(growing.names == focus.moments_.names, "the sets it can learn on from are not those of its moments")
    with quiet():
        expect(
            np.isfinite(focus.projection_(focus.spectrum_.origin[None, :])).all(), "it projects the mean to infinity"
        )


RECORDS["Focus"] = Estimator(
    Focus,
    {
        # The first four are None while rows wait to be asked about.
        "moments": optional(part(Moments, SketchedMoments)),
        "spectrum": optional(part(Spectrum)),
        "cut": optional(part(Cut)),
        "removal": optional(word("kept_span", "eigen", "oblique", "soft")),
        "taught": optional(part(Taught)),
        "complement": optional(part(Complement)),
        "kept_filters": optional(array("d", "u", low=-UNIT, high=UNIT)),
        "kept_patterns": optional(array("d", "u")),
        "soft_filter": optional(part(SoftFilter)),
        "strength": anything,
        "open_sets": every(part(tuple)),
        "closed_sets": anything,
        "keys": every(part(tuple)),
    },
    _focus_agrees,
    _take_focus,
    _give_focus,
    public=True,
    attributes={"taught": "taught_"},
    later={"taught": None, "keys": (), "soft_filter": None, "strength": None},
)

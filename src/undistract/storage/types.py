"""Declare the classes of algebra and `Focus` that can be saved.

Other packages declare their classes with `undistract._schema.saveable` themselves; then storage needs no change.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from undistract._arrays import LARGEST, Floats, ignore_fp_warnings
from undistract._schema import (
    UNIT,
    anything,
    array,
    group_names,
    instance_of,
    integer,
    number,
    optional,
    require,
    saveable,
    string,
    tuple_of,
)
from undistract.algebra import Evidence, Feedback, GroupMoments, Moments, Projection, Selection, Spectrum
from undistract.algebra.moments import MatrixStore, RowStore
from undistract.algebra.projection import REMOVALS, Complement
from undistract.algebra.shrinkage import ShrinkageFilter
from undistract.algebra.sketch import FrequentDirections, SketchedMoments
from undistract.algebra.spectrum import DenseDirections, Variances
from undistract.algebra.streaming import StreamingMoments
from undistract.focus import Focus

Fields = dict[str, Any]
ROOT = float(np.sqrt(LARGEST))  # values up to this can be squared
SQUARES = array("d", "d", low=-LARGEST, high=LARGEST)
VARIANCES = array("d", low=0.0, high=LARGEST)
COUNTS = array("M", dtype=np.int64, low=1, high=2**53)
WEIGHTS = array("M", low=1e-100, high=1e100)
PRIOR = string("uniform", "by_size", "given")


# Algebra: moments, spectrum, selection


def _check_symmetric(matrix: Floats) -> None:
    # Sums are symmetric bit by bit; subtracting a group leaves a little rounding.
    require(matrix.shape[0] == matrix.shape[1], f"a scatter has shape {matrix.shape}")
    require(np.abs(matrix - matrix.T).max() <= 1e-6 * np.abs(matrix).max(), "a scatter is not symmetric")


def _check_mean(moments: GroupMoments | Moments | SketchedMoments) -> None:
    with ignore_fp_warnings():
        require(np.isfinite(moments.mean).all(), "its mean is not finite")


def _check_matrices(store: MatrixStore) -> None:
    for matrix in (store.within, store.between, *(store.noise or ())):
        _check_symmetric(matrix)
        require(matrix.shape == store.within.shape, "its matrices differ in size")
    require(store.noise is None or len(store.noise) == 2, "the noise of group means needs two matrices")


def _check_group(group: GroupMoments) -> None:
    require((group.deviations is None) != (group.folded is None), "it needs either deviations or a scatter")
    if group.deviations is not None:
        require(len(group.deviations) == group.count, f"{len(group.deviations)} deviations for {group.count} rows")
    if group.folded is not None:
        _check_symmetric(group.folded)
    _check_mean(group)


def _check_moments(moments: Moments) -> None:
    store = moments.store
    n_features = moments.n_features
    if isinstance(store, RowStore):
        require(store.anchors.shape == (moments.n_groups, n_features), "it has not one anchor for each group")
        n_rows = sum(moments.counts.tolist())  # Python integers do not overflow
        require(len(store.deviations) == n_rows, f"{len(store.deviations)} rows are kept of {n_rows}")
    else:
        require(len(store.within) == n_features, f"matrices of {len(store.within)} for {n_features} features")
    _check_mean(moments)


def _check_sketch(sketch: SketchedMoments) -> None:
    for half in (sketch.within_sketch, sketch.between_sketch):
        width = half.rows.shape[1]
        require(width == sketch.n_features, f"it has rows of {width} for {sketch.n_features} features")
        require(half.size == sketch.size, "its two parts differ in size")
    _check_mean(sketch)


def _check_directions(sketch: FrequentDirections) -> None:
    require(len(sketch.rows) <= 2 * sketch.size, f"{len(sketch.rows)} rows for a size of {sketch.size}")


saveable({"anchors": array("M", "d"), "offsets": array("M", "d"), "deviations": array("n", "d")}, public=False)(
    RowStore
)
saveable(
    {"within": SQUARES, "between": SQUARES, "noise": optional(tuple_of(SQUARES)), "spread": VARIANCES},
    validate=_check_matrices,
    public=False,
)(MatrixStore)
saveable(
    {
        "count": integer(1),
        "origin": array("d"),
        "offset": array("d"),
        "deviations": optional(array("n", "d", low=-ROOT, high=ROOT)),
        "folded": optional(SQUARES),
    },
    validate=_check_group,
)(GroupMoments)
_WEIGHTED = {"names": group_names, "counts": COUNTS, "weights": WEIGHTS, "prior": PRIOR}
_MEAN = {"origin": array("d"), "offset": array("d")}
saveable({**_WEIGHTED, **_MEAN}, validate=_check_moments)(Moments)
saveable(
    {
        **_WEIGHTED,
        **_MEAN,
        "traces": array("M", low=0.0, high=LARGEST),
        "variances_within": VARIANCES,
        "variances_between": VARIANCES,
        "spread": VARIANCES,
    },
    validate=_check_sketch,
)(SketchedMoments)
saveable(
    {
        "size": integer(1, 2**31),
        "rows": array("n", "d", low=-ROOT, high=ROOT),
        "dropped": number(0, LARGEST),
        "mass": number(0, LARGEST),
    },
    validate=_check_directions,
    public=False,
)(FrequentDirections)
saveable(
    {"n_groups": integer(1), "n_rows": integer(1), "n_directions": integer(0), "pure_distractor": number(0, 1)},
    public=False,
)(Evidence)
saveable(dict.fromkeys(("total", "within", "mean"), number(0)), public=False)(Variances)


def _spectrum_fields(spectrum: Spectrum) -> Fields:
    # The directions may be lazy: store the arrays they stand for.
    return {name: getattr(spectrum, name) for name in _SPECTRUM}


def _make_spectrum(fields: Fields) -> Spectrum:
    directions = DenseDirections(*(fields.pop(name) for name in ("filters", "patterns", "heterogeneity")))
    return Spectrum(directions=directions, **fields)


def _check_spectrum(spectrum: Spectrum) -> None:
    n_directions = len(spectrum.distraction)
    require(spectrum.n_varying <= n_directions <= spectrum.n_features, "it has more directions than features")
    # Directions from feedback come before those of the groups.
    ordered = spectrum.feedback_share is not None or (np.diff(spectrum.distraction) <= 0).all()
    require(ordered, "its directions are not in order")


_SPECTRUM = {
    "distraction": array("q", low=0, high=1),
    "debiased": array("q", low=0, high=1),
    "filters": array("d", "q"),
    "patterns": array("d", "q"),
    "origin": array("d"),
    "ridge": number(0),
    "n_varying": integer(0),
    "heterogeneity": array("q", low=0.0),
    "evidence": instance_of(Evidence),
    "feedback_share": optional(array("q", low=0.0)),
    "variances": optional(instance_of(Variances)),
}
saveable(_SPECTRUM, validate=_check_spectrum, encode=_spectrum_fields, decode=_make_spectrum)(Spectrum)
saveable(
    {
        "ignored": array("n", "d", low=-ROOT, high=ROOT),
        "weights": array("n", low=0.0, high=1e100),
        "confirmed": array("p", "d", low=-ROOT, high=ROOT),
    },
    public=False,
)(Feedback)
saveable({"n_removed": integer(0), "cutoff": number(0, 1)}, public=False)(Selection)


# Projections: every class of REMOVALS is a dataclass whose fields are saved as they are


def _projection_fields(projection: Projection) -> Fields:
    saved = {field.name: getattr(projection, field.name) for field in fields(projection)}
    removed = projection.removed  # may be lazy
    return saved | {"removed": DenseDirections(removed.filters, removed.patterns, removed.heterogeneity)}


def _check_projection(projection: Projection) -> None:
    with ignore_fp_warnings():
        projected = projection(projection.origin[None, :])
        require(np.isfinite(projected).all(), "the projected mean is not finite")
        require(projected.shape == (1, projection.n_out), "it has other coordinates than it declares")
        require(projection.inverse(projected).shape == (1, len(projection.origin)), "its inverse has other features")


def _check_complement(complement: Complement) -> None:
    chosen = complement.features
    valid = (np.diff(chosen) > 0).all() and (chosen < len(complement.reading)).all()
    require(valid, "its features are not valid indices")


saveable({"filters": array("d", "q"), "patterns": array("d", "q"), "heterogeneity": array("q")}, public=False)(
    DenseDirections
)
saveable({"directions": array("d", "r", low=-UNIT, high=UNIT), "gain": array("r", low=1, high=LARGEST)}, public=False)(
    ShrinkageFilter
)
saveable(
    {
        "features": array("k", dtype=np.int64, low=0),
        "reading": array("d", "r", low=-UNIT, high=UNIT),
        "spread": array("r", "k", low=-UNIT, high=UNIT),
    },
    validate=_check_complement,
    public=False,
)(Complement)
for projection in REMOVALS.values():
    saveable(
        {"origin": array("d"), "removed": instance_of(DenseDirections), "strength": anything},
        validate=_check_projection,
        encode=_projection_fields,
        public=False,
    )(projection)


# Focus


def _check_stream(stream: StreamingMoments) -> None:
    require(
        all(isinstance(piece, GroupMoments) for piece in stream.open_groups.values()), "open groups are not moments"
    )
    for n_rows in stream.batch_ids.values():
        integer(1)(n_rows, "batch_ids", {})


saveable(
    {
        "open_groups": instance_of(dict),
        "closed": optional(instance_of(Moments, SketchedMoments)),
        "batch_ids": instance_of(dict),
    },
    validate=_check_stream,
    public=False,
)(StreamingMoments)


_SOLUTION = ("moments", "spectrum", "selection", "projection")


def _focus_fields(focus: Focus) -> Fields:
    stream = focus.streaming_
    if focus.is_stale:
        return dict.fromkeys(_SOLUTION) | {"stream": stream, "all_closed": False}
    all_closed = stream.closed is focus.moments_
    if all_closed:  # store them once
        stream = StreamingMoments(stream.open_groups, None, stream.batch_ids)
    return {
        "moments": focus.moments_,
        "spectrum": focus.spectrum_,
        "selection": focus.selection_,
        "projection": focus.projection_,
        "stream": stream,
        "all_closed": all_closed,
    }


def _focus_attributes(fields: Fields) -> Fields:
    stream = fields["stream"]
    if fields["all_closed"]:
        stream = StreamingMoments(stream.open_groups, fields["moments"], stream.batch_ids)
    missing = [name for name in _SOLUTION if fields[name] is None]
    if missing:
        require(len(missing) == len(_SOLUTION), f"it lacks {missing}")
        return {"streaming_": stream}
    return {"streaming_": stream, **{f"{name}_": fields[name] for name in _SOLUTION}}


def _check_focus(focus: Focus) -> None:
    d = focus.n_features_in_
    stream = focus.streaming_
    parts: list[Any] = [*stream.open_groups.values(), *filter(None, [stream.closed])]
    if not focus.is_stale:
        parts += [focus.moments_, focus.spectrum_]
    require(all(len(part.origin) == d for part in parts), f"inconsistent number of features, expected {d}")
    require(parts, "it has no groups")
    group_names(stream.names, "sets", {})
    require(focus.feedback_ is None or focus.feedback_.n_features == d, f"its feedback does not have {d} features")
    params = focus.fit_params_
    require(set(params) == set(focus.get_params(deep=False)), f"its parameters are {sorted(params)}")
    if focus.is_stale:
        require(focus.feedback_ is None, "it has feedback but no spectrum")
        require(not any(hasattr(value, "fit") for value in params.values()), "one of its parameters is an estimator")
        Focus(**params).check_params()
        return
    require(stream.names == focus.moments_.names, "its open and closed groups are not those of its moments")
    removed = focus.projection_.removed.patterns.shape
    require(removed == (d, focus.selection_.n_removed), f"its projection removes {removed}")


saveable(
    {
        # The first four are None until the spectrum is needed.
        "moments": optional(instance_of(Moments, SketchedMoments)),
        "spectrum": optional(instance_of(Spectrum)),
        "selection": optional(instance_of(Selection)),
        "projection": optional(instance_of(Projection)),
        "stream": instance_of(StreamingMoments),
        "all_closed": instance_of(bool),
        "feedback_": optional(instance_of(Feedback)),
        "fit_params_": instance_of(dict),
    },
    validate=_check_focus,
    encode=_focus_fields,
    decode=_focus_attributes,
)(Focus)
# The penalty of a detector may be FrozenEstimator(focus).
saveable(
    {"estimator": instance_of(Focus)},
    encode=lambda frozen: {"estimator": frozen.estimator},
    decode=lambda fields: FrozenEstimator(fields["estimator"]),
    public=False,
    is_estimator=False,
)(FrozenEstimator)

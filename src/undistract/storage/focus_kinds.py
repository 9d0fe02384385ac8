"""`Focus` as a record of a file: its sets, what they say, and the projection, which is put together and not solved."""

from __future__ import annotations

from typing import Any

import numpy as np

from undistract.algebra import Cut, Moments, Projection, SetMoments, Spectrum, Taught
from undistract.algebra.complement import Complement
from undistract.algebra.growing import Growing
from undistract.algebra.projection import Eigen, KeptSpan, Oblique, Soft
from undistract.algebra.sketch import SketchedMoments
from undistract.algebra.soft_filter import SoftFilter
from undistract.algebra.strength import check_strength
from undistract.arrays import quiet
from undistract.focus import Focus
from undistract.learned import Settings
from undistract.storage.checks import UNIT, anything, array, every, expect, names, optional, part, whole, word
from undistract.storage.records import Estimator, Fields, Record


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


RECORDS: dict[str, Record] = {
    "Focus": Estimator(
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
}

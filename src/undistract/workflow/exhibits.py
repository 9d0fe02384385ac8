"""Exhibits: what a person sees of an alarm, as plain values that can go anywhere.

video     the seconds of its clip, and which pictures there are
image     which pictures there are
window    a course for each column: as it was, without what distracts, as it usually goes
row       a cell for each column: its value, without what distracts, the usual one, its share of the score
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from undistract.arrays import Floats, Ints, Rows
from undistract.errors import InputError
from undistract.report.stretch import steady, stretch_rows
from undistract.sets.feature_set import FeatureSet
from undistract.workflow.carried import carried
from undistract.workflow.item_kinds import feature_names, frame_shape, kind_of
from undistract.workflow.item_pictures import views_of
from undistract.workflow.model import Model

N_SHOWN = 40  # cells or courses; more than that nobody reads


def exhibit(
    model: Model, one: FeatureSet, rows: Rows, start: int, stop: int, peak: int, *, usual: Floats | None = None
) -> dict[str, Any]:
    """Say what there is to see of an alarm.

    Parameters
    ----------
    model : Model
    one : FeatureSet
        The set that alarmed, with its source; its times are asked for, so it should hold them.
    rows : (n, d) array
        The rows of the set.
    start, stop, peak : int
        The rows of the alarm, and the one to look at.
    usual : (d,) array, optional
        The median of the rows, where it is known already.

    Returns
    -------
    dict
        By its "kind": "video", "image", "window" or "row". The most telling cells and courses come first; "left_out"
        says how many are not among them. A number that is not finite is None.

    Examples
    --------
    >>> from undistract import learn
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> today = FeatureSet("today", [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [20.0, 0.0, 30.0]])
    >>> seen = exhibit(learn(days), today, today.rows, 2, 3, 2)
    >>> seen["kind"], seen["cells"][0]["name"], seen["cells"][0]["value"], seen["cells"][0]["usual"]
    ('row', 'x2', 30.0, 0.0)
    """
    if not 0 <= start <= peak < stop <= len(rows):
        raise InputError(
            f"An alarm from row {start} to {stop}, strongest at {peak}, was asked for; set {one.name!r} has "
            f"{len(rows)} rows, and the strongest lies between the two."
        )
    kind = kind_of(model, one)
    if kind == "video":
        return {"kind": kind, **_video(model, one, start, stop, peak)}
    if kind == "image":
        shape = frame_shape(model, rows.shape[1])
        size = {} if shape is None else {"size": list(shape[:2])}
        return {"kind": kind, "pictures": views_of(model, one), **size}
    middle = np.median(rows, axis=0) if usual is None else usual
    row = np.asarray(rows[peak], dtype=np.float64)
    sides = np.stack([row, model.focus.denoise(row[None, :])[0], middle])  # (3, d)
    parts = carried(model, rows, peak, middle)
    return {"kind": kind, **(_window if kind == "window" else _row)(model, one, sides, parts)}


def _video(model: Model, one: FeatureSet, start: int, stop: int, peak: int) -> dict[str, Any]:
    times = one.times
    there = one.source is not None and Path(one.source).is_file() and times is not None
    seen: dict[str, Any] = {"clip": there, "pictures": views_of(model, one)}
    if times is not None:
        seconds = steady(times)
        # Of the whole video; the clip begins at the first of them.
        seen["seconds"] = [float(seconds[row]) for row in stretch_rows(times, start, stop, peak)]
        seen["peak_second"] = float(seconds[peak])
    return seen


def _window(model: Model, one: FeatureSet, sides: Floats, parts: Floats) -> dict[str, Any]:
    steps = model.reading.window
    courses = sides.reshape(3, steps, -1)  # (3, steps, columns)
    shown, left_out = _telling(parts.reshape(steps, -1).sum(axis=0))
    names = _names(model, one)[-courses.shape[2] :]  # those of the last step are the plain ones
    series = [
        {"name": names[column]}
        | {
            side: _plain(course)
            for side, course in zip(("values", "after", "usual"), courses[..., column], strict=True)
        }
        for column in shown
    ]
    return {"series": series, "steps": steps, "left_out": left_out}


def _row(model: Model, one: FeatureSet, sides: Floats, parts: Floats) -> dict[str, Any]:
    names = _names(model, one)
    shown, left_out = _telling(parts)
    table = np.vstack([sides, parts])[:, shown].T
    keys = ("value", "after", "usual", "part")
    cells = [
        {"name": names[column], **dict(zip(keys, _plain(line), strict=True))}
        for column, line in zip(shown, table, strict=True)
    ]
    return {"cells": cells, "left_out": left_out}


def _telling(parts: Floats) -> tuple[Ints, int]:
    """Choose those that carried most, and say how many are left out."""
    order = np.argsort(-parts, kind="stable")
    return order[:N_SHOWN], max(0, len(order) - N_SHOWN)


def _names(model: Model, one: FeatureSet) -> tuple[str, ...]:
    return one.feature_names if model.feature_names is None and one.feature_names is not None else feature_names(model)


def _plain(values: Floats) -> list[float | None]:
    """Give numbers with six digits, which is more than people read; None where there is none."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values.tolist()]

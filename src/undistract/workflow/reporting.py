"""The report of a model and of what it scored, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from undistract.detect import Alarm, FocusDetector, explain
from undistract.report.contents import Finding, Learned, Report, Run, Shown
from undistract.report.page import write_page
from undistract.sets.feature_set import FeatureSet
from undistract.workflow.answering import on_scale_of
from undistract.workflow.item_pictures import row_pictures
from undistract.workflow.model import Model
from undistract.workflow.scoring import ScoredSets

N_FINDINGS = 12
N_EXAMPLES = 6


def write_report(
    path: str | Path,
    model: Model,
    scored: ScoredSets | None = None,
    *,
    sets: Sequence[FeatureSet] = (),
    title: str = "What was ignored, and what is strange",
    gap: int = 0,
) -> Path:
    """Write one self-contained HTML file: what was removed and how sure, what it looks like, what alarms and why.

    Parameters
    ----------
    path : path
    model : Model
    scored : ScoredSets, optional
        What the model said about new sets.
    sets : sequence of FeatureSet
        Those that were scored, or that it learned from: pictures and explanations are made of their rows.
    title : str
    gap : int
        Alarms are joined over at most so many quiet rows.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from undistract.workflow import learn, score
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> model = learn(days[:8])
    >>> with TemporaryDirectory() as folder:
    ...     page = write_report(Path(folder, "day.html"), model, score(days[8:], model), sets=days[8:]).read_text()
    >>> "1 of 3 directions is ignored" in page
    True
    """
    learned = Learned.of(model.focus, feature_names=model.feature_names, image_shape=model.image_shape)
    runs: dict[str, Run] = {}
    if scored is not None:
        runs["after"] = Run.of((one.after for one in scored), scored.threshold, gap=gap)
        before = [one.before for one in scored if one.before is not None]
        if before:
            runs["before"] = Run.of(before, scored.plain_threshold, gap=gap)
    by_name = {one.name: one for one in sets}
    findings = _findings(runs["after"].alarms, by_name, model) if "after" in runs else ()
    sources = {one.after.name: one.source for one in scored if one.source} if scored is not None else {}
    report = Report(
        title,
        learned,
        runs.get("before"),
        runs.get("after"),
        _examples(sets, model),
        findings,
        settings=_settings(model),
        sources=sources,
    )
    write_page(report, path)
    return Path(path)


def _findings(alarms: Sequence[Alarm], by_name: dict[Any, FeatureSet], model: Model) -> tuple[Finding, ...]:
    """Look at the strongest alarms closely, set by set: a set is read once."""
    chosen = [alarm for alarm in alarms[:N_FINDINGS] if alarm.name in by_name]
    found: dict[Alarm, Finding] = {}
    for name in {alarm.name: None for alarm in chosen}:
        rows, local = by_name[name].rows, model.in_context(name)
        own = [alarm for alarm in chosen if alarm.name == name]
        reasons: list[Any] = [None] * len(own)
        if isinstance(local.watch, FocusDetector):
            told = explain(local.watch, rows, own, feature_names=model.feature_names)
            reasons = [on_scale_of(alarm.score, reason) for alarm, reason in zip(own, told, strict=True)]
        for alarm, reason in zip(own, reasons, strict=True):
            pictures = row_pictures(local, rows[alarm.peak])
            found[alarm] = Finding(alarm, pictures, reason)
    return tuple(found[alarm] for alarm in chosen)


def _examples(sets: Sequence[FeatureSet], model: Model) -> tuple[tuple[Shown, ...], ...]:
    """Show the rows of some sets from which most is taken out."""
    if model.image_shape is None or not model.focus.n_removed_:
        return ()
    chosen = []
    for one in list(sets)[:N_EXAMPLES]:
        rows = next(iter(one.chunks()))
        ignored = model.focus.projection_.distracting(rows)
        chosen.append(row_pictures(model, rows[int(np.argmax((ignored**2).sum(axis=1)))]))
    return tuple(chosen)


def _settings(model: Model) -> dict[str, Any]:
    settings = {f"focus: {name}": value for name, value in model.focus.get_params().items()}
    if isinstance(model.watch, FocusDetector):
        settings |= {"detector": model.watch.detector_, "threshold": model.watch.threshold_.rule}
    return settings | {f"rows: {name}": value for name, value in model.reading.as_json().items()}

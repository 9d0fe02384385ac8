"""Report of a model and its scores as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from undistract._io import refuse_overwriting_inputs
from undistract.detect import Alarm, FocusDetector, explain, find_alarms
from undistract.errors import InputError
from undistract.pipeline.model import Model
from undistract.pipeline.rows import row_pictures
from undistract.pipeline.scoring import ScoreResult, rescale_explanation
from undistract.report.data import AlarmDetail, CaptionedImage, ModelSummary, Report, ScoreRun
from undistract.report.figures import check_picture_name, model_figure, save_figure
from undistract.report.page import write_page
from undistract.report.video import render_video
from undistract.sources.source import Source
from undistract.sources.videos import VIDEOS

N_FINDINGS = 12
N_EXAMPLES = 6


@dataclass(frozen=True)
class Ignored:
    """An ignored direction: its distraction, and the features with the largest entries."""

    distraction: float
    steps: dict[str, float]  # feature → one typical step, the largest first


def ignored_directions(model: Model, *, n_features: int = 8) -> list[Ignored]:
    """Return the strongest features of each ignored direction.

    Examples
    --------
    >>> from undistract import Source, learn
    >>> rng = np.random.default_rng(0)
    >>> days = [Source(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> [list(direction.steps) for direction in ignored_directions(learn(days), n_features=1)]
    [['x0']]
    """
    learned = ModelSummary.of(model.focus, feature_names=model.feature_names)
    directions = []
    for index in range(model.focus.n_removed_):
        pattern = model.focus.patterns_[:, index]
        order = np.argsort(-np.abs(pattern), kind="stable")[:n_features]
        if pattern[order[0]] < 0:  # the sign of a pattern is arbitrary: make the largest entry positive
            pattern = -pattern
        steps = {learned.feature_names[feature]: float(pattern[feature]) for feature in order}
        directions.append(Ignored(float(model.focus.distraction_[index]), steps))
    return directions


def save_model_figure(model: Model, path: str | Path) -> Path:
    """Plot the distraction of all directions and the patterns of the ignored ones."""
    path = Path(path)
    check_picture_name(path)
    figure = model_figure(
        ModelSummary.of(model.focus, feature_names=model.feature_names, image_shape=model.image_shape)
    )
    return save_figure(figure, path)


def render(scored: ScoreResult, path: str | Path) -> Path:
    """Draw the scores, the alarms and the ignored share below the scored video.

    Examples
    --------
    >>> render(ScoreResult((), None, None), "out.mp4")
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: One video can be rendered at a time, got 0 scored sources...
    """
    path = Path(path)
    if len(scored) != 1:
        raise InputError(
            f"One video can be rendered at a time, got {len(scored)} scored sources. Score one, or omit --render."
        )
    result = scored.sources[0]
    scores = result.after
    if result.source is None or Path(result.source).suffix.lower() not in VIDEOS or scores.times is None:
        raise InputError(f"{scores.name!r} is not a video; only videos can be rendered. Omit --render.")
    if path.suffix.lower() != ".mp4":
        raise InputError(f"The rendered file must end in .mp4, got {path.name!r}.")
    if not path.parent.is_dir():
        raise InputError(f"There is no folder {str(path.parent)!r}. Create it first, or choose another one.")
    refuse_overwriting_inputs(path, scored.read_from())
    threshold: float | None = None
    alarms: list[Alarm] = []
    if scored.threshold is not None:
        threshold = scored.threshold.value
        alarms = find_alarms(scores, scored.threshold)
    return render_video(
        result.source,
        scores.times,
        scores.values,
        save=path,
        threshold=threshold,
        alarms=alarms,
        ignored_share=result.ignored,
    )


def write_report(
    path: str | Path,
    model: Model,
    scored: ScoreResult | None = None,
    *,
    sources: Sequence[Source] = (),
    title: str = "What was ignored, and what is strange",
    gap: int = 0,
) -> Path:
    """Write one self-contained HTML file: the removed directions, the evidence for them, alarms and explanations.

    Parameters
    ----------
    path : path
    model : Model
    scored : ScoreResult, optional
        Scores of new sources.
    sources : sequence of Source
        The scored sources, or those of the training; their rows are used for pictures and explanations.
    title : str
    gap : int
        Merge alarms with at most this many quiet rows between them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from undistract.pipeline import learn, score
    >>> rng = np.random.default_rng(0)
    >>> days = [Source(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> model = learn(days[:8])
    >>> with TemporaryDirectory() as folder:
    ...     page = write_report(Path(folder, "day.html"), model, score(days[8:], model), sources=days[8:]).read_text()
    >>> "1 of 3 directions is ignored" in page
    True
    """
    learned = ModelSummary.of(model.focus, feature_names=model.feature_names, image_shape=model.image_shape)
    runs: dict[str, ScoreRun] = {}
    findings: tuple[AlarmDetail, ...] = ()
    origins: dict[Any, str] = {}
    if scored is not None:
        runs["after"] = ScoreRun.of((result.after for result in scored), scored.threshold, gap=gap)
        before = [result.before for result in scored if result.before is not None]
        if before:
            runs["before"] = ScoreRun.of(before, scored.baseline_threshold, gap=gap)
        findings = _findings(runs["after"].alarms, {source.name: source for source in sources}, model)
        origins = {result.after.name: result.source for result in scored if result.source}
    report = Report(
        title,
        learned,
        runs.get("before"),
        runs.get("after"),
        _examples(sources, model),
        findings,
        settings=_settings(model),
        sources=origins,
    )
    write_page(report, path)
    return Path(path)


def _findings(alarms: Sequence[Alarm], by_name: dict[Any, Source], model: Model) -> tuple[AlarmDetail, ...]:
    """Explain the strongest alarms; each source is read once."""
    chosen = [alarm for alarm in alarms[:N_FINDINGS] if alarm.name in by_name]
    findings: dict[Alarm, AlarmDetail] = {}
    for name in {alarm.name: None for alarm in chosen}:
        rows = by_name[name].rows
        local = model.for_source(name)
        own = [alarm for alarm in chosen if alarm.name == name]
        reasons: list[Any] = [None] * len(own)
        if isinstance(local.detector, FocusDetector):
            explanations = explain(local.detector, rows, own, feature_names=model.feature_names)
            reasons = [
                rescale_explanation(alarm.score, reason) for alarm, reason in zip(own, explanations, strict=True)
            ]
        for alarm, reason in zip(own, reasons, strict=True):
            findings[alarm] = AlarmDetail(alarm, row_pictures(local, rows[alarm.peak]), reason)
    return tuple(findings[alarm] for alarm in chosen)


def _examples(sources: Sequence[Source], model: Model) -> tuple[tuple[CaptionedImage, ...], ...]:
    """Return pictures of the row with the largest removed part, for some sources."""
    if model.image_shape is None or not model.focus.n_removed_:
        return ()
    examples = []
    for source in list(sources)[:N_EXAMPLES]:
        rows = next(iter(source.chunks()))
        ignored = model.focus.projection_.distracting(rows)
        examples.append(row_pictures(model, rows[int(np.argmax((ignored**2).sum(axis=1)))]))
    return tuple(examples)


def _settings(model: Model) -> dict[str, Any]:
    settings = {f"focus: {name}": value for name, value in model.focus.get_params().items()}
    if isinstance(model.detector, FocusDetector):
        settings |= {"detector": model.detector.detector_, "threshold": model.detector.threshold_.rule}
    return settings | {f"rows: {name}": value for name, value in model.reading.to_dict().items()}

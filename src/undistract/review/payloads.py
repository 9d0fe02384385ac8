"""The answers of a review session: typed dictionaries that become JSON, and the functions that build them.

The web API uses these types as its response models, so a field is declared once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NotRequired,  # pydantic needs these before Python 3.12
)

import numpy as np
from typing_extensions import TypedDict

from undistract._arrays import Floats, Rows
from undistract._text import escape_cell, finite_or_none, pluralize
from undistract.detect import FocusDetector, Scores, Threshold, explain
from undistract.errors import InputError
from undistract.pipeline.export import format_csv
from undistract.pipeline.model import Model
from undistract.pipeline.rows import RowType, feature_names, frame_map, frame_shape, row_type
from undistract.pipeline.scoring import rescale_explanation
from undistract.pipeline.verdicts import ANSWERS, Answer, Event, Verdict
from undistract.report.tracks import envelope
from undistract.review.items import Item
from undistract.review.preview import Preview, decreased
from undistract.sources.source import Source

if TYPE_CHECKING:
    from undistract.review.session import State

N_FEATURES = 8
N_MOVED = 100


class Recorded(TypedDict):
    """The number of the recorded event, and its key."""

    event: int
    key: str


class SourceInfo(TypedDict):
    """One reviewed source."""

    id: int
    name: str
    rows: int
    kind: RowType
    times: Literal["seconds", "dates"] | None


class AboutPayload(TypedDict):
    """Title, number of features and sources of the review."""

    title: str
    features: int
    groups: list[SourceInfo]


class ItemPayload(TypedDict):
    """One item, with its score and rank now and before any verdict of this review."""

    id: str
    set: int
    group_name: str
    start: int
    stop: int
    peak: int
    time: str | None
    score: float | None
    was: float | None
    rank: int
    was_rank: int
    alarm: bool
    was_alarm: bool
    answer: Answer | None
    who: str | None
    key: str | None


class QueuePayload(TypedDict):
    """Open items by score, then the answered ones.

    `learned` is the last event that the ranking uses, and `problem` the message if the newest ones cannot be used.
    """

    version: int
    event: int
    learned: int
    busy: bool
    problem: str | None
    threshold: float | None
    total: int
    open: int
    answered: int
    items: list[ItemPayload]


class FeaturePart(TypedDict):
    """The contribution of one feature."""

    name: str
    part: float | None


class ExplanationPayload(TypedDict):
    """The explanation of an item's score."""

    text: str
    ignored: float | None
    features: list[FeaturePart]


class ImageEvidence(TypedDict):
    """A row that is a picture."""

    kind: Literal["image"]
    pictures: list[str]
    size: NotRequired[list[int]]


class VideoEvidence(TypedDict):
    """A part of a video."""

    kind: Literal["video"]
    clip: bool
    pictures: list[str]
    seconds: NotRequired[list[float]]
    peak_second: NotRequired[float]


class Series(TypedDict):
    """One column of a window: measured, denoised, and the median."""

    name: str
    values: list[float | None]
    after: list[float | None]
    usual: list[float | None]


class WindowEvidence(TypedDict):
    """A window of a time series."""

    kind: Literal["window"]
    series: list[Series]
    steps: int
    left_out: int


class Cell(TypedDict):
    """One cell of a table row."""

    name: str
    value: float | None
    usual: float | None
    after: float | None
    part: float | None


class RowEvidence(TypedDict):
    """A row of a table."""

    kind: Literal["row"]
    cells: list[Cell]
    left_out: int


Evidence = ImageEvidence | VideoEvidence | WindowEvidence | RowEvidence


class ItemDetail(ItemPayload):
    """An item with its explanation, its evidence, and its verdicts and withdrawals."""

    version: int
    explanation: ExplanationPayload
    exhibit: Evidence
    history: list[dict[str, Any]]


class ThinnedScores(TypedDict):
    """Minimum and maximum of the scores in buckets of rows."""

    start: int
    stop: int
    rows: list[int]
    low: list[float | None]
    high: list[float | None]
    before_high: list[float | None] | None
    times: list[str] | None


class TrackPayload(ThinnedScores):
    """The scores of one source; an item is [start, stop, id, answer or null, whether it alarms]."""

    set: int
    threshold: float | None
    before_threshold: float | None
    items: list[list[int | str | bool | None]]


class WeakenedItem(ItemPayload):
    """A confirmed anomaly, and its score after the verdict."""

    then: float | None


class DirectionPayload(TypedDict):
    """The strongest features of a direction, and whether it can be drawn."""

    features: list[FeaturePart]
    picture: bool


class LearnedDirection(DirectionPayload):
    """An ignored direction."""

    distraction: float | None
    from_feedback: bool


class PreviewPayload(TypedDict):
    """The effect of a verdict before it is recorded."""

    vanish: list[ItemPayload]
    appear: list[ItemPayload]
    weaken: list[WeakenedItem]
    removed: int
    removed_then: int
    direction: DirectionPayload
    protected: bool
    words: str


# "from" is a keyword of Python, so this one needs the functional form.
MovedItem = TypedDict(
    "MovedItem", {"id": str, "from": int, "to": int, "score": float | None, "was": float | None}, total=True
)


class ChangesPayload(TypedDict):
    """The differences between two versions."""

    version: int
    event: int
    moved: list[MovedItem]
    vanished: int
    by: list[str]
    words: str


class SummaryPayload(TypedDict):
    """The numbers of verdicts, and the state of the model."""

    verdicts: dict[str, int]
    reviewers: dict[str, int]
    removed: int
    removed_before: int
    alarms: int
    alarms_before: int
    directions: list[LearnedDirection]
    words: str


def threshold_value(threshold: Threshold | None) -> float | None:
    """Return the score above which a row alarms."""
    return None if threshold is None else finite_or_none(threshold.value)


def make_about(title: str, model: Model, sources: Sequence[Source]) -> AboutPayload:
    """Return title, features and sources of the review."""
    infos: list[SourceInfo] = []
    for index, source in enumerate(sources):
        times: Literal["seconds", "dates"] | None = None
        if source.times is not None:
            times = "dates" if source.times.dtype.kind == "M" else "seconds"
        kind = row_type(model, source)
        infos.append({"id": index, "name": str(source.name), "rows": len(source), "kind": kind, "times": times})
    return {"title": title, "features": model.focus.n_features_in_, "groups": infos}


def make_item(item: Item, scores: Scores, verdict: Verdict | None) -> ItemPayload:
    """Return a range of rows as plain values; the session adds the ranks."""
    value = finite_or_none(np.nanmax(np.append(scores.values[item.start : item.stop], -np.inf)))
    payload: ItemPayload = {
        "id": item.id,
        "set": item.source,
        "group_name": str(scores.name),
        "start": item.start,
        "stop": item.stop,
        "peak": item.peak,
        "time": None if scores.times is None else format_time(scores.times[item.peak]),
        "score": value,
        "was": value,
        "rank": 0,
        "was_rank": 0,
        "alarm": False,
        "was_alarm": False,
        "answer": None,
        "who": None,
        "key": None,
    }
    if verdict is not None:
        payload["answer"] = verdict.answer  # type: ignore[typeddict-item]
        payload["who"] = verdict.who
        payload["key"] = verdict.key
    return payload


def format_time(time: Any) -> str:
    """Format a time: minutes and seconds, or a date.

    Examples
    --------
    >>> format_time(np.float64(75.5)), format_time(np.datetime64("2026-05-01T10:00:00.000"))
    ('1:15.5', '2026-05-01 10:00:00')
    >>> format_time(119.97)
    '2:00.0'
    """
    if isinstance(time, np.datetime64):
        return str(time.astype("datetime64[s]")).replace("T", " ")
    tenths = round(10 * float(time))  # round before splitting: 119.97 s is 2:00.0, not 1:60.0
    sign = "-" if tenths < 0 else ""
    minutes, tenths = divmod(abs(tenths), 600)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{sign}{hours}:{minutes:02d}:{tenths / 10:04.1f}"
    return f"{sign}{minutes}:{tenths / 10:04.1f}"


def make_explanation(model: Model, row: Rows, median: Floats, number: int, score: float | None) -> ExplanationPayload:
    """Explain a row; `score` is None if its source was scored by its own rows, which allows less detail."""
    if score is None or not isinstance(model.detector, FocusDetector):
        share = float(model.focus.projection_.ignored_share((row - median)[None, :])[0])
        text = f"{share:.0%} of its deviation from its context is along ignored directions."
        return {"text": text, "ignored": share, "features": top_features(model, row - median)}
    # The median of (row, median, median) is `median`, so three rows replace the whole context.
    context = np.stack([row.astype(np.float64), median, median])
    reason = explain(model.detector, context, [0], feature_names=feature_names(model))[0]
    reason = rescale_explanation(score, reason)
    strongest: list[FeaturePart] = [
        {"name": name, "part": finite_or_none(part)} for name, part in reason.strongest(N_FEATURES)
    ]
    return {"text": str(reason).replace("Row 0", f"Row {number}", 1), "ignored": reason.ignored, "features": strongest}


def top_features(model: Model, direction: Floats) -> list[FeaturePart]:
    """Return the features with the largest entries of a direction."""
    order = np.argsort(-np.abs(direction), kind="stable")[:N_FEATURES].tolist()
    names = feature_names(model)
    return [
        {"name": names[index], "part": finite_or_none(direction[index])} for index in order if direction[index] != 0
    ]


def has_picture(model: Model) -> bool:
    """Return True if a direction can be drawn: features are pixels, or belong to cells of the frame."""
    n_features = model.focus.n_features_in_
    return frame_shape(model, n_features) is not None or frame_map(model, np.zeros(n_features)) is not None


def thin_track(scores: Scores, before: Scores | None, start: int, stop: int, width: int) -> ThinnedScores:
    """Thin a range of scores to at most `width` buckets, with the minimum and the maximum of each.

    Examples
    --------
    >>> thinned = thin_track(Scores("day", [1, 5, 2, 8, np.nan, np.nan]), None, 0, 6, width=3)
    >>> thinned["rows"], thinned["low"], thinned["high"]
    ([0, 2, 4], [1.0, 2.0, None], [5.0, 8.0, None])
    """
    thin = envelope(scores.values[start:stop], width)
    before_high: list[float | None] | None = None
    if before is not None:
        before_high = [finite_or_none(value) for value in envelope(before.values[start:stop], width).high]
    times: list[str] | None = None
    if scores.times is not None:
        times = [format_time(scores.times[start + offset]) for offset in thin.firsts]
    return {
        "start": start,
        "stop": stop,
        "rows": (thin.firsts + start).tolist(),
        "low": [finite_or_none(value) for value in thin.low],
        "high": [finite_or_none(value) for value in thin.high],
        "before_high": before_high,
        "times": times,
    }


def make_preview(effect: Preview, model: Model, items: Mapping[int, ItemPayload]) -> PreviewPayload:
    """Return the effect of a verdict; `items` has the affected items by index."""
    weakened: list[WeakenedItem] = [
        {**items[index], "then": finite_or_none(effect.scores[index])} for index in effect.weakened.tolist()
    ]
    return {
        "vanish": [items[index] for index in effect.resolved.tolist()],
        "appear": [items[index] for index in effect.new.tolist()],
        "weaken": weakened,
        "removed": effect.n_removed_before,
        "removed_then": effect.n_removed_after,
        "direction": {"features": top_features(model, effect.direction), "picture": has_picture(model)},
        "protected": bool(weakened),
        "words": str(effect),
    }


def make_changes(before: State, after: State) -> ChangesPayload:
    """Return what has changed between two versions."""
    # Items keep their index, and new ones are appended: compare the common part.
    n_common = min(len(before.ranks), len(after.ranks))
    moved: list[MovedItem] = [
        {
            "id": after.ranking.items[index].id,
            "from": int(before.ranks[index]),
            "to": int(after.ranks[index]),
            "score": finite_or_none(after.scores[index]),
            "was": finite_or_none(before.scores[index]),
        }
        for index in np.flatnonzero(before.ranks[:n_common] != after.ranks[:n_common]).tolist()
    ]
    vanished = int((before.alarms[:n_common] & ~after.alarms[:n_common]).sum())
    appeared = int(after.alarms.sum()) - int(before.alarms.sum()) + vanished
    weaker = int(decreased(before.scores[:n_common], after.scores[:n_common]).sum())
    verbs = {1: "is"}
    parts = []
    if weaker:
        parts.append(f"{weaker} of {n_common} went down")
    if vanished:
        parts.append(f"{vanished} {verbs.get(vanished, 'are')} below the threshold now")
    if appeared > 0:
        parts.append(f"{appeared} {verbs.get(appeared, 'are')} new above it")
    new = [verdict for key, verdict in after.verdicts.items() if key not in before.verdicts]
    return {
        "version": after.version,
        "event": after.event,
        "moved": moved[:N_MOVED],
        "vanished": vanished,
        "by": sorted({verdict.who for verdict in new if verdict.who}),
        "words": (", ".join(parts) or "No score changed") + ".",
    }


def make_summary(
    first: Model, model: Model, verdicts: Iterable[Verdict], events: Sequence[Event], alarms: tuple[int, int]
) -> SummaryPayload:
    """Return the numbers of verdicts and the state of the model; `alarms` are the counts before and after."""
    active = list(verdicts)
    counts = Counter(verdict.answer for verdict in active)
    n_withdrawn = sum(not isinstance(event, Verdict) for event in events)
    focus = model.focus
    n_before = first.focus.n_removed_
    alarms_before, alarms_after = alarms
    picture = has_picture(model)
    directions: list[LearnedDirection] = [
        {
            "distraction": finite_or_none(focus.distraction_[index]),
            "from_feedback": index < focus.spectrum_.n_from_feedback,
            "features": top_features(model, focus.patterns_[:, index]),
            "picture": picture,
        }
        for index in range(focus.n_removed_)
    ]
    return {
        "verdicts": {answer: counts[answer] for answer in ANSWERS} | {"withdrawn": n_withdrawn},
        "reviewers": dict(Counter(verdict.who or "anonymous" for verdict in active)),
        "removed": focus.n_removed_,
        "removed_before": n_before,
        "alarms": alarms_after,
        "alarms_before": alarms_before,
        "directions": directions,
        "words": (
            f"{pluralize(len(active), 'answer')} so far. {pluralize(focus.n_removed_, 'direction')} ignored now, "
            f"{n_before} before; {pluralize(alarms_after, 'alarm')} now, {alarms_before} before."
        ),
    }


def export_verdicts(format: str, events: Sequence[Event], active: Mapping[str, Verdict]) -> bytes:
    """Return all verdicts, and whether each is active, as csv or json.

    Examples
    --------
    >>> verdict = Verdict("6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "=1+1", 120, 131, 125, "false_alarm")
    >>> export_verdicts("csv", [verdict], {}).decode().splitlines()[1]
    "verdict,6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c,'=1+1,120,131,125,false_alarm,,0.0,everywhere,1.0,,,False"
    """
    verdicts = [event for event in events if isinstance(event, Verdict)]
    lines = [verdict.to_json() | {"stands": verdict.key in active} for verdict in verdicts]
    if format == "json":
        return json.dumps({"verdicts": lines, "events": [event.to_json() for event in events]}, indent=1).encode()
    if format != "csv":
        raise InputError(f"The export format must be csv or json, got {format!r}.")
    columns = ["kind", *Verdict.__dataclass_fields__, "stands"]
    table = {name: [escape_cell(line[name]) for line in lines] for name in columns}
    return "".join(format_csv([table])).encode()

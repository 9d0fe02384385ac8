"""What the desk says, as plain values that become JSON."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from undistract.arrays import Floats, Rows
from undistract.detect import Explanation, FocusDetector, Scores, Threshold, explain
from undistract.errors import InputError
from undistract.review.items import Item
from undistract.review.preview import Preview, fell
from undistract.review.verdicts import ANSWERS, Event, Verdict
from undistract.sets.feature_set import FeatureSet
from undistract.workflow.answering import on_scale_of
from undistract.workflow.item_kinds import feature_names, frame_map, frame_shape, kind_of
from undistract.workflow.model import Model

if TYPE_CHECKING:
    from undistract.workflow.live_review import State

N_FEATURES = 8
N_MOVED = 100
# Signs that a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def finite(value: Any) -> float | None:
    """Give a number, or None where JSON has no word for it."""
    number = float(value)
    return number if np.isfinite(number) else None


def value_of(threshold: Threshold | None) -> float | None:
    """Give the score from which on a row alarms."""
    return None if threshold is None else finite(threshold.value)


def about(title: str, model: Model, sets: Sequence[FeatureSet]) -> dict[str, Any]:
    """Say what is reviewed."""
    return {
        "title": title,
        "features": model.focus.n_features_in_,
        "sets": [
            {
                "id": place,
                "name": str(one.name),
                "rows": len(one),
                "kind": kind_of(model, one),
                "times": None if one.times is None else "dates" if one.times.dtype.kind == "M" else "seconds",
            }
            for place, one in enumerate(sets)
        ],
    }


def item(item: Item, scores: Scores, answer: Verdict | None) -> dict[str, Any]:
    """Give a stretch by itself; what its rank was and is comes from the ranking."""
    value = finite(np.nanmax(np.append(scores.values[item.start : item.stop], -np.inf)))
    return {
        "id": item.id,
        "set": item.set,
        "set_name": str(scores.name),
        "start": item.start,
        "stop": item.stop,
        "peak": item.peak,
        "time": None if scores.times is None else when(scores.times[item.peak]),
        "score": value,
        "was": value,
        "rank": 0,
        "was_rank": 0,
        "alarm": False,
        "was_alarm": False,
        "answer": None if answer is None else answer.answer,
        "who": None if answer is None else answer.who,
        "key": None if answer is None else answer.key,
    }


def when(time: Any) -> str:
    """Write a time: minutes and seconds, or a date.

    Examples
    --------
    >>> when(np.float64(75.5)), when(np.datetime64("2026-05-01T10:00:00.000"))
    ('1:15.5', '2026-05-01 10:00:00')
    >>> when(119.97)
    '2:00.0'
    """
    if isinstance(time, np.datetime64):
        return str(time.astype("datetime64[s]")).replace("T", " ")
    tenths = round(10 * float(time))  # rounded before it is taken apart: no minute has 60.0 seconds
    minutes, rest = divmod(abs(tenths), 600)
    hours, minutes = divmod(minutes, 60)
    front = f"{hours}:{minutes:02d}" if hours else f"{minutes}"
    return f"{'-' if tenths < 0 else ''}{front}:{rest / 10:04.1f}"


def explanation(model: Model, row: Rows, usual: Floats, number: int, score: float | None) -> dict[str, Any]:
    """Say why a row was flagged; without a score, because its set was judged by its own rows, less can be said."""
    if score is None or not isinstance(model.watch, FocusDetector):
        share = float(model.focus.projection_.ignored_share((row - usual)[None, :])[0])
        text = f"{share:.0%} of its deviation from its context lies along ignored directions."
        return {"text": text, "ignored": share, "features": features(model, row - usual)}
    # The median of a row and twice what is usual is what is usual: the whole context need not be read again.
    context = np.stack([row.astype(np.float64), usual, usual])
    why: Explanation = explain(model.watch, context, [0], feature_names=feature_names(model))[0]
    why = on_scale_of(score, why)
    strongest = [{"name": name, "part": finite(part)} for name, part in why.strongest(N_FEATURES)]
    return {"text": str(why).replace("Row 0", f"Row {number}", 1), "ignored": why.ignored, "features": strongest}


def features(model: Model, direction: Floats) -> list[dict[str, Any]]:
    """Name the features that move most along a direction."""
    order = np.argsort(-np.abs(direction), kind="stable")[:N_FEATURES].tolist()
    names = feature_names(model)
    return [{"name": names[place], "part": finite(direction[place])} for place in order if direction[place] != 0]


def has_picture(model: Model) -> bool:
    """Tell whether a direction can be drawn: features are pixels, or lie in places of the frame."""
    n_features = model.focus.n_features_in_
    return frame_shape(model, n_features) is not None or frame_map(model, np.zeros(n_features)) is not None


def track(scores: Scores, before: Scores | None, start: int, stop: int, width: int) -> dict[str, Any]:
    """Thin a stretch of scores to at most `width` buckets, with the lowest and the highest of each.

    Examples
    --------
    >>> seen = track(Scores("day", [1, 5, 2, 8, np.nan, np.nan]), None, 0, 6, width=3)
    >>> seen["rows"], seen["low"], seen["high"]
    ([0, 2, 4], [1.0, 2.0, None], [5.0, 8.0, None])
    """
    n_rows = stop - start
    starts = np.unique(np.arange(min(width, n_rows)) * n_rows // min(width, n_rows))
    values = scores.values[start:stop]
    low = np.minimum.reduceat(np.nan_to_num(values, nan=np.inf), starts)
    high = np.maximum.reduceat(np.nan_to_num(values, nan=-np.inf), starts)
    past = (
        None if before is None else np.maximum.reduceat(np.nan_to_num(before.values[start:stop], nan=-np.inf), starts)
    )
    return {
        "start": start,
        "stop": stop,
        "rows": (starts + start).tolist(),
        "low": [finite(value) for value in low],
        "high": [finite(value) for value in high],
        "before_high": None if past is None else [finite(value) for value in past],
        "times": None if scores.times is None else [when(scores.times[start + place]) for place in starts],
    }


def preview(found: Preview, model: Model, items: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    """Say what would change; `items` are those that would, by place."""
    return {
        "vanish": [items[place] for place in found.vanish.tolist()],
        "appear": [items[place] for place in found.appear.tolist()],
        "weaken": [items[place] | {"then": finite(found.then[place])} for place in found.weaken.tolist()],
        "removed": found.removed,
        "removed_then": found.removed_then,
        "direction": {"features": features(model, found.direction), "picture": has_picture(model)},
        "protected": bool(len(found.weaken)),
        "words": found.words,
    }


def changes(before: State, now: State) -> dict[str, Any]:
    """Say what has changed between two versions."""
    n_known = min(len(before.ranks), len(now.ranks))
    moved = [
        {
            "id": now.ranking.items[place].id,
            "from": int(before.ranks[place]),
            "to": int(now.ranks[place]),
            "score": finite(now.scores[place]),
            "was": finite(before.scores[place]),
        }
        for place in np.flatnonzero(before.ranks[:n_known] != now.ranks[:n_known]).tolist()
    ]
    vanished = int((before.alarms[:n_known] & ~now.alarms[:n_known]).sum())
    appeared = int(now.alarms.sum()) - int(before.alarms.sum()) + vanished
    weaker = int(fell(before.scores[:n_known], now.scores[:n_known]).sum())
    told = [f"{weaker} of {n_known} went down"] if weaker else []
    told += [f"{vanished} {'is' if vanished == 1 else 'are'} below the threshold now"] if vanished else []
    told += [f"{appeared} {'is' if appeared == 1 else 'are'} new above it"] if appeared > 0 else []
    new = [verdict for key, verdict in now.verdicts.items() if key not in before.verdicts]
    return {
        "version": now.version,
        "event": now.event,
        "moved": moved[:N_MOVED],
        "vanished": vanished,
        "by": sorted({verdict.who for verdict in new if verdict.who}),
        "words": (", ".join(told) + ".") if told else "No score changed.",
    }


def summary(
    first: Model, now: Model, verdicts: Iterable[Verdict], events: Sequence[Event], alarms: tuple[int, int]
) -> dict[str, Any]:
    """Say what was answered, and what was learned from it."""
    standing = list(verdicts)
    counts = Counter(verdict.answer for verdict in standing)
    focus = now.focus
    n_before, n_now = first.focus.n_removed_, focus.n_removed_
    n_told, picture = focus.spectrum_.n_told, has_picture(now)
    return {
        "verdicts": {answer: counts[answer] for answer in ANSWERS}
        | {"withdrawn": sum(not isinstance(event, Verdict) for event in events)},
        "reviewers": dict(Counter(verdict.who or "somebody" for verdict in standing)),
        "removed": n_now,
        "removed_before": n_before,
        "alarms": alarms[1],
        "alarms_before": alarms[0],
        "directions": [
            {
                "distraction": finite(focus.distraction_[place]),
                "taught": place < n_told,
                "features": features(now, focus.patterns_[:, place]),
                "picture": picture,
            }
            for place in range(n_now)
        ],
        "words": (
            f"{_count(len(standing), 'answer')} so far. {_count(n_now, 'direction')} ignored now, {n_before} before; "
            f"{_count(alarms[1], 'alarm')} now, {alarms[0]} before."
        ),
    }


def export(kind: str, events: Sequence[Event], standing: Mapping[str, Verdict]) -> bytes:
    """Give every verdict with whether it stands, as csv or json.

    Examples
    --------
    >>> said = Verdict("6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "=1+1", 120, 131, 125, "familiar")
    >>> export("csv", [said], {}).decode().splitlines()[1]
    "verdict,6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c,'=1+1,120,131,125,familiar,,0.0,everywhere,1.0,,,False"
    """
    verdicts = [event for event in events if isinstance(event, Verdict)]
    lines = [verdict.to_json() | {"stands": verdict.key in standing} for verdict in verdicts]
    if kind == "json":
        return json.dumps({"verdicts": lines, "events": [event.to_json() for event in events]}, indent=1).encode()
    if kind != "csv":
        raise InputError(f"Verdicts cannot be exported as {kind!r}; expected csv or json.")
    text = io.StringIO()
    columns = ["kind", *Verdict.__dataclass_fields__, "stands"]
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _plain(value) for name, value in line.items()} for line in lines)
    return text.getvalue().encode()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _plain(value: Any) -> Any:
    """Keep a spreadsheet from taking text for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value

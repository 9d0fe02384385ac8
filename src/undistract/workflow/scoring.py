"""Scoring: new sets through a model, before and after what distracts is taken out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import time
from typing import Any, Self

import numpy as np

from undistract.arrays import Floats, as_rows, listed
from undistract.detect import Alarm, NearestDetector, Scores, Threshold, find_alarms
from undistract.errors import InputError
from undistract.files import keep_apart
from undistract.focus import Focus
from undistract.progress import watched
from undistract.sets.feature_set import FeatureSet, listed_sets
from undistract.sets.identity import lasting, named_paths
from undistract.storage import load, save
from undistract.workflow.model import Model
from undistract.workflow.on_cluster import each_on


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of one set, as it is and without what distracts, and how much of each row was ignored."""

    after: Scores
    before: Scores | None
    ignored: Floats  # (n,) the share of each row's deviation that lies along ignored directions
    source: str | None = None


@dataclass(frozen=True, eq=False)
class ScoredSets:
    """What a model said about several sets, and from where on it alarms."""

    sets: tuple[Scored, ...]
    threshold: Threshold | None
    plain_threshold: Threshold | None
    model: str | None = None  # the file of the model, for reports

    def __iter__(self) -> Iterator[Scored]:
        return iter(self.sets)

    def __len__(self) -> int:
        return len(self.sets)

    def read_from(self) -> list[Path]:
        """Return the files that were scored, and the model, where they are still there."""
        return [path for source in (*(one.source for one in self.sets), self.model) for path in named_paths(source)]

    def alarms(self, *, gap: int = 0) -> list[Alarm]:
        """Join the alarms of every set, the strongest of all first."""
        if self.threshold is None:
            return []
        found = [alarm for one in self.sets for alarm in find_alarms(one.after, self.threshold, gap=gap)]
        return sorted(found, key=lambda alarm: -alarm.score)

    def summary(self) -> list[dict[str, Any]]:
        """Give the numbers of each set, as plain values: rows, alarms before and after, its strongest row."""

        def count(scores: Scores | None, threshold: Threshold | None) -> int | None:
            return None if scores is None or threshold is None else len(find_alarms(scores, threshold))

        return [
            {
                "set": str(one.after.name),
                "rows": len(one.after),
                "alarms_before": count(one.before, self.plain_threshold),
                "alarms_after": count(one.after, self.threshold),
                "strongest": _strongest(one.after),
            }
            for one in self.sets
        ]

    def save(self, path: str | Path, *, provenance: Any = None) -> Path:
        """Save all scores as one file; never in the place of what was scored."""
        keep_apart(path, self.read_from())
        parts: dict[str, Any] = {"kind": "scores", "sources": [one.source for one in self.sets], "model": self.model}
        for number, one in enumerate(self.sets):
            parts |= {f"after {number}": one.after, f"ignored {number}": one.ignored}
            if one.before is not None:
                parts[f"before {number}"] = one.before
        parts |= {"threshold": self.threshold, "plain_threshold": self.plain_threshold}
        return save({name: part for name, part in parts.items() if part is not None}, path, provenance=provenance)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load scores that `save` wrote."""
        found = load(path)
        if not isinstance(found, Mapping) or found.get("kind") != "scores":
            raise InputError(f"{Path(path).name} holds no scores. Make some with: undistract score … --save FILE.")
        sets = tuple(
            Scored(found[f"after {number}"], found.get(f"before {number}"), found[f"ignored {number}"], source)
            for number, source in enumerate(found["sources"])
        )
        return cls(sets, found.get("threshold"), found.get("plain_threshold"), found.get("model"))


def score(
    sets: Iterable[FeatureSet],
    model: Model,
    *,
    adapt: bool = False,
    progress: bool | None = False,
    now: float | None = None,
    cluster: Any = None,
) -> ScoredSets:
    """Score every row of new sets.

    Parameters
    ----------
    sets : iterable of FeatureSet
        Made as those that the model learned from.
    model : Model
    adapt : bool
        Judge each set by its own rows, as the paper does, instead of by the known ones: what most of them do is usual.
        A model without known rows always does so, and then there is no threshold.
    progress : bool or None
        True shows on a terminal how many sets are done, None only when it takes long.
    now : float, optional
        Unix seconds: what people taught until an earlier time no longer counts. The present if left out.
    cluster : distributed.Client or str, optional
        Let the workers of a Dask cluster read and score the sets, as in `learn`.

    Examples
    --------
    >>> from undistract.workflow import learn
    >>> rng = np.random.default_rng(0)
    >>> light = np.linspace(-30, 30, 8)
    >>> days = [
    ...     FeatureSet(day, rng.normal(size=8) + rng.normal(size=(60, 8)) + rng.normal(size=(60, 1)) * light)
    ...     for day in range(20)
    ... ]
    >>> rows = days[3].rows.copy()
    >>> rows[31, 2] += 12
    >>> scored = score([FeatureSet("today", rows)], learn(days))
    >>> [(alarm.name, alarm.peak) for alarm in scored.alarms()]
    [('today', 31)]
    """
    own = adapt or isinstance(model.watch, Focus)
    way = _by_its_own_rows if own else _by_known_rows
    every = listed_sets(sets)
    model = model.without_expired(time() if now is None else now)
    scored = partial(_scored, way, model)
    results = map(scored, every) if cluster is None else each_on(cluster, scored, every)
    made = watched(results, total=len(every), what="Scoring sets", progress=progress)
    # A report that is made in another folder must not take a file of the same name there for this one.
    found = tuple(replace(one, source=lasting(one.source)) for one in made)
    return ScoredSets(found, None if own else model.threshold, None if own else model.plain_threshold)


def _scored(way: Callable[[FeatureSet, Model], Scored], model: Model, one: FeatureSet) -> Scored:
    return way(check_features(one, model), model)


def _strongest(scores: Scores) -> dict[str, Any] | None:
    if np.isnan(scores.values).all():
        return None
    row = int(np.nanargmax(scores.values))
    time = None if scores.times is None else scores.times[row]
    plain = time if time is None or scores.times.dtype.kind == "f" else str(time)  # type: ignore[union-attr]
    return {"row": row, "time": None if time is None else plain, "score": float(scores.values[row])}


def check_features(one: FeatureSet, model: Model) -> FeatureSet:
    """Refuse a set of other features than the model learned from."""
    names, known = one.feature_names or (), model.feature_names or ()
    if one.n_features != model.focus.n_features_in_:
        more, fewer = [name for name in names if name not in known], [name for name in known if name not in names]
        which = f" New to it: {listed(more)}." if known and more else ""
        which += f" It lacks {listed(fewer)}." if names and fewer else ""
        raise InputError(
            f"Set {one.name!r} has {one.n_features} features, the model learned from {model.focus.n_features_in_}."
            f"{which} Read it in the same way (features, columns, window)."
        )
    if names and known and names != known:
        odd = next(pair for pair in zip(names, known, strict=True) if pair[0] != pair[1])
        advice = (
            "Put them in the same order; a model that is learned with columns= (--columns) finds them by name."
            if set(names) == set(known)
            else "Name them alike, if they are the same."
        )
        raise InputError(
            f"Set {one.name!r} has the feature {odd[0]!r} where the model learned from {odd[1]!r}. {advice}"
        )
    return one


def own_detector(n_rows: int) -> NearestDetector:
    """Return what judges a set of so many rows by itself, where a model keeps no known ones.

    Examples
    --------
    >>> own_detector(4).n_neighbors, own_detector(500).n_neighbors
    (3, 10)
    """
    return NearestDetector(n_neighbors=max(1, min(10, n_rows - 1)))


def _by_its_own_rows(one: FeatureSet, model: Model) -> Scored:
    focus, (rows, times) = model.in_context(one.name).focus, one.whole()
    rows = as_rows(rows, f"Set {one.name!r}")
    if len(rows) < 2:
        raise InputError(
            f"Set {one.name!r} has 1 row, and is judged by its own rows: that takes at least 2. Leave it out "
            "(--ignore), or score it with a model that keeps rows (no --without-rows, no --adapt)."
        )
    detector = own_detector(len(rows))
    after, before = (Scores(one.name, detector.fit(kept).scores_, times) for kept in (focus.transform(rows), rows))
    return Scored(after, before, focus.projection_.ignored_share(rows - 2 * np.median(rows / 2, axis=0)), one.source)


def _by_known_rows(one: FeatureSet, model: Model) -> Scored:
    after: list[Floats] = []
    before: list[Floats] = []
    ignored: list[Floats] = []
    times: list[Any] = []
    focus = model.in_context(one.name).focus
    n_before = 0
    for chunk, when in one.timed_chunks():
        rows = as_rows(chunk, f"Set {one.name!r}", n_before=n_before)
        n_before += len(rows)
        after.append(model.anomaly_score(rows, context=one.name))
        before.append(after[-1] if model.plain is None else model.plain.anomaly_score(rows))
        ignored.append(focus.projection_.ignored_share(rows - focus.moments_.mean))
        times.append(when)
    seen = None if any(when is None for when in times) else np.concatenate(times)
    plain = None if model.plain is None else Scores(one.name, np.concatenate(before), seen)
    return Scored(Scores(one.name, np.concatenate(after), seen), plain, np.concatenate(ignored), one.source)

"""The desk: where a page puts its questions about a review. Plain values come back; no HTTP here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from time import time
from typing import Any, Self

import numpy as np

from undistract.errors import InputError
from undistract.review.database import name_of
from undistract.review.items import Item, UnknownItemError
from undistract.review.preview import Preview
from undistract.review.store import ReviewStore
from undistract.review.verdicts import Event, Verdict, Withdrawal
from undistract.sets.feature_set import FeatureSet
from undistract.workflow import desk_words as words
from undistract.workflow.exhibits import exhibit
from undistract.workflow.foreseeing import foreseen
from undistract.workflow.item_clips import KeptClips, stretch
from undistract.workflow.item_kinds import kind_of
from undistract.workflow.item_pictures import item_picture, pattern_picture
from undistract.workflow.learned_files import what_to_report
from undistract.workflow.live_review import LiveReview, State
from undistract.workflow.model import Model
from undistract.workflow.ranking import Ranking
from undistract.workflow.reading import read_again, read_sets
from undistract.workflow.scored_again import at_hand
from undistract.workflow.scoring import ScoredSets


class Desk:
    """One review: the scores that people look at, the model behind them, and the log of what they said.

    Parameters
    ----------
    model : Model
    sets : sequence of FeatureSet
        That were scored.
    store : ReviewStore
        Closed with the desk.
    scored : ScoredSets, optional
        What the model said about them; found out if left out.
    title : str

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from uuid import uuid4
    >>> from undistract import learn
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=20) + rng.normal(size=(60, 20))) for day in range(40)]
    >>> today = FeatureSet("today", days[0].rows + 9.0 * (np.arange(60) == 31)[:, None])
    >>> with TemporaryDirectory() as folder:
    ...     store = ReviewStore.open(Path(folder, "today.review"))
    ...     with Desk(learn(days), [today], store) as desk:
    ...         first = desk.queue()["items"][0]["id"]
    ...         answer = desk.record({"key": str(uuid4()), "item": first, "answer": "familiar"})
    ...         learned = desk.wait_for(answer["event"])
    ...         print(first, desk.summary()["removed"])
    0-31-32 1
    """

    def __init__(
        self,
        model: Model,
        sets: Sequence[FeatureSet],
        store: ReviewStore,
        *,
        scored: ScoredSets | None = None,
        title: str = "review",
    ) -> None:
        twice = [name for name, times in Counter(str(one.name) for one in sets).items() if times > 1]
        if twice:
            raise InputError(
                f"Several sets are called {twice[0]!r}. Answers are kept by the name of their set: give each its own."
            )
        self._title, self._store, self._scored = title, store, scored
        model = model.without_expired(time())
        if scored is None:
            first = Ranking.of(model, sets)
        else:
            after = tuple(one.after for one in scored)
            first = Ranking.of_scores(model, sets, after, adapt=scored.threshold is None)
        self._was, self._was_alarm = first.of_items()
        self._was_rank = np.argsort(np.argsort(-self._was, kind="stable"), kind="stable") + 1
        self._live = LiveReview(first, store)
        self._clips, self._previewing = KeptClips(), Lock()
        self.wait, self.wait_for = self._live.wait, self._live.wait_for
        self.where = ""  # where answers are kept, for people

    @classmethod
    def open(
        cls,
        scores: str | Path,
        *,
        model: str | Path | None = None,
        store: str | Path | None = None,
        data: Sequence[str | Path] = (),
        cache: Any = None,
    ) -> Self:
        """Open a review of a file of scores.

        Parameters
        ----------
        scores : path
            What `undistract score` saved.
        model : path, optional
            Where the model is, if it has moved.
        store : path or URL, optional
            The log; beside the scores, with the ending .review, by default.
        data : sequence of paths, optional
            Where the data is, if it has moved.
        cache : RowCache, optional
            Where rows of videos are kept.
        """
        learned, scored = what_to_report(scores, model)
        if scored is None:
            raise InputError(f"{Path(scores).name} is a model. Score something with it first: undistract score …")
        where: Any = data or [one.source for one in scored]
        sets = (read_sets if data else read_again)(where, learned.reading, cache=cache)
        held = at_hand(sets, scored)
        log = Path(scores).with_suffix(".review") if store is None else store
        about = {"n_features": learned.focus.n_features_in_, "scores": Path(scores).name}
        kept = ReviewStore.open(log, about=about)
        try:
            desk = cls(learned, held, kept, scored=scored, title=Path(scores).name)
        except BaseException:
            kept.close()
            raise
        desk.where = name_of(log)
        return desk

    def close(self) -> None:
        """Stop learning; what was recorded is on disk."""
        self._live.close()
        self._clips.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def model(self) -> Model:
        """The model before any answer of this review."""
        return self._live.first.model

    def about(self) -> dict[str, Any]:
        """Say what is reviewed."""
        return words.about(self._title, self._live.first.model, self._sets)

    def queue(self, offset: int = 0, limit: int = 200) -> dict[str, Any]:
        """Give the ranked items, the open ones first."""
        state, busy, newest = self._live.state, self._live.busy, len(self._live.events)
        n_answered = sum(state.answer_to(item) is not None for item in state.ranking.items)
        return {
            "version": state.version,
            "event": newest,
            "learned": state.event,
            "busy": busy or state.event < newest,
            "problem": state.problem,
            "threshold": words.value_of(state.ranking.threshold),
            "total": len(state.order),
            "open": len(state.order) - n_answered,
            "answered": n_answered,
            "items": [self._item(state, place) for place in state.order[offset : offset + limit].tolist()],
        }

    def item(self, id: str) -> dict[str, Any]:
        """Give one item with why it was flagged, what it looks like, and who said what about it."""
        state = self._live.state
        item, place = state.find(id)
        one = self._sets[item.set]
        model, row = state.ranking.model, one.rows[item.peak]
        local = model.in_context(one.name)
        score = None if state.ranking.adapt else float(model.anomaly_score(row[None, :], context=one.name)[0])
        usual = self._live.usual(item.set)
        return self._item(state, place, item) | {
            "version": state.version,
            "explanation": words.explanation(local, row, usual, item.peak, score),
            "exhibit": exhibit(local, one, one.rows, item.start, item.stop, item.peak, usual=usual),
            "history": [event.to_json() for event in self._history(item)],
        }

    def track(self, set_id: int, start: int = 0, stop: int | None = None, width: int = 800) -> dict[str, Any]:
        """Give the scores of a stretch, thinned to at most `width` buckets."""
        if not 0 <= set_id < len(self._sets):
            raise UnknownItemError(f"There is no set {set_id}; there are {len(self._sets)}.")
        state = self._live.state
        scores = state.ranking.scores[set_id]
        stop = len(scores) if stop is None else min(stop, len(scores))
        if not 0 <= start < stop:
            raise InputError(f"Rows {start} to {stop} are no stretch; the set has rows 0 to {len(scores) - 1}.")
        shown = [
            [item.start, item.stop, item.id, answer.answer if answer else None, bool(state.alarms[place])]
            for place, item in enumerate(state.ranking.items)
            if item.set == set_id and item.start < stop and item.stop > start
            for answer in [state.answer_to(item)]
        ]
        before = None if self._scored is None else self._scored.sets[set_id].before
        return words.track(scores, before, start, stop, width) | {
            "set": set_id,
            "threshold": words.value_of(state.ranking.threshold),
            "before_threshold": None if self._scored is None else words.value_of(self._scored.plain_threshold),
            "items": shown,
        }

    def summary(self) -> dict[str, Any]:
        """Say what was answered and what was learned."""
        state, first = self._live.state, self._live.first
        alarms = int(self._was_alarm.sum()), int(state.alarms.sum())
        return words.summary(first.model, state.ranking.model, state.verdicts.values(), self._live.events, alarms)

    def changes(self, version: int) -> dict[str, Any]:
        """Say what has changed since a version."""
        return words.changes(self._live.state_at(version), self._live.state)

    def export(self, kind: str) -> bytes:
        """Give every verdict with whether it stands, as csv or json."""
        return words.export(kind, self._live.events, self._live.state.verdicts)

    def picture(self, id: str, view: str = "before", row: int | None = None) -> bytes | None:
        """Show a row of an item as it is, without what distracts, or what was taken out."""
        state = self._live.state
        item, _ = state.find(id)
        one = self._sets[item.set]
        place = item.peak if row is None else row
        if not 0 <= place < len(one):
            raise UnknownItemError(f"There is no row {row} in set {item.set}; it has {len(one)} rows.")
        local, usual = state.ranking.model.in_context(one.name), self._live.usual(item.set)
        return item_picture(local, one, one.rows, place, view, usual=usual)

    def clip(self, id: str, version: int | None = None) -> Path | None:
        """Give the stretch of video around an item, beside it the same without what distracts.

        Whoever reads it piece by piece names the version of the item: while it is kept, it stays the same file.
        """
        state = self._live.state
        item, _ = state.find(id)
        one = self._sets[item.set]
        if kind_of(state.ranking.model, one) != "video" or one.times is None:
            return None

        def write(path: Path) -> None:
            local, usual = state.ranking.model.in_context(one.name), self._live.usual(item.set)
            stretch(local, one, one.rows, item.start, item.stop, item.peak, path, usual=usual)

        asked = [] if version is None else [f"{item.id}-{version}"]
        return self._clips.found([*asked, f"{item.id}-{state.version}"], write)

    def direction_picture(self, n: int) -> bytes | None:
        """Show a direction that is ignored."""
        model = self._live.state.ranking.model
        if not 0 <= n < model.focus.n_removed_:
            raise UnknownItemError(f"There is no direction {n}; {model.focus.n_removed_} are ignored.")
        return pattern_picture(model, model.focus.patterns_[:, n])

    def preview(
        self, id: str, answer: str = "familiar", scope: str = "everywhere", strength: float = 1.0
    ) -> dict[str, Any]:
        """Say what an answer would change, without giving it."""
        state, found = self._foreseen(id, answer, scope, strength)
        items = {place: self._item(state, place) for some in found.places for place in some.tolist()}
        return words.preview(found, state.ranking.model, items)

    def preview_picture(
        self, id: str, answer: str = "familiar", scope: str = "everywhere", strength: float = 1.0
    ) -> bytes | None:
        """Show the direction that would go."""
        state, found = self._foreseen(id, answer, scope, strength)
        return pattern_picture(state.ranking.model, found.direction)

    def record(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Keep an answer; it is on disk when this returns, and learned from soon after."""
        item, _ = self._live.state.find(str(said.get("item")))
        given = {name: value for name, value in said.items() if name != "item"}
        about = {"set_name": self._name(item), "start": item.start, "stop": item.stop, "peak": item.peak}
        return self._kept(Verdict.from_json(given | about | {"when": time()}))

    def withdraw(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Take an answer back."""
        return self._kept(Withdrawal.from_json({**said, "when": time()}))

    @property
    def _sets(self) -> tuple[FeatureSet, ...]:
        return self._live.first.sets

    def _name(self, item: Item) -> str:
        return str(self._sets[item.set].name)

    def _kept(self, event: Event) -> dict[str, Any]:
        return {"event": self._live.record(event), "key": event.key}

    def _history(self, item: Item) -> list[Event]:
        about = (self._name(item), item.start, item.stop)
        events = list(self._live.events)
        own = {event.key for event in events if isinstance(event, Verdict) and event.item == about}
        return [event for event in events if (event.of if isinstance(event, Withdrawal) else event.key) in own]

    def _item(self, state: State, place: int | None, item: Item | None = None) -> dict[str, Any]:
        """Give an item as plain values; a stretch that is no item has neither rank nor past."""
        shown = item if place is None or item is not None else state.ranking.items[place]
        assert shown is not None
        scores = state.ranking.scores[shown.set]
        found = words.item(shown, scores, state.answer_to(shown))
        if place is None:
            return found
        past = place < len(self._was)
        return found | {
            "score": words.finite(state.scores[place]),
            "alarm": bool(state.alarms[place]),
            "rank": int(state.ranks[place]),
            "was": words.finite(self._was[place]) if past else found["score"],
            "was_alarm": bool(past and self._was_alarm[place]),
            "was_rank": int(self._was_rank[place]) if past else int(state.ranks[place]),
        }

    def _foreseen(self, id: str, answer: str, scope: str, strength: float) -> tuple[State, Preview]:
        live, state = self._live, self._live.state
        item, _ = state.find(id)
        with self._previewing:  # one at a time: each takes as much work as an answer
            return state, foreseen(live, state, item, answer, scope=scope, strength=strength)

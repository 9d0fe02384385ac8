"""Review session: everything that the review page can request, as plain values. No HTTP in here.

    record ─► store (on disk) ─► worker: update the focus     ─► rescore the items ─► version n+1
                                         update the threshold ─► rescore all rows  ─► version n+2

A reader gets the newest published state and never waits for the next.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Condition, Lock, Thread
from time import time
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from undistract._arrays import Floats
from undistract._text import finite_or_none
from undistract.detect import Scores
from undistract.errors import InputError
from undistract.pipeline.export import load_model_and_scores
from undistract.pipeline.model import Model
from undistract.pipeline.rows import row_type
from undistract.pipeline.scoring import ScoreResult, load_scored_sources, reopen_sources
from undistract.pipeline.verdicts import ActiveVerdicts, Event, FeedbackItem, Verdict, Withdrawal, deviation
from undistract.review import payloads
from undistract.review.evidence import (
    ClipCache,
    evidence_view,
    item_picture,
    pattern_picture,
    verdict_evidence,
    write_item_clip,
)
from undistract.review.feedback import other_feedback
from undistract.review.items import Item, UnknownItemError, parse_item_id
from undistract.review.preview import Preview, compare
from undistract.review.ranking import Ranking
from undistract.review.store import ReviewStore, review_name
from undistract.sources.discover import discover_sources
from undistract.sources.source import Source

POLL_SECONDS = 1.0  # between two looks into the log for verdicts of other processes
N_VERSIONS = 64  # in the history
PREVIEW_KEY = "ffffffff-ffff-4fff-bfff-ffffffffffff"  # of a verdict that is never recorded


@dataclass(frozen=True, eq=False)
class State:
    """One published version: the ranking, the active verdicts, and the order of the items."""

    version: int
    event: int  # the last event that the model has used
    ranking: Ranking
    verdicts: dict[str, Verdict]  # active ones, by key
    answers: dict[tuple[str, int, int], Verdict]  # the same, by item
    scores: Floats  # (n,) of the items
    alarms: NDArray[np.bool_]  # (n,)
    order: NDArray[np.intp]  # (n,) indices of the items: open ones first, then by score
    ranks: NDArray[np.intp]  # (n,) the rank of each item, starting at 1
    problem: str | None  # the error message if the newest verdicts could not be used

    def verdict_on(self, item: Item) -> Verdict | None:
        """Return the active verdict on an item."""
        return self.answers.get((str(self.ranking.sources[item.source].name), item.start, item.stop))

    def find(self, id: str) -> tuple[Item, int | None]:
        """Return an item and its index by id; any other range of rows is accepted and has no index."""
        # At most MOST_ITEMS items: a linear search takes less than a millisecond.
        for index, item in enumerate(self.ranking.items):
            if item.id == id:
                return item, index
        return parse_item_id(id, [scores.values for scores in self.ranking.scores]), None


class ReviewWorker:
    """Records verdicts, updates the model in a background thread, and publishes the newest state.

    `first` is the ranking before any verdict of this review. Other processes may write to the store, too.
    """

    def __init__(self, first: Ranking, store: ReviewStore) -> None:
        self.first = first
        self._store = store
        self.events: list[Event] = []
        self._active = ActiveVerdicts()
        self._evidence: dict[str, Floats] = {}  # by the key of its verdict
        self._changed = Condition()
        self._closed = False
        self.busy = False
        self._sync()
        ranking = first
        items = self.feedback_items(self._active.verdicts())
        if items:
            ranking = first.rescore(self.model_with(items)).rescore_all()
        self.state = self._make_state(1, ranking, len(self.events), None)
        self._history = {1: self.state}
        self._thread = Thread(target=self._run, name="relearn", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the worker; all recorded verdicts are on the disk."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def record(self, event: Event, evidence: Floats | None = None) -> int:
        """Record an event; it is on the disk when this returns, and the worker uses it soon after."""
        number = self._store.record(event, evidence)
        with self._changed:
            if number == len(self.events) + 1:  # the next in the log: no need to read it back
                self._add(event)
            else:  # sent again, or others have written, too
                self._sync()
            self._changed.notify_all()
        return number

    def wait(self, version: int, event: int, timeout: float | None = None) -> bool:
        """Wait until there is a newer version or event than these; return True if there is."""

        def newer() -> bool:
            return self.state.version > version or len(self.events) > event

        with self._changed:
            self._changed.wait_for(lambda: self._closed or newer(), timeout)
            return not self._closed and newer()

    def wait_for(self, event: int, timeout: float | None = 60.0) -> bool:
        """Wait until the model has used an event and all rows are scored."""
        with self._changed:
            return self._changed.wait_for(lambda: self.state.event >= event and not self.busy, timeout)

    def state_at(self, version: int) -> State:
        """Return the state of a version, or the oldest one in the history."""
        with self._changed:
            return self._history.get(version, self._history[min(self._history)])

    def feedback_items(self, verdicts: Mapping[str, Verdict]) -> list[FeedbackItem]:
        """Return verdicts together with their evidence; evidence is read from the store once."""
        self._evidence |= self._store.evidence_of([key for key in verdicts if key not in self._evidence])
        return [FeedbackItem(verdict, self._evidence.get(key)) for key, verdict in verdicts.items()]

    def model_with(self, items: Sequence[FeedbackItem], *, calibrate: bool = True) -> Model:
        """Return the model with the feedback of this review, as `relearn` does."""
        model = self.first.model
        others = other_feedback(model, {event.key for event in self.events}, time())
        return model.with_feedback([*others, *items], calibrate=calibrate)

    def _sync(self) -> None:
        """Read new events from the log, including those of other processes."""
        for _, event in self._store.events(after=len(self.events)):
            self._add(event)

    def _add(self, event: Event) -> None:
        self._active.add(event)
        self.events.append(event)

    def _make_state(self, version: int, ranking: Ranking, event: int, problem: str | None) -> State:
        verdicts = self._active.verdicts()
        answers = {verdict.item: verdict for verdict in verdicts.values()}
        names = [str(source.name) for source in ranking.sources]
        answered = np.array(
            [(names[item.source], item.start, item.stop) in answers for item in ranking.items], dtype=bool
        )
        scores, alarms = ranking.item_scores()
        order = np.lexsort((-scores, answered))
        ranks = np.empty_like(order)
        ranks[order] = np.arange(1, len(order) + 1)
        return State(version, event, ranking, verdicts, answers, scores, alarms, order, ranks, problem)

    def _publish(self, ranking: Ranking, event: int, *, busy: bool, problem: str | None = None) -> None:
        with self._changed:
            self.busy = busy
            self.state = self._make_state(self.state.version + 1, ranking, event, problem)
            self._history[self.state.version] = self.state
            self._history.pop(self.state.version - N_VERSIONS, None)
            self._changed.notify_all()

    def _run(self) -> None:
        """Update the model whenever there are new events; use all of them at once."""
        used = self.state.event
        active = set(self.state.verdicts)
        unreadable = False
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or len(self.events) > used, POLL_SECONDS)  # noqa: B023
                if self._closed:
                    return
            # No exception may end the worker; the page shows the message.
            try:
                with self._changed:
                    self._sync()
                    newest = len(self.events)
                    verdicts = self._active.verdicts()
            except Exception as error:
                if not unreadable:  # report once, not on every poll
                    self._report(error, used)
                unreadable = True
                continue
            if newest == used and set(verdicts) == active and not unreadable:
                continue  # no new event, and no verdict has expired
            used = newest
            active = set(verdicts)
            unreadable = False
            try:
                self._update(used, verdicts)
            except Exception as error:
                self._report(error, used)

    def _report(self, error: Exception, event: int) -> None:
        logging.getLogger(__name__).error("Relearning failed", exc_info=error)
        message = str(error) if isinstance(error, InputError) else f"Learning failed: {type(error).__name__}."
        self._publish(self.state.ranking, event, busy=False, problem=message)

    def _update(self, event: int, verdicts: Mapping[str, Verdict]) -> None:
        self.busy = True
        items = self.feedback_items(verdicts)
        # The reviewer waits for the order of the list, so publish it before the slower calibration of the threshold.
        # Feedback for one context scales scores by its threshold: then the calibration has to come first.
        local = any(item.verdict.scope == "context" for item in items)
        ranking = self.state.ranking.rescore(self.model_with(items, calibrate=local))
        self._publish(ranking, event, busy=True)
        if not self._is_newest(event):
            return  # a newer verdict has come: use it first
        if not local:
            ranking = replace(ranking, model=self.model_with(items))
        if self._is_newest(event):
            self._publish(ranking.rescore_all(), event, busy=False)

    def _is_newest(self, event: int) -> bool:
        return len(self.events) == event and not self._closed


class ReviewSession:
    """One review session: scores, their model, and the log of verdicts.

    Parameters
    ----------
    model : Model
    sources : sequence of Source
        The scored sources.
    store : ReviewStore
        Closed together with the session.
    scored : ScoreResult, optional
        The scores; computed if omitted.
    title : str

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from uuid import uuid4
    >>> from undistract import learn
    >>> rng = np.random.default_rng(0)
    >>> days = [Source(day, rng.normal(size=20) + rng.normal(size=(60, 20))) for day in range(40)]
    >>> today = Source("today", days[0].rows + 9.0 * (np.arange(60) == 31)[:, None])
    >>> with TemporaryDirectory() as folder:
    ...     store = ReviewStore.open(Path(folder, "today.review"))
    ...     with ReviewSession(learn(days), [today], store) as session:
    ...         first = session.queue()["items"][0]["id"]
    ...         recorded = session.record({"key": str(uuid4()), "item": first, "answer": "false_alarm"})
    ...         used = session.wait_for(recorded["event"])
    ...         print(first, session.summary()["removed"])
    0-31-32 1
    """

    def __init__(
        self,
        model: Model,
        sources: Sequence[Source],
        store: ReviewStore,
        *,
        scored: ScoreResult | None = None,
        title: str = "review",
    ) -> None:
        counts = Counter(str(source.name) for source in sources)
        duplicates = [name for name, count in counts.items() if count > 1]
        if duplicates:
            raise InputError(
                f"Names must be unique in a review, got {duplicates[0]!r} more than once. Rename one of the sources."
            )
        self._title = title
        self._store = store
        self._scored = scored
        model = model.without_expired(time())
        if scored is None:
            first = Ranking.from_sources(model, sources)
        else:
            scores = tuple(result.after for result in scored)
            first = Ranking.from_scores(model, sources, scores, adapt=scored.threshold is None)
        # Scores, alarms and ranks before any verdict of this review, to show what feedback has changed.
        self._first_scores, self._first_alarms = first.item_scores()
        self._first_ranks = np.argsort(np.argsort(-self._first_scores, kind="stable"), kind="stable") + 1
        self._medians: dict[int, Floats] = {}  # by index of the source
        self._worker = ReviewWorker(first, store)
        self._clips = ClipCache()
        self._previewing = Lock()
        self.wait = self._worker.wait
        self.wait_for = self._worker.wait_for
        self.where = ""  # path or URL of the log, to print

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
            A file of `undistract score`.
        model : path, optional
            The path of the model, if it has moved.
        store : path or URL, optional
            The log; by default the path of the scores with the extension .review.
        data : sequence of paths, optional
            The paths of the data, if it has moved.
        cache : RowCache, optional
            Cache for rows of videos.
        """
        loaded, scored = load_model_and_scores(scores, model)
        title = Path(scores).name
        if scored is None:
            raise InputError(f"{title} is a model, expected scores. Score something with it first: undistract score …")
        if data:
            available = discover_sources(data, loaded.reading, cache=cache)
        else:
            available = reopen_sources([result.source for result in scored], loaded.reading, cache=cache)
        sources = load_scored_sources(available, scored)
        log = Path(scores).with_suffix(".review") if store is None else store
        review_store = ReviewStore.open(log, about={"n_features": loaded.focus.n_features_in_, "scores": title})
        try:
            session = cls(loaded, sources, review_store, scored=scored, title=title)
        except BaseException:
            review_store.close()
            raise
        session.where = review_name(log)
        return session

    def close(self) -> None:
        """Stop the worker and close the log; all recorded verdicts are on the disk."""
        self._worker.close()
        self._clips.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def model(self) -> Model:
        """The model before any verdict of this review."""
        return self._worker.first.model

    @property
    def _sources(self) -> tuple[Source, ...]:
        return self._worker.first.sources

    def record(self, request: Mapping[str, Any]) -> payloads.Recorded:
        """Record a verdict; it is on the disk when this returns, and the model uses it soon after."""
        item, _ = self._worker.state.find(str(request.get("item")))
        fields = {name: value for name, value in request.items() if name != "item"}
        verdict = Verdict.from_json(fields | self._about(item) | {"when": time()})
        evidence = verdict_evidence(self._sources[item.source].rows, self._median(item.source), verdict)
        return {"event": self._worker.record(verdict, evidence), "key": verdict.key}

    def withdraw(self, request: Mapping[str, Any]) -> payloads.Recorded:
        """Withdraw a verdict."""
        withdrawal = Withdrawal.from_json({**request, "when": time()})
        return {"event": self._worker.record(withdrawal), "key": withdrawal.key}

    def about(self) -> payloads.AboutPayload:
        """Return title, features and sources of the review."""
        return payloads.make_about(self._title, self.model, self._sources)

    def queue(self, offset: int = 0, limit: int = 200) -> payloads.QueuePayload:
        """Return the ranked items, open ones first."""
        state = self._worker.state
        busy = self._worker.busy
        newest = len(self._worker.events)
        n_answered = sum(state.verdict_on(item) is not None for item in state.ranking.items)
        return {
            "version": state.version,
            "event": newest,
            "learned": state.event,
            "busy": busy or state.event < newest,
            "problem": state.problem,
            "threshold": payloads.threshold_value(state.ranking.threshold),
            "total": len(state.order),
            "open": len(state.order) - n_answered,
            "answered": n_answered,
            "items": [self._ranked_item(state, index) for index in state.order[offset : offset + limit].tolist()],
        }

    def item(self, id: str) -> payloads.ItemDetail:
        """Return one item with its explanation, its evidence, and the verdicts on it."""
        state = self._worker.state
        item, index = state.find(id)
        source = self._sources[item.source]
        model = state.ranking.model
        row = source.rows[item.peak]
        local = model.for_source(source.name)
        score: float | None = None
        if not state.ranking.adapt:
            score = float(model.anomaly_score(row[None, :], context=source.name)[0])
        median = self._median(item.source)
        if index is None:
            payload = payloads.make_item(item, state.ranking.scores[item.source], state.verdict_on(item))
        else:
            payload = self._ranked_item(state, index)
        return {
            **payload,
            "version": state.version,
            "explanation": payloads.make_explanation(local, row, median, item.peak, score),
            "exhibit": evidence_view(local, source, item.start, item.stop, item.peak, median=median),
            "history": [event.to_json() for event in self._history(item)],
        }

    def track(self, group_id: int, start: int = 0, stop: int | None = None, width: int = 800) -> payloads.TrackPayload:
        """Return the scores of a range of rows, thinned to at most `width` buckets."""
        if not 0 <= group_id < len(self._sources):
            raise UnknownItemError(f"There is no group {group_id}; there are {len(self._sources)}.")
        state = self._worker.state
        scores = state.ranking.scores[group_id]
        stop = len(scores) if stop is None else min(stop, len(scores))
        if not 0 <= start < stop:
            raise InputError(f"Expected 0 <= start < stop <= {len(scores)}, got rows {start} to {stop}.")
        items: list[list[int | str | bool | None]] = []
        for index, item in enumerate(state.ranking.items):
            if item.source == group_id and item.start < stop and item.stop > start:
                verdict = state.verdict_on(item)
                answer = verdict.answer if verdict else None
                items.append([item.start, item.stop, item.id, answer, bool(state.alarms[index])])
        before: Scores | None = None
        before_threshold: float | None = None
        if self._scored is not None:
            before = self._scored.sources[group_id].before
            before_threshold = payloads.threshold_value(self._scored.baseline_threshold)
        return {
            **payloads.thin_track(scores, before, start, stop, width),
            "set": group_id,
            "threshold": payloads.threshold_value(state.ranking.threshold),
            "before_threshold": before_threshold,
            "items": items,
        }

    def summary(self) -> payloads.SummaryPayload:
        """Return the numbers of verdicts, and what the model has changed because of them."""
        state = self._worker.state
        alarms = int(self._first_alarms.sum()), int(state.alarms.sum())
        return payloads.make_summary(
            self.model, state.ranking.model, state.verdicts.values(), self._worker.events, alarms
        )

    def changes(self, version: int) -> payloads.ChangesPayload:
        """Return what has changed since a version."""
        return payloads.make_changes(self._worker.state_at(version), self._worker.state)

    def export(self, format: str) -> bytes:
        """Return all verdicts, and whether each is active, as csv or json."""
        return payloads.export_verdicts(format, self._worker.events, self._worker.state.verdicts)

    def preview(
        self, id: str, answer: str = "false_alarm", scope: str = "everywhere", strength: float = 1.0
    ) -> payloads.PreviewPayload:
        """Return what a verdict would change, without recording it."""
        state, effect = self._preview(id, answer, scope, strength)
        affected = [*effect.resolved.tolist(), *effect.new.tolist(), *effect.weakened.tolist()]
        items = {index: self._ranked_item(state, index) for index in affected}
        return payloads.make_preview(effect, state.ranking.model, items)

    def preview_picture(
        self, id: str, answer: str = "false_alarm", scope: str = "everywhere", strength: float = 1.0
    ) -> bytes | None:
        """Return a PNG of the direction that a verdict would remove."""
        state, effect = self._preview(id, answer, scope, strength)
        return pattern_picture(state.ranking.model, effect.direction)

    def direction_picture(self, n: int) -> bytes | None:
        """Return a PNG of an ignored direction."""
        model = self._worker.state.ranking.model
        if not 0 <= n < model.focus.n_removed_:
            raise UnknownItemError(f"There is no direction {n}; the model ignores {model.focus.n_removed_}.")
        return pattern_picture(model, model.focus.patterns_[:, n])

    def picture(self, id: str, view: str = "before", row: int | None = None) -> bytes | None:
        """Return a PNG of a row of an item: before, after, or the removed part."""
        state = self._worker.state
        item, _ = state.find(id)
        source = self._sources[item.source]
        row = item.peak if row is None else row
        if not 0 <= row < len(source):
            raise UnknownItemError(f"There is no row {row} in group {item.source}; it has {len(source)} rows.")
        local = state.ranking.model.for_source(source.name)
        return item_picture(local, source, row, view, median=self._median(item.source))

    def clip(self, id: str, version: int | None = None) -> Path | None:
        """Return a clip of the video around an item, side by side with the denoised video.

        A client that reads in ranges passes the version of the item, and gets the same file as long as it is cached.
        """
        state = self._worker.state
        item, _ = state.find(id)
        source = self._sources[item.source]
        if row_type(state.ranking.model, source) != "video" or source.times is None:
            return None

        def write(path: Path) -> None:
            local = state.ranking.model.for_source(source.name)
            median = self._median(item.source)
            write_item_clip(local, source, item.start, item.stop, item.peak, path, median=median)

        names = [f"{item.id}-{state.version}"]
        if version is not None:
            names.insert(0, f"{item.id}-{version}")
        return self._clips.get(names, write)

    def _about(self, item: Item) -> dict[str, Any]:
        """Return the fields of a verdict that name the item."""
        name = str(self._sources[item.source].name)
        return {"group_name": name, "start": item.start, "stop": item.stop, "peak": item.peak}

    def _median(self, index: int) -> Floats:
        if index not in self._medians:
            self._medians[index] = np.median(self._sources[index].rows, axis=0).astype(np.float64)
        return self._medians[index]

    def _history(self, item: Item) -> list[Event]:
        """Return the verdicts on an item, and their withdrawals."""
        about = (str(self._sources[item.source].name), item.start, item.stop)
        history: list[Event] = []
        keys: set[str] = set()
        for event in list(self._worker.events):
            if isinstance(event, Verdict) and event.item == about:
                keys.add(event.key)
                history.append(event)
            elif isinstance(event, Withdrawal) and event.of in keys:  # the log has the verdict first
                history.append(event)
        return history

    def _ranked_item(self, state: State, index: int) -> payloads.ItemPayload:
        item = state.ranking.items[index]
        payload = payloads.make_item(item, state.ranking.scores[item.source], state.verdict_on(item))
        payload["score"] = finite_or_none(state.scores[index])
        payload["alarm"] = bool(state.alarms[index])
        payload["rank"] = int(state.ranks[index])
        payload["was_rank"] = payload["rank"]
        if index < len(self._first_scores):  # items that feedback has added have no past
            payload["was"] = finite_or_none(self._first_scores[index])
            payload["was_alarm"] = bool(self._first_alarms[index])
            payload["was_rank"] = int(self._first_ranks[index])
        return payload

    def _preview(self, id: str, answer: str, scope: str, strength: float) -> tuple[State, Preview]:
        """Apply a verdict to a temporary model, and compare the rankings."""
        state = self._worker.state
        item, _ = state.find(id)
        record = {"key": PREVIEW_KEY, "answer": answer, "scope": scope, "strength": strength}
        verdict = Verdict.from_json(self._about(item) | record)
        rows = self._sources[item.source].rows
        median = self._median(item.source)
        feedback = FeedbackItem(verdict, verdict_evidence(rows, median, verdict))
        with self._previewing:  # one at a time: a preview costs as much as a verdict
            # A verdict replaces the one on the same item.
            others = {key: other for key, other in state.verdicts.items() if other.item != verdict.item}
            items = [*self._worker.feedback_items(others), feedback]
            ranking = state.ranking.rescore(self._worker.model_with(items))
        answers = [state.verdict_on(ranked) for ranked in state.ranking.items]
        confirmed = np.array([other is not None and other.answer == "anomaly" for other in answers], dtype=bool)
        effect = compare(
            (state.scores, state.alarms),
            ranking.item_scores(),
            confirmed,
            state.ranking.model.for_source(verdict.group_name).focus,
            ranking.model.for_source(verdict.group_name).focus,
            deviation(rows, median, item.peak),
        )
        return state, effect

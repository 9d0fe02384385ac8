"""A review at work: verdicts are kept first, then learned from.

    record ─► store (on disk) ─► worker: what to ignore ─► rank the items ─► version n+1
                                         when to alarm ─► score every row ─► version n+2

Whoever looks gets the newest state that is ready, and never waits for the next.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Condition, Thread
from time import time

import numpy as np
from numpy.typing import NDArray

from undistract.arrays import Floats
from undistract.errors import InputError
from undistract.review.feedback import Lesson, deviation
from undistract.review.items import Item, item_of
from undistract.review.store import ReviewStore
from undistract.review.verdicts import Event, Standing, Verdict
from undistract.workflow.model import Model
from undistract.workflow.ranking import Ranking
from undistract.workflow.relearning import with_lessons

# Answers that others wrote into the same log are looked for so often, in seconds.
POLL = 1.0
KEPT_VERSIONS = 64
# A calm stretch is a set: it needs rows that vary, and must fit into the log.
MOST_CALM_ROWS = 2000


@dataclass(frozen=True, eq=False)
class State:
    """What is known at one version: the ranking, the answers that stand, and the order of the items."""

    version: int
    event: int  # the last one that was learned from
    ranking: Ranking
    verdicts: dict[str, Verdict]  # standing, by key
    answers: dict[tuple[str, int, int], Verdict]  # the same, by what they are about
    scores: Floats  # (n,) of the items
    alarms: NDArray[np.bool_]  # (n,)
    order: NDArray[np.intp]  # (n,) places of the items: open ones first, the strongest first
    ranks: NDArray[np.intp]  # (n,) the rank of each item, from 1 on
    problem: str | None  # why the newest answers could not be learned from

    def answer_to(self, item: Item) -> Verdict | None:
        """Return the answer that stands."""
        return self.answers.get((str(self.ranking.sets[item.set].name), item.start, item.stop))

    def find(self, id: str) -> tuple[Item, int | None]:
        """Find an item by its id, and its place; any other stretch of a set will do, and has none."""
        for place, item in enumerate(self.ranking.items):
            if item.id == id:
                return item, place
        return item_of(id, [one.values for one in self.ranking.scores]), None


class LiveReview:
    """Keeps answers, learns from them in a thread of its own, and holds the newest state.

    Parameters
    ----------
    first : Ranking
        Before any answer of this review.
    store : ReviewStore
        Others may write to it, too.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from uuid import uuid4
    >>> from undistract import FeatureSet, learn
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=20) + rng.normal(size=(60, 20))) for day in range(40)]
    >>> rows = days[0].rows + 9.0 * (np.arange(60) == 31)[:, None]
    >>> first = Ranking.of(learn(days), [FeatureSet("today", rows)])
    >>> with TemporaryDirectory() as folder, ReviewStore.open(Path(folder, "today.review")) as store:
    ...     live = LiveReview(first, store)
    ...     number = live.record(Verdict(str(uuid4()), "today", 31, 32, 31, "familiar"))
    ...     learned = live.wait_for(number)
    ...     live.close()
    >>> first.model.focus.n_removed_, live.state.ranking.model.focus.n_removed_
    (0, 1)
    """

    def __init__(self, first: Ranking, store: ReviewStore) -> None:
        self.first, self._store = first, store
        self.events: list[Event] = []
        self._log = Standing()
        self._evidence: dict[str, Floats] = {}  # by the key of its verdict
        self._usual: dict[int, Floats] = {}
        self._changed = Condition()
        self._closed = self.busy = False
        self._take_in()
        lessons = self.lessons(self._log.verdicts())
        ranking = first.under(self.taught(lessons)).whole() if lessons else first
        self.state = self._stated(1, ranking, len(self.events), None)
        self._history = {1: self.state}
        self._worker = Thread(target=self._work, name="relearn", daemon=True)
        self._worker.start()

    def close(self) -> None:
        """Stop learning; what was recorded is on disk."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._worker.join()

    def record(self, event: Event) -> int:
        """Keep an event and what was seen; it is on disk when this returns, and learned from soon after."""
        number = self._store.record(event, self._evidence_for(event))
        with self._changed:
            self._take_in()
            self._changed.notify_all()
        return number

    def wait(self, version: int, event: int, timeout: float | None = None) -> bool:
        """Wait until there is a newer version or event than these; tell whether there is."""

        def newer() -> bool:
            return self.state.version > version or len(self.events) > event

        with self._changed:
            self._changed.wait_for(lambda: self._closed or newer(), timeout)
            return not self._closed and newer()

    def wait_for(self, event: int, timeout: float | None = 60.0) -> bool:
        """Wait until an event has been learned from, and every row is scored."""
        with self._changed:
            return self._changed.wait_for(lambda: self.state.event >= event and not self.busy, timeout)

    def state_at(self, version: int) -> State:
        """Return the state at a version, or the oldest that is kept."""
        with self._changed:
            return self._history.get(version, self._history[min(self._history)])

    def usual(self, set_id: int) -> Floats:
        """Return what is usual in a set: the median of its rows, (d,)."""
        if set_id not in self._usual:
            self._usual[set_id] = np.median(self.first.sets[set_id].rows, axis=0).astype(np.float64)
        return self._usual[set_id]

    def evidence(self, item: Item, answer: str) -> Floats | None:
        """Return what an answer about an item rests on."""
        rows = self.first.sets[item.set].rows
        if answer == "unsure":
            return None
        if answer == "calm":
            n_rows = item.stop - item.start
            if not 2 <= n_rows <= MOST_CALM_ROWS:
                raise InputError(f"A calm stretch of {n_rows} rows teaches nothing; choose 2 to {MOST_CALM_ROWS} rows.")
            found: Floats = rows[item.start : item.stop].astype(np.float64)
            return found
        return deviation(rows, self.usual(item.set), item.peak)

    def lessons(self, verdicts: Mapping[str, Verdict]) -> list[Lesson]:
        """Put the evidence to verdicts."""
        self._evidence |= self._store.evidence_of([key for key in verdicts if key not in self._evidence])
        return [Lesson(verdict, self._evidence.get(key)) for key, verdict in verdicts.items()]

    def taught(self, lessons: Sequence[Lesson], *, calibrate: bool = True) -> Model:
        """Teach the model as `relearn` does; with `calibrate=False` it alarms from where it did before."""
        return with_lessons(
            self.first.model, lessons, {event.key for event in self.events}, time(), calibrate=calibrate
        )

    def _evidence_for(self, event: Event) -> Floats | None:
        if not isinstance(event, Verdict):
            return None
        names = [str(one.name) for one in self.first.sets]
        if event.set_name not in names:
            raise InputError(f"There is no set {event.set_name!r} in this review.")
        item = Item(names.index(event.set_name), event.start, event.stop, event.peak)
        if event.stop > len(self.first.sets[item.set]):
            raise InputError(f"Set {event.set_name!r} has {len(self.first.sets[item.set])} rows, not {event.stop}.")
        return self.evidence(item, event.answer)

    def _take_in(self) -> None:
        """Read what is new in the log, whoever wrote it."""
        for _, event in self._store.events(after=len(self.events)):
            self._log.add(event)
            self.events.append(event)

    def _stated(self, version: int, ranking: Ranking, event: int, problem: str | None) -> State:
        verdicts = self._log.verdicts()
        answers = {verdict.item: verdict for verdict in verdicts.values()}
        names = [str(one.name) for one in ranking.sets]
        answered = np.array([(names[item.set], item.start, item.stop) in answers for item in ranking.items], dtype=bool)
        scores, alarms = ranking.of_items()
        order = np.lexsort((-scores, answered))
        ranks = np.empty_like(order)
        ranks[order] = np.arange(1, len(order) + 1)
        return State(version, event, ranking, verdicts, answers, scores, alarms, order, ranks, problem)

    def _publish(self, ranking: Ranking, event: int, *, busy: bool, problem: str | None = None) -> None:
        with self._changed:
            self.busy = busy
            self.state = self._stated(self.state.version + 1, ranking, event, problem)
            self._history[self.state.version] = self.state
            self._history.pop(self.state.version - KEPT_VERSIONS, None)
            self._changed.notify_all()

    def _work(self) -> None:
        """Learn from what is new; several answers that came meanwhile are learned from at once."""
        learned, standing, lost = self.state.event, set(self.state.verdicts), False
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or len(self.events) > learned, POLL)  # noqa: B023
                if self._closed:
                    return
            # The worker must live on, whatever fails; people see the sentence.
            try:
                with self._changed:
                    self._take_in()
                    newest, verdicts = len(self.events), self._log.verdicts()
            except Exception as error:
                if not lost:  # said once, and not every second until the log can be read again
                    self._failed(error, learned)
                lost = True
                continue
            if newest == learned and set(verdicts) == standing and not lost:
                continue  # nothing new, and nothing has expired
            learned, standing, lost = newest, set(verdicts), False
            try:
                self._relearn(learned, verdicts)
            except Exception as error:
                self._failed(error, learned)

    def _failed(self, error: Exception, learned: int) -> None:
        logging.getLogger(__name__).error("Relearning failed", exc_info=error)
        told = str(error) if isinstance(error, InputError) else f"Learning failed: {type(error).__name__}."
        self._publish(self.state.ranking, learned, busy=False, problem=told)

    def _relearn(self, event: int, verdicts: Mapping[str, Verdict]) -> None:
        self.busy = True
        lessons = self.lessons(verdicts)
        # Who looks waits for the order of the list; when to alarm is settled after that. Scores of single contexts are
        # told in terms of their thresholds, so those are settled at once.
        local = any(one.verdict.scope == "context" for one in lessons)
        quick = self.state.ranking.under(self.taught(lessons, calibrate=local))
        self._publish(quick, event, busy=True)
        if self._is_newest(event):  # another answer is learned from first
            settled = quick if local else replace(quick, model=self.taught(lessons))
            if self._is_newest(event):
                self._publish(settled.whole(), event, busy=False)

    def _is_newest(self, event: int) -> bool:
        return len(self.events) == event and not self._closed

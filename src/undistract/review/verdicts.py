"""Verdicts: what people said about stretches of rows, and which of it stands.

    familiar · anomaly · unsure      about one item, the rows start … stop-1 of a set
    calm                             the whole stretch is normal: learn it as a set

A verdict is never changed. Another answer is another verdict, and taking one back is a withdrawal. What stands is a
fold over all of them that depends on neither their order nor on how often one arrives.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import islice
from time import time
from typing import Any, Self

from undistract.arrays import listed
from undistract.errors import InputError
from undistract.review.checks import check_choice, check_key, check_rows, check_strength, check_text, check_time

__all__ = ["ANSWERS", "SCOPES", "Event", "Standing", "Verdict", "Withdrawal", "event_from_json", "standing"]

ANSWERS = ("familiar", "anomaly", "unsure", "calm")
SCOPES = ("everywhere", "context")


class _Plain:
    """To plain JSON values and back."""

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain values, with the kind of event."""
        return {"kind": type(self).__name__.lower(), **vars(self)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Make it from such plain values; what is left out takes its default."""
        given = dict(record)
        given.pop("kind", None)
        try:
            return cls(**given)
        except TypeError as error:
            kind, names = cls.__name__.lower(), [one.name for one in fields(cls)]  # type: ignore[arg-type]
            found = listed(sorted(given, key=names.__contains__))  # those that do not belong come first
            raise InputError(f"A {kind} has the fields {', '.join(names)}; found {found}.") from error


@dataclass(frozen=True)
class Verdict(_Plain):
    """What one person answered about one stretch of rows.

    Parameters
    ----------
    key : str
        A UUID that the answering side makes, in lower case. Sent twice, it counts once.
    set_name : str
        The set the rows are of: their context.
    start, stop, peak : int
        Rows start, start + 1, ..., stop - 1; the person saw row `peak`.
    answer : {"familiar", "anomaly", "unsure", "calm"}
        "calm" says that the whole stretch is normal.
    who : str
    when : float
        Unix seconds; set where it is recorded.
    scope : {"everywhere", "context"}
        "context": it holds in this set only.
    strength : float
        Over 0, at most 100.
    expires : float, optional
        Unix seconds from which on it no longer counts.
    note : str

    Examples
    --------
    >>> key = "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c"
    >>> verdict = Verdict(key, "match.mp4", 120, 131, 125, "familiar", who="Ada")
    >>> verdict.item
    ('match.mp4', 120, 131)
    >>> Verdict.from_json(verdict.to_json()) == verdict
    True
    >>> Verdict(key, "match.mp4", 120, 131, 125, "perhaps")
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: The answer is 'perhaps', expected familiar, anomaly, unsure or calm.
    """

    key: str
    set_name: str
    start: int
    stop: int
    peak: int
    answer: str
    who: str = ""
    when: float = 0.0
    scope: str = "everywhere"
    strength: float = 1.0
    expires: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        check_key("key", self.key)
        if not isinstance(self.set_name, str):  # file names are what they are, so any text will do
            raise InputError(f"The set is named {self.set_name!r:.80}, expected text. Give str(name).")
        check_rows(self.start, self.peak, self.stop)
        check_choice("answer", self.answer, ANSWERS)
        check_choice("scope", self.scope, SCOPES)
        check_text("who", self.who)
        check_text("note", self.note)
        check_time("when", self.when)
        check_strength(self.strength)
        if self.expires is not None:
            check_time("expires", self.expires)

    @property
    def item(self) -> tuple[str, int, int]:
        """What it is about: set, start, stop."""
        return self.set_name, self.start, self.stop

    def counts(self, now: float) -> bool:
        """Whether it has not expired."""
        return self.expires is None or now < self.expires


@dataclass(frozen=True)
class Withdrawal(_Plain):
    """A verdict is taken back, for good; what held before it holds again.

    Parameters
    ----------
    key : str
        A UUID of its own.
    of : str
        The key of the verdict.
    who : str
    when : float
        Unix seconds; set where it is recorded.

    Examples
    --------
    >>> taken = Withdrawal("0b7e9a3c-55d1-4c8e-8f3a-9a1d2c3b4e5f", of="6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c")
    >>> taken.to_json()["kind"]
    'withdrawal'
    """

    key: str
    of: str
    who: str = ""
    when: float = 0.0

    def __post_init__(self) -> None:
        check_key("key", self.key)
        check_key("verdict to withdraw", self.of)
        check_text("who", self.who)
        check_time("when", self.when)


Event = Verdict | Withdrawal
_KINDS: dict[str, type[Verdict] | type[Withdrawal]] = {"verdict": Verdict, "withdrawal": Withdrawal}


def event_from_json(record: Any) -> Event:
    """Make a verdict or a withdrawal from the plain values of `to_json`.

    Examples
    --------
    >>> event_from_json({"kind": "rumour"})
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: The kind is 'rumour', expected verdict or withdrawal.
    """
    if not isinstance(record, Mapping):
        raise InputError(f"An event is {record!r:.60}, expected names with values, such as Verdict.to_json gives.")
    kind = record.get("kind")
    check_choice("kind", kind, tuple(_KINDS))
    return _KINDS[kind].from_json(record)  # type: ignore[index]


class Standing:
    """The verdicts that stand, kept up to date event by event.

    Per item it is the last answer, in the order of (when, key), that was neither withdrawn nor has expired.

    Parameters
    ----------
    events : iterable of Verdict or Withdrawal
        In any order; a withdrawal may come before its verdict.

    Examples
    --------
    >>> first = Verdict("6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "match.mp4", 120, 131, 125, "unsure", when=1.0)
    >>> second = Verdict("7a2d2f5e-1e6b-4c64-8e1d-4f7f1e8b2c3d", "match.mp4", 120, 131, 125, "familiar", when=2.0)
    >>> live = Standing([first, second])
    >>> live.verdicts() == {second.key: second}
    True
    >>> live.add(Withdrawal("0b7e9a3c-55d1-4c8e-8f3a-9a1d2c3b4e5f", of=second.key))
    >>> live.verdicts() == {first.key: first}
    True
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events: dict[str, Event] = {}
        self._answers: dict[tuple[str, int, int], list[tuple[float, str, Verdict]]] = {}  # of each item, in order
        self._withdrawn: set[str] = set()
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take in one more event; one that is known changes nothing."""
        known = self._events.get(event.key)
        if known is not None:
            if known != event:
                raise InputError(f"Two events have the key {event.key}. Give each its own, by uuid.uuid4().")
            return
        self._events[event.key] = event
        if isinstance(event, Withdrawal):
            self._withdrawn.add(event.of)
        else:
            insort(self._answers.setdefault(event.item, []), (event.when, event.key, event))

    def verdicts(self, now: float | None = None) -> dict[str, Verdict]:
        """Give what stands at the time `now` (unix seconds; the present if None), by key, in order."""
        moment = time() if now is None else now
        found: list[tuple[float, str, Verdict]] = []
        for answers in self._answers.values():
            counting = (one for one in reversed(answers) if one[1] not in self._withdrawn and one[2].counts(moment))
            found += islice(counting, 1)
        return {key: verdict for _, key, verdict in sorted(found)}


def standing(events: Iterable[Event], *, now: float | None = None) -> dict[str, Verdict]:
    """Fold events into the verdicts that stand, by key, in the order of (when, key); as `Standing` does one by one.

    Parameters
    ----------
    events : iterable of Verdict or Withdrawal
        In any order, any of them more than once.
    now : float, optional
        Unix seconds; what has expired by then does not count. The present if left out.

    Examples
    --------
    >>> one = Verdict("6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "match.mp4", 120, 131, 125, "familiar")
    >>> standing([one, one]) == {one.key: one}
    True
    >>> standing([Withdrawal("0b7e9a3c-55d1-4c8e-8f3a-9a1d2c3b4e5f", of=one.key), one])
    {}
    """
    return Standing(events).verdicts(now)

"""Verdicts: answers of people about ranges of rows, the active ones among them, and the feedback that they carry.

    false_alarm · anomaly · unsure    about one item, the rows start … stop-1 of a source
    calm                              the whole range is normal: add it as a group

A verdict is never changed. A new answer is a new verdict, and an undo is a withdrawal. The active verdicts are a fold
over all events that depends neither on their order nor on how often an event arrives.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, fields
from time import time
from typing import Any, Literal, Self, get_args

import numpy as np

from undistract._arrays import Floats, Rows
from undistract._text import format_names
from undistract.errors import InputError

# A new answer is declared here: its name, and the number of dimensions of its evidence.
Answer = Literal["false_alarm", "anomaly", "unsure", "calm"]
EVIDENCE_DIMS: dict[str, int] = {"false_alarm": 1, "anomaly": 1, "unsure": 0, "calm": 2}
Scope = Literal["everywhere", "context"]
ANSWERS = tuple(EVIDENCE_DIMS)
SCOPES: tuple[str, ...] = get_args(Scope)

KEY_PATTERN = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
MAX_TEXT = {"who": 200, "note": 2000}
MAX_STRENGTH = 100.0
MAX_ROW = 2**53  # JavaScript and many JSON readers keep integers exact only up to here
MAX_TIME = 253_402_300_800.0  # the year 10 000: `datetime` ends there


class _Plain:
    """Conversion to plain JSON values and back."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values, with the kind of event."""
        return {"kind": type(self).__name__.lower(), **vars(self)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Create it from such plain values; missing fields take their defaults."""
        values = dict(record)
        values.pop("kind", None)
        try:
            return cls(**values)
        except TypeError as error:
            names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
            received = format_names(sorted(values, key=names.__contains__))  # unknown fields first
            raise InputError(f"A {cls.__name__.lower()} has the fields {', '.join(names)}; got {received}.") from error


@dataclass(frozen=True)
class Verdict(_Plain):
    """The answer of one person about one range of rows.

    Parameters
    ----------
    key : str
        A UUID in lower case, made by the client. Sent twice, it counts once.
    group_name : str
        The name of the source: the context of the rows.
    start, stop, peak : int
        Rows start, start + 1, ..., stop - 1; the person saw row `peak`.
    answer : {"false_alarm", "anomaly", "unsure", "calm"}
        "calm" means that the whole range is normal.
    who : str
    when : float
        Unix seconds of the recording.
    scope : {"everywhere", "context"}
        "context": it applies to this source only.
    strength : float
        Above 0, at most 100.
    expires : float, optional
        Unix seconds; from then on the verdict no longer counts.
    note : str

    Examples
    --------
    >>> key = "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c"
    >>> verdict = Verdict(key, "match.mp4", 120, 131, 125, "false_alarm", who="Ada")
    >>> verdict.item
    ('match.mp4', 120, 131)
    >>> Verdict.from_json(verdict.to_json()) == verdict
    True
    >>> Verdict(key, "match.mp4", 120, 131, 125, "perhaps")
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: The answer must be false_alarm, anomaly, unsure or calm, got 'perhaps'.
    """

    key: str
    group_name: str
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
        _check_key("key", self.key)
        if not isinstance(self.group_name, str):  # often a file name, so any text is accepted
            raise InputError(f"group_name must be text, got {self.group_name!r:.80}. Pass str(name).")
        if any(type(row) is not int for row in (self.start, self.peak, self.stop)) or not (
            0 <= self.start <= self.peak < self.stop <= MAX_ROW
        ):
            raise InputError(
                "A verdict needs integers with 0 <= start <= peak < stop; "
                f"got start {self.start!r:.30}, peak {self.peak!r:.30}, stop {self.stop!r:.30}."
            )
        _check_choice("answer", self.answer, ANSWERS)
        _check_choice("scope", self.scope, SCOPES)
        _check_text("who", self.who)
        _check_text("note", self.note)
        _check_time("when", self.when)
        if not _is_number(self.strength) or not 0 < self.strength <= MAX_STRENGTH:
            raise InputError(
                f"The strength must be a number above 0 and at most {MAX_STRENGTH:g}, got {self.strength!r:.30}."
            )
        if self.expires is not None:
            _check_time("expires", self.expires)

    @property
    def item(self) -> tuple[str, int, int]:
        """The item: name of the source, start, stop."""
        return self.group_name, self.start, self.stop

    def is_active(self, now: float) -> bool:
        """Return True if it has not expired."""
        return self.expires is None or now < self.expires


@dataclass(frozen=True)
class Withdrawal(_Plain):
    """A permanent undo of a verdict; the verdict before it becomes active again.

    Parameters
    ----------
    key : str
        The UUID of the withdrawal.
    of : str
        The key of the verdict.
    who : str
    when : float
        Unix seconds of the recording.

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
        _check_key("key", self.key)
        _check_key("verdict to withdraw", self.of)
        _check_text("who", self.who)
        _check_time("when", self.when)


Event = Verdict | Withdrawal
_KINDS: dict[str, type[Verdict] | type[Withdrawal]] = {"verdict": Verdict, "withdrawal": Withdrawal}


def event_from_json(record: Any) -> Event:
    """Create a verdict or a withdrawal from the plain values of `to_json`.

    Examples
    --------
    >>> event_from_json({"kind": "rumour"})
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: The kind must be verdict or withdrawal, got 'rumour'.
    """
    if not isinstance(record, Mapping):
        raise InputError(f"An event must be a mapping, such as Verdict.to_json returns, got {record!r:.60}.")
    kind = record.get("kind")
    _check_choice("kind", kind, tuple(_KINDS))
    return _KINDS[kind].from_json(record)  # type: ignore[index]


@dataclass(frozen=True, eq=False)
class FeedbackItem:
    """A verdict with its evidence: the rows or the deviation that the person saw.

    Parameters
    ----------
    verdict : Verdict
    evidence : array, optional
        (d,) the deviation from the context for "false_alarm" and "anomaly", (n, d) the rows for "calm".

    Examples
    --------
    >>> key = "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c"
    >>> FeedbackItem(Verdict(key, "match.mp4", 120, 131, 125, "false_alarm"), np.zeros((2, 3)))
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: The evidence of a 'false_alarm' verdict must be (features,) of finite numbers, got...
    """

    verdict: Verdict
    evidence: Floats | None = None

    def __post_init__(self) -> None:
        n_dims = 0
        is_finite = True
        shape = "none"
        if self.evidence is not None:
            n_dims = self.evidence.ndim
            is_finite = bool(np.isfinite(self.evidence).all())
            shape = f"shape {self.evidence.shape}"
        expected = EVIDENCE_DIMS[self.verdict.answer]
        if n_dims != expected or not is_finite:
            raise InputError(
                f"The evidence of a {self.verdict.answer!r} verdict must be "
                f"{('none', '(features,)', '(rows, features)')[expected]} of finite numbers, got {shape}. "
                "Record the verdict again."
            )

    def applies_to(self, context: Hashable | None) -> bool:
        """Return True if it applies when `context` is scored; None means any other context."""
        return self.verdict.scope == "everywhere" or (context is not None and self.verdict.group_name == str(context))


def deviation(rows: Rows, median: Floats, row: int) -> Floats:
    """Return the deviation (d,) of a row from the median of its context: the evidence of most verdicts.

    Examples
    --------
    >>> day = np.array([[1.0, 2.0], [1.0, 2.0], [4.0, 2.0]])
    >>> deviation(day, np.median(day, axis=0), 2)
    array([3., 0.])
    """
    difference: Floats = rows[row].astype(np.float64) - median
    return difference


class ActiveVerdicts:
    """The active verdicts, updated event by event.

    The active verdict of an item is the last one, in the order of (when, key), that is neither withdrawn nor expired.

    Parameters
    ----------
    events : iterable of Verdict or Withdrawal
        In any order; a withdrawal may come before its verdict.

    Examples
    --------
    >>> first = Verdict("6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "match.mp4", 120, 131, 125, "unsure", when=1.0)
    >>> second = Verdict("7a2d2f5e-1e6b-4c64-8e1d-4f7f1e8b2c3d", "match.mp4", 120, 131, 125, "false_alarm", when=2.0)
    >>> live = ActiveVerdicts([first, second])
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
        """Add an event; the same event again changes nothing."""
        earlier = self._events.get(event.key)
        if earlier is not None:
            if earlier != event:
                raise InputError(f"Two events have the key {event.key}. Use a new uuid.uuid4() for each.")
            return
        self._events[event.key] = event
        if isinstance(event, Withdrawal):
            self._withdrawn.add(event.of)
        else:
            insort(self._answers.setdefault(event.item, []), (event.when, event.key, event))

    def verdicts(self, now: float | None = None) -> dict[str, Verdict]:
        """Return the verdicts that are active at `now` (unix seconds; by default the present), by key, in order."""
        moment = time() if now is None else now
        active: list[tuple[float, str, Verdict]] = []
        for answers in self._answers.values():
            for answer in reversed(answers):
                _, key, verdict = answer
                if key not in self._withdrawn and verdict.is_active(moment):
                    active.append(answer)
                    break
        return {key: verdict for _, key, verdict in sorted(active)}


def active_verdicts(events: Iterable[Event], *, now: float | None = None) -> dict[str, Verdict]:
    """Return the active verdicts of events, by key, in the order of (when, key).

    Parameters
    ----------
    events : iterable of Verdict or Withdrawal
        In any order, any of them more than once.
    now : float, optional
        Unix seconds, by default the present; verdicts that have expired by then do not count.

    Examples
    --------
    >>> verdict = Verdict("6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "match.mp4", 120, 131, 125, "false_alarm")
    >>> active_verdicts([verdict, verdict]) == {verdict.key: verdict}
    True
    >>> active_verdicts([Withdrawal("0b7e9a3c-55d1-4c8e-8f3a-9a1d2c3b4e5f", of=verdict.key), verdict])
    {}
    """
    return ActiveVerdicts(events).verdicts(now)


def _check_key(name: str, key: Any) -> None:
    """Raise unless `key` is a UUID in its canonical spelling: two spellings of one key would count twice."""
    if not isinstance(key, str) or not re.fullmatch(KEY_PATTERN, key):
        raise InputError(f"The {name} must be a UUID in lower case, as str(uuid.uuid4()) returns, got {key!r:.60}.")


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"The {name} must be {', '.join(choices[:-1])} or {choices[-1]}, got {value!r:.60}.")


def _check_text(name: str, value: Any) -> None:
    limit = MAX_TEXT[name]
    if not isinstance(value, str):
        raise InputError(f"{name!r} must be text of at most {limit} characters, got {value!r:.60}.")
    if len(value) > limit:
        raise InputError(f"{name!r} must have at most {limit} characters, got {len(value)}.")
    # JSON can carry half of a surrogate pair, which no UTF-8 file or page can hold.
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InputError(f"{name!r} contains an unpaired surrogate and cannot be stored as UTF-8. Type it again.")


def _check_time(name: str, value: Any) -> None:
    if not _is_number(value) or not 0 <= value < MAX_TIME:  # False for NaN, too
        raise InputError(f"{name!r} must be unix seconds, from 0 up to the year 10 000, got {value!r:.30}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

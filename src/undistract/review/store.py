"""The store: a log of verdicts and withdrawals that only grows, in one file or on PostgreSQL.

record ─► number 1, 2, 3, …  (on the disk before it returns; the same key again is the same number)
events(after=n) ─► what came since
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from sqlalchemy import Connection, Row, func, insert, inspect, select

from undistract.arrays import Floats
from undistract.errors import FileError, InputError
from undistract.review import tables
from undistract.review.database import Database
from undistract.review.verdicts import Event, Verdict, event_from_json

DIMENSIONS = {"familiar": 1, "anomaly": 1, "calm": 2}  # of the evidence: a deviation, or rows
LARGEST = 2**28  # bytes of evidence


class ReviewStore:
    """What people said about one set of scores: every verdict, every withdrawal, in order, for good.

    Threads may share it, and several processes may have the same file open; each writer waits for the other.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> verdict = Verdict("6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "match.mp4", 120, 131, 125, "familiar", who="Ada")
    >>> with TemporaryDirectory() as folder, ReviewStore.open(Path(folder, "match.review")) as store:
    ...     store.record(verdict, evidence=[0.5, -2.0])
    ...     store.record(verdict)  # sent again, kept once
    ...     store.events() == [(1, verdict)], store.evidence(verdict.key)
    1
    1
    (True, array([ 0.5, -2. ]))
    """

    def __init__(self, database: Database, about: dict[str, Any]) -> None:
        self._database = database
        self.about = about

    @classmethod
    def open(cls, where: str | Path, *, about: Mapping[str, Any] | None = None, create: bool = True) -> Self:
        """Open a review, or begin one.

        Parameters
        ----------
        where : str or path
            A path, or a URL such as ``postgresql+psycopg://user@host/name``; there, one database holds one review.
        about : mapping, optional
            What it is about, as plain values; kept when the review begins. ``n_features`` must agree later on.
        create : bool
            False: refuse to begin a new one.

        Examples
        --------
        >>> ReviewStore.open("no-such.review", create=False)
        Traceback (most recent call last):
        ...
        undistract.errors.FileError: There is no file ...no-such.review. Is the path right?
        """
        given = _plain(about or {})
        database = Database(where, create=create)
        try:
            return cls(database, _agreed(database, given, create))
        except BaseException:
            database.close()
            raise

    def record(self, event: Event, evidence: Any = None) -> int:
        """Keep an event, and return its number; it is on the disk when this returns.

        Parameters
        ----------
        event : Verdict or Withdrawal
            Sent again with the same key, at whatever time, it gets the number that it has.
        evidence : array, optional
            Of a familiar row or an anomaly: its deviation (d,); of a calm stretch: its rows (n, d).

        Raises
        ------
        InputError
            The key has another event, the withdrawn verdict is not known, or the evidence does not fit.
        FileError
            It could not be written (a full disk, say): it does not count as recorded, and can be sent again.
        """
        numbers = None if evidence is None else self._checked(event, evidence)
        with self._database.writing() as connection:
            known = connection.execute(select(tables.events).where(tables.events.c.key == event.key)).first()
            if known is not None:
                return self._same(known, event)
            if not isinstance(event, Verdict):
                self._check_verdict(connection, event.of)
            number = _last(connection) + 1
            record = event.to_json()
            body = json.dumps(record)
            sums = tables.checksum(number, body)
            connection.execute(
                insert(tables.events).values(
                    number=number, key=event.key, kind=record["kind"], body=body, checksum=sums
                )
            )
            if numbers is not None:
                _keep(connection, event.key, numbers)
        return number

    def events(self, after: int = 0) -> list[tuple[int, Event]]:
        """Return the events with a number over `after`, in order."""
        chosen = select(tables.events).where(tables.events.c.number > after).order_by(tables.events.c.number)
        with self._database.reading() as connection:
            lines = connection.execute(chosen).all()
        if [line.number for line in lines] != list(range(after + 1, after + 1 + len(lines))):
            raise self._database.damaged("events are missing")
        return [(line.number, self._event(line)) for line in lines]

    def evidence(self, key: str) -> Floats | None:
        """Return the evidence of a verdict, or None where none was given."""
        return self.evidence_of([key]).get(key)

    def evidence_of(self, keys: Iterable[str]) -> dict[str, Floats]:
        """Return the evidence of many verdicts by key, without those that have none."""
        found: dict[str, Floats] = {}
        asked = list(keys)
        for start in range(0, len(asked), 500):  # databases limit how much one question may name
            chosen = select(tables.evidence).where(tables.evidence.c.key.in_(asked[start : start + 500]))
            with self._database.reading() as connection:
                lines = connection.execute(chosen).all()
            for key, shape, numbers, expected in lines:
                if tables.checksum(key, shape, numbers) != expected:
                    raise self._database.damaged(f"the evidence of {key}")
                found[key] = np.frombuffer(numbers, dtype="<f8").reshape(json.loads(shape)).astype(np.float64)
        return found

    @property
    def last_number(self) -> int:
        """The number of the newest event; 0 before the first."""
        with self._database.reading() as connection:
            return _last(connection)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _event(self, line: Sequence[Any]) -> Event:
        number, key, _, body, expected = line
        if tables.checksum(number, body) == expected:
            event = event_from_json(json.loads(body))
            if event.key == key:
                return event
        raise self._database.damaged(f"event {number}")

    def _same(self, line: Row[Any], event: Event) -> int:
        known = self._event(line)
        # The time is that of recording, so sending again changes it; the first one holds.
        if replace(event, when=known.when) != known:
            raise InputError(f"The key {event.key} has event {line.number}, which says something else. Make a new key.")
        return int(line.number)

    def _check_verdict(self, connection: Connection, key: str) -> None:
        kind = connection.scalar(select(tables.events.c.kind).where(tables.events.c.key == key))
        if kind != "verdict":
            raise InputError(f"There is no verdict {key} to withdraw. Withdraw one by the key it was recorded with.")

    def _checked(self, event: Event, evidence: Any) -> Floats:
        answer = event.answer if isinstance(event, Verdict) else "withdrawal"
        numbers = np.asarray(evidence, dtype="<f8")
        width = self.about.get("n_features")
        if numbers.ndim != DIMENSIONS.get(answer) or 0 in numbers.shape or width not in (None, numbers.shape[-1]):
            features = "d" if width is None else width
            expected = {1: f"({features},)", 2: f"(n, {features})"}.get(DIMENSIONS.get(answer, 0), "none")
            raise InputError(f"The evidence of {answer!r} has shape {numbers.shape}, expected {expected}.")
        if not np.isfinite(numbers).all():
            raise InputError(f"The evidence of {event.key} holds NaN or infinity. Leave such rows out first.")
        if numbers.nbytes > LARGEST:
            raise InputError(
                f"The evidence takes {numbers.nbytes >> 20} MiB, at most {LARGEST >> 20} are kept. "
                "Choose a shorter stretch."
            )
        return numbers


def _plain(about: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return dict(json.loads(json.dumps(dict(about), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise InputError(f"What the review is about must be plain values (text, numbers, lists): {error}.") from error


def _agreed(database: Database, given: dict[str, Any], create: bool) -> dict[str, Any]:
    """Check that this is a review that we can read, begin or lift it where needed, and return what it is about."""
    with database.reading() as connection:
        found = tables.schema_of(connection)
        others = database.dialect == "sqlite" and inspect(connection).get_table_names()
    if not found and (others or not create):
        raise FileError(f"{database.name} holds no review. Give the path of one, or of a file that is not there yet.")
    if found > tables.SCHEMA:
        raise FileError(
            f"{database.name} is of schema {found}, made by a newer undistract; this one reads up to schema "
            f"{tables.SCHEMA}. Upgrade: pip install --upgrade undistract"
        )
    if found < tables.SCHEMA:
        with database.writing() as connection:
            tables.prepare(connection, given)
    with database.reading() as connection:
        facts = tables.facts_of(connection)
    if facts is None:
        raise database.damaged("what it is about")
    here, there = facts.get("n_features"), given.get("n_features")
    if None not in (here, there) and here != there:
        raise InputError(
            f"{database.name} is a review of rows with {here} features, these have {there}. "
            "Open it with the scores it was made for, or begin a new one."
        )
    return facts


def _last(connection: Connection) -> int:
    return int(connection.scalar(select(func.coalesce(func.max(tables.events.c.number), 0))) or 0)


def _keep(connection: Connection, key: str, numbers: Floats) -> None:
    shape, content = json.dumps(numbers.shape), numbers.tobytes()
    sums = tables.checksum(key, shape, content)
    connection.execute(insert(tables.evidence).values(key=key, shape=shape, numbers=content, checksum=sums))

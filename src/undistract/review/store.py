"""The store: an append-only log of verdicts and withdrawals, in one file or on PostgreSQL.

record ─► number 1, 2, 3, …  (on the disk before it returns; the same key again returns the same number)
events(after=n) ─► newer events
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from time import time
from typing import Any, Self

import numpy as np
from sqlalchemy import (
    URL,
    BigInteger,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    String,
    Table,
    Text,
    create_engine,
    event,
    func,
    insert,
    inspect,
    make_url,
    select,
    update,
)
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import QueuePool

from undistract._arrays import Floats
from undistract._optional import import_optional
from undistract._text import check_jsonable
from undistract.errors import FileError, InputError
from undistract.pipeline.verdicts import EVIDENCE_DIMS, Event, Verdict, event_from_json

LOCK_SECONDS = 30  # that one writer waits for another
MAX_EVIDENCE_BYTES = 2**28

# The first statement of a transaction that writes. On PostgreSQL the advisory lock makes event numbers visible in
# order: a reader that gets number 8 has got 7 before. A server with synchronous_commit = off may lose the last commits
# in a crash, so it is switched on for this transaction.
_WRITING = {
    "sqlite": "BEGIN IMMEDIATE",
    "postgresql": f"""
        SELECT set_config('lock_timeout', '{LOCK_SECONDS}s', true),
               set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), true),
               pg_advisory_xact_lock(7241986320165)""",
}
# If the connection drops during COMMIT the outcome is unknown; sending again is safe because keys are unique.
_AGAIN = "Send it again once that is fixed: the same key counts once."
_BEFORE = "Restore a backup, or start a new review."
_SQLITE_MESSAGES = {
    "SQLITE_NOTADB": "is not a review. Pass the path of a review, or of a new file.",
    "SQLITE_CORRUPT": f"is damaged. {_BEFORE}",
    "SQLITE_FULL": f"cannot grow because the disk is full: nothing was recorded. {_AGAIN}",
    "SQLITE_BUSY": f"was locked by another program for {LOCK_SECONDS} s. {_AGAIN}",
    "SQLITE_READONLY": "is read-only. Change its permissions, or copy it to another folder.",
    "SQLITE_CANTOPEN": "cannot be opened. Is it a file, and may this user read and write it and its folder?",
    "SQLITE_IOERR": f"cannot be read or written: the disk reports an error. {_AGAIN}",
}


class Database:
    """One database, shared by all threads of this process; `create` tells whether to create a missing file."""

    def __init__(self, where: str | Path, *, create: bool = True) -> None:
        url = _url(where)
        self.name = url.database if url.drivername == "sqlite" else _without_secrets(url)
        self._lock = Lock()
        self._engine: Engine | None = _engine(url)
        self.dialect = self._engine.dialect.name
        if self.dialect == "sqlite":
            try:
                self._check_file(Path(str(url.database)), create)
            except BaseException:
                self.close()
                raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Return a connection as a context; each statement sees all committed data."""
        with self._lock, self._explained(), self._opened().connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Return a connection for one exclusive transaction; it is on the disk when the context ends."""
        with self._lock, self._explained(), self._opened().begin() as connection:
            connection.exec_driver_sql(_WRITING[self.dialect])
            yield connection

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
            self._engine = None

    def damaged(self, part: str) -> FileError:
        """Return the error for a damaged part of the database."""
        return FileError(f"{self.name} is damaged ({part}). {_BEFORE}")

    def _opened(self) -> Engine:
        if self._engine is None:
            raise InputError(f"{self.name} is closed. Open it again: ReviewStore.open(...).")
        return self._engine

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            raise FileError(f"{self.name} {_explain(error)}") from error
        except UnicodeDecodeError as error:  # SQLite quotes bytes of a damaged file in its own message
            raise self.damaged("it contains text that cannot be decoded") from error

    def _check_file(self, path: Path, create: bool) -> None:
        if path.exists() and not path.is_file():
            raise FileError(f"{path} is not a file. Pass the path of a review, or of a new file.")
        if not path.exists() and not create:
            raise FileError(f"There is no file {path}. Is the path right?")
        if not path.parent.is_dir():
            raise FileError(f"{path} cannot be created: there is no folder {path.parent}. Create it first.")
        with self.reading() as connection:
            result = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
            if result != "ok":
                raise self.damaged(str(result).splitlines()[-1])


def review_name(where: str | Path) -> str:
    """Return the path or URL of a review without its password, safe to print and to store.

    Examples
    --------
    >>> review_name("postgresql+psycopg://me:secret@host/review")
    'postgresql+psycopg://me:***@host/review'
    >>> review_name(Path("match.review"))
    'match.review'
    """
    if isinstance(where, str) and "://" in where:
        return _without_secrets(_parsed(where))
    return str(where)


def _without_secrets(url: URL) -> str:
    return url.difference_update_query(["password", "sslpassword"]).render_as_string()


def _parsed(where: str) -> URL:
    try:
        return make_url(where)
    except (ArgumentError, ValueError) as error:  # the message must not contain the password
        raise InputError("The URL cannot be parsed; expected postgresql+psycopg://user@host/name.") from error


def _url(where: str | Path) -> URL:
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite", database=str(Path(where).absolute()))
    url = _parsed(where)
    if url.get_backend_name() != "postgresql":
        raise InputError(
            f"A review cannot be stored in {url.get_backend_name()}; "
            "pass the path of a file, or postgresql+psycopg://user@host/name."
        )
    import_optional("psycopg", extra="postgres", to="A review on PostgreSQL")
    return url.set(drivername="postgresql+psycopg")


def _engine(url: URL) -> Engine:
    # One connection is enough: the lock of `Database` lets one thread in at a time.
    pool: dict[str, Any] = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0}
    if url.drivername != "sqlite":
        return create_engine(url, **pool, pool_pre_ping=True, isolation_level="READ COMMITTED")
    engine = create_engine(url, **pool, connect_args={"timeout": LOCK_SECONDS, "check_same_thread": False})
    event.listen(engine, "connect", _set_up)
    return engine


def _set_up(connection: Any, _: Any) -> None:
    """Prepare a connection to SQLite."""
    connection.isolation_level = None  # we begin transactions ourselves; the driver would guess
    # The rollback journal, not the write-ahead log: a review stays one file that can be copied, and SQLite before
    # 3.51.3 can damage a log. EXTRA is FULL plus a sync of the folder: without it a power cut may restore an old
    # journal, which would undo an acknowledged commit.
    try:
        for setting in ("journal_mode = DELETE", "synchronous = EXTRA", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}").close()
    except BaseException:
        connection.close()  # before SQLAlchemy 2.1 the pool forgets it, and would leave the file open
        raise


def _explain(error: DBAPIError | sqlite3.Error) -> str:
    cause: Any = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorname", "")
    for prefix, message in _SQLITE_MESSAGES.items():  # extended codes, such as SQLITE_IOERR_WRITE, share a prefix
        if code.startswith(prefix):
            return message
    return f"cannot be read or written: {str(cause).strip().splitlines()[0]}. {_AGAIN}"


# The tables of a review, and the migration of older ones.
#
#     review_about       one line: schema version, time of creation, facts about the reviewed scores
#     review_events      number 1, 2, … · key · kind · the event as JSON · checksum
#     review_evidence    key of a verdict · shape · numbers (float64, little-endian) · checksum
#
# Events and evidence are append-only: triggers in the database reject updates and deletions.


SCHEMA = 1
# STEPS[n] migrates schema n to n + 1; all missing steps run in one transaction.
STEPS: dict[int, Callable[[Connection], None]] = {}

metadata = MetaData()
about = Table(
    "review_about",
    metadata,
    Column("schema", Integer, nullable=False),
    Column("made", Float(53), nullable=False),  # unix seconds
    Column("facts", Text, nullable=False),  # JSON
    Column("checksum", BigInteger, nullable=False),  # of the facts
)
events_table = Table(
    "review_events",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("key", String(36), nullable=False, unique=True),
    Column("kind", String(20), nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Column("checksum", BigInteger, nullable=False),  # of number and body
)
evidence_table = Table(
    "review_evidence",
    metadata,
    Column("key", String(36), primary_key=True),
    Column("shape", String(60), nullable=False),  # JSON
    Column("numbers", LargeBinary, nullable=False),
    Column("checksum", BigInteger, nullable=False),  # of key, shape and numbers
)

_LOGS = (events_table.name, evidence_table.name)
_GUARDS = {
    "sqlite": [
        *(
            f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} "
            "BEGIN SELECT RAISE(ABORT, 'a review only grows'); END"
            for table in _LOGS
            for verb in ("UPDATE", "DELETE")
        ),
        *(  # INSERT OR REPLACE deletes rows without firing the triggers above
            f"CREATE TRIGGER {table}_insert BEFORE INSERT ON {table} "
            f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same}) BEGIN SELECT RAISE(ABORT, 'a review only grows'); END"
            for table, same in zip(_LOGS, ("key = NEW.key OR number = NEW.number", "key = NEW.key"), strict=True)
        ),
    ],
    "postgresql": [
        "CREATE OR REPLACE FUNCTION review_only_grows() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'a review only grows'; END $$",
        *(
            f"CREATE TRIGGER {table}_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION review_only_grows()"
            for table in _LOGS
        ),
    ],
}


def checksum(*parts: Any) -> int:
    """Return the CRC-32 of the content of a line, to detect damage."""
    total = 0
    for part in parts:
        total = zlib.crc32(part if isinstance(part, bytes) else f"{part}\n".encode(), total)
    return total


def schema_of(connection: Connection) -> int:
    """Return the schema version of a review, or 0 if the database has no review."""
    if not inspect(connection).has_table(about.name):
        return 0
    schema = connection.scalar(select(about.c.schema))
    return schema if isinstance(schema, int) else 0


def prepare(connection: Connection, facts: Mapping[str, Any]) -> None:
    """Create the tables of a new review, or migrate those of an older one; do nothing if they are up to date."""
    current = schema_of(connection)
    if not current:
        metadata.create_all(connection)
        for statement in _GUARDS[connection.dialect.name]:
            connection.exec_driver_sql(statement)
        text = json.dumps(facts)
        connection.execute(insert(about).values(schema=SCHEMA, made=time(), facts=text, checksum=checksum(text)))
    elif current < SCHEMA:
        for version in range(current, SCHEMA):
            STEPS[version](connection)
        connection.execute(update(about).values(schema=SCHEMA))


def facts_of(connection: Connection) -> dict[str, Any] | None:
    """Return the facts that were stored when the review was created; None if they are damaged."""
    text, expected = connection.execute(select(about.c.facts, about.c.checksum)).one()
    if checksum(text) != expected:
        return None
    return dict(json.loads(text))


class ReviewStore:
    """All verdicts and withdrawals of one review, in order; nothing is ever changed or deleted.

    Threads may share a store, and several processes may open the same file; each writer waits for the other.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> verdict = Verdict("6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "match.mp4", 120, 131, 125, "false_alarm", who="Ada")
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
        """Open a review, or create one.

        Parameters
        ----------
        where : str or path
            A path, or a URL such as ``postgresql+psycopg://user@host/name``; a database holds one review.
        about : mapping, optional
            Facts about the reviewed scores as plain values, stored when the review is created. ``n_features`` must be
            the same whenever it is opened again.
        create : bool
            False: raise if the review does not exist.

        Examples
        --------
        >>> ReviewStore.open("no-such.review", create=False)
        Traceback (most recent call last):
        ...
        undistract.errors.FileError: There is no file ...no-such.review. Is the path right?
        """
        facts: dict[str, Any] = check_jsonable(dict(about or {}), "about")
        database = Database(where, create=create)
        try:
            return cls(database, _agreed(database, facts, create))
        except BaseException:
            database.close()
            raise

    def record(self, event: Event, evidence: Any = None) -> int:
        """Append an event and return its number; it is on the disk when this returns.

        Parameters
        ----------
        event : Verdict or Withdrawal
            An event that is sent again with the same key, at any time, returns the number of the first one.
        evidence : array, optional
            For a false alarm or an anomaly: its deviation (d,); for a calm range: its rows (n, d).

        Raises
        ------
        InputError
            The key belongs to another event, the withdrawn verdict is unknown, or the evidence has a wrong shape.
        FileError
            Writing failed, for example because the disk is full: nothing was recorded, and it can be sent again.
        """
        numbers = None if evidence is None else self._checked(event, evidence)
        with self._database.writing() as connection:
            recorded = connection.execute(select(events_table).where(events_table.c.key == event.key)).first()
            if recorded is not None:
                return self._same(recorded, event)
            if not isinstance(event, Verdict):
                self._check_verdict(connection, event.of)
            number = _last_number(connection) + 1
            record = event.to_json()
            body = json.dumps(record)
            sums = checksum(number, body)
            connection.execute(
                insert(events_table).values(number=number, key=event.key, kind=record["kind"], body=body, checksum=sums)
            )
            if numbers is not None:
                shape = json.dumps(numbers.shape)
                content = numbers.tobytes()
                sums = checksum(event.key, shape, content)
                line = {"key": event.key, "shape": shape, "numbers": content, "checksum": sums}
                connection.execute(insert(evidence_table).values(**line))
        return number

    def events(self, after: int = 0) -> list[tuple[int, Event]]:
        """Return the events with a number above `after`, in order."""
        chosen = select(events_table).where(events_table.c.number > after).order_by(events_table.c.number)
        with self._database.reading() as connection:
            lines = connection.execute(chosen).all()
        if [line.number for line in lines] != list(range(after + 1, after + 1 + len(lines))):
            raise self._database.damaged("events are missing")
        return [(line.number, self._event(line)) for line in lines]

    def evidence(self, key: str) -> Floats | None:
        """Return the evidence of a verdict, or None if it has none."""
        return self.evidence_of([key]).get(key)

    def evidence_of(self, keys: Iterable[str]) -> dict[str, Floats]:
        """Return the evidence of many verdicts by key, without those that have none."""
        evidence_by_key: dict[str, Floats] = {}
        verdict_keys = list(keys)
        for start in range(0, len(verdict_keys), 500):  # databases limit the number of parameters of a query
            chosen = select(evidence_table).where(evidence_table.c.key.in_(verdict_keys[start : start + 500]))
            with self._database.reading() as connection:
                lines = connection.execute(chosen).all()
            for key, shape, numbers, expected in lines:
                if checksum(key, shape, numbers) != expected:
                    raise self._database.damaged(f"the evidence of {key}")
                evidence_by_key[key] = np.frombuffer(numbers, dtype="<f8").reshape(json.loads(shape)).astype(np.float64)
        return evidence_by_key

    @property
    def last_number(self) -> int:
        """The number of the newest event; 0 if there are none."""
        with self._database.reading() as connection:
            return _last_number(connection)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _event(self, line: Sequence[Any]) -> Event:
        number, key, _, body, expected = line
        if checksum(number, body) == expected:
            event = event_from_json(json.loads(body))
            if event.key == key:
                return event
        raise self._database.damaged(f"event {number}")

    def _same(self, line: Row[Any], event: Event) -> int:
        recorded = self._event(line)
        # `when` is the time of recording, so it differs if an event is sent again; the first one counts.
        if replace(event, when=recorded.when) != recorded:
            raise InputError(
                f"The key {event.key} belongs to event {line.number}, which has other content. Use a new key."
            )
        return int(line.number)

    def _check_verdict(self, connection: Connection, key: str) -> None:
        kind = connection.scalar(select(events_table.c.kind).where(events_table.c.key == key))
        if kind != "verdict":
            raise InputError(f"There is no verdict {key} to withdraw. Pass the key that it was recorded with.")

    def _checked(self, event: Event, evidence: Any) -> Floats:
        answer = "withdrawal"
        n_dims = 0
        if isinstance(event, Verdict):
            answer = event.answer
            n_dims = EVIDENCE_DIMS[answer]
        numbers = np.asarray(evidence, dtype="<f8")
        width = self.about.get("n_features")
        if numbers.ndim != n_dims or not n_dims or 0 in numbers.shape or width not in (None, numbers.shape[-1]):
            columns = width or "d"
            expected = {1: f"({columns},)", 2: f"(n, {columns})"}.get(n_dims, "none")
            raise InputError(f"The evidence of {answer!r} must have shape {expected}, got {numbers.shape}.")
        if not np.isfinite(numbers).all():
            raise InputError(f"The evidence of {event.key} contains NaN or infinity. Leave such rows out first.")
        if numbers.nbytes > MAX_EVIDENCE_BYTES:
            raise InputError(
                f"The evidence must take at most {MAX_EVIDENCE_BYTES >> 20} MiB, got {numbers.nbytes >> 20}. "
                "Choose a shorter range of rows."
            )
        return numbers


def _agreed(database: Database, facts: dict[str, Any], create: bool) -> dict[str, Any]:
    """Check that the database has a review for these facts, create or migrate it if needed; return its own facts."""
    with database.reading() as connection:
        schema = schema_of(connection)
        has_other_tables = database.dialect == "sqlite" and inspect(connection).get_table_names()
    if not schema and (has_other_tables or not create):
        raise FileError(f"{database.name} is not a review. Pass the path of a review, or of a new file.")
    if schema > SCHEMA:
        raise FileError(
            f"{database.name} has schema {schema} of a newer undistract; this version reads up to schema "
            f"{SCHEMA}. Upgrade: pip install --upgrade undistract"
        )
    if schema < SCHEMA:
        with database.writing() as connection:
            prepare(connection, facts)
    with database.reading() as connection:
        stored = facts_of(connection)
    if stored is None:
        raise database.damaged("facts about the scores")
    width = facts.get("n_features")
    stored_width = stored.get("n_features")
    if None not in (width, stored_width) and width != stored_width:
        raise InputError(
            f"{database.name} is a review of rows with {stored_width} features, these have {width}. "
            "Open it with the scores it was created for, or start a new review."
        )
    return stored


def _last_number(connection: Connection) -> int:
    return int(connection.scalar(select(func.coalesce(func.max(events_table.c.number), 0))) or 0)

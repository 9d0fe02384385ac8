"""The database of a review: a file of SQLite, or PostgreSQL by its URL. One writer at a time; errors in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import QueuePool

from undistract.errors import FileError, InputError
from undistract.extras import need

PATIENCE = 30  # seconds that one writer waits for another

# The first words of a transaction that writes. On PostgreSQL the lock makes numbers appear in their order: who reads
# number 8 has seen 7. A server that is set to forget the last moments when it crashes is asked not to, here.
_WRITING = {
    "sqlite": "BEGIN IMMEDIATE",
    "postgresql": f"""
        SELECT set_config('lock_timeout', '{PATIENCE}s', true),
               set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), true),
               pg_advisory_xact_lock(7241986320165)""",
}
# Where a connection breaks while it commits, nobody can tell whether it did; sending again is right either way.
_AGAIN = "Send it again once that is mended: the same key counts once."
_BEFORE = "Bring back a copy from before, or begin a new review."
_WORDS = {
    "SQLITE_NOTADB": "is not a review. Give the path of one, or of a file that is not there yet.",
    "SQLITE_CORRUPT": f"is damaged. {_BEFORE}",
    "SQLITE_FULL": f"cannot grow, the disk is full: nothing of this was recorded. {_AGAIN}",
    "SQLITE_BUSY": f"was kept busy by another program for {PATIENCE} s. {_AGAIN}",
    "SQLITE_READONLY": "may not be written. Change its permissions, or copy it to another place.",
    "SQLITE_CANTOPEN": "cannot be opened. Is it a file, and may this user read and write it and its folder?",
    "SQLITE_IOERR": f"cannot be read or written: the disk reports an error. {_AGAIN}",
}


class Database:
    """One database, shared by all threads of this process.

    Parameters
    ----------
    where : str or path
        A path, or a URL such as ``postgresql+psycopg://user@host/name``.
    create : bool
        Whether a file that is not there is made.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     database = Database(Path(folder, "match.review"))
    ...     with database.reading() as connection:
    ...         print(connection.exec_driver_sql("SELECT 1 + 1").scalar())
    ...     database.close()
    2
    """

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
        """Lend a connection; each statement sees what is committed."""
        with self._lock, self._explained(), self._opened().connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Lend a connection to write with: alone, all or nothing, and on the disk when it is over."""
        with self._lock, self._explained(), self._opened().begin() as connection:
            connection.exec_driver_sql(_WRITING[self.dialect])
            yield connection

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
            self._engine = None

    def damaged(self, what: str) -> FileError:
        """Return the error that says so."""
        return FileError(f"{self.name} is damaged ({what}). {_BEFORE}")

    def _opened(self) -> Engine:
        if self._engine is None:
            raise InputError(f"{self.name} is closed. Open it again: ReviewStore.open(...).")
        return self._engine

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            raise FileError(f"{self.name} {_words(error)}") from error
        except UnicodeDecodeError as error:  # words of SQLite about a damaged file, quoting it
            raise self.damaged("it holds text that cannot be read") from error

    def _check_file(self, path: Path, create: bool) -> None:
        if path.exists() and not path.is_file():
            raise FileError(f"{path} is not a file. Give the path of a review, or of a file that is not there yet.")
        if not path.exists() and not create:
            raise FileError(f"There is no file {path}. Is the path right?")
        if not path.parent.is_dir():
            raise FileError(f"{path} cannot be made: there is no folder {path.parent}. Make it first.")
        with self.reading() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
            if found != "ok":
                raise self.damaged(str(found).splitlines()[-1])


def name_of(where: str | Path) -> str:
    """Say where a review is kept, for people and for files that others may read: a URL loses its password.

    Examples
    --------
    >>> name_of("postgresql+psycopg://me:secret@host/review")
    'postgresql+psycopg://me:***@host/review'
    >>> name_of(Path("match.review"))
    'match.review'
    """
    return _without_secrets(_parsed(where)) if isinstance(where, str) and "://" in where else str(where)


def _without_secrets(url: URL) -> str:
    return url.difference_update_query(["password", "sslpassword"]).render_as_string()


def _parsed(where: str) -> URL:
    try:
        return make_url(where)
    except (ArgumentError, ValueError) as error:  # the message must not tell a password
        raise InputError("The URL cannot be read; expected postgresql+psycopg://user@host/name.") from error


def _url(where: str | Path) -> URL:
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite", database=str(Path(where).absolute()))
    url = _parsed(where)
    if url.get_backend_name() != "postgresql":
        raise InputError(
            f"A review cannot be kept in {url.get_backend_name()}; "
            "give the path of a file, or postgresql+psycopg://user@host/name."
        )
    need("psycopg", extra="postgres", to="A review on PostgreSQL")
    return url.set(drivername="postgresql+psycopg")


def _engine(url: URL) -> Engine:
    # One connection, and the lock above it: more would only wait for one another.
    one: dict[str, Any] = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0}
    if url.drivername != "sqlite":
        return create_engine(url, **one, pool_pre_ping=True, isolation_level="READ COMMITTED")
    engine = create_engine(url, **one, connect_args={"timeout": PATIENCE, "check_same_thread": False})
    event.listen(engine, "connect", _set_up)
    return engine


def _set_up(connection: Any, _: Any) -> None:
    """Prepare a connection to SQLite."""
    connection.isolation_level = None  # transactions begin where we say so, not where the driver guesses
    # The rollback journal, not the write-ahead log: a review stays one file that can be copied, and SQLite before
    # 3.51.3 can damage a log. EXTRA is FULL, and also syncs the folder: without it a power cut may bring a journal
    # back, and with it undo what was acknowledged.
    try:
        for words in ("journal_mode = DELETE", "synchronous = EXTRA", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {words}").close()
    except BaseException:
        connection.close()  # before SQLAlchemy 2.1 the pool forgets it, and would leave the file open
        raise


def _words(error: DBAPIError | sqlite3.Error) -> str:
    cause: Any = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorname", "")
    known = [words for start, words in _WORDS.items() if code.startswith(start)]
    return known[0] if known else f"cannot be read or written: {str(cause).strip().splitlines()[0]}. {_AGAIN}"

"""The tables of a review, and how older ones become today's.

    review_about       one line: schema version, when it was made, what it is about
    review_events      number 1, 2, … · key · kind · the event as JSON · checksum
    review_evidence    key of a verdict · shape · numbers (float64, little-endian) · checksum

Events and evidence only grow: the database itself refuses to change or to delete them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from time import time
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    update,
)

SCHEMA = 1
# STEPS[n] makes schema n + 1 of schema n; all that are missing run in one transaction.
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
events = Table(
    "review_events",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("key", String(36), nullable=False, unique=True),
    Column("kind", String(20), nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Column("checksum", BigInteger, nullable=False),  # of number and body
)
evidence = Table(
    "review_evidence",
    metadata,
    Column("key", String(36), primary_key=True),
    Column("shape", String(60), nullable=False),  # JSON
    Column("numbers", LargeBinary, nullable=False),
    Column("checksum", BigInteger, nullable=False),  # of key, shape and numbers
)

_LOGS = (events.name, evidence.name)
_GUARDS = {
    "sqlite": [
        *(
            f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} "
            "BEGIN SELECT RAISE(ABORT, 'a review only grows'); END"
            for table in _LOGS
            for verb in ("UPDATE", "DELETE")
        ),
        *(  # INSERT OR REPLACE deletes without a word to the triggers above
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
    """Sum up what a line holds, so that a damaged one is refused, not believed.

    Examples
    --------
    >>> checksum(1, "calm") == checksum(1, "calm"), checksum(1, "calm") == checksum(1, "balm")
    (True, False)
    """
    total = 0
    for part in parts:
        total = zlib.crc32(part if isinstance(part, bytes) else f"{part}\n".encode(), total)
    return total


def schema_of(connection: Connection) -> int:
    """Return the schema version of a review, or 0 where there is none.

    Examples
    --------
    >>> from sqlalchemy import create_engine
    >>> engine = create_engine("sqlite://")
    >>> with engine.connect() as connection:
    ...     schema_of(connection), prepare(connection, {}), schema_of(connection)
    (0, None, 1)
    >>> engine.dispose()
    """
    found = connection.scalar(select(about.c.schema)) if inspect(connection).has_table(about.name) else 0
    return found if isinstance(found, int) else 0


def prepare(connection: Connection, facts: Mapping[str, Any]) -> None:
    """Make the tables of a new review, or bring those of an older one up to date; whoever comes second does nothing."""
    found = schema_of(connection)
    if not found:
        metadata.create_all(connection)
        for statement in _GUARDS[connection.dialect.name]:
            connection.exec_driver_sql(statement)
        text = json.dumps(facts)
        connection.execute(insert(about).values(schema=SCHEMA, made=time(), facts=text, checksum=checksum(text)))
    elif found < SCHEMA:
        for version in range(found, SCHEMA):
            STEPS[version](connection)
        connection.execute(update(about).values(schema=SCHEMA))


def facts_of(connection: Connection) -> dict[str, Any] | None:
    """Return what the review is about, as it was given when it began; None where that is damaged."""
    text, expected = connection.execute(select(about.c.facts, about.c.checksum)).one()
    return dict(json.loads(text)) if checksum(text) == expected else None

"""The store on SQLite and PostgreSQL: an acknowledged event is stored once, in order and permanently."""

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.review.making import key, random_events, verdict
from undistract.errors import InputError
from undistract.review import ActiveVerdicts, Verdict, Withdrawal, active_verdicts

pytest.importorskip("sqlalchemy", reason='needs SQLAlchemy: pip install "undistract[web]"')
from undistract.review import ReviewStore


def test_events_are_read_unchanged_and_in_order(place):
    events = random_events(3, 60)
    with ReviewStore.open(place) as store:
        assert store.last_number == 0
        assert [store.record(event) for event in events] == list(range(1, 61))
        assert store.last_number == 60
    with ReviewStore.open(place) as store:
        assert store.events() == list(enumerate(events, start=1))
        assert store.events(after=57) == list(enumerate(events, start=1))[57:]
        assert store.events(after=60) == []


@pytest.mark.parametrize("seed", range(3))
def test_fold_of_stored_events_equals_the_live_fold(place, seed):
    events, live = random_events(seed, 150, n_items=10), ActiveVerdicts()
    with ReviewStore.open(place) as store:
        for event in events:
            store.record(event)
            live.add(event)
        read = [event for _, event in store.events()]
    assert list(active_verdicts(read, now=50.0).items()) == list(live.verdicts(50.0).items())


def test_event_sent_twice_is_stored_once_with_its_first_time(place):
    with ReviewStore.open(place) as store:
        assert store.record(verdict(1, when=5.0)) == 1
        assert store.record(verdict(2, start=9)) == 2
        assert store.record(verdict(1, when=7.0)) == 1
        assert store.events()[0] == (1, verdict(1, when=5.0))
        assert store.last_number == 2


def test_key_with_other_content_is_rejected(place):
    with ReviewStore.open(place) as store:
        store.record(verdict(1))
        for other in (verdict(1, "anomaly"), verdict(1, note="no"), Withdrawal(key(1), of=key(1))):
            with pytest.raises(InputError, match=r"belongs to event 1, which has other content"):
                store.record(other)
        assert store.last_number == 1


def test_only_a_recorded_verdict_can_be_withdrawn(place):
    with ReviewStore.open(place) as store:
        store.record(verdict(1))
        assert store.record(Withdrawal(key(2), of=key(1))) == 2
        assert store.record(Withdrawal(key(3), of=key(1))) == 3  # a second person presses undo
        for unknown in (key(9), key(2)):
            with pytest.raises(InputError, match=f"no verdict {unknown}"):
                store.record(Withdrawal(key(4), of=unknown))
        assert store.last_number == 3


def test_evidence_is_read_bit_for_bit(place):
    rng = np.random.default_rng(0)
    deviation, rows = rng.normal(size=7), rng.normal(size=(5, 7)).astype(np.float32)
    with ReviewStore.open(place, about={"n_features": 7}) as store:
        store.record(verdict(1, "anomaly"), deviation)
        store.record(verdict(2, "calm"), np.asfortranarray(rows))
        store.record(verdict(3, "unsure"))
        store.record(verdict(1, "anomaly"), deviation + 1)  # sent again: the first counts
    with ReviewStore.open(place) as store:
        assert np.array_equal(store.evidence(key(1)), deviation)
        assert np.array_equal(store.evidence(key(2)), rows)
        assert store.evidence(key(2)).dtype == np.float64
        assert store.evidence(key(3)) is None
        assert store.evidence(key(4)) is None
        assert sorted(store.evidence_of(key(number) for number in (*range(1200), 1))) == sorted([key(1), key(2)])
        for before in (499, 500, 501):  # queries are split into batches of 500
            assert list(store.evidence_of([key(4)] * before + [key(1)])) == [key(1)]


@pytest.mark.parametrize(
    ("answer", "evidence", "message"),
    [
        ("false_alarm", np.ones((2, 3)), r"must have shape \(3,\), got \(2, 3\)"),
        ("false_alarm", np.ones(4), r"must have shape \(3,\), got \(4,\)"),
        ("calm", np.ones(3), r"must have shape \(n, 3\), got \(3,\)"),
        ("calm", np.ones((0, 3)), r"got \(0, 3\)"),
        ("unsure", np.ones(3), "must have shape none"),
        ("anomaly", [1.0, np.nan, 0.0], "NaN or infinity"),
    ],
)
def test_evidence_of_wrong_shape_is_rejected_and_not_recorded(tmp_path, answer, evidence, message):
    with ReviewStore.open(tmp_path / "match.review", about={"n_features": 3}) as store:
        with pytest.raises(InputError, match=message):
            store.record(verdict(1, answer), evidence)
        assert store.last_number == 0


def test_evidence_size_is_limited(tmp_path, monkeypatch):
    from undistract.review import store as module

    monkeypatch.setattr(module, "MAX_EVIDENCE_BYTES", 2**20)
    with ReviewStore.open(tmp_path / "match.review") as store:
        assert store.record(verdict(1), np.ones(2**17)) == 1
        with pytest.raises(InputError, match=r"at most 1 MiB, got 1\. Choose a shorter range"):
            store.record(verdict(2, start=9), np.ones(2**17 + 1))
        assert store.last_number == 1


def test_number_of_features_must_agree_when_reopened(place):
    about = {"n_features": 3, "scores": "match.scores", "names": ["ä", "b"]}
    ReviewStore.open(place, about=about).close()
    with ReviewStore.open(place) as store:
        assert store.about == about
    with ReviewStore.open(place, about={"n_features": 3, "scores": "moved"}) as store:
        assert store.about == about
    with pytest.raises(InputError, match="rows with 3 features, these have 4"):
        ReviewStore.open(place, about={"n_features": 4})


@pytest.mark.parametrize("table", ["review_events", "review_evidence"])
def test_database_rejects_updates_and_deletions(place, table):
    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import DBAPIError

    with ReviewStore.open(place) as store:
        store.record(verdict(1), [1.0])
        line = "number, key, kind, body, checksum" if table == "review_events" else "key, shape, numbers, checksum"
        other = line.replace("number,", "number + 1,") if table == "review_events" else line
        attempts = [f"DELETE FROM {table}", f"UPDATE {table} SET key = 'x'"]
        if isinstance(place, Path):
            attempts.append(f"INSERT OR REPLACE INTO {table} ({line}) SELECT {other} FROM {table}")
        else:
            attempts.append(f"TRUNCATE {table}")
        engine = create_engine(f"sqlite:///{place}" if isinstance(place, Path) else place)
        for attempt in attempts:
            with pytest.raises(DBAPIError, match="a review only grows"), engine.begin() as connection:
                connection.execute(text(attempt))
        engine.dispose()
        assert store.events() == [(1, verdict(1))]
        assert store.evidence(key(1)).tolist() == [1.0]


def test_threads_share_a_store_and_numbers_are_unique(place):
    numbers = {}
    with ReviewStore.open(place) as store:

        def write(first):
            for one in range(first, first + 10):
                numbers[one] = store.record(verdict(one, start=one))
                store.record(verdict(one, start=one))

        threads = [threading.Thread(target=write, args=(first,)) for first in range(0, 40, 10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(numbers.values()) == list(range(1, 41))
        assert {event.key: number for number, event in store.events()} == {key(one): numbers[one] for one in numbers}


WRITER = """
import sys
from tests.review.making import verdict
from undistract.review import ReviewStore

place, first = sys.argv[1], int(sys.argv[2])
with ReviewStore.open(place) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for one in range(first, first + 40):
        print(store.record(verdict(one, start=one)), flush=True)
"""


def test_reader_misses_no_number_while_processes_write(place):
    """A reader requests events after the last number it has; a smaller number must not appear later."""
    root = str(Path(__file__).parents[2])
    line = [sys.executable, "-c", WRITER, str(place)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": root}
    writers = [subprocess.Popen([*line, str(first)], **pipes) for first in (0, 1000)]
    assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * 2  # both create it at the same time
    seen = []
    with ReviewStore.open(place) as store:
        for writer in writers:
            print(file=writer.stdin, flush=True)
        running = True
        while running:
            running = any(writer.poll() is None for writer in writers)
            seen += store.events(after=len(seen))
    written = sorted(int(number) for writer in writers for number in writer.communicate()[0].split())
    assert written == [number for number, _ in seen] == list(range(1, 81))
    assert len({event.key for _, event in seen}) == 80


def test_migration_is_atomic(place, monkeypatch):
    from undistract.review import store as tables

    with ReviewStore.open(place) as store:
        store.record(verdict(1))

    def step(connection):
        connection.exec_driver_sql("CREATE TABLE review_votes (number INTEGER)")
        if broken:
            raise InputError("a step that fails")

    monkeypatch.setattr(tables, "SCHEMA", 2)
    monkeypatch.setitem(tables.STEPS, 1, step)
    broken = True
    with pytest.raises(InputError, match="a step that fails"):
        ReviewStore.open(place)
    broken = False
    ReviewStore.open(place).close()  # the failed step has left no table
    with ReviewStore.open(place) as store:
        assert store.events() == [(1, verdict(1))]
    monkeypatch.setattr(tables, "SCHEMA", 1)
    with pytest.raises(InputError, match=r"has schema 2 of a newer undistract; this version reads up to schema 1"):
        ReviewStore.open(place)


def test_closed_store_raises(place):
    store = ReviewStore.open(place)
    store.close()
    store.close()
    with pytest.raises(InputError, match="is closed"):
        store.record(verdict(1))


@pytest.mark.parametrize("about", [{"names": {1, 2}}, {"rate": float("nan")}, {"most": float("inf")}])
def test_facts_must_be_plain_values(tmp_path, about):
    with pytest.raises(InputError, match="plain JSON"):
        ReviewStore.open(tmp_path / "match.review", about=about)
    assert list(tmp_path.iterdir()) == []


def test_context_manager_closes_the_store(place):
    with ReviewStore.open(place) as store:
        assert store.last_number == 0
    with pytest.raises(InputError, match="is closed"):
        store.events()


def test_url_gets_the_driver_and_hides_its_password():
    pytest.importorskip("psycopg", reason='needs psycopg: pip install "undistract[postgres]"')
    from undistract.review.store import Database

    database = Database("postgresql://me:hidden@host/name")  # no connection yet
    assert database.name == "postgresql+psycopg://me:***@host/name"
    assert database.dialect == "postgresql"
    database.close()


@pytest.mark.parametrize(
    ("library", "words"),
    [
        ("sqlalchemy", r'Keeping a review needs sqlalchemy: pip install "undistract\[web\]"'),
        ("psycopg", r'A review on PostgreSQL needs psycopg: pip install "undistract\[postgres\]"'),
    ],
)
def test_missing_library_is_named_with_its_extra(library, words, monkeypatch):
    from undistract import review
    from undistract.review.store import Database

    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=words):
        review.ReviewStore if library == "sqlalchemy" else Database("postgresql://me@host/name")


def test_unknown_attribute_of_the_package_raises():
    from undistract import review

    with pytest.raises(AttributeError, match=r"module 'undistract.review' has no attribute 'Rumour'"):
        review.Rumour  # noqa: B018


@pytest.mark.parametrize("where", ["mysql://host/name", "sqlite://", "postgresql+psycopg://me:hidden@host:port/name"])
def test_other_url_is_rejected_without_showing_its_password(where):
    with pytest.raises(InputError, match=r"postgresql\+psycopg://user@host/name") as refusal:
        ReviewStore.open(where)
    assert "hidden" not in str(refusal.value)


def test_missing_server_is_one_message_without_password(tmp_path):
    pytest.importorskip("psycopg", reason='needs psycopg: pip install "undistract[postgres]"')
    with pytest.raises(InputError, match="cannot be read or written") as refusal:
        ReviewStore.open(f"postgresql+psycopg://me:hidden@/name?host={tmp_path}")
    assert "hidden" not in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_store_reconnects_after_the_server_ended_its_session(make_database):
    import psycopg

    where = make_database()
    with ReviewStore.open(where) as store:
        store.record(verdict(1))
        with psycopg.connect(where.replace("+psycopg", ""), autocommit=True) as other:
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
            other.execute(f"{ended} AND pid <> pg_backend_pid()")
        assert store.record(verdict(2, start=9)) == 2


def test_unusual_names_are_stored_unchanged(place):
    odd = Verdict(key(1), "caf\udce9\0.mp4", 0, 1, 0, "calm", who="猫", note="' ; -- \0")
    with ReviewStore.open(place) as store:
        store.record(odd)
        assert store.events() == [(1, odd)]
        assert store.record(replace(odd, when=9.0)) == 1

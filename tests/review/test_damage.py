"""Damaged files, files of other kinds, full disks: one clear message, no partial event, and sending again works."""

import sqlite3
import subprocess
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from tests.review.making import key, random_events, verdict
from undistract.errors import FileError
from undistract.review import Verdict, Withdrawal

pytest.importorskip("sqlalchemy", reason='needs SQLAlchemy: pip install "undistract[web]"')
from undistract.review import ReviewStore


@pytest.fixture
def path(tmp_path):
    return tmp_path / "match.review"


def fill(path, count=40):
    """Write a review, and return its content."""
    events = random_events(1, count)
    with ReviewStore.open(path, about={"n_features": 2}) as store:
        for event in events:
            store.record(event, [1.0, 2.0] if getattr(event, "answer", None) in ("false_alarm", "anomaly") else None)
    return read(path)


def read(path):
    with ReviewStore.open(path, create=False) as store:
        events = store.events()
        evidence = {event.key: store.evidence(event.key) for _, event in events}
        return store.about, events, {key: None if one is None else one.tolist() for key, one in evidence.items()}


def test_file_of_another_kind_is_rejected_and_unchanged(path):
    path.write_bytes(b"set,row,after\n" * 1000)
    with pytest.raises(FileError) as refusal:
        ReviewStore.open(path)
    expected = f"{path} is not a review. Pass the path of a review, or of a new file."
    assert str(refusal.value) == expected
    assert path.read_bytes() == b"set,row,after\n" * 1000


def test_database_of_another_program_is_rejected_and_unchanged(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (page)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(FileError, match="is not a review"):
        ReviewStore.open(path)
    assert path.read_bytes() == before


def test_review_without_facts_is_rejected_and_unchanged(path):
    fill(path, 3)
    with sqlite3.connect(path) as other:
        other.execute("DELETE FROM review_about")
    other.close()
    before = path.read_bytes()
    with pytest.raises(FileError, match="is not a review"):
        ReviewStore.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("UPDATE review_about SET facts = '{}'", "facts about the scores"),
        ("DELETE FROM review_events WHERE number = 2", "events are missing"),
        ("DELETE FROM review_events WHERE number = 1", "events are missing"),
        ("UPDATE review_events SET body = replace(body, 'match', 'catch')", "event 1"),
        ("UPDATE review_events SET key = upper(key)", "event 1"),
        ("UPDATE review_evidence SET shape = '[1, 2]'", f"the evidence of {key(1)}"),
        ("UPDATE review_evidence SET checksum = checksum + 1", f"the evidence of {key(1)}"),
    ],
)
def test_manipulated_line_is_detected(path, statement, part):
    with ReviewStore.open(path, about={"n_features": 2}) as store:
        for number in (1, 2, 3):
            store.record(verdict(number, start=number), [1.0, 2.0] if number == 1 else None)
    with sqlite3.connect(path) as other:
        for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            other.execute(f"DROP TRIGGER {name}")
        other.execute(statement)
    other.close()
    with pytest.raises(FileError, match=rf"match\.review is damaged \({part}\)\. Restore a backup"):
        read(path)


def test_folder_or_missing_folder_is_rejected(tmp_path):
    with pytest.raises(FileError, match="is not a file"):
        ReviewStore.open(tmp_path)
    with pytest.raises(FileError, match=r"there is no folder .*absent"):
        ReviewStore.open(tmp_path / "absent" / "match.review")


def test_reading_a_missing_review_does_not_create_it(path):
    with pytest.raises(FileError, match="There is no file"):
        ReviewStore.open(path, create=False)
    assert not path.exists()


def test_review_can_be_created_after_a_kill_during_creation(path):
    path.touch()  # SQLite leaves an empty file
    with ReviewStore.open(path) as store:
        assert store.record(verdict(1)) == 1


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_truncated_review_is_rejected(path, share):
    fill(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(FileError, match=r"is damaged|is not a review"):
        read(path)


def test_damaged_review_is_read_unchanged_or_rejected(path, tmp_path):
    """300 mutations; a review is never read with other content."""
    held, outcomes = fill(path), []
    whole = path.read_bytes()
    damaged = tmp_path / "damaged.review"
    for seed in range(300):
        rng = np.random.default_rng(seed)
        content = bytearray(whole)
        for place in rng.integers(0, [100, len(whole)][seed % 5 > 0], size=rng.integers(1, 5)).tolist():
            content[place] ^= int(rng.integers(1, 256))
        damaged.write_bytes(content)
        try:
            assert read(damaged) == held, f"seed {seed} was accepted"
            outcomes.append("read")
        except FileError as error:
            outcomes.append("refused" if "\n" not in str(error) else f"several lines: {error}")
    assert set(outcomes) == {"read", "refused"}
    assert min(outcomes.count("read"), outcomes.count("refused")) > 30  # unused bytes are many


@contextmanager
def disk_of(pages):
    """Limit the database to this many pages, as a full disk does."""
    from sqlalchemy import event
    from sqlalchemy.pool import Pool

    def limit(connection, _):
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(Pool, "connect", limit)
    try:
        yield
    finally:
        event.remove(Pool, "connect", limit)


@contextmanager
def file_size_of(n_bytes):
    """Let writing fail beyond this many bytes, as a quota or a broken disk does."""
    resource = pytest.importorskip("resource", reason="limits of files need a POSIX system")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_full_disk_raises_and_the_event_can_be_sent_later(path):
    rows = np.ones((200, 50))  # 80 kB: the event fits, its evidence does not
    with disk_of(20), ReviewStore.open(path) as store:
        store.record(verdict(1))
        with pytest.raises(FileError, match=r"the disk is full: nothing was recorded. Send it again"):
            store.record(verdict(2, "calm", start=9), rows)
        assert store.events() == [(1, verdict(1))]
        assert store.record(verdict(3, start=20)) == 2  # a smaller event still fits
    with ReviewStore.open(path) as store:
        assert store.record(verdict(2, "calm", start=9), rows) == 3
        assert np.array_equal(store.evidence(key(2)), rows)


@pytest.mark.parametrize("seed", range(10))
def test_disk_error_leaves_no_partial_event(path, seed):
    rng = np.random.default_rng(seed)
    with ReviewStore.open(path) as store:
        store.record(verdict(0))
        number, refusal = 1, ""
        with file_size_of(path.stat().st_size + int(rng.integers(-9000, 9000))):
            while not refusal:
                try:
                    store.record(verdict(number, start=number), rng.normal(size=rng.integers(1, 3000)))
                    number += 1
                except FileError as error:
                    refusal = str(error)
        assert "Send it again" in refusal
        assert store.last_number == number
        assert store.record(verdict(number, start=number), [1.0]) == number + 1
        assert len(store.events()) == number + 1
    assert len(read(path)[1]) == number + 1


def test_lock_of_another_program_is_named_as_the_cause(path, monkeypatch):
    from undistract.review import store as database

    monkeypatch.setattr(database, "LOCK_SECONDS", 0.1)
    with ReviewStore.open(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(FileError, match="was locked by another program"):
            store.record(verdict(1))
        other.execute("ROLLBACK")
        other.close()
        assert store.record(verdict(1)) == 1


READER = """
import os, sys
from tests.review.making import verdict
from undistract.errors import FileError
from undistract.review import ReviewStore

path = sys.argv[1]
ReviewStore.open(path + "-other").close()  # import everything before the change of user
os.chmod(path, 0o444)
os.chdir(os.path.dirname(path))
os.chmod(".", 0o555)
os.getuid() or os.setuid(65534)  # root may write anywhere
with ReviewStore.open(os.path.basename(path), create=False) as store:
    print(store.last_number)
    try:
        store.record(verdict(99))
    except FileError as error:
        print(error)
"""


def test_review_can_be_read_on_a_read_only_disk():
    """Such as the file of another user on a shared disk."""
    with TemporaryDirectory() as folder:  # every user may pass through its parents, unlike those of tmp_path
        path = Path(folder, "match.review")
        held = fill(path, 5)
        line = [sys.executable, "-c", READER, str(path)]
        result = subprocess.run(line, capture_output=True, text=True, cwd=Path(__file__).parents[2])
        path.parent.chmod(0o755)
    assert result.stdout.startswith(f"{len(held[1])}\n"), result.stderr
    assert "is read-only" in result.stdout


def test_journal_is_deleted_after_recording(path):
    """So that a copy of the one file is the whole review."""
    with ReviewStore.open(path) as store:
        store.record(verdict(1))
        store.record(Withdrawal(key(2), of=key(1)))
        copy = path.with_name("copy.review")
        copy.write_bytes(path.read_bytes())
        assert [one.name for one in sorted(path.parent.iterdir())] == ["copy.review", "match.review"]
        with ReviewStore.open(copy) as other:
            assert other.events() == store.events()
            assert isinstance(other.events()[0][1], Verdict)


def test_checksum_is_the_one_of_existing_reviews():
    """With another checksum every older review would count as damaged."""
    from undistract.review.store import checksum

    assert checksum(1, "calm") == zlib.crc32(b"1\ncalm\n") == 513802677
    assert checksum("a", "[2]", b"\x00\xff") == zlib.crc32(b"a\n[2]\n\x00\xff")
    assert checksum("1", "calm") != checksum("1c", "alm")


def test_connection_settings_survive_a_power_cut(path):
    from undistract.review.store import Database

    database = Database(path)
    with database.reading() as connection:
        names = ("journal_mode", "synchronous", "trusted_schema", "cell_size_check")
        settings = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]
        assert connection.connection.dbapi_connection.isolation_level is None
    database.close()
    assert settings == ["delete", 3, 0, 1]  # 3 is EXTRA


def test_write_ahead_log_is_switched_off(path):
    """With it a review would consist of two files, and a copy of one would be incomplete."""
    fill(path, 3)
    other = sqlite3.connect(path)
    assert other.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    other.close()
    with ReviewStore.open(path) as store:
        store.record(verdict(99))
        assert [one.name for one in path.parent.iterdir()] == [path.name]


def open_files(path):
    if not Path("/proc/self/fd").exists():
        pytest.skip("open files can be listed on Linux only")
    return [one for one in Path("/proc/self/fd").iterdir() if one.is_symlink() and one.readlink() == path]


def test_closed_store_closes_its_file(path):
    store = ReviewStore.open(path)
    assert len(open_files(path)) == 1
    store.close()
    assert open_files(path) == []


@pytest.mark.parametrize("kind", ["another kind", "no review", "cut off", "a wrong count of cells"])
def test_rejected_file_is_closed(path, kind):
    fill(path)
    whole = path.read_bytes()
    damaged = {
        "another kind": b"set,row,after\n" * 1000,
        "no review": b"",
        "cut off": whole[:-5000],
        "a wrong count of cells": whole[:4099] + b"\x00\x07" + whole[4101:],  # found by the integrity check
    }
    path.write_bytes(damaged[kind])
    with pytest.raises(FileError) as refusal:
        ReviewStore.open(path, create=False)
    assert open_files(path) == [], refusal

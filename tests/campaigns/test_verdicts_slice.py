"""A slice of the campaign of promise 1, so that it stays runnable and its findings stay mended."""

from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason='needs SQLAlchemy: pip install "undistract[web]"')
pytest.importorskip("resource", reason="limits of files need a POSIX system")


def test_nothing_acknowledged_is_lost_or_doubled_when_the_server_is_killed_or_its_disk_fails(monkeypatch):
    from tests.campaigns.verdicts import campaign

    monkeypatch.chdir(Path(__file__).parents[2])  # the server is a module of this folder
    counts, complaints = campaign(rounds=8, full_disk=3, seed=1)
    assert complaints == []
    assert counts["acknowledged"] > 50
    assert counts["refused"] >= 6  # both people, each time the disk failed

"""A short run of the verdict campaign (promise 1)."""

from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason='needs SQLAlchemy: pip install "undistract[web]"')
pytest.importorskip("resource", reason="file limits need a POSIX system")


def test_acknowledged_verdicts_survive_kills_and_disk_errors(monkeypatch):
    from tests.campaigns.verdicts import campaign

    monkeypatch.chdir(Path(__file__).parents[2])  # the server is a module of the project root
    counts, complaints = campaign(rounds=8, full_disk=3, seed=1)
    assert complaints == []
    assert counts["acknowledged"] > 50
    assert counts["refused"] >= 6  # both clients, each time the disk failed

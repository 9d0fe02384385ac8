"""A slice of the campaigns, so that they stay runnable and their findings stay mended."""

import pytest

pytest.importorskip("av", reason='needs PyAV: pip install "undistract[video]"')
pytest.importorskip("resource", reason="limits of memory need a POSIX system")


@pytest.mark.parametrize("container", ["mp4", "avi", "mkv"])
def test_mutated_videos_are_read_or_refused(container, monkeypatch):
    from pathlib import Path

    from tests.campaigns.videos import campaign

    monkeypatch.chdir(Path(__file__).parents[2])  # the worker is a module of this folder
    outcomes = campaign(20, seed=1, containers=[container])[container]
    assert {outcome.removesuffix(", not shown") for outcome in outcomes} <= {"read", "read, something lost", "refused"}
    assert outcomes["read"] + outcomes["read, something lost"] >= 3
    assert sum(outcomes.values()) == 20

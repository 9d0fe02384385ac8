"""A short run of the video campaign, and a regression test for a finding."""

import pytest

pytest.importorskip("av", reason='needs PyAV: pip install "undistract[video]"')
pytest.importorskip("resource", reason="memory limits need a POSIX system")


@pytest.mark.parametrize("container", ["mp4", "avi", "mkv"])
def test_mutated_videos_are_read_or_rejected(container, monkeypatch):
    from pathlib import Path

    from tests.campaigns.videos import campaign

    monkeypatch.chdir(Path(__file__).parents[2])  # the worker is a module of the project root
    outcomes = campaign(20, seed=1, containers=[container])[container]
    assert {outcome.removesuffix(", not shown") for outcome in outcomes} <= {"read", "read, something lost", "refused"}
    assert outcomes["read"] + outcomes["read, something lost"] >= 3
    assert sum(outcomes.values()) == 20


def test_clip_without_key_frame_index_is_read_from_its_start(tmp_path):
    """Regression: for two of 500 mutated clips FFmpeg raised its own error when seeking."""
    import numpy as np

    from tests.clips import dots, write_clip
    from undistract.sources.videos import read_frames

    path = write_clip(tmp_path / "clip.mp4", dots(30))
    content = path.read_bytes()
    offset = content.index(b"stss")  # the list of key frames: their number (3) and positions
    assert content[offset + 8 : offset + 12] == b"\x00\x00\x00\x03"
    path.write_bytes(content[: offset + 8] + b"\x00\x00\x00\x03" + b"\x7f\xff\xff\xff" * 3 + content[offset + 24 :])
    times = np.concatenate([seconds for _, seconds in read_frames(path, between=(1.45, 2.05))])
    assert times.tolist() == pytest.approx([1.5, 1.6, 1.7, 1.8, 1.9, 2.0])

"""A rendered clip: the same frames and times, with bars, alarms and a cursor below."""

import numpy as np
import pytest

from tests.clips import dots, write_clip
from undistract import InputError
from undistract.detect import Alarm
from undistract.report.figures import AMBER, BLUE, INK
from undistract.report.video import CAPTION, MARGIN, SHARE, render_video
from undistract.report.video import SCORES as SCORES_HEIGHT
from undistract.sources.videos import read_frames

pytest.importorskip("av", reason='needs PyAV: pip install "undistract[video]"')
pytest.importorskip("cv2")

TIMES = np.arange(40) / 10
SCORES = np.where((TIMES >= 2) & (TIMES < 3), 5.0, 1.0)
ALARM = Alarm("dots", start=20, stop=30, peak=22, score=5.0)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clips") / "dots.mp4", dots(40))


@pytest.fixture(scope="module")
def rendered(clip):
    save = clip.with_name("out.mp4")
    share = np.linspace(0, 1, 40)
    assert render_video(clip, TIMES, SCORES, save=save, threshold=3.0, alarms=[ALARM], ignored_share=share) == save
    frames, times = zip(*read_frames(save), strict=True)
    return np.concatenate(frames), np.concatenate(times)


def near(pixels, colour, within=60):
    """Return the pixels with a colour; H.264 blurs colours over two pixels."""
    expected = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    return np.abs(pixels.astype(int) - expected).max(axis=-1) < within


def test_all_frames_have_their_times_and_a_strip(rendered):
    frames, times = rendered
    np.testing.assert_allclose(times, TIMES, atol=2e-3)
    assert frames.shape == (40, 64 * 7 + 2 * CAPTION + SCORES_HEIGHT + SHARE + MARGIN, 96 * 7, 3)


def test_alarm_is_coloured_and_has_a_border(rendered):
    frames, _ = rendered
    track = frames[0, 64 * 7 + CAPTION : 64 * 7 + CAPTION + SCORES_HEIGHT, MARGIN:-MARGIN]
    columns = np.flatnonzero(near(track, AMBER[0]).mean(axis=0) > 0.8) / track.shape[1]
    assert columns.min() == pytest.approx(20 / 40, abs=0.01)
    assert columns.max() == pytest.approx(30 / 40, abs=0.01)
    framed = np.array([near(frame[2:5, 20:-20], AMBER[0]).mean() > 0.9 for frame in frames])
    np.testing.assert_array_equal(framed, (np.arange(40) >= 20) & (np.arange(40) < 30))


def test_cursor_moves_with_time(rendered):
    frames, _ = rendered
    strip = frames[:, 64 * 7 + CAPTION // 2 :, MARGIN:-MARGIN]
    positions = [near(frame, INK, 70).mean(axis=0).argmax() / frame.shape[1] for frame in strip]
    np.testing.assert_allclose(positions, np.arange(40) / 40, atol=0.01)


def test_ignored_share(rendered):
    frames, _ = rendered
    panel = frames[0, -MARGIN - SHARE : -MARGIN, MARGIN:-MARGIN]
    filled = near(panel, BLUE[0], 80).mean(axis=0)
    assert filled[5:20].max() < 0.2
    assert filled[-12:].min() > 0.85
    assert filled[len(filled) // 2] == pytest.approx(0.5, abs=0.15)


def test_missing_scores(tmp_path, clip):
    scores = np.full(8, np.nan)
    scores[4:] = (-2, 3, 1, 0)
    save = render_video(clip, np.arange(8) / 2, scores, save=tmp_path / "few.mp4")
    assert sum(len(frames) for frames, _ in read_frames(save)) == 40
    assert render_video(clip, TIMES, np.full(40, np.nan), save=tmp_path / "none.mp4").is_file()


def test_infinite_threshold_is_not_drawn(tmp_path, clip):
    # Regression: it is infinite if there are too few normal rows for the rate; drawing it failed.
    with_it, without = (
        next(iter(read_frames(render_video(clip, TIMES, SCORES, save=tmp_path / name, threshold=threshold))))[0]
        for name, threshold in (("with.mp4", np.inf), ("without.mp4", None))
    )
    assert np.abs(with_it.astype(int) - without).mean() < 0.5  # encoders may round differently


def test_failure_leaves_no_file(tmp_path, clip):
    with pytest.raises(InputError, match="There is no file"):
        render_video(tmp_path / "missing.mp4", TIMES, SCORES, save=tmp_path / "out.mp4")
    with pytest.raises(InputError, match=r"times have shape \(40,\) and scores \(3,\)"):
        render_video(clip, TIMES, SCORES[:3], save=tmp_path / "out.mp4")
    with pytest.raises(InputError, match=r"ignored_share has shape \(2,\)"):
        render_video(clip, TIMES, SCORES, ignored_share=[0.1, 0.2], save=tmp_path / "out.mp4")
    with pytest.raises(InputError, match="in order"):
        render_video(clip, TIMES[::-1], SCORES, save=tmp_path / "out.mp4")
    assert list(tmp_path.iterdir()) == []

"""The part of a clip around an alarm: original, cleaned, a bar with the alarm; browsers can seek in it."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.browser import new_page
from tests.campaigns.videos import mutated
from tests.clips import dots, write_clip
from undistract import InputError
from undistract.report.figures import AMBER, INK
from undistract.report.images import colour
from undistract.report.video import (
    BAR,
    CONTEXT,
    GAP,
    KEY_SECONDS,
    LONGEST,
    monotonic_times,
    resize_to_fit,
    stretch_rows,
    write_stretch,
)
from undistract.sources.videos import read_frames

av = pytest.importorskip("av", reason='needs PyAV: pip install "undistract[video]"')
pytest.importorskip("cv2")

TIMES = np.arange(120) / 10
START, STOP, PEAK = 50, 70, 55
FIRST, LAST = 30, 89  # two seconds before the first row, two after the last


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clips") / "dots.mp4", dots(120))


def inverted(row, frame):
    return 255 - frame


@pytest.fixture(scope="module", params=["libx264", "libvpx-vp9"])
def written(request, clip):
    if request.param not in av.codecs_available:
        pytest.skip(f"this PyAV has no {request.param}")
    save = clip.with_name(f"{request.param}.mp4")
    write_stretch(clip, TIMES, START, STOP, PEAK, save=save, panel=inverted, codec=request.param)
    return save


@pytest.fixture(scope="module")
def frames(written):
    chunks, times = zip(*read_frames(written), strict=True)
    return np.concatenate(chunks), np.concatenate(times)


def near(pixels, name, within=60):
    """Return the pixels with a colour; codecs blur colours over two pixels."""
    return np.abs(pixels.astype(int) - colour(name)).max(axis=-1) < within


@given(
    st.lists(st.floats(0, 5), min_size=1, max_size=200),
    st.lists(st.integers(0, 199), min_size=3, max_size=3),
)
def test_peak_is_included_and_duration_limited(steps, rows):
    times = np.cumsum(steps)
    start, peak, last = sorted(row % len(times) for row in rows)
    first_shown, last_shown = stretch_rows(times, start, last + 1, peak)
    assert first_shown <= peak <= last_shown < len(times)
    assert times[last_shown] - times[first_shown] <= LONGEST + 1e-2  # rounded to half a millisecond at both ends
    if times[last] - times[start] <= LONGEST - 2 * CONTEXT:
        assert first_shown <= start <= last <= last_shown
        assert times[first_shown] >= times[start] - CONTEXT - 1e-3


@given(st.lists(st.floats(0, 100), min_size=1, max_size=50), st.data())
def test_any_times_give_rows_around_the_peak(times, data):
    peak = data.draw(st.integers(0, len(times) - 1))
    first, last = stretch_rows(np.array(times), peak, peak + 1, peak)
    assert 0 <= first <= peak <= last < len(times)
    assert np.all(np.diff(monotonic_times(np.array(times))) >= 0)


def test_one_wrong_time_changes_no_other_time():
    times = np.arange(9.0)
    for row, wrong in ((3, 50.0), (5, 0.0)):
        jumping = times.copy()
        jumping[row] = wrong
        assert np.flatnonzero(monotonic_times(jumping) != times).tolist() == [row]


def test_frame_with_a_wrong_time_is_left_out(tmp_path):
    """A damaged .avi: one frame has the time of the last one, then times continue as before."""
    content = write_clip(tmp_path / "clip.avi", dots(30, noise=20), codec="mpeg4").read_bytes()
    damaged = tmp_path / "leaps.avi"
    damaged.write_bytes(mutated(content, np.random.default_rng([3, 9])))
    ((_, times),) = read_frames(damaged, on_report=lambda report: None)
    (leap,) = np.flatnonzero(np.diff(times) < 0)
    write_stretch(damaged, times, 14, 15, 14, save=tmp_path / "out.mp4")
    written_times = np.concatenate([seconds for _, seconds in read_frames(tmp_path / "out.mp4")])
    np.testing.assert_allclose(written_times, np.delete(times, leap) - times[0], atol=2e-3)


def test_frames_have_their_times_and_both_sides(clip, frames):
    pictures, times = frames
    np.testing.assert_allclose(times, TIMES[FIRST : LAST + 1] - TIMES[FIRST], atol=2e-3)
    assert pictures.shape == (60, 64 * 6 + BAR, 2 * 96 * 6 + GAP, 3)
    original = np.concatenate([chunk for chunk, _ in read_frames(clip)])
    for number in (0, 17, 59):
        left, right = pictures[number, : 64 * 6, : 96 * 6], pictures[number, : 64 * 6, -96 * 6 :]
        # Encoded twice with losses: these settings give a mean error of some grey values.
        assert np.abs(left.astype(int) - resize_to_fit(original[FIRST + number])).mean() < 6
        assert np.abs(right.astype(int) - (255 - resize_to_fit(original[FIRST + number]))).mean() < 6


def test_bar_has_the_alarm_and_the_cursor(frames):
    pictures, _ = frames
    bars = pictures[:, -BAR + 2 : -2]
    columns = np.flatnonzero(near(bars[0], AMBER[0]).mean(axis=0) > 0.8) / bars.shape[2]
    assert columns.min() == pytest.approx((START - FIRST) / 60, abs=0.01)
    assert columns.max() == pytest.approx((STOP - FIRST) / 60, abs=0.01)
    cursor = [near(bar, INK, 90).mean(axis=0).argmax() / bar.shape[1] for bar in bars]
    np.testing.assert_allclose(cursor, np.arange(60) / 60, atol=0.01)


def test_player_can_seek_and_start_early(written):
    with av.open(str(written)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.pix_fmt == "yuv420p"
        keys = [float(p.pts * stream.time_base) for p in container.demux(stream) if p.is_keyframe and p.size]
    assert keys[0] == 0.0
    assert np.diff([*keys, 6.0]).max() <= KEY_SECONDS + 1e-3
    content = written.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


def test_file_is_deterministic(clip, tmp_path):
    first, second = (
        write_stretch(clip, TIMES, START, STOP, PEAK, save=tmp_path / f"{name}.mp4").read_bytes() for name in "ab"
    )
    assert first == second


def test_large_frames_are_resized_and_fast_clips_thinned(tmp_path):
    times = np.arange(40) / 100
    clip = write_clip(tmp_path / "large.mp4", dots(40, width=1000, height=301), times=times)
    write_stretch(clip, times, 10, 20, 15, save=tmp_path / "out.mp4")
    ((pictures, seconds),) = read_frames(tmp_path / "out.mp4")
    np.testing.assert_allclose(seconds, times[::4], atol=1e-3)  # every fourth of 100 per second, at most 30
    assert pictures.shape == (10, 204, 640, 3)  # 193 lines and the bar, made even


def test_one_row(clip, tmp_path):
    write_stretch(clip, TIMES[7:8], 0, 1, 0, save=tmp_path / "out.mp4", panel=inverted)
    assert sum(len(chunk) for chunk, _ in read_frames(tmp_path / "out.mp4")) == 1


def test_failure_leaves_no_file(clip, tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        write_stretch(tmp_path / "missing.mp4", TIMES, START, STOP, PEAK, save=tmp_path / "out.mp4")
    with pytest.raises(InputError, match=r"no readable frame from 98.00 s"):
        write_stretch(clip, TIMES + 95, START, STOP, PEAK, save=tmp_path / "out.mp4")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("ending", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("avi", "mpeg4")])
def test_damaged_clip_gives_the_readable_frames(tmp_path, ending, codec):
    content = write_clip(tmp_path / f"clip.{ending}", dots(120, 48, 32, noise=20), codec=codec).read_bytes()
    n_readable = 0
    for number in range(8):
        path = tmp_path / f"{number}.{ending}"
        path.write_bytes(mutated(content, np.random.default_rng([5, number])))
        started = time.monotonic()
        try:
            write_stretch(path, TIMES, START, STOP, PEAK, save=tmp_path / "out.mp4", panel=inverted)
            n_readable += sum(len(chunk) for chunk, _ in read_frames(tmp_path / "out.mp4")) > 0
        except InputError:
            pass
        assert time.monotonic() - started < 10
    assert n_readable >= 2


def test_browser_plays_and_seeks(written):
    with new_page(viewport={"width": 1200, "height": 450}) as page:
        page.goto(written.parent.as_uri())  # a page of the same origin as the clip
        page.set_content(f'<body style="margin:0"><video muted src="{written.as_uri()}"></video>')
        page.wait_for_function("document.querySelector('video').readyState >= 3", timeout=10_000)
        assert page.evaluate("document.querySelector('video').duration") == pytest.approx(5.9, abs=0.11)
        for second in (4.05, 0.55, 2.95):
            page.evaluate(
                """second => new Promise(done => {
                    const video = document.querySelector('video');
                    video.onseeked = () => requestAnimationFrame(() => requestAnimationFrame(done));
                    video.currentTime = second;
                })""",
                second,
            )
            assert _cursor(page) == pytest.approx(int(second * 10) / 60, abs=0.012)
        page.evaluate("document.querySelector('video').play()")
        page.wait_for_function("document.querySelector('video').currentTime > 3.6", timeout=10_000)
        assert page.evaluate("document.querySelector('video').error") is None


def _cursor(page):
    """Return the position of the cursor in a screenshot."""
    from io import BytesIO

    image = pytest.importorskip("PIL.Image").open(BytesIO(page.locator("video").screenshot()))
    bar = np.asarray(image.convert("RGB"))[-BAR + 2 : -2]
    return near(bar, INK, 90).mean(axis=0).argmax() / bar.shape[1]

"""The stretch around an alarm: left the clip, right what remains, below where the alarm is; a browser leaps in it."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.browser import new_page
from tests.campaigns.videos import mutated
from tests.clips import dots, write_clip
from undistract import InputError
from undistract.report.plots import AMBER, INK
from undistract.report.png import colour
from undistract.report.stretch import (
    BAR,
    CONTEXT,
    GAP,
    KEY_SECONDS,
    LONGEST,
    fitted,
    steady,
    stretch_rows,
    write_stretch,
)
from undistract.sets.videos import read_frames

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
    write_stretch(clip, TIMES, START, STOP, PEAK, save=save, beside=inverted, codec=request.param)
    return save


@pytest.fixture(scope="module")
def frames(written):
    pieces, times = zip(*read_frames(written), strict=True)
    return np.concatenate(pieces), np.concatenate(times)


def near(pixels, wanted, within=60):
    """Tell which pixels have a colour; codecs blur colour over two pixels."""
    return np.abs(pixels.astype(int) - colour(wanted)).max(axis=-1) < within


@given(
    st.lists(st.floats(0, 5), min_size=1, max_size=200),
    st.lists(st.integers(0, 199), min_size=3, max_size=3),
)
def test_the_peak_is_always_shown_and_never_more_than_a_minute(steps, places):
    times = np.cumsum(steps)
    start, peak, last = sorted(place % len(times) for place in places)
    first_shown, last_shown = stretch_rows(times, start, last + 1, peak)
    assert first_shown <= peak <= last_shown < len(times)
    assert times[last_shown] - times[first_shown] <= LONGEST + 1e-2  # to half a thousandth at either end
    if times[last] - times[start] <= LONGEST - 2 * CONTEXT:
        assert first_shown <= start <= last <= last_shown
        assert times[first_shown] >= times[start] - CONTEXT - 1e-3


@given(st.lists(st.floats(0, 100), min_size=1, max_size=50), st.data())
def test_any_clock_gives_a_stretch_around_the_peak(times, data):
    peak = data.draw(st.integers(0, len(times) - 1))
    first, last = stretch_rows(np.array(times), peak, peak + 1, peak)
    assert 0 <= first <= peak <= last < len(times)
    assert np.all(np.diff(steady(np.array(times))) >= 0)


def test_one_leap_of_the_clock_changes_no_other_time():
    times = np.arange(9.0)
    for place, leapt in ((3, 50.0), (5, 0.0)):
        leaping = times.copy()
        leaping[place] = leapt
        assert np.flatnonzero(steady(leaping) != times).tolist() == [place]


def test_a_clip_whose_clock_leaps_is_shown_without_the_frame_that_does(tmp_path):
    """A damaged .avi: one frame says that it is the last, then time goes on as before."""
    content = write_clip(tmp_path / "clip.avi", dots(30, noise=20), codec="mpeg4").read_bytes()
    damaged = tmp_path / "leaps.avi"
    damaged.write_bytes(mutated(content, np.random.default_rng([3, 9])))
    ((_, times),) = read_frames(damaged, on_report=lambda report: None)
    (leap,) = np.flatnonzero(np.diff(times) < 0)
    write_stretch(damaged, times, 14, 15, 14, save=tmp_path / "out.mp4")
    found = np.concatenate([seconds for _, seconds in read_frames(tmp_path / "out.mp4")])
    np.testing.assert_allclose(found, np.delete(times, leap) - times[0], atol=2e-3)


def test_the_frames_are_there_at_their_times_from_zero_on_beside_what_remains(clip, frames):
    found, times = frames
    np.testing.assert_allclose(times, TIMES[FIRST : LAST + 1] - TIMES[FIRST], atol=2e-3)
    assert found.shape == (60, 64 * 6 + BAR, 2 * 96 * 6 + GAP, 3)
    original = np.concatenate([piece for piece, _ in read_frames(clip)])
    for number in (0, 17, 59):
        left, right = found[number, : 64 * 6, : 96 * 6], found[number, : 64 * 6, -96 * 6 :]
        # Lossy, twice: some grey values off on the mean is what these settings give.
        assert np.abs(left.astype(int) - fitted(original[FIRST + number])).mean() < 6
        assert np.abs(right.astype(int) - (255 - fitted(original[FIRST + number]))).mean() < 6


def test_the_bar_marks_the_alarm_and_the_cursor_now(frames):
    found, _ = frames
    bars = found[:, -BAR + 2 : -2]
    columns = np.flatnonzero(near(bars[0], AMBER[0]).mean(axis=0) > 0.8) / bars.shape[2]
    assert columns.min() == pytest.approx((START - FIRST) / 60, abs=0.01)
    assert columns.max() == pytest.approx((STOP - FIRST) / 60, abs=0.01)
    cursor = [near(bar, INK, 90).mean(axis=0).argmax() / bar.shape[1] for bar in bars]
    np.testing.assert_allclose(cursor, np.arange(60) / 60, atol=0.01)


def test_a_player_can_leap_to_every_half_second_and_start_before_all_is_there(written):
    with av.open(str(written)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.pix_fmt == "yuv420p"
        keys = [float(p.pts * stream.time_base) for p in container.demux(stream) if p.is_keyframe and p.size]
    assert keys[0] == 0.0
    assert np.diff([*keys, 6.0]).max() <= KEY_SECONDS + 1e-3
    content = written.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


def test_the_same_stretch_is_the_same_file(clip, tmp_path):
    one, two = (
        write_stretch(clip, TIMES, START, STOP, PEAK, save=tmp_path / f"{name}.mp4").read_bytes() for name in "ab"
    )
    assert one == two


def test_large_frames_are_made_smaller_and_fast_ones_fewer(tmp_path):
    times = np.arange(40) / 100
    clip = write_clip(tmp_path / "large.mp4", dots(40, width=1000, height=301), times=times)
    write_stretch(clip, times, 10, 20, 15, save=tmp_path / "out.mp4")
    ((found, seconds),) = read_frames(tmp_path / "out.mp4")
    np.testing.assert_allclose(seconds, times[::4], atol=1e-3)  # of a hundred in a second each fourth, not more than 30
    assert found.shape == (10, 204, 640, 3)  # 193 lines and the bar, made even


def test_one_row_is_a_stretch_too(clip, tmp_path):
    write_stretch(clip, TIMES[7:8], 0, 1, 0, save=tmp_path / "out.mp4", beside=inverted)
    assert sum(len(piece) for piece, _ in read_frames(tmp_path / "out.mp4")) == 1


def test_a_failure_leaves_no_file_behind(clip, tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        write_stretch(tmp_path / "missing.mp4", TIMES, START, STOP, PEAK, save=tmp_path / "out.mp4")
    with pytest.raises(InputError, match=r"no frame that can be read from 98.00 s"):
        write_stretch(clip, TIMES + 95, START, STOP, PEAK, save=tmp_path / "out.mp4")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("ending", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("avi", "mpeg4")])
def test_of_a_damaged_clip_what_can_be_read_is_shown(tmp_path, ending, codec):
    content = write_clip(tmp_path / f"clip.{ending}", dots(120, 48, 32, noise=20), codec=codec).read_bytes()
    shown = 0
    for number in range(8):
        path = tmp_path / f"{number}.{ending}"
        path.write_bytes(mutated(content, np.random.default_rng([5, number])))
        started = time.monotonic()
        try:
            write_stretch(path, TIMES, START, STOP, PEAK, save=tmp_path / "out.mp4", beside=inverted)
            shown += sum(len(piece) for piece, _ in read_frames(tmp_path / "out.mp4")) > 0
        except InputError:
            pass
        assert time.monotonic() - started < 10
    assert shown >= 2


def test_a_browser_plays_the_clip_and_leaps_in_it(written):
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
    """Say where the cursor stands in what the browser shows."""
    from io import BytesIO

    image = pytest.importorskip("PIL.Image").open(BytesIO(page.locator("video").screenshot()))
    bar = np.asarray(image.convert("RGB"))[-BAR + 2 : -2]
    return near(bar, INK, 90).mean(axis=0).argmax() / bar.shape[1]

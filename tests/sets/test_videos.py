"""Videos: what can be read is read, what cannot is told, and rows do not depend on the cut into chunks."""

import struct

import numpy as np
import pytest

from tests.clips import dots, write_clip
from undistract import EvidenceWarning, Focus, InputError
from undistract.features import make_extractor
from undistract.sets import videos
from undistract.sets.video_seek import seek_before
from undistract.sets.videos import read_frames, video_set

av = pytest.importorskip("av", reason='needs PyAV: pip install "undistract[video]"')

ALL = "pixels(size=6x4)+gradients(size=48x32,cells=3x2)+cells(size=48x32,cells=4x3)+flow(size=48x32,cells=3x2)"


def whole(path, **reading):
    """Read a clip: frames, times and the report."""
    reports = []
    frames, times = zip(*read_frames(path, on_report=reports.append, **reading), strict=True)
    return np.concatenate(frames), np.concatenate(times), reports[0]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clips") / "dots.mp4", dots())


@pytest.mark.parametrize(
    ("ending", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("avi", "mpeg4"), ("mp4", "mpeg4")]
)
def test_frames_come_back_as_they_were_written(tmp_path, ending, codec):
    written = dots()
    frames, times, report = whole(write_clip(tmp_path / f"clip.{ending}", written, codec=codec))
    assert frames.shape == written.shape
    # Lossy, but every dot is where it was: a wrong frame or a swapped channel is off by far more.
    assert np.abs(frames.astype(int) - written).mean() < 4
    np.testing.assert_allclose(times, np.arange(60) / 10, atol=1e-3)
    assert report.lost == ()
    assert (report.n_frames, report.width, report.height) == (60, 96, 64)
    assert report.seconds == pytest.approx(6.0)


def test_colours_are_red_green_blue(tmp_path):
    red = np.zeros((3, 32, 32, 3), np.uint8)
    red[..., 0] = 250
    frames, _, _ = whole(write_clip(tmp_path / "red.mp4", red))
    assert frames[..., 0].min() > 240
    assert frames[..., 1:].max() < 10


def test_odd_sizes_scaling_and_every_other_frame(tmp_path):
    path = write_clip(tmp_path / "odd.mkv", dots(20, width=97, height=65))
    assert whole(path, grey=True)[0].shape == (20, 65, 97)
    frames, times, _ = whole(path, size=(31, 21), every=3)
    assert frames.shape == (7, 21, 31, 3)
    np.testing.assert_allclose(times, np.arange(0, 20, 3) / 10)


@pytest.mark.parametrize("rotation", [90, 180, -90])
def test_a_clip_that_was_filmed_sideways_comes_upright(tmp_path, rotation):
    frames = np.zeros((3, 48, 64, 3), np.uint8)
    frames[:, :12, :16] = 255  # bright in the upper left
    turned, _, report = whole(write_clip(tmp_path / "turned.mp4", frames, rotation=rotation), grey=True)
    expected = np.rot90(frames[..., 0], rotation // 90, axes=(1, 2))
    assert turned.shape == expected.shape
    assert (report.height, report.width) == expected.shape[1:]
    assert np.abs(turned.astype(int) - expected).mean() < 4
    # A wished size is that of the upright picture.
    assert whole(tmp_path / "turned.mp4", grey=True, size=(20, 10))[0].shape == (3, 10, 20)


def test_times_are_those_of_the_file_where_frames_come_when_they_like(tmp_path):
    times = np.cumsum([0, 0.1, 0.5, 0.1, 0.033, 0.2, 0.1, 2.0, 0.1, 0.1, 0.05, 0.3, 0.1])
    _, found, report = whole(write_clip(tmp_path / "phone.mp4", dots(len(times)), times=times))
    np.testing.assert_allclose(found, times, atol=1e-3)
    assert report.lost == ()  # a pause is no loss


def test_a_clip_cut_off_in_the_middle_gives_its_first_half_and_says_what_is_missing(tmp_path):
    # The table of contents first, as for a stream; then cutting leaves it whole.
    path = write_clip(tmp_path / "cut.mp4", dots(80), movflags="+faststart")
    path = remuxed(path, tmp_path / "fast.mp4")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 6 // 10])
    frames, _, report = whole(path)
    assert 10 < len(frames) < 75
    assert len(frames) + report.n_lost == 80
    assert report.lost[-1].last_frame == 79
    assert report.lost[-1].stop == pytest.approx(8.0, abs=0.2)
    with pytest.warns(EvidenceWarning, match=r"fast.mp4: \d+ frames .* lost: .*frames \d+ to 79"):
        list(read_frames(path))


def remuxed(path, to):
    """Copy a clip with its table of contents at the start."""
    import av

    with av.open(str(path)) as source, av.open(str(to), "w", options={"movflags": "faststart"}) as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    return to


@pytest.mark.parametrize(("ending", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("avi", "mpeg4")])
def test_a_damaged_middle_is_named_and_the_rest_is_read(tmp_path, ending, codec):
    path = write_clip(tmp_path / f"hurt.{ending}", dots(100, noise=30), codec=codec, b="1000000")
    content = bytearray(path.read_bytes())
    middle, length = len(content) * 45 // 100, len(content) // 20
    content[middle : middle + length] = np.random.default_rng(0).bytes(length)
    path.write_bytes(content)
    frames, times, report = whole(path)
    assert 70 <= len(frames) <= 100
    assert times[0] == pytest.approx(0, abs=0.01)
    if ending != "avi":  # which keeps no times: what follows a lost piece moves up
        assert times[-1] == pytest.approx(9.9, abs=0.11)
    assert len(frames) + report.n_lost in range(98, 103)
    for lost in report.lost:  # all of it where the damage is; predicted frames suffer until the next key frame
        assert 25 <= lost.first_frame <= lost.last_frame <= (99 if ending == "avi" else 75)
    again = whole(path)
    np.testing.assert_array_equal(frames, again[0])
    assert report == again[2]


@pytest.mark.parametrize(
    "content", [b"", b"not a video at all", b"\x00" * 5000, b"#EXTM3U\n#EXTINF:1\nhttp://127.0.0.1:9/a.ts\n"]
)
def test_what_is_no_video_is_refused_in_words(tmp_path, content):
    (tmp_path / "odd.mp4").write_bytes(content)
    with pytest.raises(InputError, match=r"odd\.mp4 .*cannot be opened as a video|holds no"):
        list(read_frames(tmp_path / "odd.mp4"))


def test_a_list_of_other_files_is_not_followed(tmp_path, clip):
    (tmp_path / "list.mp4").write_text(f"ffconcat version 1.0\nfile '{clip}'\n")
    with pytest.raises(InputError, match="cannot be opened as a video"):
        list(read_frames(tmp_path / "list.mp4"))


def test_a_missing_file_and_sound_without_pictures_are_refused(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        list(read_frames(tmp_path / "none.mp4"))
    import av

    with av.open(str(tmp_path / "sound.mkv"), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
        sound.sample_rate = 8000
        container.mux(stream.encode(sound))
        container.mux(stream.encode(None))
    with pytest.raises(InputError, match=r"sound\.mkv holds no video that can be decoded \(found: audio\)"):
        list(read_frames(tmp_path / "sound.mkv"))


@pytest.mark.parametrize(
    ("side", "words"),
    [(4200, "4200 x 4200, 17,640,000 pixels; at most 16,777,216"), (60_000, "frames of at most 16,777,216")],
)
def test_a_header_that_asks_for_giant_frames_is_refused(tmp_path, side, words):
    path = write_clip(tmp_path / "giant.avi", dots(5), codec="rawvideo")
    content = path.read_bytes()
    small, giant = struct.pack("<ii", 96, 64), struct.pack("<ii", side, side)
    assert small in content
    path.write_bytes(content.replace(small, giant))
    with pytest.raises(InputError, match=words):
        list(read_frames(path))


def test_giant_frames_in_a_small_file_cost_less_than_a_second_and_a_hundred_megabytes(tmp_path, cost):
    path = write_clip(tmp_path / "giant.mp4", np.zeros((1, 6000, 6000, 3), np.uint8), preset="ultrafast")
    assert path.stat().st_size < 1e6
    # In a process of its own: what the decoder takes is seen from outside only.
    words, kilobytes, seconds = cost(
        "import av, numpy\nfrom undistract.errors import InputError\nfrom undistract.sets.videos import read_frames",
        f"try:\n    list(read_frames({str(path)!r}))\nexcept InputError as error:\n    print(error)",
    )
    assert "6000 x 6000, 36,000,000 pixels; at most 16,777,216" in words
    assert kilobytes < 100 * 1024
    assert seconds < 1


def test_a_limit_of_pixels_can_be_raised_and_lowered(clip):
    with pytest.raises(InputError, match="at most 1,000 are"):
        list(read_frames(clip, max_pixels=1000))
    assert len(whole(clip, max_pixels=96 * 64)[0]) == 60


@pytest.mark.parametrize("odd", [{"every": 0}, {"size": (0, 5)}, {"max_pixels": 0}])
def test_odd_settings_are_refused(clip, odd):
    with pytest.raises(InputError, match="each is at least 1"):
        list(read_frames(clip, **odd))


@pytest.mark.parametrize("chunk", [1, 2, 5, 7, 60])
def test_rows_do_not_depend_on_how_frames_are_chunked(clip, monkeypatch, chunk):
    pytest.importorskip("cv2")
    extract = make_extractor(ALL)
    at_once = extract(whole(clip, grey=True)[0])
    monkeypatch.setattr(videos, "CHUNK_FRAMES", chunk)
    made = video_set(clip, extract)
    np.testing.assert_array_equal(made.rows, at_once)
    np.testing.assert_allclose(made.times, np.arange(60) / 10)


@pytest.mark.parametrize("n_frames", [1, 2, 4, 6])
def test_a_clip_shorter_than_the_context_still_gives_one_row_per_frame(tmp_path, n_frames):
    pytest.importorskip("cv2")
    rows = video_set(write_clip(tmp_path / "short.mp4", dots(n_frames)), make_extractor(ALL)).rows
    assert rows.shape == (n_frames, len(make_extractor(ALL).feature_names))
    assert np.isfinite(rows).all()


def test_reading_twice_gives_the_same_rows_and_focus_learns_from_clips(tmp_path):
    paths = [write_clip(tmp_path / f"{seed}.mp4", dots(30, seed=seed)) for seed in range(4)]
    sets = [video_set(path, make_extractor("pixels(size=6x4)")) for path in paths]
    np.testing.assert_array_equal(sets[0].rows, sets[0].rows)
    assert sets[0].feature_names[:2] == ("pixel 0,0", "pixel 1,0")
    with pytest.warns(EvidenceWarning):  # four sets are few
        focus = Focus().fit_sets(sets)
    assert focus.moments_.names == ("0", "1", "2", "3")
    assert focus.moments_.n_rows == 120


def test_the_ucsd_clips_are_read_whole(data):
    with np.load(data / "ucsd_ped" / "ped2_60x40.npz") as held:
        small = held["test_frames"][held["test_clip"] == 0]
    frames, times, report = whole(data / "ucsd_ped" / "ped2_test_001.mp4", grey=True, size=(60, 40))
    assert report.lost == ()
    np.testing.assert_allclose(times, np.arange(180) / 10, atol=1e-3)
    # The same frames, from the original images; H.264 and its range of brightness cost about two grey levels.
    assert np.abs(frames.astype(int) - small).mean() < 3


@pytest.mark.parametrize(
    ("ending", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("avi", "mpeg4"), ("webm", "libvpx-vp9")]
)
@pytest.mark.parametrize("between", [(0.0, 1.0), (3.05, 4.0), (4.0, 4.0), (5.5, 99.0), (-3.0, 0.4)])
def test_a_stretch_is_the_same_frames_at_the_same_times(tmp_path, ending, codec, between):
    path = write_clip(tmp_path / f"clip.{ending}", dots(), codec=codec)
    frames, times, _ = whole(path)
    since, until = between
    inside = (times >= since) & (times <= until)
    pieces = list(read_frames(path, between=between))
    np.testing.assert_array_equal(np.concatenate([piece for _, piece in pieces]), times[inside])
    np.testing.assert_array_equal(np.concatenate([piece for piece, _ in pieces]), frames[inside])


@pytest.mark.parametrize(
    ("ending", "codec", "wanted"), [("mp4", "libx264", 4.0), ("mkv", "libx264", 4.0), ("avi", "mpeg4", 0.0)]
)
def test_a_late_stretch_is_reached_by_a_leap_to_its_key_frame(tmp_path, ending, codec, wanted):
    """An .avi does not say when its packets are due, so it is read from its start."""
    path = write_clip(tmp_path / f"clip.{ending}", dots(), codec=codec, bf="0")
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        seek_before(av, container, stream, 4.65)
        packet = next(container.demux(stream))
        assert float((packet.pts or 0) * stream.time_base) == pytest.approx(wanted, abs=2e-3)
        assert packet.is_keyframe


def test_a_stretch_beyond_the_end_is_said_with_its_seconds(clip):
    with pytest.raises(InputError, match=r"no frame that can be read from 70.00 s to 80.00 s"):
        list(read_frames(clip, between=(70.0, 80.0)))

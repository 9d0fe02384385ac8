"""Videos: readable frames are returned, lost ones are reported, and rows do not depend on chunks."""

import struct

import numpy as np
import pytest

from tests.clips import dots, write_clip
from undistract import EvidenceWarning, Focus, InputError
from undistract.features import make_extractor
from undistract.sources import videos
from undistract.sources.videos import read_frames, seek_before, video_source

av = pytest.importorskip("av", reason='needs PyAV: pip install "undistract[video]"')

ALL = "pixels(size=6x4)+gradients(size=48x32,cells=3x2)+cells(size=48x32,cells=4x3)+flow(size=48x32,cells=3x2)"


def read_clip(path, **reading):
    """Return the frames, the times and the report of a clip."""
    reports = []
    frames, times = zip(*read_frames(path, on_report=reports.append, **reading), strict=True)
    return np.concatenate(frames), np.concatenate(times), reports[0]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clips") / "dots.mp4", dots())


@pytest.mark.parametrize(
    ("ending", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("avi", "mpeg4"), ("mp4", "mpeg4")]
)
def test_frames_are_read_as_written(tmp_path, ending, codec):
    written = dots()
    frames, times, report = read_clip(write_clip(tmp_path / f"clip.{ending}", written, codec=codec))
    assert frames.shape == written.shape
    # The codec is lossy, but a wrong frame or a swapped channel would differ much more.
    assert np.abs(frames.astype(int) - written).mean() < 4
    np.testing.assert_allclose(times, np.arange(60) / 10, atol=1e-3)
    assert report.lost == ()
    assert (report.n_frames, report.width, report.height) == (60, 96, 64)
    assert report.seconds == pytest.approx(6.0)


def test_channel_order_is_rgb(tmp_path):
    red = np.zeros((3, 32, 32, 3), np.uint8)
    red[..., 0] = 250
    frames, _, _ = read_clip(write_clip(tmp_path / "red.mp4", red))
    assert frames[..., 0].min() > 240
    assert frames[..., 1:].max() < 10


def test_odd_sizes_scaling_and_frame_steps(tmp_path):
    path = write_clip(tmp_path / "odd.mkv", dots(20, width=97, height=65))
    assert read_clip(path, grey=True)[0].shape == (20, 65, 97)
    frames, times, _ = read_clip(path, size=(31, 21), every=3)
    assert frames.shape == (7, 21, 31, 3)
    np.testing.assert_allclose(times, np.arange(0, 20, 3) / 10)


@pytest.mark.parametrize("rotation", [90, 180, -90])
def test_rotation_metadata_is_applied(tmp_path, rotation):
    frames = np.zeros((3, 48, 64, 3), np.uint8)
    frames[:, :12, :16] = 255  # bright in the upper left
    turned, _, report = read_clip(write_clip(tmp_path / "turned.mp4", frames, rotation=rotation), grey=True)
    expected = np.rot90(frames[..., 0], rotation // 90, axes=(1, 2))
    assert turned.shape == expected.shape
    assert (report.height, report.width) == expected.shape[1:]
    assert np.abs(turned.astype(int) - expected).mean() < 4
    # `size` is that of the upright frame.
    assert read_clip(tmp_path / "turned.mp4", grey=True, size=(20, 10))[0].shape == (3, 10, 20)


def test_variable_frame_rate_keeps_times(tmp_path):
    times = np.cumsum([0, 0.1, 0.5, 0.1, 0.033, 0.2, 0.1, 2.0, 0.1, 0.1, 0.05, 0.3, 0.1])
    _, read_times, report = read_clip(write_clip(tmp_path / "phone.mp4", dots(len(times)), times=times))
    np.testing.assert_allclose(read_times, times, atol=1e-3)
    assert report.lost == ()  # a pause is no loss


def test_truncated_clip_returns_first_half_and_reports_the_loss(tmp_path):
    # With the index at the start, truncation leaves the index intact.
    path = write_clip(tmp_path / "cut.mp4", dots(80), movflags="+faststart")
    path = remuxed(path, tmp_path / "fast.mp4")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 6 // 10])
    frames, _, report = read_clip(path)
    assert 10 < len(frames) < 75
    assert len(frames) + report.n_lost == 80
    assert report.lost[-1].last_frame == 79
    assert report.lost[-1].stop == pytest.approx(8.0, abs=0.2)
    with pytest.warns(EvidenceWarning, match=r"fast.mp4: \d+ frames .* lost: .*frames \d+ to 79"):
        list(read_frames(path))


def remuxed(path, to):
    """Copy a clip with its index at the start."""
    import av

    with av.open(str(path)) as source, av.open(str(to), "w", options={"movflags": "faststart"}) as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    return to


@pytest.mark.parametrize(("ending", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("avi", "mpeg4")])
def test_damaged_middle_is_reported_and_remaining_frames_are_read(tmp_path, ending, codec):
    path = write_clip(tmp_path / f"hurt.{ending}", dots(100, noise=30), codec=codec, b="1000000")
    content = bytearray(path.read_bytes())
    middle, length = len(content) * 45 // 100, len(content) // 20
    content[middle : middle + length] = np.random.default_rng(0).bytes(length)
    path.write_bytes(content)
    frames, times, report = read_clip(path)
    assert 70 <= len(frames) <= 100
    assert times[0] == pytest.approx(0, abs=0.01)
    if ending != "avi":  # without times in the file, later frames move up
        assert times[-1] == pytest.approx(9.9, abs=0.11)
    assert len(frames) + report.n_lost in range(98, 103)
    for lost in report.lost:  # near the damage: predicted frames are lost until the next key frame
        assert 25 <= lost.first_frame <= lost.last_frame <= (99 if ending == "avi" else 75)
    again = read_clip(path)
    np.testing.assert_array_equal(frames, again[0])
    assert report == again[2]


@pytest.mark.parametrize(
    "content", [b"", b"not a video at all", b"\x00" * 5000, b"#EXTM3U\n#EXTINF:1\nhttp://127.0.0.1:9/a.ts\n"]
)
def test_invalid_video_raises_error(tmp_path, content):
    (tmp_path / "odd.mp4").write_bytes(content)
    with pytest.raises(InputError, match=r"odd\.mp4 .*cannot be opened as a video|has no readable"):
        list(read_frames(tmp_path / "odd.mp4"))


def test_playlist_is_not_followed(tmp_path, clip):
    (tmp_path / "list.mp4").write_text(f"ffconcat version 1.0\nfile '{clip}'\n")
    with pytest.raises(InputError, match="cannot be opened as a video"):
        list(read_frames(tmp_path / "list.mp4"))


def test_missing_file_and_audio_raise_errors(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        list(read_frames(tmp_path / "none.mp4"))
    import av

    with av.open(str(tmp_path / "sound.mkv"), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
        sound.sample_rate = 8000
        container.mux(stream.encode(sound))
        container.mux(stream.encode(None))
    with pytest.raises(InputError, match=r"sound\.mkv contains no video that can be decoded, only: audio"):
        list(read_frames(tmp_path / "sound.mkv"))


@pytest.mark.parametrize(
    ("side", "message"),
    [(4200, "4200 x 4200, 17,640,000 pixels; the limit is 16,777,216"), (60_000, "frames of at most 16,777,216")],
)
def test_giant_frames_in_header_raise_error(tmp_path, side, message):
    path = write_clip(tmp_path / "giant.avi", dots(5), codec="rawvideo")
    content = path.read_bytes()
    small, giant = struct.pack("<ii", 96, 64), struct.pack("<ii", side, side)
    assert small in content
    path.write_bytes(content.replace(small, giant))
    with pytest.raises(InputError, match=message):
        list(read_frames(path))


def test_giant_frames_are_rejected_quickly_and_in_little_memory(tmp_path, cost):
    path = write_clip(tmp_path / "giant.mp4", np.zeros((1, 6000, 6000, 3), np.uint8), preset="ultrafast")
    assert path.stat().st_size < 1e6
    # In a separate process: the memory of the decoder is visible only from outside.
    message, kilobytes, seconds = cost(
        "import av, numpy\nfrom undistract.errors import InputError\nfrom undistract.sources.videos import read_frames",
        f"try:\n    list(read_frames({str(path)!r}))\nexcept InputError as error:\n    print(error)",
    )
    assert "6000 x 6000, 36,000,000 pixels; the limit is 16,777,216" in message
    assert kilobytes < 100 * 1024
    assert seconds < 1


def test_pixel_limit_can_be_changed(clip):
    with pytest.raises(InputError, match="the limit is 1,000"):
        list(read_frames(clip, max_pixels=1000))
    assert len(read_clip(clip, max_pixels=96 * 64)[0]) == 60


@pytest.mark.parametrize("odd", [{"every": 0}, {"size": (0, 5)}, {"max_pixels": 0}])
def test_invalid_settings_raise_errors(clip, odd):
    with pytest.raises(InputError, match="must be at least 1"):
        list(read_frames(clip, **odd))


@pytest.mark.parametrize("chunk", [1, 2, 5, 7, 60])
def test_rows_do_not_depend_on_chunks(clip, monkeypatch, chunk):
    pytest.importorskip("cv2")
    extract = make_extractor(ALL)
    at_once = extract(read_clip(clip, grey=True)[0])
    monkeypatch.setattr(videos, "CHUNK_FRAMES", chunk)
    source = video_source(clip, extract)
    np.testing.assert_array_equal(source.rows, at_once)
    np.testing.assert_allclose(source.times, np.arange(60) / 10)


@pytest.mark.parametrize("n_frames", [1, 2, 4, 6])
def test_clip_shorter_than_context_has_one_row_per_frame(tmp_path, n_frames):
    pytest.importorskip("cv2")
    rows = video_source(write_clip(tmp_path / "short.mp4", dots(n_frames)), make_extractor(ALL)).rows
    assert rows.shape == (n_frames, len(make_extractor(ALL).feature_names))
    assert np.isfinite(rows).all()


def test_rows_are_reproducible_and_focus_fits_clips(tmp_path):
    paths = [write_clip(tmp_path / f"{seed}.mp4", dots(30, seed=seed)) for seed in range(4)]
    groups = [video_source(path, make_extractor("pixels(size=6x4)")) for path in paths]
    np.testing.assert_array_equal(groups[0].rows, groups[0].rows)
    assert groups[0].feature_names[:2] == ("pixel 0,0", "pixel 1,0")
    with pytest.warns(EvidenceWarning):  # four groups are few
        focus = Focus().fit_groups(groups)
    assert focus.moments_.names == ("0", "1", "2", "3")
    assert focus.moments_.n_rows == 120


def test_ucsd_clip_is_read_completely(data):
    with np.load(data / "ucsd_ped" / "ped2_60x40.npz") as arrays:
        small = arrays["test_frames"][arrays["test_clip"] == 0]
    frames, times, report = read_clip(data / "ucsd_ped" / "ped2_test_001.mp4", grey=True, size=(60, 40))
    assert report.lost == ()
    np.testing.assert_allclose(times, np.arange(180) / 10, atol=1e-3)
    # The same frames, from the original images; H.264 and its range of brightness cost about two grey levels.
    assert np.abs(frames.astype(int) - small).mean() < 3


@pytest.mark.parametrize(
    ("ending", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("avi", "mpeg4"), ("webm", "libvpx-vp9")]
)
@pytest.mark.parametrize("between", [(0.0, 1.0), (3.05, 4.0), (4.0, 4.0), (5.5, 99.0), (-3.0, 0.4)])
def test_time_range_returns_the_same_frames(tmp_path, ending, codec, between):
    path = write_clip(tmp_path / f"clip.{ending}", dots(), codec=codec)
    frames, times, _ = read_clip(path)
    since, until = between
    inside = (times >= since) & (times <= until)
    chunks = list(read_frames(path, between=between))
    np.testing.assert_array_equal(np.concatenate([chunk for _, chunk in chunks]), times[inside])
    np.testing.assert_array_equal(np.concatenate([chunk for chunk, _ in chunks]), frames[inside])


@pytest.mark.parametrize(
    ("ending", "codec", "expected_time"), [("mp4", "libx264", 4.0), ("mkv", "libx264", 4.0), ("avi", "mpeg4", 0.0)]
)
def test_seek_finds_the_key_frame(tmp_path, ending, codec, expected_time):
    """An .avi has no times in its packets, so it is read from the start."""
    path = write_clip(tmp_path / f"clip.{ending}", dots(), codec=codec, bf="0")
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        seek_before(av, container, stream, 4.65)
        packet = next(container.demux(stream))
        assert float((packet.pts or 0) * stream.time_base) == pytest.approx(expected_time, abs=2e-3)
        assert packet.is_keyframe


def test_time_range_beyond_the_end_raises_error(clip):
    with pytest.raises(InputError, match=r"no readable frame from 70.00 s to 80.00 s"):
        list(read_frames(clip, between=(70.0, 80.0)))

"""The cache returns the same rows as the video, even if its files are damaged."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from tests.clips import dots, write_clip
from undistract import EvidenceWarning, InputError
from undistract.features import make_extractor
from undistract.sources import cache as cache_module
from undistract.sources.cache import RowCache, cache_folder
from undistract.sources.videos import video_rows, video_source

pytest.importorskip("av", reason='needs PyAV: pip install "undistract[video]"')

PIXELS = make_extractor("pixels(size=6x4)")


@pytest.fixture
def clip(tmp_path):
    return write_clip(tmp_path / "dots.mp4", dots(20))


@pytest.fixture
def extracted(monkeypatch):
    """Names of the extractors that were run."""
    ran = []

    def counted(path, extract, **reading):
        ran.append(extract.name)
        return video_rows(path, extract, **reading)

    monkeypatch.setattr(cache_module, "video_rows", counted)
    return ran


def entries(cache):
    return sorted(cache.folder.glob("*.npz"))


def test_cached_rows_are_equal_and_extracted_once(tmp_path, clip, extracted):
    cache = RowCache(tmp_path / "rows")
    plain, cached = video_source(clip, PIXELS), video_source(clip, PIXELS, cache=cache)
    for _ in range(3):
        np.testing.assert_array_equal(cached.rows, plain.rows)
        np.testing.assert_array_equal(cached.times, plain.times)
    assert extracted == [PIXELS.name]
    assert cached.rows.dtype == np.float32
    assert [path.suffix for path in cache.folder.iterdir()] == [".npz"]


def test_settings_clip_and_options_have_separate_entries(tmp_path, clip, extracted):
    cache = RowCache(tmp_path / "rows")
    other = write_clip(tmp_path / "other.mp4", dots(20, seed=1))
    for path, spec, every in [
        (clip, "pixels(size=6x4)", 1),
        (clip, "pixels(size=4x6)", 1),
        (other, "pixels(size=6x4)", 1),
        (clip, "pixels(size=6x4)", 2),
    ]:
        assert len(video_source(path, make_extractor(spec), cache=cache, every=every).rows) == 20 // every
    assert len(extracted) == len(entries(cache)) == 4


def test_changed_clip_is_extracted_again(tmp_path, clip):
    cached = video_source(clip, PIXELS, cache=RowCache(tmp_path / "rows"))
    before = cached.rows
    write_clip(clip, dots(20, seed=5))
    assert not np.array_equal(cached.rows, before)


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "header", "nonsense"])
def test_damaged_entry_is_replaced(tmp_path, clip, extracted, harm):
    cache = RowCache(tmp_path / "rows")
    cached = video_source(clip, PIXELS, cache=cache)
    before = cached.rows
    (entry,) = entries(cache)
    content = bytearray(entry.read_bytes())
    if harm == "flip":
        content[len(content) // 3] ^= 1  # in the rows
    elif harm == "header":
        content[0] ^= 0xFF
    entry.write_bytes({"cut": content[:-8], "empty": b"", "nonsense": b"x" * 500}.get(harm, content))
    np.testing.assert_array_equal(cached.rows, before)
    assert len(extracted) == 2
    np.testing.assert_array_equal(cached.rows, before)
    assert len(extracted) == 2  # the new entry is intact


def test_interrupted_read_leaves_no_files(tmp_path, clip):
    cache = RowCache(tmp_path / "rows")
    reading = cache.rows(clip, PIXELS)
    next(reading)
    reading.close()
    assert list(cache.folder.iterdir()) == []


def test_leftovers_are_deleted_after_a_day(tmp_path, clip):
    # Regression: leftovers of a killed process were never deleted.
    cache = RowCache(tmp_path / "rows")
    for name, age in (("part-killed", 90_000), ("part-busy", 60)):
        rows = cache.folder / name / "rows"
        rows.parent.mkdir(parents=True)
        rows.write_bytes(bytes(100))
        for path in (rows, rows.parent):
            os.utime(path, (time.time() - age,) * 2)
    assert len(video_source(clip, PIXELS, cache=cache).rows) == 20
    assert [path.name for path in cache.folder.glob("part-*")] == ["part-busy"]


def test_least_recently_used_entries_are_deleted_first(tmp_path, clip):
    cache = RowCache(tmp_path / "rows", limit=8000)
    sizes = ["6x4", "6x5", "6x6"]
    smallest, two, three = (video_source(clip, make_extractor(f"pixels(size={size})"), cache=cache) for size in sizes)
    assert len(smallest.rows) == len(two.rows) == 20
    first, second = sorted(entries(cache), key=lambda entry: entry.stat().st_size)
    os.utime(first, (2e9, 2e9))  # used after the second
    assert len(three.rows) == 20
    remaining = entries(cache)
    assert first in remaining
    assert second not in remaining
    assert sum(entry.stat().st_size for entry in remaining) <= 8000


def test_unwritable_cache_changes_nothing(tmp_path, clip):
    (tmp_path / "rows").write_text("a file where the folder should be")
    rows = video_source(clip, PIXELS, cache=RowCache(tmp_path / "rows")).rows
    np.testing.assert_array_equal(rows, video_source(clip, PIXELS).rows)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_full_disk_changes_nothing(tmp_path, clip, monkeypatch):
    # Regression: the error showed only when the file was closed, and the read failed.
    as_usual = Path.open
    monkeypatch.setattr(
        Path, "open", lambda path, *mode: as_usual(Path("/dev/full") if path.name == "rows" else path, *mode)
    )
    rows = video_source(clip, PIXELS, cache=RowCache(tmp_path / "kept")).rows
    np.testing.assert_array_equal(rows, video_source(clip, PIXELS).rows)
    assert list((tmp_path / "kept").iterdir()) == []


def test_dtype_is_kept(tmp_path, clip):
    # Regression: float64 became float32 on the second read.
    def thirds(frames):
        return frames.reshape(len(frames), -1).mean(axis=1, keepdims=True) / 3

    thirds.fingerprint = "thirds"
    cache = RowCache(tmp_path / "rows")
    plain, cached = video_source(clip, thirds), video_source(clip, thirds, cache=cache)
    for _ in range(2):
        np.testing.assert_array_equal(cached.rows, plain.rows, strict=True)
    assert len(entries(cache)) == 1


def test_extractor_without_fingerprint_is_not_cached(tmp_path, clip):
    # Regression: two functions at the same address have the same repr, so the second got the rows of the first.
    class Filled:
        def __init__(self, value):
            self.value = value

        def __call__(self, frames):
            return np.full((len(frames), 1), self.value, np.float32)

        def __repr__(self):
            return "<function at 0x7f00>"

    cache = RowCache(tmp_path / "rows")
    for value in (1.0, 2.0):
        assert set(video_source(clip, Filled(value), cache=cache).rows.ravel()) == {value}


def test_missing_video_raises_the_same_error(tmp_path):
    with pytest.raises(InputError, match=r"There is no file .*gone.mp4. Pass the path of a video"):
        _ = video_source(tmp_path / "gone.mp4", PIXELS, cache=RowCache(tmp_path / "rows")).rows


def test_lost_frames_are_reported_from_the_cache(tmp_path):
    path = write_clip(tmp_path / "hurt.mkv", dots(60, noise=30))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    cached = video_source(path, PIXELS, cache=RowCache(tmp_path / "rows"))
    for _ in range(2):
        with pytest.warns(EvidenceWarning, match="the file ends early"):
            assert len(cached.rows) < 60
    reports = []
    assert len(video_source(path, PIXELS, cache=RowCache(tmp_path / "rows"), on_report=reports.append).rows) < 60
    assert reports[0].n_lost > 5


def test_cache_folder_from_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("UNDISTRACT_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("UNDISTRACT_CACHE")
    assert cache_folder().parts[-2:] == ("undistract", "rows")

"""Every registered reader passes the same contract: a new file format needs one writer here."""

import numpy as np
import pytest

from tests.clips import dots, write_clip
from undistract import InputError, ReadOptions
from undistract.features import make_extractor
from undistract.sources import discover_sources
from undistract.sources.discover import ARRAY_READERS, READABLE, TABLE_READERS, VIDEO_READERS

ROWS = np.random.default_rng(0).normal(size=(60, 3))
OPTIONS = ReadOptions(features="pixels(size=3x1)")
CODECS = {".avi": "mpeg4", ".webm": "libvpx-vp9"}


def write_table(path):
    frame = pytest.importorskip("pandas").DataFrame(ROWS, columns=["a", "b", "c"])
    pytest.importorskip("pyarrow")
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_feather(path)


def write_video(path):
    pytest.importorskip("av", reason='needs PyAV: pip install "undistract[video]"')
    write_clip(path, dots(60), codec=CODECS.get(path.suffix, "libx264"))


def write_text(path):
    delimiter = {".csv": ",", ".tsv": "\t"}[path.suffix]
    np.savetxt(path, ROWS, delimiter=delimiter, fmt="%.17g", header=delimiter.join("abc"), comments="")


WRITERS = {
    ".npy": lambda path: np.save(path, ROWS),
    ".npz": lambda path: np.savez(path, rows=ROWS),
    ".csv": write_text,
    ".tsv": write_text,
    **dict.fromkeys((".parquet", ".arrow", ".feather"), write_table),
    **dict.fromkeys(VIDEO_READERS, write_video),
}


@pytest.fixture(params=READABLE)
def path(request, tmp_path):
    path = tmp_path / f"day{request.param}"
    WRITERS[request.param](path)
    return path


def test_rows_are_those_that_were_written_and_can_be_read_again(path):
    (source,) = discover_sources(path, OPTIONS)
    assert (source.name, source.origin) == (path.name, str(path) if path.suffix != ".npz" else f"{path}:rows")
    first, second = source.rows, source.rows
    assert np.array_equal(first, second)
    assert first.shape == (len(source), source.n_features) == (60, 3)
    if path.suffix not in VIDEO_READERS:
        assert np.array_equal(first, ROWS)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_rows_do_not_depend_on_the_size_of_chunks(path, size):
    (source,) = discover_sources(path, OPTIONS)
    chunks = list(source.chunks(size))
    assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
    assert np.array_equal(np.concatenate(chunks), source.rows)
    assert not chunks[0].flags.writeable


def test_options_for_all_formats(path):
    first, second = discover_sources(path, ReadOptions(features=OPTIONS.features, split_every=20, window=2))[:2]
    assert (first.name, second.name) == (f"{path.name}[0:20]", f"{path.name}[20:40]")
    assert first.rows.shape == (19, 6)


@pytest.mark.parametrize("content", [b"", b"no such format"])
def test_broken_file_raises_input_error_with_its_name(path, content):
    path.write_bytes(content)
    with pytest.raises(InputError, match="day"):
        _ = discover_sources(path, OPTIONS)[0].rows


@pytest.mark.parametrize("ending", [*ARRAY_READERS, *TABLE_READERS])
def test_values_that_are_not_finite_are_reported_with_their_row(ending, tmp_path, monkeypatch):
    rows = ROWS.copy()
    rows[41, 2] = np.inf
    monkeypatch.setattr("tests.sources.test_reader_contract.ROWS", rows)
    path = tmp_path / f"day{ending}"
    WRITERS[ending](path)
    with pytest.raises(InputError, match=f"Source 'day{ending}' holds inf at row 41, feature 2"):
        list(discover_sources(path)[0].chunks())


def test_extractor_of_the_options_is_used(tmp_path):
    path = tmp_path / "day.mp4"
    write_video(path)
    (source,) = discover_sources(path, OPTIONS)
    assert source.feature_names == make_extractor(OPTIONS.features).feature_names

"""Discovery of files, folders and patterns: each source once, named by its path."""

import os

import numpy as np
import pytest

from undistract import InputError, Moments
from undistract.sources import Source, discover_sources
from undistract.sources.discover import VIDEO_READERS, source_files
from undistract.sources.options import ReadOptions

pytest.importorskip("pyarrow")
Image = pytest.importorskip("PIL.Image")

RNG = np.random.default_rng(0)


def flat(frames):
    return frames.reshape(len(frames), -1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Create recordings of two days, images of two people, a table, and unrelated files."""
    for day in ("day2", "day10"):
        (tmp_path / "calm" / day).mkdir(parents=True)
        for name in ("cam1", "cam2"):
            np.save(tmp_path / "calm" / day / f"{name}.npy", RNG.normal(size=(20, 3)))
    for person in ("anna", "ben"):
        (tmp_path / "faces" / person).mkdir(parents=True)
        for number in (1, 2, 10):
            picture = RNG.integers(0, 256, (4, 5), dtype=np.uint8)
            Image.fromarray(picture).save(tmp_path / "faces" / person / f"{number}.png")
    (tmp_path / "faces" / "readme.txt").write_text("two people")
    (tmp_path / "faces" / ".hidden.npy").write_text("x")
    (tmp_path / "load.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("paths", "ignore", "names"),
    [
        ("calm", (), ["day2/cam1.npy", "day2/cam2.npy", "day10/cam1.npy", "day10/cam2.npy"]),
        ("calm/day2", (), ["cam1.npy", "cam2.npy"]),
        ("calm/*/cam1.npy", (), ["day2/cam1.npy", "day10/cam1.npy"]),
        ("calm/**/*.npy", "*cam1*", ["day2/cam2.npy", "day10/cam2.npy"]),
        ("calm", ["day10"], ["cam1.npy", "cam2.npy"]),
        ("calm", ["*/day2/*", "cam2.npy"], ["cam1.npy"]),
        (["calm/day2/cam1.npy"], (), ["cam1.npy"]),
        (["calm/day2", "calm/day2/cam1.npy", "./calm/day2/../day2/cam2.npy"], (), ["cam1.npy", "cam2.npy"]),
        ("faces", (), ["anna", "ben"]),
        ("faces/anna", (), ["anna"]),
        ("faces/*", (), ["anna", "ben"]),
        (["faces/ben", "calm/day2"], (), ["faces/ben", "calm/day2/cam1.npy", "calm/day2/cam2.npy"]),
    ],
)
def test_names_are_paths_relative_to_common_folder(folder, paths, ignore, names):
    assert list(source_files(paths, ignore)) == names
    sources = discover_sources(paths, ignore=ignore, extract=flat)
    assert [source.name for source in sources] == names
    assert all(len(source) for source in sources)


def test_file_name_with_brackets_is_not_a_pattern(folder):
    np.save("day[1].npy", np.ones((3, 2)))
    assert [source.name for source in discover_sources("day[1].npy")] == ["day[1].npy"]


def test_links_count_once_and_cycles_are_skipped(folder):
    os.symlink(folder / "calm", folder / "calm" / "day2" / "again")
    os.symlink(folder / "calm" / "day2" / "cam1.npy", folder / "calm" / "day2" / "same.npy")
    assert list(source_files("calm/day2")) == ["cam1.npy", "cam2.npy"]


@pytest.mark.parametrize(
    ("paths", "options", "message"),
    [
        ("nowhere.npy", {}, r"nowhere\.npy: there is no such file\. The current folder is"),
        ("calm/*.mp4", {}, r"calm/\*\.mp4: no file or folder matches the pattern"),
        ("faces/readme.txt", {}, r"readme\.txt has the unknown ending '\.txt'; expected \.npy"),
        (
            "faces/anna/1.png",
            {},
            r"1\.png is a single image; a source is a folder of images\. Pass the folder: faces/anna",
        ),
        ("faces/anna/*.png", {}, r"1\.png is a single image; a source is a folder of images"),
        ("faces", {}, r"anna contains images; choose how to turn them into rows: features= \(--features\)"),
        ("calm", {"ignore": "*"}, r"No data found in 'calm'.*Files that match '\*' are skipped"),
        ([], {}, r"No data found in an empty list"),
        (
            "calm",
            {"group": "a"},
            r"day2/cam1\.npy has no named columns; group=, time= and columns= are for tables",
        ),
        ("load.csv", {"group": "a", "split_every": 3}, r"group= and split_every= both define groups"),
        ("clip.mp4", {}, r"clip\.mp4 contains images; choose how to turn them into rows"),
    ],
)
def test_discovery_errors_explain_what_to_do(folder, paths, options, message):
    (folder / "clip.mp4").write_bytes(b"x")
    ignore = options.pop("ignore", ())
    with pytest.raises(InputError, match=message):
        discover_sources(paths, ReadOptions(**options), ignore=ignore)


def test_empty_folder_raises_error(folder):
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match="No data found in 'empty'; expected"):
        discover_sources("empty")


def test_ignored_images_are_skipped(folder):
    (source,) = discover_sources("faces/anna", ignore="10.png", extract=flat)
    assert source.row_names == ("1.png", "2.png")
    assert len(source.rows) == 2


def test_new_video_format_is_one_line_in_the_registry(folder, monkeypatch):
    monkeypatch.setitem(VIDEO_READERS, ".mp4", lambda path, extract, name, cache: Source(name, [[1.0, 2.0]]))
    (folder / "clip.mp4").write_bytes(b"x")
    (source,) = discover_sources("clip.mp4", extract=flat)
    assert (source.name, source.rows.tolist()) == ("clip.mp4", [[1.0, 2.0]])


def test_long_recording_is_split_in_all_formats(folder):
    rows = RNG.normal(size=(10, 2))
    np.save("long.npy", rows)
    np.savez("long.npz", x=rows)
    (folder / "long.csv").write_text("a,b\n" + "".join(f"{a!r},{b!r}\n" for a, b in rows.tolist()))
    for name in ("long.npy", "long.npz", "long.csv"):
        sources = discover_sources(name, ReadOptions(split_every=4))
        assert [source.name for source in sources] == [f"{name}[0:4]", f"{name}[4:10]"]
        assert np.array_equal(np.concatenate([source.rows for source in sources]), rows)
    assert len(discover_sources("faces", ReadOptions(split_every=1), extract=flat)) == 6


def test_missing_value_in_array_raises_is_dropped_or_imputed(folder):
    np.save("gap.npy", [[1.0, 2.0], [np.nan, 4.0], [3.0, 6.0]])
    with pytest.raises(InputError, match=r"Source 'gap.npy' holds nan at row 1, feature 0"):
        Moments.of(discover_sources("gap.npy"))
    assert len(discover_sources("gap.npy", ReadOptions(missing="drop"))[0]) == 2
    assert discover_sources("gap.npy", ReadOptions(missing="impute"))[0].rows[1].tolist() == [2.0, 4.0]


def test_files_and_arrays_have_the_same_moments(folder):
    sources = discover_sources("calm")
    arrays = {source.name: np.load(folder / "calm" / source.name) for source in sources}
    assert np.array_equal(Moments.of(sources).within, Moments.of(arrays).within)


def test_real_faces_as_folders_of_images(tmp_path, data):
    """Images and arrays return the same rows."""
    faces = np.load(data / "yale_faces" / "extended_yale_b_48x42.npz")
    people = np.unique(faces["subject"])[:4]
    for person in people:
        (tmp_path / f"person {person}").mkdir()
        for number, image in enumerate(faces["images"][faces["subject"] == person]):
            Image.fromarray(image).save(tmp_path / f"person {person}" / f"{number}.png")
    sources = discover_sources(tmp_path, extract=flat)
    arrays = {f"person {p}": flat(faces["images"][faces["subject"] == p]) for p in people}
    assert [source.name for source in sources] == list(arrays)
    for source in sources:
        assert np.array_equal(source.rows, arrays[source.name])


def test_real_server_metrics_in_archive(data):
    sources = discover_sources(data / "smd" / "smd_group1.npz", ReadOptions(key="*_train"))
    assert len(sources) == 7
    assert {source.n_features for source in sources} == {38}
    assert Moments.of(sources).n_rows == sum(len(source) for source in sources) > 7 * 20_000


def test_sources_on_two_drives_are_named_by_absolute_paths(tmp_path, monkeypatch):
    # Regression on Windows: commonpath raises a ValueError.
    def nothing_in_common(paths):
        raise ValueError("Paths don't have the same drive")

    monkeypatch.setattr("os.path.commonpath", nothing_in_common)
    for name in ("c/mon.npy", "d/mon.npy"):
        (tmp_path / name).parent.mkdir()
        np.save(tmp_path / name, np.ones((2, 2)))
    names = [source.name for source in discover_sources([tmp_path / "c", tmp_path / "d"])]
    assert names == [(tmp_path / name).as_posix() for name in ("c/mon.npy", "d/mon.npy")]

"""The front door: files, folders, patterns; each set once, with a name people know it by."""

import os

import numpy as np
import pytest

from undistract import InputError, Moments
from undistract.sets import FeatureSet, find_sets
from undistract.sets.paths import set_paths

pytest.importorskip("pyarrow")
Image = pytest.importorskip("PIL.Image")

RNG = np.random.default_rng(0)


def flat(frames):
    return frames.reshape(len(frames), -1)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Recordings of two days, pictures of two people, a table, and what lies around."""
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
def test_sets_are_named_by_the_path_below_what_they_share(place, paths, ignore, names):
    assert list(set_paths(paths, ignore)) == names
    sets = find_sets(paths, ignore=ignore, extract=flat)
    assert [one.name for one in sets] == names
    assert all(len(one) for one in sets)


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(place):
    np.save("day[1].npy", np.ones((3, 2)))
    assert [one.name for one in find_sets("day[1].npy")] == ["day[1].npy"]


def test_links_count_once_and_never_lead_in_circles(place):
    os.symlink(place / "calm", place / "calm" / "day2" / "again")
    os.symlink(place / "calm" / "day2" / "cam1.npy", place / "calm" / "day2" / "same.npy")
    assert list(set_paths("calm/day2")) == ["cam1.npy", "cam2.npy"]


@pytest.mark.parametrize(
    ("paths", "options", "words"),
    [
        ("nowhere.npy", {}, r"nowhere\.npy: there is no such file\. Looked from"),
        ("calm/*.mp4", {}, r"calm/\*\.mp4: no file or folder fits the pattern"),
        ("faces/readme.txt", {}, r"readme\.txt ends in '\.txt', which is not known here; expected \.npy"),
        ("faces/anna/1.png", {}, r"1\.png is one image; a set is a folder of them\. Name the folder: faces/anna"),
        ("faces/anna/*.png", {}, r"1\.png is one image; a set is a folder of them"),
        ("faces", {}, r"anna holds pictures; say how to make rows of them: extract= \(--features pixels\)"),
        ("calm", {"ignore": "*"}, r"No data was found in 'calm'.*Without what fits '\*', nothing is left"),
        ([], {}, r"No data was found in nothing"),
        (
            "calm",
            {"group": "a"},
            r"day2/cam1\.npy has no columns with names; group=, time= and columns= are for tables",
        ),
        ("load.csv", {"group": "a", "split_every": 3}, r"group= and split_every= both say what a set is"),
        ("clip.mp4", {"extract": flat}, r"clip\.mp4 is a video, and no way to read videos was given"),
    ],
)
def test_what_cannot_be_found_is_said_with_what_to_do(place, paths, options, words):
    (place / "clip.mp4").write_bytes(b"x")
    with pytest.raises(InputError, match=words):
        find_sets(paths, **options)


def test_an_empty_folder_holds_no_data(place):
    (place / "empty").mkdir()
    with pytest.raises(InputError, match="No data was found in 'empty'; expected"):
        find_sets("empty")


def test_ignored_images_are_no_rows(place):
    (one,) = find_sets("faces/anna", ignore="10.png", extract=flat)
    assert one.row_names == ("1.png", "2.png")
    assert len(one.rows) == 2


def test_videos_are_read_by_whom_it_is_handed_to(place):
    (place / "clip.mp4").write_bytes(b"x")
    (one,) = find_sets("clip.mp4", extract=flat, read_video=lambda path, extract, name: FeatureSet(name, [[1.0, 2.0]]))
    assert (one.name, one.rows.tolist()) == ("clip.mp4", [[1.0, 2.0]])


def test_one_long_recording_is_cut_into_sets_whatever_file_it_is(place):
    rows = RNG.normal(size=(10, 2))
    np.save("long.npy", rows)
    np.savez("long.npz", x=rows)
    (place / "long.csv").write_text("a,b\n" + "".join(f"{a!r},{b!r}\n" for a, b in rows.tolist()))
    for name in ("long.npy", "long.npz", "long.csv"):
        sets = find_sets(name, split_every=4)
        assert [one.name for one in sets] == [f"{name}[0:4]", f"{name}[4:10]"]
        assert np.array_equal(np.concatenate([one.rows for one in sets]), rows)
    assert len(find_sets("faces", split_every=1, extract=flat)) == 6


def test_a_gap_in_an_array_is_refused_dropped_or_filled(place):
    np.save("gap.npy", [[1.0, 2.0], [np.nan, 4.0], [3.0, 6.0]])
    with pytest.raises(InputError, match=r"Set 'gap.npy' lacks a value in column 0 at row 1"):
        Moments.of(find_sets("gap.npy"))
    assert len(find_sets("gap.npy", missing="drop")[0]) == 2
    assert find_sets("gap.npy", missing="impute")[0].rows[1].tolist() == [2.0, 4.0]


def test_learning_from_files_is_learning_from_arrays(place):
    sets = find_sets("calm")
    arrays = {one.name: np.load(place / "calm" / one.name) for one in sets}
    assert np.array_equal(Moments.of(sets).within, Moments.of(arrays).within)


def test_real_faces_as_folders_of_pictures(tmp_path, data):
    """The way of the images is the way of the arrays: nothing is lost on it."""
    faces = np.load(data / "yale_faces" / "extended_yale_b_48x42.npz")
    people = np.unique(faces["subject"])[:4]
    for person in people:
        (tmp_path / f"person {person}").mkdir()
        for number, image in enumerate(faces["images"][faces["subject"] == person]):
            Image.fromarray(image).save(tmp_path / f"person {person}" / f"{number}.png")
    sets = find_sets(tmp_path, extract=flat)
    arrays = {f"person {p}": flat(faces["images"][faces["subject"] == p]) for p in people}
    assert [one.name for one in sets] == list(arrays)
    for one in sets:
        assert np.array_equal(one.rows, arrays[one.name])


def test_real_server_metrics_out_of_an_archive(data):
    sets = find_sets(data / "smd" / "smd_group1.npz", key="*_train")
    assert len(sets) == 7
    assert {one.n_features for one in sets} == {38}
    assert Moments.of(sets).n_rows == sum(len(one) for one in sets) > 7 * 20_000


def test_sets_on_two_drives_are_named_by_their_whole_paths(tmp_path, monkeypatch):
    # As Windows says it: it was a bare ValueError.
    def nothing_in_common(paths):
        raise ValueError("Paths don't have the same drive")

    monkeypatch.setattr("os.path.commonpath", nothing_in_common)
    for name in ("c/mon.npy", "d/mon.npy"):
        (tmp_path / name).parent.mkdir()
        np.save(tmp_path / name, np.ones((2, 2)))
    names = [one.name for one in find_sets([tmp_path / "c", tmp_path / "d"])]
    assert names == [(tmp_path / name).as_posix() for name in ("c/mon.npy", "d/mon.npy")]

"""Denoise rows in their original features, into arrays, tables and pictures."""

import os

import numpy as np
import pandas as pd
import pytest

from tests.pipeline.test_transform import DAYS, sources
from undistract import FileError, Focus, InputError, Model, ReadOptions, Source, learn, read_sources
from undistract.datasets.illumination import illumination_basis
from undistract.pipeline import denoise
from undistract.pipeline.transforms import apply_windowed
from undistract.sources.images import read_image


@pytest.fixture(scope="module")
def X():  # noqa: N802  the usual name of a data matrix
    rng = np.random.default_rng(0)
    return rng.normal(size=(10, 5))[DAYS] + rng.normal(size=(1000, 5)) + 9 * rng.normal(size=(1000, 1)) * np.arange(5)


@pytest.fixture(scope="module")
def focus(X):
    return Focus(n_remove=1).fit(X, groups=DAYS)


@pytest.mark.parametrize("removal", ["oblique", "orthogonal"])
def test_all_sources_give_the_result_of_the_focus(X, focus, tmp_path, removal):
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'undistract[tables]'")
    expected = focus.denoise(X, removal=removal)
    for name, source in sources(X, tmp_path).items():
        told = denoise(source, focus, tmp_path / "clean.npy", removal=removal, chunk_rows=77)
        assert (told.n_rows, told.n_columns, told.cut_off) == (1000, 5, None), name
        assert np.abs(np.load(told.path) - expected).max() < 1e-12 * np.abs(expected).max(), name


def test_float32_stays_float32_unless_dtype_is_passed(X, focus, tmp_path):
    narrow, target = X.astype(np.float32), tmp_path / "clean.npy"
    assert np.load(denoise(narrow, focus, target).path).dtype == np.float32
    assert np.load(denoise(narrow, focus, target, dtype="float64").path).dtype == np.float64


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_table_keeps_columns_and_times_and_can_be_read_again(X, tmp_path, ending):
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'undistract[tables]'")
    when = np.datetime64("2026-03-01T00:00:00") + np.arange(1000).astype("timedelta64[m]")
    table = pd.DataFrame(X, columns=list("abcde"))
    table.insert(0, "when", when)
    table["note"] = "calm"
    table.to_csv(tmp_path / "all.csv", index=False)
    reading = ReadOptions(columns=tuple("abcde"), time="when")
    focus = Focus(n_remove=1).fit(table[list("abcde")], groups=DAYS)
    model = Model(focus, reading=reading, feature_names=tuple("abcde"))
    told = denoise(tmp_path / "all.csv", model, tmp_path / f"clean{ending}", chunk_rows=300)
    (clean,) = read_sources(told.path, reading)
    assert clean.rows == pytest.approx(focus.denoise(table[list("abcde")]), rel=1e-9)
    assert np.array_equal(clean.times, read_sources(tmp_path / "all.csv", reading)[0].times)


def test_table_of_several_sources_has_a_column_with_their_names(X, tmp_path):
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'undistract[tables]'")
    table = pd.DataFrame(X, columns=["set", *"bcde"])  # a feature has the name of the added column
    table["day"] = [f"0{day}" for day in DAYS]
    table.to_csv(tmp_path / "days.csv", index=False)
    focus = Focus(n_remove=1).fit(table[["set", *"bcde"]], groups=DAYS)
    days = ReadOptions(columns=("set", *"bcde"), group="day")
    told = denoise(tmp_path / "days.csv", Model(focus, reading=days), tmp_path / "clean.csv")
    before, after = (read_sources(path, days) for path in (tmp_path / "days.csv", told.path))
    assert [one.name for one in after] == [one.name for one in before]
    clean = pd.read_csv(told.path, dtype={"day": str})
    assert list(clean.columns) == ["day", "set", *"bcde"]
    assert clean.day.tolist() == table.day.tolist()
    both = [Source(name, X[:4], feature_names=["set", *"bcde"]) for name in ("mon", "tue")]
    assert pd.read_csv(denoise(both, focus, told.path).path).set_.tolist() == ["mon"] * 4 + ["tue"] * 4


def test_numbers_are_written_in_the_format_of_the_model(X, focus, tmp_path):
    reading = ReadOptions(delimiter=";", decimal=",", header=False)
    told = denoise(X[:3], Model(focus, reading=reading), tmp_path / "clean.csv")
    first = told.path.read_text().splitlines()[0].split(";")
    assert [float(cell.replace(",", ".")) for cell in first] == focus.denoise(X[:3])[0].tolist()


@pytest.mark.parametrize("chunk_rows", [3, 7, 40, 400])
def test_windows_are_averaged_back_to_rows(chunk_rows):
    rng = np.random.default_rng(0)
    series, when, change = rng.normal(size=(60, 2)), np.arange(60), rng.normal(size=(10, 10))
    windows = np.stack([series[start : start + 5].ravel() for start in range(56)]) @ change
    expected = np.zeros((60, 2))
    for row in range(60):  # slowly: all windows that contain the row
        held = [windows[start].reshape(5, 2)[row - start] for start in range(56) if start <= row < start + 5]
        expected[row] = np.mean(held, axis=0)
    cuts = range(chunk_rows, 60, chunk_rows)
    pieces = zip(np.split(series, cuts), np.split(when, cuts), strict=True)
    made = list(apply_windowed(pieces, 5, lambda rows: rows @ change))
    assert np.concatenate([rows for rows, _ in made]) == pytest.approx(expected)
    assert np.concatenate([times for _, times in made]).tolist() == when.tolist()


def hum(n_rows, rng):
    """A hum of period 6 with a random phase."""
    phase = 2 * np.pi * np.arange(n_rows) / 6 + rng.uniform(0, 7)
    return 3 * np.sin(phase)[:, None]


def test_hum_of_other_machines_is_removed_from_a_signal(tmp_path):
    rng = np.random.default_rng(0)
    for machine in range(20):
        np.save(tmp_path / f"machine{machine}.npy", 5 * rng.normal() + hum(300, rng) + 0.1 * rng.normal(size=(300, 1)))
    reading = ReadOptions(window=12, stride=4)
    model = learn(read_sources(tmp_path, reading), reading=reading, focus=Focus(n_remove=2))
    clean = 2 + np.linspace(0, 1, 200)[:, None] ** 2
    signal = clean + hum(200, rng)
    np.save(tmp_path / "new.npy", signal)
    told = denoise(tmp_path / "new.npy", model.save(tmp_path / "hum.focus"), tmp_path / "clean.npy", chunk_rows=50)
    found = np.load(told.path)
    assert found.shape == signal.shape
    assert np.abs(found - clean).max() < 0.1 * np.abs(signal - clean).max()
    assert denoise(signal, model, tmp_path / "again.npy").n_rows == 200
    with pytest.raises(InputError, match="has 5 rows, too few for a window of 12"):
        denoise(signal[:5], model, tmp_path / "short.npy")
    assert not (tmp_path / "short.npy").exists()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Twenty folders of drawn pictures under light, and a model of them."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow: pip install 'undistract[images]'")
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    light = illumination_basis(4, 3).reshape(2, 4, 3)
    for owner in range(20):
        shown = rng.uniform(0.4, 0.6, size=(4, 3))
        (folder / f"owner {owner}").mkdir()
        for number in range(12):
            lit = shown + 0.1 * np.tensordot(rng.normal(size=2), light, 1)
            pixels = np.rint(255 * np.clip(lit, 0, 1)).astype(np.uint8)
            image.fromarray(pixels).save(folder / f"owner {owner}" / f"shot{number}.jpg", quality=95)
    reading = ReadOptions(features="pixels(size=3x4)")
    return folder, learn(read_sources(folder, reading), reading=reading, focus=Focus(n_remove=2))


def test_pictures_keep_their_names(pictures, tmp_path):
    folder, model = pictures
    told = denoise(folder / "owner 3", model, tmp_path / "clean")
    (rows,) = read_sources(folder / "owner 3", model.reading)
    assert sorted(os.listdir(told.path)) == sorted(f"shot{number}.png" for number in range(12))
    expected = model.focus.denoise(rows.rows)
    for name, row in zip(rows.row_names, expected, strict=True):
        drawn = read_image(told.path / name.replace("jpg", "png"), grey=True) / 255
        assert drawn == pytest.approx(np.clip(row, 0, 1).reshape(4, 3), abs=0.51 / 255)
    assert told.cut_off == pytest.approx(((expected < 0) | (expected > 1)).mean(), abs=0.01)
    before, after = rows.rows.std(axis=0).mean(), expected.std(axis=0).mean()
    assert after < 0.3 * before  # what is left of twelve lights


def test_each_source_gets_a_folder(pictures, tmp_path):
    folder, model = pictures
    told = denoise(folder, model, tmp_path / "clean")
    assert sorted(os.listdir(told.path)) == sorted(f"owner {number}" for number in range(20))
    assert len(list(told.path.rglob("*.png"))) == told.n_rows == 240


def test_names_cannot_escape_the_folder(pictures, tmp_path):
    _, model = pictures
    evil = [Source(name, np.full((1, 12), 0.5), row_names=["../../x.png"]) for name in ("../../up", "/root", "..")]
    (tmp_path / "in").mkdir()
    told = denoise(evil, model, tmp_path / "in" / "clean")
    assert sorted(path.relative_to(told.path).as_posix() for path in told.path.rglob("*.png")) == [
        "root/x.png",
        "set/x.png",
        "up/x.png",
    ]
    assert os.listdir(tmp_path) == ["in"]


def test_sources_never_share_a_folder(pictures, tmp_path):
    # Regression: the second "up" became "up-2", the name of a third source, and overwrote its pictures.
    _, model = pictures
    groups = [Source(name, np.full((1, 12), 0.5)) for name in ("up", "../up", "up-2", "UP-2")]
    told = denoise(groups, model, tmp_path / "clean")
    assert sorted(os.listdir(told.path)) == ["UP-2-3", "up", "up-2", "up-2-2"]
    assert len(list(told.path.rglob("*.png"))) == told.n_rows == 4


def test_non_empty_folder_is_not_changed(pictures, tmp_path):
    folder, model = pictures
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    (tmp_path / "file").write_text("dear")
    with pytest.raises(FileError, match="is not empty"):
        denoise(folder, model, tmp_path / "full")
    with pytest.raises(FileError, match="is a file"):
        denoise(folder, model, tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert denoise(folder / "owner 1", model, tmp_path / "empty").n_rows == 12
    assert sorted(os.listdir(tmp_path)) == ["empty", "file", "full"]


def test_failure_leaves_no_folder(pictures, tmp_path):
    _, model = pictures
    rows = np.full((9, 12), 0.5)
    broken = Source.from_reader("day", lambda: iter([rows, np.full((9, 12), np.nan)]))
    with pytest.raises(InputError, match="holds nan"):
        denoise(broken, model, tmp_path / "clean")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source": np.full((9, 5), np.nan)}, "holds nan at row 0"),
        ({"source": np.ones((9, 4))}, "has 4 features, the model has 5"),
        ({"source": "no-such.npy"}, "there is no such file"),
        ({"source": np.ones((0, 5))}, "is empty"),
        ({"target": "clean.jpg"}, "must end in .npy, .csv, .tsv, .parquet, or be a folder"),
        ({"target": "clean"}, "trained on rows of numbers. End the name in"),
        ({"target": "no/such/clean.npy"}, "there is no folder"),
        ({"dtype": "int8"}, "dtype must be one of float32, float64"),
        ({"focus": 3}, "focus must be a Focus, a Model"),
        ({"removal": "sideways"}, "removal must be one of .* got 'sideways'"),
    ],
)
def test_invalid_call_raises_and_leaves_no_file(focus, tmp_path, monkeypatch, change, words):
    monkeypatch.chdir(tmp_path)
    how = {"source": np.ones((9, 5)), "focus": focus, "target": "clean.npy"} | change
    with pytest.raises(InputError, match=words):
        denoise(how.pop("source"), how.pop("focus"), how.pop("target"), **how)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("features", ["gradients(cells=2x2,bins=4)", "pixels(size=2x2)+gradients(cells=1x1,bins=4)"])
def test_only_pixels_can_be_written_as_pictures(pictures, tmp_path, features):
    folder, _ = pictures
    reading = ReadOptions(features=features)
    model = learn(read_sources(folder, reading), reading=reading, focus=Focus(n_remove=1))
    with pytest.raises(InputError, match="cannot be turned back into pictures; only pixels can"):
        denoise(folder, model, tmp_path / "clean")
    assert denoise(folder, model, tmp_path / "clean.npy").n_columns == model.focus.n_features_in_


def test_network_features_cannot_be_written_as_pictures(pictures, tmp_path):
    onnx = pytest.importorskip("onnx", reason="needs onnx: pip install 'undistract[onnx]'")
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'undistract[onnx]'")
    from tests.features.test_network import save

    kernel = np.random.default_rng(0).normal(size=(5, 3, 3, 3)).astype(np.float32)
    weights = [onnx.numpy_helper.from_array(kernel, "w")]
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"])
    path = save(tmp_path / "five.onnx", [node], ["n", 3, 4, 3], weights=weights)
    reading = ReadOptions(features=f"network(path={path},size=3x4)")
    model = learn(read_sources(pictures[0], reading), reading=reading, focus=Focus(n_remove=1))
    with pytest.raises(InputError, match=r"trained on network\(.*, which cannot be turned back into pictures"):
        denoise(pictures[0], model, tmp_path / "clean")
    assert denoise(pictures[0], model, tmp_path / "clean.npy").n_columns == 5

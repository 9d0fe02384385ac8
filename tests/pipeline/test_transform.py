"""Transform rows into a file."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from undistract import FileError, Focus, InputError, ReadOptions, Source, learn, save, transform
from undistract.pipeline import read_sources

DAYS = np.repeat(np.arange(10), 100)


@pytest.fixture(scope="module")
def X():  # noqa: N802  the usual name of a data matrix
    rng = np.random.default_rng(0)
    return rng.normal(size=(10, 5))[DAYS] + rng.normal(size=(1000, 5)) + 9 * rng.normal(size=(1000, 1)) * np.arange(5)


@pytest.fixture(scope="module")
def focus(X):
    return Focus(n_remove=1).fit(X, groups=DAYS)


def sources(X, folder):
    np.save(folder / "rows.npy", X)
    np.savez_compressed(folder / "rows.npz", rows=X)
    table = pd.DataFrame(X, columns=list("abcde"))
    table.to_csv(folder / "rows.csv", index=False)
    table.to_parquet(folder / "rows.parquet")
    table.to_feather(folder / "rows.feather")
    return {
        **{ending: folder / f"rows{ending}" for ending in (".npy", ".npz", ".csv", ".parquet", ".feather")},
        "text of a path": str(folder / "rows.npy"),
        "array": X,
        "columns first": np.asfortranarray(X),
        "list": X.tolist(),
        "frame": table,
        "memory map": np.load(folder / "rows.npy", mmap_mode="r"),
        "set": Source("day", X),
        "groups": [Source("morning", X[:333]), Source("evening", X[333:])],
        "reader": Source.from_reader("day", lambda: iter(np.array_split(X, 7))),
    }


@pytest.mark.parametrize("chunk_rows", [None, 77])
def test_all_sources_give_the_result_of_the_focus(X, focus, tmp_path, chunk_rows):
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'undistract[tables]'")
    expected = focus.transform(X)
    for name, source in sources(X, tmp_path).items():
        found = transform(source, focus, tmp_path / "clean.npy", chunk_rows=chunk_rows)
        assert isinstance(found, np.memmap), name
        assert not found.flags.writeable, name
        assert found.dtype == np.float64, name
        assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max(), name


@pytest.mark.parametrize("removal", ["orthogonal", "eigen", "oblique"])
def test_float32_stays_float32_unless_dtype_is_passed(X, tmp_path, removal):
    focus = Focus(n_remove=1, removal=removal).fit(X, groups=DAYS)
    narrow, target = X.astype(np.float32), tmp_path / "clean.npy"
    expected = focus.transform(narrow)
    assert expected.dtype == np.float32
    found = transform(narrow, focus, target, chunk_rows=64)
    assert found.dtype == np.float32
    assert np.allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    assert transform(narrow, focus, target, dtype="float64").dtype == np.float64
    assert transform(X, focus, target, dtype=np.float32).dtype == np.float32
    assert transform(narrow.astype(int), focus, target).dtype == np.float64
    assert transform(narrow.astype(">f4"), focus, target).shape == (1000, found.shape[1])


def test_rows_are_bit_identical_for_equal_chunks(X, focus, tmp_path):
    whole = transform(X, focus, tmp_path / "whole.npy", chunk_rows=1000)
    assert np.array_equal(whole, focus.transform(X))


def test_saved_model_has_the_reading_options(tmp_path, X):
    rng = np.random.default_rng(0)
    for day in range(12):
        np.save(tmp_path / f"day{day}.npy", rng.normal(size=(60, 3)) + rng.normal(size=3))
    reading = ReadOptions(window=2)
    model = learn(read_sources(tmp_path, reading), reading=reading, focus=Focus(n_remove=1))
    path = model.save(tmp_path / "street.focus")
    found = transform(tmp_path / "day3.npy", path, tmp_path / "clean.npy")
    (pairs,) = read_sources(tmp_path / "day3.npy", reading)
    assert found == pytest.approx(model.focus.transform(pairs.rows), rel=1e-12)
    assert transform(pairs, model.detector, tmp_path / "again.npy").shape == (59, 5)


def test_output_may_replace_its_source(X, focus, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    found = transform(tmp_path / "rows.npy", focus, tmp_path / "rows.npy", chunk_rows=100)
    assert found.shape == (1000, 4)
    assert os.listdir(tmp_path) == ["rows.npy"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source": np.full((9, 5), np.nan)}, "holds nan at row 0"),
        ({"source": np.ones((9, 4))}, "has 4 features, the model has 5"),
        (
            {"source": [Source("a", np.ones((9, 5))), Source("b", np.ones((9, 5), "f4"))]},
            "'b' has dtype float32",
        ),
        ({"source": "no-such.npy"}, "there is no such file"),
        ({"source": np.ones((0, 5))}, "is empty"),
        ({"target": "clean.csv"}, r"must end in \.npy"),
        ({"target": "no/such/clean.npy"}, "there is no folder"),
        ({"dtype": "int8"}, "dtype must be one of float32, float64"),
        ({"focus": 3}, "focus must be a Focus, a Model"),
    ],
)
def test_invalid_call_raises_and_leaves_no_file(focus, tmp_path, monkeypatch, change, words):
    monkeypatch.chdir(tmp_path)
    how = {"source": np.ones((9, 5)), "focus": focus, "target": "clean.npy"} | change
    with pytest.raises(InputError, match=words):
        transform(how.pop("source"), how.pop("focus"), how.pop("target"), **how)
    assert os.listdir(tmp_path) == []


def test_columns_in_another_order_are_rejected(X, tmp_path):
    table = pd.DataFrame(X, columns=list("abcde"))
    focus = Focus(n_remove=1).fit(table, groups=DAYS)
    assert transform(table, focus, tmp_path / "clean.npy").shape == (1000, 4)
    with pytest.raises(InputError, match="the feature 'e', the model has 'a'"):
        transform(table[list("edcba")], focus, tmp_path / "clean.npy")


def test_full_disk_raises_and_keeps_the_old_file(X, focus, tmp_path):
    target = tmp_path / "clean.npy"
    np.save(target, [1.0])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
        with pytest.raises(FileError, match=r"cannot be written: File too large\. The old file is unchanged"):
            transform(X, focus, target, chunk_rows=100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert np.load(target).tolist() == [1.0]
    assert os.listdir(tmp_path) == ["clean.npy"]


def test_old_file_survives_a_kill(X, focus, tmp_path):
    target = tmp_path / "clean.npy"
    np.save(target, [1.0])
    save(focus, tmp_path / "street.focus")
    code = (
        "import sys, numpy as np; from undistract import Source, transform\n"
        "def read():\n    while True:\n        yield np.ones((100, 5))\n        print(flush=True)\n"
        "transform(Source.from_reader('endless', read), sys.argv[1], sys.argv[2])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "street.focus"), str(target)], stdout=subprocess.PIPE
    ) as writer:
        for _ in range(100):
            writer.stdout.readline()
        writer.kill()
    assert np.load(target).tolist() == [1.0]
    left = [name for name in os.listdir(tmp_path) if Path(name).suffix != ".tmp"]
    assert sorted(left) == ["clean.npy", "street.focus"]

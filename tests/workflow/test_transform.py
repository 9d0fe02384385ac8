"""Rows of any number through a focus, into a file."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from undistract import FeatureSet, FileError, Focus, InputError, Reading, learn, save, transform
from undistract.workflow import read_sets

DAYS = np.repeat(np.arange(10), 100)


@pytest.fixture(scope="module")
def X():  # noqa: N802  rows are called so everywhere
    rng = np.random.default_rng(0)
    return rng.normal(size=(10, 5))[DAYS] + rng.normal(size=(1000, 5)) + 9 * rng.normal(size=(1000, 1)) * np.arange(5)


@pytest.fixture(scope="module")
def focus(X):
    return Focus(n_remove=1).fit(X, sets=DAYS)


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
        "set": FeatureSet("day", X),
        "sets": [FeatureSet("morning", X[:333]), FeatureSet("evening", X[333:])],
        "reader": FeatureSet.reading("day", lambda: iter(np.array_split(X, 7))),
    }


@pytest.mark.parametrize("chunk_rows", [None, 77])
def test_every_source_gives_what_the_focus_gives(X, focus, tmp_path, chunk_rows):
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'undistract[tables]'")
    expected = focus.transform(X)
    for name, source in sources(X, tmp_path).items():
        found = transform(source, focus, tmp_path / "clean.npy", chunk_rows=chunk_rows)
        assert isinstance(found, np.memmap), name
        assert not found.flags.writeable, name
        assert found.dtype == np.float64, name
        assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max(), name


@pytest.mark.parametrize("removal", ["kept_span", "eigen", "oblique"])
def test_float32_stays_float32_and_another_dtype_can_be_asked_for(X, tmp_path, removal):
    focus = Focus(n_remove=1, removal=removal).fit(X, sets=DAYS)
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


def test_a_row_is_the_same_to_the_bit_where_chunks_are_the_same(X, focus, tmp_path):
    whole = transform(X, focus, tmp_path / "whole.npy", chunk_rows=1000)
    assert np.array_equal(whole, focus.transform(X))


def test_a_saved_model_says_how_rows_are_made(tmp_path, X):
    rng = np.random.default_rng(0)
    for day in range(12):
        np.save(tmp_path / f"day{day}.npy", rng.normal(size=(60, 3)) + rng.normal(size=3))
    reading = Reading(window=2)
    model = learn(read_sets(tmp_path, reading), reading=reading, focus=Focus(n_remove=1))
    path = model.save(tmp_path / "street.focus")
    found = transform(tmp_path / "day3.npy", path, tmp_path / "clean.npy")
    (pairs,) = read_sets(tmp_path / "day3.npy", reading)
    assert found == pytest.approx(model.focus.transform(pairs.rows), rel=1e-12)
    assert transform(pairs, model.watch, tmp_path / "again.npy").shape == (59, 5)


def test_the_file_may_replace_its_source(X, focus, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    found = transform(tmp_path / "rows.npy", focus, tmp_path / "rows.npy", chunk_rows=100)
    assert found.shape == (1000, 4)
    assert os.listdir(tmp_path) == ["rows.npy"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source": np.full((9, 5), np.nan)}, "holds nan at row 0"),
        ({"source": np.ones((9, 4))}, "has 4 features, the model learned from 5"),
        ({"source": [FeatureSet("a", np.ones((9, 5))), FeatureSet("b", np.ones((9, 5), "f4"))]}, "'b' is float32"),
        ({"source": "no-such.npy"}, "there is no such file"),
        ({"source": np.ones((0, 5))}, "is empty"),
        ({"target": "clean.csv"}, r"rows are written as \.npy"),
        ({"target": "no/such/clean.npy"}, "there is no folder"),
        ({"dtype": "int8"}, "expected one of float32, float64"),
        ({"focus": 3}, "expected a Focus, a Model"),
    ],
)
def test_what_cannot_be_done_is_said_and_leaves_no_file(focus, tmp_path, monkeypatch, change, words):
    monkeypatch.chdir(tmp_path)
    how = {"source": np.ones((9, 5)), "focus": focus, "target": "clean.npy"} | change
    with pytest.raises(InputError, match=words):
        transform(how.pop("source"), how.pop("focus"), how.pop("target"), **how)
    assert os.listdir(tmp_path) == []


def test_columns_in_another_order_are_refused(X, tmp_path):
    table = pd.DataFrame(X, columns=list("abcde"))
    focus = Focus(n_remove=1).fit(table, sets=DAYS)
    assert transform(table, focus, tmp_path / "clean.npy").shape == (1000, 4)
    with pytest.raises(InputError, match="the feature 'e' where the model learned from 'a'"):
        transform(table[list("edcba")], focus, tmp_path / "clean.npy")


def test_a_full_disk_is_an_error_and_leaves_the_old_file(X, focus, tmp_path):
    target = tmp_path / "clean.npy"
    np.save(target, [1.0])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
        with pytest.raises(FileError, match=r"cannot be written: File too large\. What was there before is unchanged"):
            transform(X, focus, target, chunk_rows=100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert np.load(target).tolist() == [1.0]
    assert os.listdir(tmp_path) == ["clean.npy"]


def test_killed_in_the_middle_the_old_file_is_there(X, focus, tmp_path):
    target = tmp_path / "clean.npy"
    np.save(target, [1.0])
    save(focus, tmp_path / "street.focus")
    code = (
        "import sys, numpy as np; from undistract import FeatureSet, transform\n"
        "def read():\n    while True:\n        yield np.ones((100, 5))\n        print(flush=True)\n"
        "transform(FeatureSet.reading('endless', read), sys.argv[1], sys.argv[2])"
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

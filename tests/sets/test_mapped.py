"""Mapped files: read piece by piece, the same rows, and changes that are not in the file stay."""

import numpy as np
import pytest

from undistract import FeatureSet, Focus
from undistract.sets import mapped


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "PIECE_BYTES", 1000)
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(500, 4)))
    return tmp_path / "rows.npy"


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_mapped_set_reads_the_same_rows_and_times_in_any_chunks(path, mode):
    rows = np.load(path, mmap_mode=mode)
    one = FeatureSet("year", rows[100:], times=np.arange(400))
    for size in (None, 7, 1000):
        pieces = list(one.timed_chunks(size))
        assert np.array_equal(np.concatenate([piece for piece, _ in pieces]), np.load(path)[100:])
        assert np.concatenate([times for _, times in pieces]).tolist() == list(range(400))
    assert np.array_equal(one.rows, np.load(path)[100:])
    assert len(one) == 400


@pytest.mark.parametrize("mode", ["r+", "c"])
def test_changes_survive_a_reading(path, mode):
    rows = np.load(path, mmap_mode=mode)
    rows[:, 2] = 7.0
    list(FeatureSet("year", rows).chunks())
    assert (rows[:, 2] == 7.0).all()


@pytest.mark.parametrize("kind", [dict, list, lambda pairs: [rows for _, rows in pairs]])
def test_mapped_sets_teach_what_arrays_teach(path, kind):
    rows = np.load(path, mmap_mode="r")
    parts, arrays = ([(n, X[n * 100 : (n + 1) * 100]) for n in range(5)] for X in (rows, np.load(path)))
    found, expected = (Focus(n_remove=1).fit_sets(kind(sets)) for sets in (parts, arrays))
    assert found.moments_.names == expected.moments_.names
    assert found.moments_.total == pytest.approx(expected.moments_.total, rel=1e-12)

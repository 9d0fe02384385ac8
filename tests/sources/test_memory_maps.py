"""Memory-mapped files are read in blocks with the same rows; private changes are kept."""

import numpy as np
import pytest

from undistract import Focus, Source
from undistract.sources import source as mapped


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "MAPPED_BYTES", 1000)
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(500, 4)))
    return tmp_path / "rows.npy"


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_mapped_rows_do_not_depend_on_chunk_size(path, mode):
    rows = np.load(path, mmap_mode=mode)
    source = Source("year", rows[100:], times=np.arange(400))
    for size in (None, 7, 1000):
        chunks = list(source.timed_chunks(size))
        assert np.array_equal(np.concatenate([chunk for chunk, _ in chunks]), np.load(path)[100:])
        assert np.concatenate([times for _, times in chunks]).tolist() == list(range(400))
    assert np.array_equal(source.rows, np.load(path)[100:])
    assert len(source) == 400


@pytest.mark.parametrize("mode", ["r+", "c"])
def test_changes_survive_a_read(path, mode):
    rows = np.load(path, mmap_mode=mode)
    rows[:, 2] = 7.0
    list(Source("year", rows).chunks())
    assert (rows[:, 2] == 7.0).all()


@pytest.mark.parametrize("kind", [dict, list, lambda pairs: [rows for _, rows in pairs]])
def test_mapped_groups_fit_like_arrays(path, kind):
    rows = np.load(path, mmap_mode="r")
    parts, arrays = ([(n, X[n * 100 : (n + 1) * 100]) for n in range(5)] for X in (rows, np.load(path)))
    fitted, expected = (Focus(n_remove=1).fit_groups(kind(groups)) for groups in (parts, arrays))
    assert fitted.moments_.names == expected.moments_.names
    assert fitted.moments_.total == pytest.approx(expected.moments_.total, rel=1e-12)

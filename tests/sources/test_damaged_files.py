"""Damaged files of all formats return rows without NaN or raise an InputError."""

import numpy as np
import pytest

from tests.campaigns.loaders import WRITERS, damaged
from undistract import InputError
from undistract.sources import discover_sources
from undistract.sources.options import ReadOptions

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("PIL.Image")


@pytest.mark.parametrize("name", WRITERS)
def test_damaged_file_returns_rows_or_raises_input_error(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    is_table = name in ("t.csv", "t.parquet", "t.feather", "t.arrow")
    location = path if is_table or name.startswith("t.np") else tmp_path
    options = ReadOptions(group="g" if is_table else None)
    n_errors = 0
    for _ in range(60):
        path.write_bytes(damaged(content, rng))
        try:
            for source in discover_sources(location, options, extract=lambda frames: frames.reshape(len(frames), -1)):
                assert not np.isnan(source.rows).any()
        except InputError:
            n_errors += 1
    assert n_errors > 5

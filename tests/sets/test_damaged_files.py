"""Damaged files of every kind give rows or one error that says what to do; nothing else, and no NaN."""

import numpy as np
import pytest

from tests.campaigns.loaders import WRITERS, damaged
from undistract import InputError
from undistract.sets import find_sets

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("PIL.Image")


@pytest.mark.parametrize("name", WRITERS)
def test_damaged_files_give_rows_or_one_error(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    is_table = name in ("t.csv", "t.parquet", "t.feather", "t.arrow")
    where = path if is_table or name.startswith("t.np") else tmp_path
    refused = 0
    for _ in range(60):
        path.write_bytes(damaged(whole, rng))
        try:
            for one in find_sets(
                where, group="g" if is_table else None, extract=lambda frames: frames.reshape(len(frames), -1)
            ):
                assert not np.isnan(one.rows).any()
        except InputError:
            refused += 1
    assert refused > 5

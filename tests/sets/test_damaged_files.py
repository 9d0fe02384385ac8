"""Damaged files of every kind give rows or one error that says what to do; nothing else, and no NaN."""

import numpy as np
import pytest

from undistract import InputError
from undistract.sets import find_sets

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
Image = pytest.importorskip("PIL.Image")

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 3))
FRAME = pandas.DataFrame(ROWS, columns=["a", "b", "c"]).assign(g=["x", "y", "z"] * 20)
PICTURE = Image.fromarray(RNG.integers(0, 256, (16, 12, 3), dtype=np.uint8))
WRITERS = {
    "t.npy": lambda path: np.save(path, ROWS),
    "t.npz": lambda path: np.savez_compressed(path, x=ROWS, y=ROWS),
    "t.csv": lambda path: FRAME.to_csv(path, index=False),
    "t.parquet": lambda path: FRAME.to_parquet(path, row_group_size=20),
    "t.feather": lambda path: FRAME.to_feather(path),
    "t.arrow": lambda path: FRAME.to_feather(path, compression="uncompressed"),
    **{f"t.{ending}": lambda path: PICTURE.save(path) for ending in ("png", "jpg", "ppm", "tif", "bmp")},
}


def damaged(whole, rng):
    """Flip some bytes, cut a piece out, put one in, or end early; most of it near the start, where headers are."""
    contents = bytearray(whole)
    reach = len(contents) if rng.random() < 0.5 else min(len(contents), 200)
    for _ in range(rng.integers(1, 6)):
        contents[rng.integers(reach) % len(contents)] = rng.integers(256)
    place, length = rng.integers(reach), int(rng.integers(1, 40))
    kind = rng.integers(5)
    if kind == 0:
        del contents[place : place + length]
    elif kind == 1:
        contents[place:place] = rng.bytes(length)
    elif kind == 2:
        del contents[place:]
    return bytes(contents)


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

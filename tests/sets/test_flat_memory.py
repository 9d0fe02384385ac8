"""Ten times the rows take no more memory: the highest mark of a process of its own, small file first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sets.flat_reading import SIZES, WIDTH, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the highest mark is told in other ways")

MORE = (SIZES["large"] - SIZES["small"]) * WIDTH * 8 / 1024  # kilobytes that the long file has more

CASES = [
    ("generator", "fit_sets"),
    ("memmap", "arrays"),
    ("npy", "learn"),
    ("npz", "fit_sets"),
    ("csv", "fit_sets"),
    ("parquet", "fit_sets"),
    ("feather", "fit_sets"),
    ("arrow", "fit_sets"),
    ("memmap", "transform"),
    ("parquet", "denoise"),
]


@pytest.mark.parametrize(("kind", "what"), CASES, ids=[" by ".join(case) for case in CASES])
def test_ten_times_the_rows_take_no_more_memory(kind, what, tmp_path):
    if kind in ("csv", "parquet", "feather", "arrow"):
        pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'undistract[tables]'")
    write(kind, tmp_path)
    line = [sys.executable, "-m", "tests.sets.flat_reading", kind, what, str(tmp_path)]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    told = subprocess.run(
        line, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2], env=one_thread
    )
    small, large = map(int, told.stdout.split())
    assert large < 1.2 * small
    # The process itself is large, so that a share of it may hide a share of the file: neither is taken.
    grown = max(MORE, *(path.stat().st_size * 0.9 / 1024 for path in tmp_path.glob("large.*")), 0)
    assert large - small < 0.5 * grown

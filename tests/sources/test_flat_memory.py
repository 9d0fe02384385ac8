"""Ten times as many rows need no more memory, measured as the peak of a separate process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sources.flat_reading import SIZES, WIDTH, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")

MORE = (SIZES["large"] - SIZES["small"]) * WIDTH * 8 / 1024  # kilobytes by which the long file is larger

CASES = [
    ("generator", "fit_groups"),
    ("memmap", "arrays"),
    ("npy", "learn"),
    ("npz", "fit_groups"),
    ("csv", "fit_groups"),
    ("parquet", "fit_groups"),
    ("feather", "fit_groups"),
    ("arrow", "fit_groups"),
    ("memmap", "transform"),
    ("parquet", "denoise"),
]


@pytest.mark.parametrize(("kind", "work"), CASES, ids=[" by ".join(case) for case in CASES])
def test_memory_does_not_grow_with_rows(kind, work, tmp_path):
    if kind in ("csv", "parquet", "feather", "arrow"):
        pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'undistract[tables]'")
    write(kind, tmp_path)
    line = [sys.executable, "-m", "tests.sources.flat_reading", kind, work, str(tmp_path)]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    result = subprocess.run(
        line, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2], env=one_thread
    )
    small, large = map(int, result.stdout.split())
    assert large < 1.2 * small
    # The process itself is large and 20 % of it could hide much of the file, so compare with the file too.
    grown = max(MORE, *(path.stat().st_size * 0.9 / 1024 for path in tmp_path.glob("large.*")), 0)
    assert large - small < 0.5 * grown

"""Learn from one .npy file that is larger than memory should be, and print the most memory that was in use.

    python benchmarks/large_file.py [--gigabytes 5] [--features 256] [--groups 50] [--folder DIR]

The file is made on the spot, in chunks, from random numbers (nothing in it packs or repeats), then removed. It holds
one long recording: light moves one direction of every row, and each stretch of it has its own mean. Learning runs
in a separate process, whose peak of resident memory is read when it is done; mapped pages count. What this process
has in use would count there, too (Linux hands it on), so the file is written without being mapped.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

CHUNK_ROWS = 2**15
LEARN = """
import resource, sys, time
from undistract.focus import Focus
from undistract.sources import discover_sources

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

before, start = peak(), time.perf_counter()
focus = Focus().fit_groups(discover_sources(sys.argv[1], split_every=int(sys.argv[2])))
seconds = time.perf_counter() - start
print(focus.moments_.n_groups, focus.moments_.n_rows, focus.n_removed_, seconds, before, peak())
"""


def write_recording(path: Path, n_rows: int, n_features: int, n_groups: int) -> None:
    light = np.linspace(-1.0, 1.0, n_features, dtype=np.float32)
    means = np.random.default_rng(0).standard_normal((n_groups, n_features), dtype=np.float32)
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_features)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n_rows, CHUNK_ROWS):
            stop = min(start + CHUNK_ROWS, n_rows)
            rng = np.random.default_rng([1, start])
            rows = rng.standard_normal((stop - start, n_features), dtype=np.float32)
            rows += 9 * rng.standard_normal((stop - start, 1), dtype=np.float32) * light
            rows += means[np.arange(start, stop) * n_groups // n_rows]
            rows.tofile(file)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--gigabytes", type=float, default=5.0)
    options.add_argument("--features", type=int, default=256)
    options.add_argument("--groups", type=int, default=50)
    options.add_argument("--folder", type=Path, default=None, help="where the file is made; else a temporary folder")
    given = options.parse_args()
    per_group = int(given.gigabytes * 1e9 / (4 * given.features)) // given.groups
    with TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "recording.npy"
        start = time.perf_counter()
        write_recording(path, per_group * given.groups, given.features, given.groups)
        print(f"Wrote {path.stat().st_size / 1e9:.2f} GB in {time.perf_counter() - start:.0f} s.")
        alone = os.environ | {"OMP_NUM_THREADS": "1"}
        words = subprocess.run(
            [sys.executable, "-c", LEARN, str(path), str(per_group)],
            env=alone,
            check=True,
            capture_output=True,
            text=True,
        )
        n_groups, n_rows, n_removed, seconds, before, peak = words.stdout.split()
        print(
            f"Learned from {n_groups} groups with {n_rows} rows of {given.features} features in {float(seconds):.0f} s "
            f"({path.stat().st_size / 1e6 / float(seconds):.0f} MB/s); {n_removed} direction(s) removed.\n"
            f"Peak memory {float(peak) / 1e6:.0f} MB ({float(before) / 1e6:.0f} MB before), "
            f"{float(peak) / path.stat().st_size:.1%} of the file."
        )


if __name__ == "__main__":
    main()

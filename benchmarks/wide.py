"""Few rows of very many features: time and memory of every step, in units of the rows as float64.

    python -m benchmarks.wide [--rows 500] [--groups 10] [--features 100000] [--dtype float64]

Memory is the peak of resident memory over what was in use before the step (Linux); mapped files count while they are
read. Each figure is of one run, CPU time with one BLAS thread (OMP_NUM_THREADS=1).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from undistract import EvidenceWarning, Focus, load, save


def resident(kind: str) -> int:
    """Read VmRSS (now) or VmHWM (the peak so far), in bytes."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith(kind)))


class Steps:
    """Runs steps and prints what each took."""

    def __init__(self, unit: int) -> None:
        self._unit = unit
        print("| step | CPU, s | peak | stays |\n| --- | --- | --- | --- |", flush=True)

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the peak so far
        before, start = resident("VmRSS"), time.process_time()
        made = work()
        seconds = time.process_time() - start
        peak, stays = ((resident(kind) - before) / self._unit for kind in ("VmHWM", "VmRSS"))
        print(f"| {name} | {seconds:.1f} | {peak:.1f} | {stays:.1f} |", flush=True)
        return made


def drawn(n_rows: int, n_groups: int, n_features: int, dtype: str) -> tuple[Any, Any]:
    """Draw groups with means of their own under a light of two directions."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_rows) * n_groups // n_rows
    light = rng.standard_normal((2, n_features), dtype=np.float32)
    X = np.empty((n_rows, n_features), dtype=dtype)
    for number in range(n_groups):
        mean = 2 * rng.standard_normal(n_features, dtype=np.float32)
        for place in np.flatnonzero(labels == number):
            strength = 3 * rng.standard_normal(2, dtype=np.float32)
            X[place] = rng.standard_normal(n_features, dtype=np.float32) + mean + strength @ light
    return X, labels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--features", type=int, default=100_000)
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    wanted = parser.parse_args()
    warnings.simplefilter("ignore", EvidenceWarning)
    X, labels = drawn(wanted.rows, wanted.groups, wanted.features, wanted.dtype)
    half = wanted.rows // 2
    step = Steps(8 * X.size)
    focus = step("fit", lambda: Focus().fit(X, groups=labels))
    Z = step("transform", lambda: focus.transform(X))
    step("inverse_transform", lambda: focus.inverse_transform(Z))
    Z = None
    step("denoise", lambda: focus.denoise(X))
    step("describe", focus.describe)
    with TemporaryDirectory() as folder:
        path = step("save", lambda: save(focus, Path(folder) / "wide.focus"))
        step("load", lambda: load(path))
        size = path.stat().st_size / (8 * X.size)
    focus = None
    step("fit_groups", lambda: Focus().fit_groups((number, X[labels == number]) for number in range(wanted.groups)))
    step(
        "partial_fit, twice",
        lambda: Focus().partial_fit(X[:half], groups=labels[:half]).partial_fit(X[half:], groups=labels[half:]),
    )
    print(f"The file takes {size:.1f} times the rows.")


if __name__ == "__main__":
    main()

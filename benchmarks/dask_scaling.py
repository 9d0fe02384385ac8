"""Time the gathering of moments by one and by two worker processes, and count what travels.

    python -m benchmarks.dask_scaling [--rows 400000] [--features 256] [--rounds 5] [--workers 1 2]

Files of rows (.npy, float64) are read and summed up by worker processes on this machine, one BLAS thread each. The same
rows are gathered by each cluster in turn, several rounds; wall time, because that is what a second worker is for. The
ratio of the best rounds is printed beside the ratio of the medians and the load of the machine: where others work on
the same cores, it measures them as well. What travels is counted as the
bytes of a task and of its result.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from distributed.protocol import serialize_bytes

from undistract.algebra.prior import Prior
from undistract.parallel import gather, opened_cluster
from undistract.parallel.one_by_one import set_pieces
from undistract.parallel.part import join
from undistract.parallel.plan import branches


def write_files(folder: Path, n_rows: int, n_features: int, n_files: int) -> None:
    for number in range(n_files):
        rng = np.random.default_rng(number)
        rows = rng.normal(size=(n_rows // n_files, n_features)) + rng.normal(size=n_features)
        np.save(folder / f"day{number}.npy", rows)


def shipped(folder: Path) -> tuple[int, int, int, int]:
    """Count bytes: of a leaf's task, its rows, its result, and the result of a branch of eight."""
    pieces = set_pieces([str(folder)], watch=None, noted={}, travels=lambda _: True)
    branch = next(branches(pieces, Prior.of("uniform"), 8))
    leaf, before = branch.leaves[0]
    part = leaf.sum_up(*before)
    joined = join([one.sum_up(*before) for one, before in branch.leaves])
    n_rows = sum(source.rows.known_length for source in leaf.sources)
    return (
        len(serialize_bytes(leaf)),
        8 * n_rows * part.n_features,
        len(serialize_bytes(part, compression=False)),
        len(serialize_bytes(joined, compression=False)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in {"rows": 400_000, "features": 256, "files": 16, "rounds": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    asked = parser.parse_args()
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        write_files(folder, asked.rows, asked.features, asked.files)
        print(f"{asked.rows} rows of {asked.features} features in {asked.files} files, {os.cpu_count()} cores")
        task, rows, leaf, branch = shipped(folder)
        print(f"a leaf: {rows / 1e6:.2f} MB of rows; its task is {task / 1e3:.1f} kB, its sum {leaf / 1e3:.0f} kB")
        print(f"a branch of 8 leaves: {8 * rows / 1e6:.1f} MB of rows are read, {branch / 1e3:.0f} kB come back")
        clients = {n: stack.enter_context(opened_cluster(f"local:{n}")) for n in asked.workers}
        for client in clients.values():
            gather([str(folder)], client)  # imports, and files in the cache of the system
        seconds: dict[int, list[float]] = {n: [] for n in clients}
        work: dict[int, list[float]] = {n: [] for n in clients}  # CPU time of the busiest worker
        for number in range(asked.rounds):
            loads = []
            for n, client in clients.items():
                before, begun = client.run(time.process_time), time.perf_counter()
                gather([str(folder)], client)
                seconds[n].append(time.perf_counter() - begun)
                after = client.run(time.process_time)
                work[n].append(max(after[worker] - before[worker] for worker in after))
                loads.append(os.getloadavg()[0])
            told = ", ".join(
                f"{n} workers {times[-1]:.2f} s, of CPU {work[n][-1]:.2f} s" for n, times in seconds.items()
            )
            print(f"round {number}: {told}; load {max(loads):.1f}", flush=True)
        first = asked.workers[0]
        for n in asked.workers[1:]:
            best = min(seconds[first]) / min(seconds[n])
            middle = statistics.median(seconds[first]) / statistics.median(seconds[n])
            print(f"{first} -> {n} workers: {best:.2f} times the throughput (best rounds), {middle:.2f} (medians)")
            share = statistics.median(work[first]) / statistics.median(work[n])
            print(f"    CPU time of the busiest worker: {share:.2f} times less, the most that idle cores could show")


if __name__ == "__main__":
    main()

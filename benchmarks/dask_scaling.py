"""Time the gathering of moments by one and by two worker processes, and count what travels.

    python -m benchmarks.dask_scaling [--rows 400000] [--features 256] [--rounds 5] [--workers 1 2]

Files of rows (.npy, float64) are read and summed up by worker processes on this machine, one BLAS thread each. The same
rows are gathered by each cluster, interleaved over several rounds; wall time, which a second worker should reduce. The
ratio of the best rounds is printed next to the ratio of the medians and the load of the machine: other programs on the
same cores change it too. Traffic is counted as the bytes of a task and of its result.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from distributed.protocol import serialize_bytes

from undistract.algebra.groups import Prior
from undistract.parallel import gather, open_cluster
from undistract.parallel.gathering import group_pieces
from undistract.parallel.runners import LocalRunner
from undistract.parallel.tasks import join, plan


def write_files(folder: Path, n_rows: int, n_features: int, n_files: int) -> None:
    for number in range(n_files):
        rng = np.random.default_rng(number)
        rows = rng.normal(size=(n_rows // n_files, n_features)) + rng.normal(size=n_features)
        np.save(folder / f"day{number}.npy", rows)


def shipped(folder: Path) -> tuple[int, int, int, int]:
    """Count bytes: of a leaf's task, its rows, its result, and the result of a branch of eight."""
    pieces = group_pieces([str(folder)], [], {}, None, LocalRunner())
    leaves = list(islice(plan(pieces, Prior.of("uniform")), 8))
    leaf = leaves[0]
    part = leaf.compute(*leaf.call[1])
    joined = join([leaf.compute(*leaf.call[1]) for leaf in leaves])
    n_rows = sum(piece.n_rows or 0 for piece in leaf.pieces)
    return (
        len(serialize_bytes(leaf.call[0])),
        8 * n_rows * part.n_features,
        len(serialize_bytes(part, compression=False)),
        len(serialize_bytes(joined, compression=False)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in {"rows": 400_000, "features": 256, "files": 16, "rounds": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        write_files(folder, arguments.rows, arguments.features, arguments.files)
        print(
            f"{arguments.rows} rows of {arguments.features} features in {arguments.files} files, {os.cpu_count()} cores"
        )
        task, rows, leaf, branch = shipped(folder)
        print(f"a leaf: {rows / 1e6:.2f} MB of rows; its task is {task / 1e3:.1f} kB, its sum {leaf / 1e3:.0f} kB")
        print(f"a branch of 8 leaves: {8 * rows / 1e6:.1f} MB of rows are read, {branch / 1e3:.0f} kB come back")
        clients = {n: stack.enter_context(open_cluster(f"local:{n}")) for n in arguments.workers}
        for client in clients.values():
            gather([str(folder)], client)  # imports, and files in the cache of the system
        seconds: dict[int, list[float]] = {n: [] for n in clients}
        work: dict[int, list[float]] = {n: [] for n in clients}  # CPU time of the busiest worker
        for number in range(arguments.rounds):
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
        first = arguments.workers[0]
        for n in arguments.workers[1:]:
            best = min(seconds[first]) / min(seconds[n])
            middle = statistics.median(seconds[first]) / statistics.median(seconds[n])
            print(f"{first} -> {n} workers: {best:.2f} times the throughput (best rounds), {middle:.2f} (medians)")
            share = statistics.median(work[first]) / statistics.median(work[n])
            print(f"    CPU time of the busiest worker: {share:.2f} times less, the most that idle cores could show")


if __name__ == "__main__":
    main()

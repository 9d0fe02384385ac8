"""Workers may die at any moment: the moments have the same bits.

    python -m tests.campaigns.workers [--kills 20] [--workers 3] [--seed 0]

Workers of a cluster on this machine read files and sum them up, again and again. A thread kills one of them by its
process id (kill -9) at random moments while a run is under way; Dask starts another in its place, and the next kill
waits for it: with all workers dead for good there would be no run.
After each run the bits are compared with those that this process found by itself.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import distributed
import numpy as np

from tests.parallel.making import bits
from undistract.parallel import gather


class Killer(threading.Thread):
    """Kills a worker now and then, while a run is under way."""

    def __init__(self, cluster, most: int, seed: int, pause: float) -> None:
        super().__init__(daemon=True)
        self.cluster, self.most, self.random, self.pause = cluster, most, random.Random(seed), pause
        self.n_workers = len(cluster.scheduler.workers)
        self.running, self.ended = threading.Event(), threading.Event()
        self.kills = 0

    def run(self) -> None:
        while not self.ended.wait(self.random.uniform(0, 2 * self.pause)):
            if not self.running.is_set() or self.kills == self.most or self._n_alive() < self.n_workers:
                continue
            nannies = [worker for worker in self.cluster.workers.values() if worker.process is not None]
            pids = [worker.process.pid for worker in nannies if worker.process.pid is not None]
            if pids and self.running.is_set():
                try:
                    os.kill(self.random.choice(pids), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                self.kills += 1
                while self._n_alive() == self.n_workers and not self.ended.wait(0.01):
                    pass  # until the scheduler has heard of it

    def _n_alive(self) -> int:
        return len(self.cluster.scheduler.workers)


def write_files(folder: Path, n_files: int, n_rows: int, n_features: int) -> None:
    for number in range(n_files):
        rng = np.random.default_rng(number)
        rows = rng.normal(size=(n_rows + 100 * number, n_features)) + rng.normal(size=n_features)
        np.save(folder / f"day{number}.npy", rows)


def campaign(
    kills: int, *, n_workers: int = 3, seed: int = 0, n_files: int = 12, n_rows: int = 20_000, pause: float = 0.3
) -> tuple[Counter, list[str]]:
    """Run until so many workers were killed in mid-run; return what was counted, and what went wrong."""
    counts: Counter = Counter()
    complaints: list[str] = []
    with TemporaryDirectory() as folder:
        write_files(Path(folder), n_files, n_rows, 64)
        expected = bits(gather([folder], split_every=4))
        with (
            distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=50,
            ) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            killer = Killer(cluster, kills, seed, pause)
            killer.start()
            try:
                while killer.kills < kills:
                    before = killer.kills
                    killer.running.set()
                    begun = time.monotonic()
                    found = bits(gather([folder], client, split_every=4, timeout=120))
                    counts["seconds"] += time.monotonic() - begun
                    killer.running.clear()
                    counts["runs"] += 1
                    counts["runs with kills"] += killer.kills > before
                    if found != expected:
                        complaints.append(f"run {counts['runs']}, with {killer.kills - before} kills: other bits")
            finally:
                killer.ended.set()
                killer.join()
            counts["kills"] = killer.kills
    return counts, complaints


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in {"kills": 20, "workers": 3, "seed": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    counts, complaints = campaign(asked.kills, n_workers=asked.workers, seed=asked.seed)
    print(", ".join(f"{name} {value:.0f}" for name, value in counts.items()))
    print("\n".join(complaints) or "Every run gave the same bits.")
    raise SystemExit(bool(complaints))


if __name__ == "__main__":
    main()

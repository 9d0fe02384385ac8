"""Killed workers do not change the bits of the moments.

    python -m tests.campaigns.workers [--kills 20] [--workers 3] [--seed 0]

Workers of a cluster on this machine read files and sum them, repeatedly. A thread kills one of them by its process id
(kill -9) at random times during a run, as long as another one is alive; Dask starts a replacement. After each run the
bits are compared with the result of this process.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import distributed
import numpy as np

from tests.parallel.making import bits
from undistract.parallel import gather


class Killer(threading.Thread):
    """Kills a worker at random times during a run."""

    def __init__(self, cluster, most: int, seed: int, pause: float) -> None:
        super().__init__(daemon=True)
        self.cluster, self.most, self.random, self.pause = cluster, most, random.Random(seed), pause
        self.running, self.ended = threading.Event(), threading.Event()
        self.kills = 0

    def run(self) -> None:
        while not self.ended.wait(self.random.uniform(0, 2 * self.pause)):
            alive = {address: worker.name for address, worker in dict(self.cluster.scheduler.workers).items()}
            if not self.running.is_set() or self.kills == self.most or len(alive) < 2:
                continue
            address = self.random.choice(sorted(alive))
            nanny = self.cluster.workers.get(alive[address])
            if nanny is None or nanny.process is None or nanny.process.pid is None:
                continue  # it has died already
            with suppress(ProcessLookupError):
                os.kill(nanny.process.pid, signal.SIGKILL)
                while address in self.cluster.scheduler.workers and not self.ended.wait(0.01):
                    pass  # until the scheduler has noticed
                self.kills += 1


def write_files(folder: Path, n_files: int, n_rows: int, n_features: int) -> None:
    for number in range(n_files):
        rng = np.random.default_rng(number)
        rows = rng.normal(size=(n_rows + 100 * number, n_features)) + rng.normal(size=n_features)
        np.save(folder / f"day{number}.npy", rows)


def campaign(
    kills: int, *, n_workers: int = 3, seed: int = 0, n_files: int = 12, n_rows: int = 20_000, pause: float = 0.3
) -> tuple[Counter, list[str]]:
    """Run until `kills` workers were killed during runs; return counts and complaints."""
    counts: Counter = Counter()
    complaints: list[str] = []
    # Small tasks of 6400 rows, so that more of them run when a worker dies.
    with TemporaryDirectory() as folder, patch("undistract.parallel.tasks.LEAF_VALUES", 1):
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
                    cluster.scale(n_workers)  # Dask does not restart a worker that was killed during its start
                    killer.running.set()
                    start = time.monotonic()
                    actual = bits(gather([folder], client, split_every=4, timeout=120))
                    counts["seconds"] += time.monotonic() - start
                    killer.running.clear()
                    counts["runs"] += 1
                    print(f"run {counts['runs']}: {time.monotonic() - start:.1f} s, {killer.kills} kills", flush=True)
                    counts["runs with kills"] += killer.kills > before
                    if actual != expected:
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
    options = parser.parse_args()
    counts, complaints = campaign(options.kills, n_workers=options.workers, seed=options.seed)
    print(", ".join(f"{name} {value:.0f}" for name, value in counts.items()))
    print("\n".join(complaints) or "Every run gave the same bits.")
    raise SystemExit(bool(complaints))


if __name__ == "__main__":
    main()

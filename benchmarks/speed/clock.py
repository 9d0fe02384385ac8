"""The clock: all competitors interleaved, round by round, one BLAS thread, the least CPU time of each.

On a machine that others use too, a single time is unreliable. In one process and interleaved all see the same load,
and the least time is the one that they disturbed least.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits


class Timed(NamedTuple):
    """The least CPU time of one run, and in how many rounds it took part."""

    seconds: float
    n_rounds: int


def time_interleaved(
    runs: Mapping[str, Callable[[], Any]], rounds: int, most_seconds: float = np.inf
) -> dict[str, Timed]:
    """Time each run in every round; no round but the first begins after this number of CPU seconds."""
    best = {name: Timed(np.inf, 0) for name in runs}
    with threadpool_limits(1):
        begun = time.process_time()
        for number in range(rounds):
            if number and time.process_time() - begun > most_seconds:
                break
            for name, run in runs.items():
                best[name] = Timed(min(best[name].seconds, cpu_seconds(run)), best[name].n_rounds + 1)
    return best


def cpu_seconds(run: Callable[[], Any]) -> float:
    """CPU seconds of this process for one run; short ones are repeated, because the clock has its own grain."""
    begun, n_runs = time.process_time(), 0
    while True:
        run()
        n_runs += 1
        seconds = time.process_time() - begun
        if seconds > 0.02 or n_runs >= 100:
            return max(seconds, 1e-9) / n_runs

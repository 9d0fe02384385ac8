"""A capacity plan on paper: what it takes to learn from many cameras, from figures that are measured here.

    python -m benchmarks.capacity [--cameras 1000] [--rows 1e12] [--features 2048] [--days 30]
                                  [--price 1.0] [--share 1.0]

Measured, with one BLAS thread (OMP_NUM_THREADS=1), the least CPU time of some rounds: the sum of float32 rows, the size
of a shipped sum, the join of two, the solve. The plan is arithmetic; docs/elsewhere.md has the formulas. `--price` is
what a core costs for an hour, in any currency. `--share` sums up only that share of the rows, at random.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from undistract import EvidenceWarning, Focus, Moments, save

ROWS_PER_SET = 4096


@dataclass(frozen=True)
class Measured:
    """What one core does, and how large a sum is."""

    n_features: int
    rows_per_second: float  # summed up by one core
    shipped_bytes: float  # one sum, as a file
    join_seconds: float  # of two sums
    solve_seconds: float  # from the sum to a fitted Focus
    peak_bytes: float  # while rows are summed up, in addition to the rows


@dataclass(frozen=True)
class Plan:
    """What the whole job takes."""

    core_hours: float  # for all rows
    cores: float  # busy all the time
    cost_per_day: float
    read_bytes: float  # all rows, float32, where they are made
    network_per_day: float  # bytes: every camera ships one sum a day
    network_of_rows_per_day: float  # bytes: if rows were shipped instead
    join_hours: float  # of one core, for all sums of all days
    memory: float  # bytes for one camera, in addition to its rows
    solve_seconds: float


def planned(
    measured: Measured, *, cameras: int, rows: float, days: float, price: float = 1.0, share: float = 1.0
) -> Plan:
    """Do the arithmetic.

    Examples
    --------
    >>> one = Measured(10, rows_per_second=1000.0, shipped_bytes=800.0, join_seconds=0.1, solve_seconds=2.0,
    ...                peak_bytes=5000.0)
    >>> plan = planned(one, cameras=10, rows=7.2e7, days=2, price=3.0)
    >>> plan.core_hours, round(plan.cores, 3), plan.cost_per_day, plan.network_per_day
    (20.0, 0.417, 30.0, 8000.0)
    """
    summed = rows * share
    core_hours = summed / measured.rows_per_second / 3600
    return Plan(
        core_hours,
        core_hours / (24 * days),
        core_hours * price / days,
        4.0 * measured.n_features * summed,
        cameras * measured.shipped_bytes,
        4.0 * measured.n_features * summed / days,
        cameras * days * measured.join_seconds / 3600,
        measured.peak_bytes,
        measured.solve_seconds,
    )


def least(rounds: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least CPU time of some rounds, and what was made."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        made = work()
        seconds.append(time.process_time() - start)
    return min(seconds), made


def measure(n_features: int, rounds: int = 3) -> Measured:
    """Measure on rows of this machine; groups differ in size, as cameras do."""
    rng = np.random.default_rng(0)
    sizes = (ROWS_PER_SET, ROWS_PER_SET + 1)

    def groups(first: int) -> dict[str, Any]:
        return {
            f"camera-{first + number}": rng.standard_normal((size, n_features), dtype=np.float32)
            + rng.standard_normal(n_features, dtype=np.float32)
            for number, size in enumerate(sizes)
        }

    here, there = groups(0), groups(10)
    summing, one = least(rounds, lambda: Moments.of(here))
    tracemalloc.start()
    Moments.of(here)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    one, other = one.without_rows(), Moments.of(there).without_rows()
    joining, both = least(rounds, lambda: one + other)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # four groups are no evidence
        solving, _ = least(1, lambda: Focus().fit_moments(both))
    with TemporaryDirectory() as folder:
        shipped = save(one, Path(folder) / "camera.moments").stat().st_size
    return Measured(n_features, sum(sizes) / summing, shipped, joining, solving, peak)


def plan_table(
    measured: Measured, plan: Plan, *, cameras: int, rows: float, days: float, price: float, share: float
) -> str:
    """Return the plan as a table."""
    lines = [
        "| | |",
        "| --- | --- |",
        f"| one core sums up | {measured.rows_per_second:,.0f} rows of {measured.n_features} features a second |",
        f"| a sum to ship | {measured.shipped_bytes / 1e6:,.0f} MB |",
        f"| joining two sums | {measured.join_seconds:.2f} s |",
        f"| from the sum to a model | {measured.solve_seconds:.1f} s |",
        f"| **{rows:.0e} rows of {cameras} cameras in {days:g} days**, {share:.0%} of them summed up | |",
        f"| core hours | {plan.core_hours:,.0f} |",
        f"| cores, busy all the time | {plan.cores:,.1f} ({plan.cores / cameras:.3f} for a camera) |",
        f"| cost a day at {price:g} for a core hour | {plan.cost_per_day:,.1f} |",
        f"| rows read where they are made | {plan.read_bytes / 1e12:,.1f} TB |",
        f"| network a day: sums / rows instead | {plan.network_per_day / 1e9:,.0f} GB / "
        f"{plan.network_of_rows_per_day / 1e9:,.0f} GB |",
        f"| joining all sums of all days, one core | {plan.join_hours:.2f} h |",
        f"| memory for a camera, in addition to its rows | {plan.memory / 1e9:.2f} GB |",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cameras", type=int, default=1000)
    parser.add_argument("--rows", type=float, default=1e12)
    parser.add_argument("--features", type=int, default=2048)
    parser.add_argument("--days", type=float, default=30)
    parser.add_argument("--price", type=float, default=1.0)
    parser.add_argument("--share", type=float, default=1.0)
    arguments = vars(parser.parse_args())
    measured = measure(arguments.pop("features"))
    print(plan_table(measured, planned(measured, **arguments), **arguments))


if __name__ == "__main__":
    main()

"""Growth: how the cost of a fit grows with rows, with features and with groups, and its memory with rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.speed.alone import STREAMED, alone
from benchmarks.speed.cases import Case, sample
from benchmarks.speed.clock import time_interleaved
from benchmarks.speed.peers import COVARIANCE, FLOOR, OURS
from benchmarks.speed.results import Result, result

COMPARED = (FLOOR, OURS, COVARIANCE)


@dataclass(frozen=True)
class Growth:
    """Cases in which one size grows and the others stay."""

    rows: tuple[Case, ...]
    features: tuple[Case, ...]
    groups: tuple[Case, ...]
    memory: tuple[Case, ...]

    def __iter__(self) -> Iterator[tuple[str, tuple[Case, ...]]]:
        """Give what is timed; memory is measured otherwise."""
        return iter([("rows", self.rows), ("features", self.features), ("groups", self.groups)])


def growth(
    rows: Sequence[int], features: Sequence[int], groups: Sequence[int], n_rows: int, d: int, streamed: Sequence[int]
) -> Growth:
    """Choose sizes: n_rows and d where they stay; 100 rows in each group, but where the groups grow."""
    return Growth(
        tuple(Case("rows", n, d, n // 100) for n in rows),
        tuple(Case("features", n_rows // 25, each, n_rows // 2500) for each in features),
        tuple(Case("groups", n_rows, d, n_groups) for n_groups in groups),
        tuple(Case("memory", n, 4 * d, n // 500) for n in streamed),
    )


REDUCED = growth(
    (10_000, 31_600, 100_000, 316_200, 1_000_000),
    (16, 32, 64, 128, 256, 512, 1024),
    (10, 100, 1000, 10_000, 100_000),
    n_rows=500_000,
    d=64,
    streamed=(100_000, 1_000_000),
)
FULL = growth(
    (10_000, 31_600, 100_000, 316_200, 1_000_000, 3_162_000),
    (16, 32, 64, 128, 256, 512, 1024, 2048),
    (10, 100, 1000, 10_000, 100_000),
    n_rows=1_000_000,
    d=64,
    streamed=(100_000, 1_000_000, 10_000_000),
)


def grown(sizes: Growth, rounds: int) -> Iterator[Result]:
    """Time dsyrk, ours and PCA while one size grows; then the memory of a stream of groups."""
    for part, cases in sizes:
        for case in cases:
            data = sample(case)
            times = time_interleaved(
                {peer.name: lambda peer=peer, data=data: peer.learn(data) for peer in COMPARED}, rounds
            )
            for name, (seconds, n_rounds) in times.items():
                ratios = {
                    "to_floor": seconds / times[FLOOR.name].seconds,
                    "to_ours": seconds / times[OURS.name].seconds,
                }
                yield result(part, case, name, seconds=seconds, rounds=n_rounds, **ratios)
    for case in sizes.memory:
        found = alone(case, STREAMED, 600.0)
        yield result(
            "memory", case, STREAMED, seconds=found.seconds, peak=found.peak, squares=found.peak / case.square,
            rounds=1, note=found.note,
        )  # fmt: skip


def slope(results: Sequence[Result], part: str, name: str) -> float:
    """Fit seconds ~ size^slope on log-log axes."""
    points = [(getattr(one, part), one.seconds) for one in results if one.part == part and one.name == name]
    x, y = np.log(points).T
    return float(np.polyfit(x, y, 1)[0])


@dataclass(frozen=True)
class Promise:
    """Something that must hold, with its figure."""

    words: str
    figure: str
    kept: bool


def promises(results: Sequence[Result]) -> list[Promise]:
    """Say which promises about growth hold, for those parts that were measured."""
    ours = [one for one in results if one.name in (OURS.name, STREAMED)]
    parts = {part: [one for one in ours if one.part == part] for part in ("rows", "groups", "memory")}
    made = []
    if len(parts["rows"]) > 1:
        value = slope(results, "rows", OURS.name)
        made.append(
            Promise(
                "time grows with rows, slope 1.0 ± 0.1", f"{value:.2f}{_late(parts['rows'])}", abs(value - 1) <= 0.1
            )
        )
    if len(parts["groups"]) > 1:
        times = [one.seconds for one in parts["groups"]]
        value, fewest, most = max(times) / min(times), parts["groups"][0].groups, parts["groups"][-1].groups
        words = f"time is flat from {fewest} to {most} groups, within 1.3×"
        made.append(Promise(words, f"{value:.2f}×", value <= 1.3))
    for less, more in zip(parts["memory"], parts["memory"][1:], strict=False):
        value = more.peak / less.peak
        words = f"memory is flat from {less.rows} to {more.rows} rows, below 1.2×"
        made.append(Promise(words, f"{value:.2f}×", value < 1.2))
    return made


def _late(ours: Sequence[Result]) -> str:
    """Say the slope over the last factor of ten too, where what a fit costs at all weighs least."""
    late = [one for one in ours if 10 * one.rows >= ours[-1].rows]
    if not 1 < len(late) < len(ours):
        return ""
    return f" ({slope(late, 'rows', OURS.name):.2f} from {late[0].rows} rows on)"

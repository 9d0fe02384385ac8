"""Run every method on every task and seed, and write down how well detectors did behind it.

    python -m benchmarks.nonlinear.run --save benchmarks/results/nonlinear.csv

First all settings on the part for choosing, then the chosen ones on the reported part. What the file already holds is
not run again, so that one more method adds its own rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.nonlinear.methods import METHODS, Method
from benchmarks.nonlinear.tasks import TASKS, Task, task
from benchmarks.quality.detectors import scores
from benchmarks.quality.methods import ORACLE, Learned, Setting, words
from benchmarks.quality.results import STEP, Result, append, chosen, read
from undistract.detect import quality
from undistract.errors import InputError

DETECTORS = ("kNN", "LOF")
PARTS = ("choose", "report")
SAVED = Path("benchmarks/results/nonlinear.csv")


def run(one: Task, method: Method, setting: Setting, detectors: tuple[str, ...]) -> Iterator[Result]:
    """Learn once, and score all tests of a task by some detectors."""
    start = time.process_time()
    try:
        learned = method(one.rows, one.groups, one.seed, setting)
    except InputError:  # the method cannot be fitted to these rows: no result
        learned = None
    seconds = time.process_time() - start
    yield from _results(one, method.name, words(setting), learned, seconds, detectors)


def oracle(one: Task, detectors: tuple[str, ...]) -> Iterator[Result]:
    """Score the rows without the distractor, where a task knows them."""
    if all(test.clean is not None for test in one.tests):
        yield from _results(one, ORACLE, "", None, 0.0, detectors)


def _results(
    one: Task, name: str, setting: str, learned: Learned | None, seconds: float, detectors: tuple[str, ...]
) -> Iterator[Result]:
    for number, test in enumerate(one.tests):
        rows = test.clean if name == ORACLE else None if learned is None else learned(test.rows)
        for detector in detectors:
            precision = auroc = np.nan
            if rows is not None and rows.shape[1]:
                found = scores(detector, rows, n_neighbors=one.n_neighbors)
                measured = quality(found, test.truth)
                precision, auroc = measured.average_precision, measured.auroc
            n_removed, n_kept = (np.nan, np.nan) if learned is None else (learned.n_removed, rows.shape[1])
            yield Result(
                one.task, one.task, one.part, one.seed, number, name, setting, detector,
                round(precision, 5), round(auroc, 5), n_removed, n_kept, round(seconds, 3),
            )  # fmt: skip


def missing(one: Task, path: Path, methods: list[Method]) -> Iterator[tuple[Method | None, Setting, tuple[str, ...]]]:
    """Give what is still to be run of a task: a method (None: the oracle), a setting and the detectors."""
    results = read(path)
    done = set(results[STEP].itertuples(index=False, name=None))
    choices = chosen(results)

    def wanted(name: str, setting: str, n_settings: int, detector: str) -> bool:
        if (one.task, one.part, one.seed, name, setting, detector) in done:
            return False
        free = one.part == "choose" or n_settings == 1
        return free or choices.get((one.task, name, detector)) == setting

    for method in methods:
        for setting in method.settings:
            left = tuple(d for d in DETECTORS if wanted(method.name, words(setting), len(method.settings), d))
            if left:
                yield method, setting, left
    left = tuple(d for d in DETECTORS if wanted(ORACLE, "", 1, d))
    if left:
        yield None, {}, left


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS), metavar="NAME")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS, metavar="PART")
    parser.add_argument("--methods", nargs="+", default=[method.name for method in METHODS], metavar="NAME")
    parser.add_argument("--seeds", type=int, default=10, help="of the reported part")
    parser.add_argument("--choose", type=int, default=3, help="seeds of the part for choosing")
    parser.add_argument("--save", type=Path, default=SAVED)
    arguments = parser.parse_args()
    methods = [method for method in METHODS if method.name in arguments.methods]
    for part in arguments.parts:
        for name in arguments.tasks:
            for seed in range(arguments.seeds if part == "report" else arguments.choose):
                one = task(name, seed, part)
                for method, setting, detectors in missing(one, arguments.save, methods):
                    found = oracle(one, detectors) if method is None else run(one, method, setting, detectors)
                    append(arguments.save, list(found))
                print(f"{part} {name} {seed}", flush=True)


if __name__ == "__main__":
    main()

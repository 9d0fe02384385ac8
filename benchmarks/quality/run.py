"""Run every method with every detector on every trial, and write down how well they did.

    python -m benchmarks.quality.run --data Yale silhouettes --seeds 5 --save out/quality.csv

First all settings on the trials for choosing, then the chosen ones on the trials that are reported. For the detectors
of --hindsight all settings are reported, and FOCUS at fixed settings is tried too. What the file already holds is not
run again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks.quality.detectors import DETECTORS, scores
from benchmarks.quality.methods import METHODS, ORACLE, Learned, Setting, words
from benchmarks.quality.results import STEP, Result, append, chosen, read
from benchmarks.quality.trials import DATA_SETS, PARTS, Test, Trial, trials
from undistract._arrays import Floats
from undistract.detect import quality
from undistract.errors import InputError

BY_NAME = {method.name: method for method in METHODS}


@dataclass(frozen=True)
class Step:
    """One method at one setting, and the detectors that are still to look."""

    method: str
    setting: Setting
    detectors: tuple[str, ...]


Job = list[tuple[Trial, list[Step]]]  # trials that share their moments


def run(
    some: Iterable[Trial],
    path: Path,
    *,
    methods: Collection[str] = tuple(BY_NAME),
    detectors: Collection[str] = tuple(DETECTORS),
    hindsight: Collection[str] = (),
    workers: int = 1,
) -> Iterator[Trial]:
    """Run what is missing of some trials of one part, add it to the file, and yield the finished trials."""
    results = read(path)
    done = set(results[STEP].itertuples(index=False, name=None))
    choices = chosen(results)

    def steps(trial: Trial) -> list[Step]:
        planned = [
            Step(name, setting, tuple(one for one in detectors if wanted(trial, name, setting, one)))
            for name in methods
            for setting in BY_NAME[name].settings
        ]
        if any(test.clean is not None for test in trial.tests):
            planned.append(Step(ORACLE, {}, tuple(one for one in detectors if wanted(trial, ORACLE, {}, one))))
        return [step for step in planned if step.detectors]

    def wanted(trial: Trial, method: str, setting: Setting, detector: str) -> bool:
        if (trial.task, trial.part, trial.seed, method, words(setting), detector) in done:
            return False
        every = detector in hindsight
        if method != ORACLE and BY_NAME[method].only_hindsight and not every:
            return False
        if trial.part == "choose" or every or not setting:
            return True
        if (trial.data, method, detector) not in choices:
            raise InputError(
                f"No setting of {method} was chosen for {trial.data} and {detector}. "
                f"Run the trials for choosing first: --part choose --data {trial.data}."
            )
        return words(setting) == choices[trial.data, method, detector]

    # Trials that share their moments go together: what is learned from these is learned once.
    jobs = ([(trial, steps(trial)) for trial in same] for _, same in groupby(some, key=lambda trial: trial.halves))
    for trial, found in _measured(jobs, workers):
        if found:
            append(path, found)
        yield trial


def measure(job: Job) -> list[list[Result]]:
    """Learn each step once, map and score for every trial of the job; the results of each trial."""
    results: list[list[Result]] = [[] for _ in job]
    wanted: dict[tuple[str, str], list[tuple[int, Step]]] = {}
    for place, (_, steps) in enumerate(job):
        for step in steps:
            wanted.setdefault((step.method, words(step.setting)), []).append((place, step))
    for (method, _), users in wanted.items():
        begun = time.perf_counter()
        learned = None if method == ORACLE else BY_NAME[method](job[0][0].moments, users[0][1].setting)
        seconds = time.perf_counter() - begun
        for place, step in users:
            results[place] += _results(job[place][0], step, learned, seconds)
    return results


def _results(trial: Trial, step: Step, learned: Learned | None, seconds: float) -> list[Result]:
    """Map and score every test of a trial."""
    results = []
    for number, test in enumerate(trial.tests):
        seen = mapped(test, learned, oracle=step.method == ORACLE)
        for detector in step.detectors:
            found = None if seen is None else scored(detector, seen, trial.n_neighbors)
            good = None if found is None else quality(found, test.truth, k=1)
            results.append(
                Result(
                    *(trial.data, trial.task, trial.part, trial.seed, number),
                    *(step.method, words(step.setting), detector),
                    average_precision=good.average_precision if good else np.nan,
                    auroc=good.auroc if good else np.nan,
                    n_removed=learned.n_removed if learned else np.nan,
                    n_kept=seen.rows.shape[1] if seen else np.nan,
                    seconds=round(seconds, 4),
                )
            )
    return results


def mapped(test: Test, learned: Learned | None, *, oracle: bool = False) -> Test | None:
    """Give the test as the method hands it on, or None where it has no answer."""
    if oracle:
        return None if test.clean is None else Test(test.clean, test.truth, known=test.known, unit=test.unit)
    if learned is None:
        return None
    known = None if test.known is None else learned(test.known)
    return Test(learned(test.rows), test.truth, known=known, unit=test.unit)


def scored(detector: str, test: Test, n_neighbors: int) -> Floats | None:
    """Score the units of a test: its rows, or what several rows belong to, as strange as the strangest of them."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Duplicate values")  # LOF, where rows repeat in the data
            values = scores(detector, test.rows, test.known, n_neighbors=n_neighbors)
    except InputError:
        return None
    if test.unit is None:
        return values
    strangest = np.full(len(test.truth), -np.inf)
    np.maximum.at(strangest, test.unit, values)
    return strangest


def _measured(jobs: Iterable[Job], workers: int) -> Iterator[tuple[Trial, list[Result]]]:
    """Do the jobs, here or in several processes, and hand on what is ready."""
    if workers == 1:
        for job in jobs:
            yield from zip((trial for trial, _ in job), measure(job), strict=True)
        return
    with ProcessPoolExecutor(workers) as pool:
        waiting: dict[Future[list[list[Result]]], Job] = {}

        def ready(futures: Iterable[Future[list[list[Result]]]]) -> Iterator[tuple[Trial, list[Result]]]:
            for future in futures:
                yield from zip((trial for trial, _ in waiting.pop(future)), future.result(), strict=True)

        for job in jobs:
            waiting[pool.submit(measure, job)] = job
            if len(waiting) > workers:  # the moments of a few trials at a time are enough to hold
                yield from ready(wait(waiting, return_when=FIRST_COMPLETED).done)
        yield from ready(as_completed(list(waiting)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS), metavar="NAME")
    parser.add_argument("--part", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--save", type=Path, default=Path("out/quality.csv"))
    parser.add_argument("--methods", nargs="+", default=list(BY_NAME), choices=list(BY_NAME), metavar="NAME")
    parser.add_argument("--detectors", nargs="+", default=list(DETECTORS), choices=list(DETECTORS), metavar="NAME")
    parser.add_argument("--hindsight", nargs="*", default=["kNN"], choices=list(DETECTORS), metavar="DETECTOR")
    parser.add_argument("--workers", type=int, default=1)
    wanted = parser.parse_args()
    options = {name: getattr(wanted, name) for name in ("methods", "detectors", "hindsight", "workers")}
    with _bar() as progress:
        bar = progress.add_task("", total=len(wanted.part) * len(wanted.data))
        for part in sorted(wanted.part):  # choose comes before report
            for data in wanted.data:
                progress.update(bar, description=f"{part} {data}")
                for number, trial in enumerate(run(trials(data, part, wanted.seeds), wanted.save, **options), start=1):
                    progress.update(bar, description=f"{part} {trial.task}, trial {number}")
                progress.advance(bar)


def _bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, TextColumn("left"), TimeRemainingColumn(), speed_estimate_period=24 * 3600)


if __name__ == "__main__":
    main()

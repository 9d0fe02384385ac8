"""Let the simulated person answer, and write down how well detectors do on other rows after each few answers.

    python -m benchmarks.feedback.run --part choose --save out/feedback_choose.csv      (ways to learn from verdicts)
    python -m benchmarks.feedback.run --part report --save out/feedback.csv             (the chosen one and its rivals)
    python -m benchmarks.feedback.page                                                  (tables and picture of docs/)

What the file already holds is not run again.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.feedback.candidates import FORMULAS, PROTECTIONS, Library, Training
from benchmarks.feedback.reviewer import Answers, KnownRows, Learner, Weighted, Without, deviations, review
from benchmarks.feedback.rivals import ENSEMBLES, RIDGES
from benchmarks.feedback.tasks import DATA_SETS, Task, tasks
from benchmarks.quality.run import scored
from benchmarks.quality.trials import Test
from undistract import EvidenceWarning, Focus
from undistract._arrays import Floats
from undistract.detect import quality

DETECTORS = ("kNN", "LOF", "isolation forest")
OURS, NONE, KNOWN, CLEAN, SETS = (
    "FOCUS, taught",
    "no feedback",
    "known rows",
    "clean oracle",
    "groups with the distractor",
)
SLOW, SELDOM = "isolation forest", (0, 4, 16)  # it is fitted after these numbers of answers only
MOST_USUAL = 0.9  # a confirmed anomaly below this quantile of the normal rows has vanished


@dataclass(frozen=True)
class Result:
    """One group of tests after some answers."""

    part: str
    data: str
    task: str
    seed: int
    method: str
    detector: str
    wrong: float
    context: str
    answers: int
    false_alarms: int
    n_removed: int
    average_precision: float
    precision: float  # at 10, or at the number of anomalies if there are fewer
    vanished: float  # the share of confirmed anomalies that are no longer prominent in the review


def measure(task: Task, done: set[tuple[str, ...]]) -> Iterator[Result]:
    """Run what is missing of one task."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        training = Training.of(task.moments, np.concatenate(deviations(task)))
    for (method, wrong), learner in _learners(task, training).items():
        detectors = ("kNN",) if task.part == "choose" or wrong else (method,) if method in ENSEMBLES else DETECTORS
        blanks = [_blank(task, method, detector, wrong) for detector in detectors]
        blanks = [blank for blank in blanks if _key(asdict(blank)) not in done]
        go_on = method == OURS and not wrong
        for n_answers, answers in review(task, learner, wrong=wrong, go_on=go_on) if blanks else ():
            told = {"answers": n_answers, "false_alarms": len(answers.false_alarms), "n_removed": learner.n_removed}
            told["vanished"] = _vanished(task, learner, answers)
            now = [blank for blank in blanks if blank.detector != SLOW or n_answers in SELDOM]
            for blank, (context, tests) in product(now, task.tests.items()):
                found = [learner.scores(test, blank.detector) for test in tests]
                yield _measured(replace(blank, **told), context, tests, found)
    if task.part == "report":
        for detector in DETECTORS:
            yield from _oracles(task, _blank(task, CLEAN, detector, 0.0), done)


def _blank(task: Task, method: str, detector: str, wrong: float) -> Result:
    place = (task.part, task.data, task.task, task.seed)
    return Result(*place, method, detector, wrong, "", 0, 0, 0, np.nan, np.nan, np.nan)


def _learners(task: Task, training: Training) -> Mapping[tuple[str, float], Learner]:
    """Give every method of the part, by its name and share of wrong answers."""
    if task.part == "choose":
        some = {(name, 0.0): one for name, one in FORMULAS.items()}
        some |= {(name, wrong): one for name, one in PROTECTIONS.items() for wrong in (0.0, 0.2)}
        return {key: Without(task, one, training) for key, one in some.items()} | {
            (f"{name}, {ridge:g}", 0.0): Weighted(task, name, ridge) for name, ridge in product(ENSEMBLES, RIDGES)
        }
    return {
        **{(OURS, wrong): Without(task, Library(), training) for wrong in (0.0, 0.1, 0.2)},
        (KNOWN, 0.0): KnownRows(task, training),
        **{(name, 0.0): Weighted(task, name) for name in ENSEMBLES},
    }


def _oracles(task: Task, blank: Result, done: set[tuple[str, ...]]) -> Iterator[Result]:
    """See the rows without the distractor, or learn from groups that have it."""
    if (
        any(test.clean is not None for tests in task.tests.values() for test in tests)
        and _key(asdict(blank)) not in done
    ):
        for context, tests in task.tests.items():
            seen = [Test(test.clean, test.truth) for test in tests if test.clean is not None]
            yield _measured(blank, context, tests, [_scores(blank, task, test.rows) for test in seen])
    blank = replace(blank, method=SETS)
    if task.with_distractor is not None and _key(asdict(blank)) not in done:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EvidenceWarning)
            focus = Focus().fit_moments(task.with_distractor)
        blank = replace(blank, n_removed=focus.n_removed_)
        for context, tests in task.tests.items():
            found = [_scores(blank, task, focus.transform(test.rows)) for test in tests]
            yield _measured(blank, context, tests, found)


def _scores(state: Result, task: Task, rows: Floats) -> Floats:
    found = scored(state.detector, Test(rows, np.zeros(len(rows), dtype=bool)), task.n_neighbors)
    assert found is not None
    return found


def _measured(state: Result, context: str, tests: tuple[Test, ...], found: list[Floats]) -> Result:
    values = [
        quality(scores, test.truth, k=min(10, int(test.truth.sum()))) for scores, test in zip(found, tests, strict=True)
    ]
    return replace(
        state,
        context=context,
        average_precision=round(float(np.mean([one.average_precision for one in values])), 4),
        precision=round(float(np.mean([one.precision_at_k for one in values])), 4),
    )


def _vanished(task: Task, learner: Learner, answers: Answers) -> float:
    usual = []
    for which, test in enumerate(task.review):
        true = [row for place, row in answers.anomalies if place == which and test.truth[row]]
        if true:
            scores = learner.scores(test)
            usual += list(scores[true] < np.quantile(scores[~test.truth], MOST_USUAL))
    return round(float(np.mean(usual)), 4) if usual else np.nan


def _key(row: Mapping[str, object]) -> tuple[str, ...]:
    """Say which run a row of the file belongs to."""
    names = ("part", "task", "seed", "method", "detector")
    return (*(str(row[name]) for name in names), f"{float(str(row['wrong'])):g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("choose", "report"), default="report")
    parser.add_argument("--data", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--save", type=Path, default=Path("out/feedback.csv"))
    wanted = parser.parse_args()
    wanted.save.parent.mkdir(parents=True, exist_ok=True)
    names = [field.name for field in fields(Result)]
    if not wanted.save.exists():
        wanted.save.write_text(",".join(names) + "\n", encoding="utf-8")
    with wanted.save.open(encoding="utf-8", newline="") as file:
        done = {_key(row) for row in csv.DictReader(file)}
    for data in wanted.data:
        for task in tasks(data, wanted.part, wanted.seeds):
            begun = time.perf_counter()
            rows = [asdict(result) for result in measure(task, done)]
            with wanted.save.open("a", encoding="utf-8", newline="") as file:
                csv.DictWriter(file, names, lineterminator="\n").writerows(rows)
            print(
                f"{task.task}, seed {task.seed}: {len(rows)} results, {time.perf_counter() - begun:.0f} s", flush=True
            )


if __name__ == "__main__":
    main()

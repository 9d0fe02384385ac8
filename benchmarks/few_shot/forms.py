"""Which form of FOCUS to use: all that were tried, on held-out teaching groups alone.

    python -m benchmarks.few_shot.forms --data Yale/2 --seeds 5

No class that is reported anywhere is looked at here. Each form is shown at the setting that is best for one example.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from benchmarks.few_shot.methods import (
    ALL,
    Judged,
    _unit,
    control,
    focus_counted,
    focus_likelihood,
    focus_weighted,
    lda,
    nap,
)
from benchmarks.few_shot.recognise import DISTANCES, accuracies
from benchmarks.few_shot.tasks import DATA_SETS, Task, tasks
from benchmarks.quality.methods import Learned
from undistract._arrays import Rows
from undistract.algebra import Moments

Tried = tuple[str, Task, Moments, Learned | None]  # form, the task as it sees it, its moments, what it learned
RIDGES = (0.1, 0.3, 1.0)
LIKELY = ((0.03, 0.3), (0.1, 1.0))


def forms(task: Task) -> Iterator[Tried]:
    """Give every form at a few settings."""
    moments = Moments.of(task.taught)
    for ridge in RIDGES:
        yield "LDA", task, moments, lda(moments, ridge, ALL)
    for between_ridge, ridge in LIKELY:
        yield "FOCUS weighted", task, moments, focus_weighted(moments, between_ridge, ridge)
        likely = focus_likelihood(moments, between_ridge, ridge)
        yield "FOCUS likelihood", task, moments, likely
        for share in (0.5, 0.25):
            yield f"the same, {share} of between", task, moments, _less_apart(likely, share)
    yield "RCA and LDA", task, moments, control(moments, 1e-3, 1.0, 0.5)
    for n_remove in (200, 400, 600, 800, 1000):
        yield f"FOCUS, {n_remove} removed", task, moments, focus_counted(moments, 0.01, n_remove)
    for k in (5, 20, 100):
        for name, first in (("FOCUS", focus_counted(moments, 0.01, k)), ("NAP", nap(moments, k))):
            if first is not None:
                yield from _then(task, f"{name} then", _from_the_mean(first, moments))
    yield from _then(task, "FOCUS then length one then", _unit_after(focus_counted(moments, 0.01, 20), moments))


def _then(task: Task, words: str, change: Callable[[Rows], Rows]) -> Iterator[Tried]:
    """Learn again from the output of a first map."""
    taught, classes = ({name: change(rows) for name, rows in some.items()} for some in (task.taught, task.classes))
    left = replace(task, taught=taught, classes=classes)
    moments = Moments.of(left.taught)
    for ridge in RIDGES[1:]:
        yield f"{words} LDA", left, moments, lda(moments, ridge, ALL)
    for between_ridge, ridge in ((0.01, 1.0), *LIKELY):
        yield f"{words} likelihood", left, moments, focus_likelihood(moments, between_ridge, ridge)


def _from_the_mean(first: Learned, moments: Moments) -> Callable[[Rows], Rows]:
    middle = first(moments.mean[None])
    return lambda X: first(X) - middle.astype(X.dtype)


def _unit_after(first: Learned | None, moments: Moments) -> Callable[[Rows], Rows]:
    assert first is not None
    change = _from_the_mean(first, moments)
    return lambda X: _unit(change(X))


def _less_apart(likely: Judged, share: float) -> Judged:
    return Judged(replace(likely.change, between=likely.change.between * np.sqrt(share)), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="Yale/2", choices=list(DATA_SETS))
    parser.add_argument("--seeds", type=int, default=5)
    wanted = parser.parse_args()
    found: dict[tuple[str, str], dict[str, list[list[float]]]] = {}
    for task in tasks(wanted.data, wanted.seeds):
        count: dict[str, int] = {}
        for form, seen, moments, learned in forms(task.held_out()):
            if learned is None:
                continue
            right = accuracies(seen, learned, moments.mean)
            setting = str(count.setdefault(form, 0))
            count[form] += 1
            of_form = found.setdefault((task.task, form), {})
            of_form.setdefault(setting, []).append(
                [right[distance, shown] for distance in DISTANCES for shown in (1, 5)]
            )
        print(f"{task.task}, seed {task.seed}", flush=True)
    print("Recognised from one and five examples: Euclidean, cosine")
    for (name, form), settings in found.items():
        means = np.array([np.mean(values, axis=0) for values in settings.values()])
        euclidean, cosine = (means[means[:, place].argmax(), place : place + 2] for place in (0, 2))
        print(f"{name}: {form:32} {euclidean[0]:.3f} {euclidean[1]:.3f}   {cosine[0]:.3f} {cosine[1]:.3f}")


if __name__ == "__main__":
    main()

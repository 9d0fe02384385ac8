"""Try every method at every setting, on held-out teaching sets and on the classes to be recognised.

    python -m benchmarks.few_shot.run --data EMNIST Yale --seeds 10 --save out/few_shot.csv
    python -m benchmarks.few_shot.page                                          (tables and picture of docs/)

What the file already holds is not run again.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from benchmarks.few_shot.methods import AUGMENTED, COPIES, METHODS
from benchmarks.few_shot.recognise import DISTANCES, SHOWN, accuracies, augmented
from benchmarks.few_shot.tasks import DATA_SETS, Task, tasks
from benchmarks.quality.methods import words
from undistract import Moments

COLUMNS = ["data", "task", "seed", "part", "method", "setting", "distance", "n_removed", *map(str, SHOWN)]
PARTS = ("choose", "report")


def measure(task: Task, part: str, done: Collection[tuple[str, str]] = ()) -> Iterator[dict[str, object]]:
    """Give the accuracies of every method and setting that is not done yet, one row for each distance."""
    place = {"data": task.data, "task": task.task, "seed": task.seed, "part": part}
    here = task.held_out() if part == "choose" else task
    moments = Moments.of(here.taught)
    found = []
    for method in METHODS:
        if part == "choose" and len(method.settings) == 1:
            continue  # nothing to choose
        for setting in method.settings:
            learned = None if (method.name, words(setting)) in done else method(moments, setting)
            if learned is not None:
                right = accuracies(here, learned, moments.mean)
                found.append((method.name, words(setting), learned.n_removed, right))
    if part == "report" and (AUGMENTED, "") not in done:
        found.append((AUGMENTED, "", 0, augmented(here, COPIES, moments.mean)))
    for name, setting, n_removed, right in found:
        for distance in DISTANCES:
            values = {str(shown): round(right[distance, shown], 4) for shown in SHOWN}
            told = {"method": name, "setting": setting, "distance": distance, "n_removed": n_removed}
            yield {**place, **told, **values}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--save", type=Path, default=Path("out/few_shot.csv"))
    wanted = parser.parse_args()
    wanted.save.parent.mkdir(parents=True, exist_ok=True)
    if not wanted.save.exists():
        wanted.save.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    with wanted.save.open(encoding="utf-8", newline="") as file:
        done = {(row["task"], row["seed"], row["part"], row["method"], row["setting"]) for row in csv.DictReader(file)}
    for data in wanted.data:
        for task in tasks(data, wanted.seeds):
            for part in PARTS:
                begun = time.perf_counter()
                here = [task.task, str(task.seed), part]
                rows = list(
                    measure(task, part, {(method, setting) for *place, method, setting in done if place == here})
                )
                with wanted.save.open("a", encoding="utf-8", newline="") as file:
                    csv.DictWriter(file, COLUMNS, lineterminator="\n").writerows(rows)
                print(f"{task.task}, seed {task.seed}, {part}: {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()

"""Try every method at every setting, on held-out teaching groups and on the classes to be recognised.

    python -m benchmarks.few_shot.run --data EMNIST Yale --seeds 10 --save out/few_shot.csv
    python -m benchmarks.few_shot.page                                          (tables and picture of docs/)

What the file already holds is not run again. `--first 5 --methods raw LDA` runs some methods on other seeds.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from benchmarks.few_shot.kernels import ALL_NAMES, KERNEL_METHODS, KERNELS, in_kernel_space
from benchmarks.few_shot.methods import AUGMENTED, COPIES, METHODS
from benchmarks.few_shot.recognise import DISTANCES, SHOWN, accuracies, augmented
from benchmarks.few_shot.tasks import DATA_SETS, Task, tasks
from benchmarks.quality.methods import words
from undistract import Moments

COLUMNS = ["data", "task", "seed", "part", "method", "setting", "distance", "n_removed", *map(str, SHOWN)]
PARTS = ("choose", "report")


def measure(
    task: Task, part: str, done: Collection[tuple[str, str]] = (), methods: Collection[str] = ALL_NAMES
) -> Iterator[dict[str, object]]:
    """Give the accuracies of every method and setting that is not done yet, one row for each distance."""
    place = {"data": task.data, "task": task.task, "seed": task.seed, "part": part}
    here = task.held_out() if part == "choose" else task
    found = []
    for kernel in ("", *KERNELS):
        tried = [
            (method, setting, f"kernel={kernel} {words(setting)}" if kernel else words(setting))
            for method in (KERNEL_METHODS[kernel] if kernel else METHODS)
            if method.name in methods and (part == "report" or len(method.settings) > 1)  # else nothing to choose
            for setting in method.settings
        ]
        tried = [one for one in tried if (one[0].name, one[2]) not in done]
        if not tried:
            continue
        seen = in_kernel_space(here, kernel) if kernel else here
        moments = Moments.of(seen.taught)
        for method, setting, told in tried:
            learned = method(moments, setting)
            if learned is not None:
                found.append((method.name, told, learned.n_removed, accuracies(seen, learned, moments.mean)))
    if part == "report" and AUGMENTED in methods and (AUGMENTED, "") not in done:
        found.append((AUGMENTED, "", 0, augmented(here, COPIES, Moments.of(here.taught).mean)))
    for name, setting, n_removed, right in found:
        for distance in DISTANCES:
            values = {str(shown): round(right[distance, shown], 4) for shown in SHOWN}
            what = {"method": name, "setting": setting, "distance": distance, "n_removed": n_removed}
            yield {**place, **what, **values}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--methods", nargs="+", default=ALL_NAMES, choices=ALL_NAMES, metavar="METHOD")
    parser.add_argument("--save", type=Path, default=Path("out/few_shot.csv"))
    wanted = parser.parse_args()
    wanted.save.parent.mkdir(parents=True, exist_ok=True)
    if not wanted.save.exists():
        wanted.save.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    with wanted.save.open(encoding="utf-8", newline="") as file:
        done = {(row["task"], row["seed"], row["part"], row["method"], row["setting"]) for row in csv.DictReader(file)}
    for data in wanted.data:
        for task in tasks(data, wanted.seeds, wanted.first):
            for part in PARTS:
                begun = time.perf_counter()
                here = [task.task, str(task.seed), part]
                finished = {(method, setting) for *place, method, setting in done if place == here}
                rows = list(measure(task, part, finished, wanted.methods))
                with wanted.save.open("a", encoding="utf-8", newline="") as file:
                    csv.DictWriter(file, COLUMNS, lineterminator="\n").writerows(rows)
                print(f"{task.task}, seed {task.seed}, {part}: {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()

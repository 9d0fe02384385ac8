"""Clean the rows of every task by every method, and measure how close they come.

    python -m benchmarks.denoising.run [--seeds 5] [--save benchmarks/results/denoising.csv]
    python -m benchmarks.denoising.page                            (tables and picture of docs/denoising.md)

The other methods remove a number of leading directions from the rows, orthogonally:

    PCA drop-top    eigenvectors of total
    NAP             eigenvectors of within

PSNR and SSIM are means over disturbed images, or over sensors. Images that were clean should stay so: their PSNR is
in a separate column.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy.linalg import eigh

from benchmarks.denoising.measures import psnr, ssim
from benchmarks.denoising.tasks import Task, tasks
from undistract import EvidenceWarning, Focus, Moments
from undistract._arrays import Floats, Rows

RESULTS = Path(__file__).parents[1] / "results" / "denoising.csv"
COLUMNS = ["task", "seed", "method", "ridge", "number", "n_removed", "psnr", "ssim", "psnr_clean"]
NOTHING, REMOVALS = "nothing", {"orthogonal": "orthogonal complement", "oblique": "oblique", "soft": "soft"}
RIVALS = {"PCA drop-top": "total", "NAP": "within"}
CUSHIONS = (1e-3, 0.1, 1.0)
NUMBERS = ("automatic", 2)
COUNTS = (1, 2, 5, 10)  # of the others

Change = Callable[[Rows], Rows]


def ways(
    moments: Moments,
    *,
    ridges: Sequence[float] = CUSHIONS,
    numbers: Sequence[str | int] = NUMBERS,
    rivals: Mapping[str, str] = RIVALS,
) -> Iterator[tuple[dict[str, object], Change]]:
    """Give every method at every setting: what it is called, and how it cleans rows."""
    yield {"method": NOTHING, "n_removed": 0}, lambda X: X
    for method, matrix in rivals.items():
        directions = eigh(getattr(moments, matrix), driver="evd", check_finite=False)[1][:, ::-1]
        for count in COUNTS:
            if count < moments.n_features:
                yield {"method": method, "number": count, "n_removed": count}, without(moments, directions[:, :count])
    for ridge in ridges:
        for number in numbers:
            focus = Focus(ridge=ridge, n_remove=None if number == "automatic" else number)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EvidenceWarning)
                focus.fit_moments(moments)
            told = {"ridge": ridge, "number": number, "n_removed": focus.n_removed_}
            for removal, name in REMOVALS.items():
                yield (
                    {"method": name, **told},
                    lambda X, focus=focus, removal=removal: focus.denoise(X, removal=removal),
                )


def without(moments: Moments, directions: Floats) -> Change:
    """Take orthonormal directions (d, k) out of rows; their mean stays."""
    return lambda X: X - ((X - moments.mean) @ directions @ directions.T).astype(X.dtype)


def measure(task: Task, **which: Any) -> Iterator[dict[str, object]]:
    """Give one line of the results for every method and setting, or for some of them only."""
    for told, change in ways(task.moments, **which):
        cleaned = change(task.rows)
        if task.side is None:  # a signal is one sensor over time
            found = {"psnr": psnr(cleaned.T, task.clean.T, task.peak).mean()}
        else:
            shape, ratio = (-1, task.side, task.side), psnr(cleaned, task.clean)
            alike = ssim(cleaned.reshape(shape), task.clean.reshape(shape))
            found = {"psnr": ratio[task.is_disturbed].mean(), "ssim": alike[task.is_disturbed].mean()}
            if not task.is_disturbed.all():
                found["psnr_clean"] = ratio[~task.is_disturbed].mean()
        yield {"task": task.name, "seed": task.seed, **told, **{name: f"{one:.4f}" for name, one in found.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--save", type=Path, default=RESULTS)
    wanted = parser.parse_args()
    wanted.save.parent.mkdir(parents=True, exist_ok=True)
    with wanted.save.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for seed in range(wanted.seeds):
            for task in tasks(seed):
                begun = time.perf_counter()
                writer.writerows(measure(task))
                file.flush()
                print(f"{task.name}, seed {seed}: {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()

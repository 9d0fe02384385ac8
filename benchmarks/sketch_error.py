"""How far a sketch is from all rows: angles, distraction, what goes, average precision, time and memory.

    python -m benchmarks.sketch_error [--seeds 3] [--sizes 32 64 128 256 512] [--data silhouettes Yale ...]
    python -m benchmarks.sketch_error --cost [--features 20000] [--sizes 64 256]

Real data: silhouettes under light (784 features, 960 groups) and faces under real light (2016 features, 28 people).
Drawn data, 1500 features: spectra that fall off fast, slowly or not at all, under a light of two directions; 20 strange
rows hide among 200 of a new group. One line of CSV for each seed, size and share of the dropped mass that is restored;
`benchmarks/results/sketch_error.csv` keeps them, docs/sketch.md shows their medians (`--table FILE` prints it).
Run with one BLAS thread: OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import subspace_angles
from scipy.linalg.blas import dsyrk
from sklearn.metrics import average_precision_score

from benchmarks.quality.trials import DATA, Test, yale
from undistract import EvidenceWarning, Moments, NearestDetector, SketchedMoments, Spectrum
from undistract.algebra import Projection, select_directions
from undistract.algebra.sketch import sketched_cut, sketched_spectrum
from undistract.datasets.silhouettes import make_illuminated_silhouettes

Rows = NDArray[Any]
SHARES = (0.0, 0.5, 1.0)
WIDTH, N_SETS, N_ROWS = 1500, 100, 60
DECAYS = {
    "fast": 0.97 ** np.arange(WIDTH),
    "slow": (1.0 + np.arange(WIDTH)) ** -0.5,
    "flat": np.ones(WIDTH),
}


@dataclass(frozen=True)
class Found:
    """One sketch compared with all rows."""

    data: str
    seed: int
    size: int
    given_back: float
    held: float  # share of the variation inside groups
    error: float  # ‖within - BᵀB‖₂, in ridges
    dropped: float  # as the sketch reports it, in ridges
    bound: float  # the bound of theory, in ridges
    removed_exact: int
    removed: int  # directions above the cut-off for any dropped part
    freely: int  # what passes it by the sketch's own values
    angle: float  # between the removed patterns of all rows and as many of the sketch, the largest, in degrees
    difference: float  # of distraction, the largest of those that all rows remove and the next ten
    precision_raw: float
    precision_exact: float
    precision: float
    time_ratio: float  # CPU of summing up and solving, against all rows


def drawn(decay: str, seed: int) -> tuple[dict[Any, Rows], Test, int]:
    rng = np.random.default_rng([seed, *decay.encode()])
    scale = DECAYS[decay]
    mix = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
    light = np.linalg.qr(rng.normal(size=(WIDTH, 2)))[0].T * np.sqrt((scale**2).sum() / 10)

    def rows(n: int) -> Rows:
        own = (rng.normal(size=(n, WIDTH)) + 2 * rng.normal(size=WIDTH)) * scale
        return own @ mix + rng.normal(size=(n, 2)) @ light

    groups = {m: rows(N_ROWS) for m in range(N_SETS)}
    test = rows(220)
    # Strange rows leave their set along a direction of the data.
    test[200:] += 0.7 * np.sqrt((scale**2).sum()) * np.linalg.qr(rng.normal(size=(WIDTH, 1)))[0].T
    return groups, Test(test, np.arange(220) >= 200), 10


def real(data: str, n_seeds: int) -> Iterator[tuple[int, dict[Any, Rows], tuple[Test, ...], int]]:
    if data == "silhouettes":
        for seed in range(n_seeds):
            lights = make_illuminated_silhouettes(data=DATA, normal=5, odd=54, n_hidden=20, seed=seed)
            yield seed, {one.name: one.rows for one in lights.training}, (Test(lights.test, lights.is_anomaly),), 10
        return
    with np.load(DATA / "yale_faces" / "extended_yale_b_48x42.npz", allow_pickle=False) as file:
        images, owner = file["images"] / np.float32(255), file["subject"]
    for trial in yale("report", n_seeds):
        if trial.task == "Yale person" and trial.seed < n_seeds:
            rows = images.reshape(len(images), -1)
            yield trial.seed, {name: rows[owner == name] for name in trial.moments.names}, trial.tests, 5


def precision(project: Any, tests: tuple[Test, ...], n_neighbors: int) -> float:
    values = []
    for test in tests:
        detector = NearestDetector(n_neighbors=n_neighbors).fit(project(test.rows.astype(np.float64)))
        values.append(average_precision_score(test.truth, detector.scores_))
    return float(np.mean(values))


def compared(
    data: str, seed: int, groups: dict[Any, Rows], tests: tuple[Test, ...], k: int, sizes: list[int]
) -> Iterator[Found]:
    start = time.process_time()
    moments = Moments.of(groups)
    exact = Spectrum.of(moments)
    seconds = time.process_time() - start
    decision = select_directions(exact)
    n_removed = max(decision.n_removed, 2)  # where nothing goes, the first two are compared all the same
    raw = precision(lambda X: X, tests, k)
    best = precision(Projection.of(exact, decision.n_removed), tests, k)
    within = moments.within
    for size in sizes:
        if 2 * size > moments.n_features:  # larger than the matrix itself
            continue
        start = time.process_time()
        sketch = SketchedMoments.of(groups, size=size)
        sketched_spectrum(sketch)
        ratio = (time.process_time() - start) / seconds
        error = float(np.linalg.eigvalsh(within - sketch.rows_within.T @ sketch.rows_within)[-1])
        for share in SHARES:
            spectrum = sketched_spectrum(sketch, compensation=share)
            made = sketched_cut(sketch, spectrum) if share == 0.5 else select_directions(spectrum)
            freely = select_directions(spectrum).n_removed
            depth = min(n_removed + 10, len(spectrum.distraction), len(exact.distraction))
            n_angle = min(n_removed, len(spectrum.distraction))
            angles = subspace_angles(exact.patterns[:, :n_angle], spectrum.patterns[:, :n_angle])
            yield Found(
                data,
                seed,
                size,
                share,
                sketch.retained,
                error / spectrum.ridge,
                sketch.dropped / spectrum.ridge,
                sketch.bound / spectrum.ridge,
                decision.n_removed,
                made.n_removed,
                freely,
                float(np.degrees(angles.max())),
                float(np.abs(spectrum.distraction[:depth] - exact.distraction[:depth]).max()),
                raw,
                best,
                precision(Projection.of(spectrum, made.n_removed), tests, k),
                ratio,
            )


def cost(n_features: int, sizes: list[int]) -> None:
    """Print CPU and memory of a sketch against the matrix that all rows would need, row by row."""
    n_rows = 4096
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32) * (1 + np.arange(n_features)) ** np.float32(-0.5)
    matrix = np.zeros((n_features, n_features), order="F")
    block = X[:512].astype(np.float64)
    seconds = []
    for _ in range(2):
        start = time.process_time()
        dsyrk(1.0, block.T, beta=1.0, c=matrix, overwrite_c=1)
        seconds.append(time.process_time() - start)
    per_row = min(seconds) / len(block)
    del matrix
    print(
        f"{n_features} features; dsyrk {1e3 * per_row:.3g} ms a row; each of its matrices {8e-9 * n_features**2:.3g} GB"
    )
    print("| size | CPU a row, against dsyrk alone | solve, s | sketch, GB | peak while summing, GB |")
    print("| --- | --- | --- | --- | --- |")
    groups = np.split(X, 16)
    for size in sizes:
        start = time.process_time()
        sketch = SketchedMoments.of(groups, size=size)
        ratio = (time.process_time() - start) / n_rows / per_row
        start = time.process_time()
        sketched_spectrum(sketch)
        solve = time.process_time() - start
        held = sum(part.rows.nbytes for part in (sketch.within_sketch, sketch.between_sketch)) / 1e9
        del sketch
        tracemalloc.start()
        SketchedMoments.of(groups, size=size)
        peak = tracemalloc.get_traced_memory()[1] / 1e9
        tracemalloc.stop()
        print(f"| {size} | {ratio:.3g} | {solve:.3g} | {held:.3g} | {peak:.3g} |", flush=True)


def table(path: str) -> None:
    """Print medians over seeds."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    print(
        "| data | size | holds | error, ridges: measured, said, theory | removed: all rows, sketch, unguarded |",
        end="",
    )
    print(" angle: none, half, all given back | Δλ: none, half, all | precision: raw, all rows, sketch | CPU ratio |")
    print("| --- " * 9 + "|")
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault((row["data"], row["size"]), []).append(row)
    for (data, size), group in groups.items():

        def of(name: str, share: float = 0.5, group: list[dict[str, str]] = group) -> float:
            return median(float(row[name]) for row in group if float(row["given_back"]) == share)

        angles = ", ".join(f"{of('angle', share):.1f}°" for share in SHARES)
        differences = ", ".join(f"{of('difference', share):.3f}" for share in SHARES)
        print(
            f"| {data} | {size} | {of('held'):.0%} | {of('error'):.2g}, {of('dropped'):.2g}, {of('bound'):.2g} "
            f"| {of('removed_exact'):.0f}, {of('removed'):.0f}, {of('freely'):.0f} | {angles} | {differences} "
            f"| {of('precision_raw'):.2f}, {of('precision_exact'):.2f}, {of('precision'):.2f} "
            f"| {of('time_ratio'):.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 64, 128, 256, 512])
    parser.add_argument("--data", nargs="+", default=["fast", "slow", "flat", "Yale", "silhouettes"])
    parser.add_argument("--save", default="out/sketch_error.csv")
    parser.add_argument("--table", metavar="FILE")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--features", type=int, default=20_000)
    wanted = parser.parse_args()
    if wanted.table:
        return table(wanted.table)
    if wanted.cost:
        return cost(wanted.features, wanted.sizes)
    warnings.simplefilter("ignore", EvidenceWarning)
    Path(wanted.save).parent.mkdir(parents=True, exist_ok=True)
    with Path(wanted.save).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Found)])
        writer.writeheader()
        for data in wanted.data:
            cases: Any = (
                ((seed, groups, (test,), k) for seed in range(wanted.seeds) for groups, test, k in [drawn(data, seed)])
                if data in DECAYS
                else real(data, wanted.seeds)
            )
            for seed, groups, tests, k in cases:
                for found in compared(data, seed, groups, tests, k, wanted.sizes):
                    writer.writerow(asdict(found))
                file.flush()
                print(f"{data}, seed {seed}: done", file=sys.stderr, flush=True)
    return table(wanted.save)


if __name__ == "__main__":
    main()

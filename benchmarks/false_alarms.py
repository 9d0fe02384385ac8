"""False alarms, promised and observed: does a threshold keep its word on contexts it never saw.

Normal groups of real data are split at random, by set. The detector is the mean distance to the five nearest
known rows. Two ways to calibrate:

    split    a third of the groups is known, a third calibrates, a third is new
    cross    two thirds calibrate, each scored without its fold, and all are known when the last third comes

A row of the table has the promised rate, the observed one on average over new groups, and how far groups differ.

    python benchmarks/false_alarms.py [--splits 100] [--plot false_alarms.png] [data set ...]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import NearestNeighbors

from undistract._optional import import_optional
from undistract.detect.alarms import find_alarms
from undistract.detect.base import Scores
from undistract.detect.calibration import cross_val_scores, relative_to_group, score_values
from undistract.detect.tails import Tail
from undistract.detect.thresholds import (
    AlarmBudget,
    Conformal,
    GroupQuantile,
    Quantile,
    Threshold,
    ThresholdRule,
    benjamini_hochberg,
)

Rows = NDArray[np.float64]
NEIGHBOURS = 5
RATE = 0.01
DISCOVERY_RATE = 0.2  # with fewer than 1 / rate groups nothing can be discovered
DATA = Path(os.environ.get("UNDISTRACT_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))


def read(name: str) -> list[Rows]:
    """Read the normal rows of one data set, one array per context."""
    if name == "SMD":  # every 20th minute of the training part of each machine
        files = [np.load(DATA / f"smd/smd_group{group}.npz") for group in (1, 2, 3)]
        return [file[key][::20].astype(float) for file in files for key in file if key.endswith("_train")]
    if name == "MVTec":  # the good parts of each product
        file = np.load(DATA / "mvtec_features/mvtec_resnet18_512.npz")
        return [file[key][file[key[:-1] + "y"] == 0].astype(float) for key in file if key.endswith("_X")]
    path, rows, owner = {
        "Yale": ("yale_faces/extended_yale_b_48x42.npz", "images", "subject"),
        "Ped1": ("ucsd_ped/ped1_effnetlite0_avg1280_stride4.npz", "train_embedding", "train_clip"),
        "Ped2": ("ucsd_ped/ped2_effnetlite0_avg1280_stride2.npz", "train_embedding", "train_clip"),
        "COIL": ("coil20/coil20_32x32.npz", "images", "object"),
        "EMNIST": ("emnist/emnist_byclass_test_cap500.npz", "images", "labels"),
    }[name]
    file = np.load(DATA / path)
    X, owners = file[rows], file[owner]
    return [X[owners == one][:100].reshape(-1, X[0].size).astype(float) for one in np.unique(owners)]


WAYS = ("split", "cross")
DATA_SETS = ("SMD", "Yale", "Ped1", "Ped2", "MVTec", "COIL", "EMNIST")


@dataclass(frozen=True)
class Neighbours:
    """Each row's nearest distances to every group, so that any split is a lookup: ``distances`` (n, M, k)."""

    distances: Rows
    owner: NDArray[np.intp]

    @classmethod
    def of(cls, groups: list[Rows]) -> Neighbours:
        """Measure every row against every group."""
        near = [NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="brute").fit(one) for one in groups]
        X = np.concatenate(groups)
        distances = np.stack([model.kneighbors(X)[0] for model in near], axis=1)
        return cls(distances, np.repeat(np.arange(len(groups)), [len(one) for one in groups]))

    def rows(self, number: int) -> NDArray[np.intp]:
        """Return the rows of a group, by number."""
        return np.flatnonzero(self.owner == number)

    def fit_score(self, known: list[Rows], held_out: Rows) -> Rows:
        """Score rows, given by number, by the mean distance to their nearest known rows."""
        groups = self.owner[[int(rows[0]) for rows in known]]
        near = self.distances[held_out.astype(int)][:, groups].reshape(len(held_out), -1)
        return np.asarray(np.partition(near, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS].mean(axis=1))


def all_rows_alike(groups: Sequence[ArrayLike | Scores]) -> Threshold:
    """Set the threshold as if the groups were one: the usual mistake."""
    return Quantile(RATE)([np.concatenate([score_values(one) for one in groups])])


def rows_that_alarm(threshold: Threshold, scores: Rows) -> float:
    """Give the share of rows that alarm."""
    return float(threshold.alarms(scores).mean())


def alarms_per_row(threshold: Threshold, scores: Rows) -> float:
    """Count alarms, neighbours joined, per row."""
    return len(find_alarms(Scores("new", scores), threshold)) / len(scores)


def too_many(threshold: Threshold, scores: Rows) -> float:
    """Tell whether more rows alarm than the rate allows."""
    return float(rows_that_alarm(threshold, scores) > threshold.rate)


def any_discovery(threshold: Threshold, scores: Rows) -> float:
    """Tell whether Benjamini-Hochberg chooses any row: all rows are normal, so all it chooses are false."""
    return float(benjamini_hochberg(threshold.p_values(scores), DISCOVERY_RATE).any())


@dataclass(frozen=True)
class Contender:
    """A rule, what it promises, and how its false alarms on a new normal group are counted."""

    name: str
    rule: ThresholdRule
    promised: float = RATE
    prepare: Callable[[Rows], Rows] = np.asarray
    count: Callable[[Threshold, Rows], float] = rows_that_alarm

    def observe(self, calm: list[Rows], new: list[Rows]) -> list[float]:
        """Calibrate, and count the false alarms of each new group."""
        threshold = self.rule([self.prepare(one) for one in calm])
        return [self.count(threshold, self.prepare(one)) for one in new]


CONTENDERS = (
    Contender("all rows alike", all_rows_alike),
    Contender("Quantile", Quantile(RATE)),
    Contender("Quantile, relative", Quantile(RATE), prepare=relative_to_group),
    Contender("Conformal", Conformal(RATE)),
    Contender("Conformal, relative", Conformal(RATE), prepare=relative_to_group),
    Contender("Conformal, lone rows", Conformal(RATE, whole_groups=False)),
    Contender("GroupQuantile, other groups", GroupQuantile(RATE, share=0.8), promised=0.2, count=too_many),
    Contender("Tail", Tail(RATE / 10, share=0.1), promised=RATE / 10),
    Contender("AlarmBudget, alarms", AlarmBudget(1, rows_per_day=200), promised=1 / 200, count=alarms_per_row),
    Contender("discoveries, groups", Conformal(RATE), promised=DISCOVERY_RATE, count=any_discovery),
)


def splits(near: Neighbours, way: str, n_splits: int) -> Iterator[tuple[list[Rows], list[Rows]]]:
    """Give calibration scores and new scores, per group, for random splits by set."""
    groups = [near.rows(number).astype(float) for number in range(near.owner.max() + 1)]
    rng = np.random.default_rng(0)
    for seed in range(n_splits):
        known, calm, new = ([groups[n] for n in part] for part in np.array_split(rng.permutation(len(groups)), 3))
        if way == "split":
            yield [near.fit_score(known, one) for one in calm], [near.fit_score(known, one) for one in new]
        else:
            both = [*known, *calm]
            yield (
                cross_val_scores(lambda known: partial(near.fit_score, known), both, seed=seed),
                [near.fit_score(both, one) for one in new],
            )


def observe(near: Neighbours, way: str, n_splits: int) -> dict[str, Rows]:
    """Give each contender's rate of false alarms, (n_splits, new groups)."""
    found: dict[str, list[list[float]]] = {one.name: [] for one in CONTENDERS}
    for calm, new in splits(near, way, n_splits):
        for one in CONTENDERS:
            found[one.name].append(one.observe(calm, new))
    return {name: np.array(rates) for name, rates in found.items()}


def print_table(name: str, near: Neighbours, results: dict[str, dict[str, Rows]]) -> None:
    """Print what was promised and what came true, in percent."""
    print(f"\n{name}: {near.owner.max() + 1} groups, {len(near.owner)} rows")
    heads = "".join(f" | {way:>6} {'±':>4} {'median':>6} {'9 in 10':>7} {'worst':>6}" for way in WAYS)
    print(f"{'percent':22} {'promised':>8}{heads}")
    for one in CONTENDERS:
        print(f"{one.name:22} {100 * one.promised:8.2f}", end="")
        for way in WAYS:
            rates = 100 * results[way][one.name]
            error = rates.mean(axis=1).std() / np.sqrt(len(rates))
            middle, most, worst = np.quantile(rates, [0.5, 0.9, 1])
            print(f" | {rates.mean():6.2f} {error:4.2f} {middle:6.2f} {most:7.2f} {worst:6.1f}", end="")
        print(flush=True)


def plot(results: dict[str, dict[str, dict[str, Rows]]], path: Path) -> None:
    """Draw each 1 % rule on each data set: the mean, the range of nine groups in ten, and the worst set."""
    plt = import_optional("matplotlib.pyplot", extra="plot", to="Drawing plots")
    names = ("all rows alike", "Quantile", "Quantile, relative", "Conformal", "Conformal, relative")
    places, colours = np.arange(len(results)), plt.cm.viridis(np.linspace(0, 0.9, len(names)))
    figure, panels = plt.subplots(len(WAYS), figsize=(8, 6), sharex=True, sharey=True, layout="constrained")
    for axes, way in zip(panels, WAYS, strict=True):
        axes.axhspan(0.5, 1.5, color="0.9")
        axes.axhline(100 * RATE, color="0.4", linewidth=1)
        for shift, name, colour in zip(np.linspace(-0.3, 0.3, len(names)), names, colours, strict=True):
            rates = [100 * one[way][name] for one in results.values()]
            most = [np.quantile(one, 0.9) for one in rates]
            axes.vlines(places + shift, 0, most, color=colour, alpha=0.4, linewidth=5)
            axes.vlines(places + shift, 0, [one.max() for one in rates], color=colour, linewidth=1)
            axes.plot(places + shift, [one.mean() for one in rates], "o", color=colour, label=name)
        axes.set_title(f"calibration: {way}", fontsize=10, loc="left")
        axes.set_ylabel("rows of new normal groups\nthat alarm, percent")
    axes.set_yscale("symlog", linthresh=2)
    axes.set_yticks([0, 0.5, 1, 1.5, 2, 5, 10, 100], ["0", "0.5", "1", "1.5", "2", "5", "10", "100"])
    axes.set_ylim(0, 100)
    axes.set_xticks(places, list(results))
    figure.suptitle("1 % promised. Dot: mean over new groups; bar: nine groups in ten; line: the worst", fontsize=10)
    figure.legend(*axes.get_legend_handles_labels(), ncols=5, fontsize=8, frameon=False, loc="outside lower center")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Run all data sets, or those named."""
    parser = argparse.ArgumentParser(description="False alarms, promised and observed.")
    parser.add_argument("names", nargs="*", default=DATA_SETS)
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    start, results = time.perf_counter(), {}
    for name in given.names:
        near = Neighbours.of(read(name))
        results[name] = {way: observe(near, way, given.splits) for way in WAYS}
        print_table(name, near, results[name])
    if given.plot:
        plot(results, given.plot)
    print(f"\n{given.splits} splits, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

"""Draw the pictures of docs/distractor.md.

    python docs/draw_distractor.py [--folder docs/images]

Three machines with three sensors. The load moves the first two of them all the time; each machine has a place of its
own; the third sensor is a date stamp that never changes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from undistract import Focus

COLOURS = ("#0072B2", "#009E73", "#CC79A7")
AMBER, GREY = "#E69F00", "#8A8A8A"
LOAD = np.array([1.0, 0.45, 0.0])  # how the load moves the sensors
OWN = np.array([-0.45, 1.0, 0.0])  # across it: where machines differ
STAMP = np.array([0.0, 0.0, 1.0])
PLACES = (-5.0, 0.0, 5.0)


def machine(place: float, rng: np.random.Generator, n_rows: int = 120) -> np.ndarray:
    """Rows of one machine, (n, 3)."""
    load, own = rng.normal(scale=2.0, size=(n_rows, 1)), place + rng.normal(scale=0.6, size=(n_rows, 1))
    return load * LOAD + own * OWN + 4.0 * STAMP


def two_arrows(groups: list[np.ndarray]) -> plt.Figure:
    """Draw three clouds, what moves inside each, and what moves from one to the next."""
    figure, axes = plt.subplots(figsize=(6.4, 5.2))
    for number, (rows, colour) in enumerate(zip(groups, COLOURS, strict=True), 1):
        axes.scatter(*rows[:, :2].T, s=10, color=colour, alpha=0.7)
        axes.text(
            *(rows[:, :2].mean(axis=0) + 6.6 * LOAD[:2]), f"group {number}", color=colour, weight="bold", va="center"
        )
    middle = groups[1][:, :2].mean(axis=0)
    for direction, length, words, shift in (
        (LOAD, 5.2, "varies inside every group,\ndoes not tell them apart:\na distractor", (4.9, 0.2)),
        (OWN, 5.6, "tells groups apart:\nit describes", (-8.6, 1.6)),
    ):
        reach = length * direction[:2]
        axes.annotate("", middle + reach, middle - reach, arrowprops={"arrowstyle": "<->", "lw": 2.5, "color": "black"})
        axes.text(*(middle + shift), words, ha="left", va="center")
    axes.set(xlabel="sensor 1", ylabel="sensor 2", aspect="equal", xlim=(-10.5, 13.5))
    return figure


def three_readings(groups: list[np.ndarray], focus: Focus) -> plt.Figure:
    """Draw one panel for each kind: the reading of every row, group by group."""
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.4))
    readings = (LOAD / (LOAD @ LOAD), OWN / (OWN @ OWN), STAMP)
    told = [*(f"{kind}, λ = {value:.2f}" for kind, value in zip(focus.kinds_, focus.distraction_, strict=False))]
    verdict = ("ignored", "kept", "kept: a change here is news")
    rng = np.random.default_rng(1)
    for axes, reading, title, words, name in zip(
        panels, readings, told, verdict, ("the load", "the machine's own place", "the date stamp"), strict=True
    ):
        for number, (rows, colour) in enumerate(zip(groups, COLOURS, strict=True), 1):
            axes.scatter(number + rng.uniform(-0.25, 0.25, len(rows)), rows @ reading, s=6, color=colour, alpha=0.7)
        axes.set(title=f"{name}\n{title}", xticks=(1, 2, 3), ylim=(-9, 9), xlim=(0.4, 3.6))
        axes.set_xlabel(words, weight="bold")
        axes.set_xticks((1, 2, 3), ("group 1", "group 2", "group 3"))
    panels[0].set_ylabel("reading")
    return figure


def most_variance(groups: list[np.ndarray], focus: Focus) -> tuple[plt.Figure, tuple[float, float]]:
    """Draw what is left of the groups after the direction of most variance went, and after FOCUS."""
    X = np.concatenate(groups)[:, :2]
    top = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][0]
    pattern = focus.patterns_[:2, 0] / np.linalg.norm(focus.patterns_[:2, 0])
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 2.6))
    apart = []
    rng = np.random.default_rng(1)
    for axes, gone, title in zip(panels, (top, pattern), ("PCA: most variance removed", "FOCUS"), strict=True):
        across = np.array([-gone[1], gone[0]])
        left = [rows[:, :2] @ across for rows in groups]
        inside, between = np.mean([one.var() for one in left]), np.var([one.mean() for one in left])
        apart.append(float(between / (inside + between)))
        for one, colour in zip(left, COLOURS, strict=True):
            axes.scatter(one, rng.uniform(-1, 1, len(one)), s=8, color=colour, alpha=0.7)
        axes.set(title=title, xlabel="what is left", yticks=[], ylim=(-1.6, 1.6))
    return figure, (apart[0], apart[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "images")
    folder = parser.parse_args().folder
    rng = np.random.default_rng(0)
    groups = [machine(place, rng) for place in PLACES]
    focus = Focus(n_remove=1, ridge=1e-6).fit_groups(groups)
    last, apart = most_variance(groups, focus)
    for name, figure in (("groups", two_arrows(groups)), ("kinds", three_readings(groups, focus)), ("pca", last)):
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
        figure.tight_layout()
        figure.savefig(folder / f"distractor-{name}.png", dpi=110)
    values = " ".join(f"{value:.2f}" for value in focus.distraction_)
    print(f"distraction: {values}")
    print(f"of what is left, tells groups apart: PCA {apart[0]:.0%}, FOCUS {apart[1]:.0%}")


if __name__ == "__main__":
    main()

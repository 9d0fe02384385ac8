"""The picture: how the cost of a fit grows with rows, features and groups, on log-log axes with fitted slopes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed.growth import slope
from benchmarks.speed.peers import COVARIANCE, FLOOR, OURS
from benchmarks.speed.results import Result
from undistract.report.figures import AMBER, BLUE, FAINT, GREY, INK, LABEL_SIZE, draw_title, new_figure, tidy

TITLES = {
    "rows": "More rows",
    "features": "More features",
    "groups": "More groups of as many rows in all",
}
LOOKS = {OURS.name: (AMBER, "o", 2.4), FLOOR.name: (GREY, "s", 1.6), COVARIANCE.name: (BLUE, "^", 1.6)}


def draw(results: Sequence[Result], path: Path) -> None:
    """Draw the three panels and save them."""
    figure = new_figure(13.5, 4.6)
    for place, part in enumerate(TITLES):
        _panel(figure.add_subplot(1, 3, place + 1), [one for one in results if one.part == part], part)
    figure.tight_layout(w_pad=2.5)
    # No version and no date inside: the same picture is the same file.
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _panel(axes: object, found: list[Result], part: str) -> None:
    fixed = {"rows": "{0.features} features, 100 rows in a group", "features": "{0.rows} rows, {0.groups} groups",
             "groups": "{0.rows} rows, {0.features} features"}[part].format(found[0])  # fmt: skip
    for name, (colours, marker, width) in LOOKS.items():
        points = [(getattr(one, part), one.seconds) for one in found if one.name == name]
        label = f"{name}, slope {slope(found, part, name):.2f}"
        axes.plot(*zip(*points, strict=True), marker=marker, color=colours[0], linewidth=width, label=label)
    axes.set(xscale="log", yscale="log")
    low, high = axes.get_ylim()
    if high / low < 10:  # what is flat shall look so
        low, high = low / 5, high * 2
    axes.set_ylim(low, high * (high / low) ** 0.35)  # space for the labels
    axes.set_xlabel(f"{part} ({fixed})", fontsize=LABEL_SIZE, color=INK)
    if part == "rows":
        axes.set_ylabel("CPU seconds of a fit, one thread", fontsize=LABEL_SIZE, color=INK)
    axes.grid(which="major", color=FAINT, alpha=0.15)
    axes.legend(loc="upper left", frameon=False, fontsize=LABEL_SIZE - 1)
    draw_title(axes, TITLES[part])
    tidy(axes)

"""The picture of the demo: what was learned, what it does to images, and what it does to alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from undistract.arrays import Floats
from undistract.focus import Focus
from undistract.report.plots import (
    AMBER,
    BLUE,
    FAINT,
    GREY,
    INK,
    LABEL_SIZE,
    TITLE_SIZE,
    Group,
    draw_images,
    draw_ranked_scores,
    draw_spectrum,
    draw_title,
    new_figure,
)
from undistract.sets import UnderLight

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Light reaches beyond paper (0) and ink (1); all images share this scale, so that before and after can be compared.
BRIGHTNESS = (-0.35, 1.35)
N_SHOWN = 6
LEFT, RIGHT = 0.1, 0.98
COUNTS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def demo_picture(focus: Focus, digits: UnderLight[int], before: Floats, after: Floats, normal: str, odd: str) -> Figure:
    """Tell the demo in one picture of 1400 pixels width.

    Parameters
    ----------
    focus : Focus
        Fitted on ``digits.training``.
    digits : UnderLight
    before, after : (n,) arrays
        Scores of the test rows as they are, and through `focus`.
    normal, odd : str
        What people call many of the normal images, and of the hidden ones.

    Notes
    -----
    The images "after" come from `Focus.denoise`, which stays closest to the clean image; the scores are those of the
    detector, which looks at `Focus.transform`.
    """
    every = (
        Group(f"plain {normal}", ~digits.is_anomaly & ~digits.is_lit, GREY),
        Group(f"{normal} under light", ~digits.is_anomaly & digits.is_lit, AMBER),
        Group(f"hidden {odd}", digits.is_anomaly, BLUE, marked=True),
    )
    groups = tuple(group for group in every if group.members.any())
    figure = new_figure(14, 11.6)
    headline = f"Find the {odd} among the {normal}: first learn to ignore the light."
    figure.text(LEFT, 0.972, headline, fontsize=20, color=INK, fontweight="bold", va="center")
    _draw_learned(figure, focus, digits)
    _draw_test(figure, focus, digits, groups)
    _draw_alarms(figure, digits, (before, after), groups)
    return figure


def _draw_learned(figure: Figure, focus: Focus, digits: UnderLight[int]) -> None:
    """Draw some training images, the spectrum, and the patterns that are removed."""
    grid = figure.add_gridspec(
        1, 3, left=LEFT, right=RIGHT, top=0.885, bottom=0.665, width_ratios=[1.15, 1.3, 1.0], wspace=0.2
    )
    training, spectrum, patterns = (figure.add_subplot(grid[0, column]) for column in range(3))
    # A stride that is no multiple of the eight orientations shows other digits, turned in other ways.
    shown = digits.training[:: len(digits.training) // 4 + 3][:4]
    draw_images(
        training,
        _images(np.concatenate([one.rows[:N_SHOWN] for one in shown])),
        n_columns=N_SHOWN,
        limits=BRIGHTNESS,
        row_labels=[str(one.name).replace(" turned", "\nturned") for one in shown],
    )
    draw_title(training, f"①  In each of {len(digits.training)} sets of other digits,\nlight comes and goes.")
    draw_spectrum(spectrum, focus.distraction_, n_removed=focus.n_removed_, cutoff=focus.cutoff_)
    draw_title(spectrum, f"②  {_which(focus.n_removed_)}")
    _draw_patterns(patterns, focus.patterns_[:, : focus.n_removed_].T)


def _draw_patterns(axes: Axes, removed: Floats) -> None:
    if len(removed) == 0:
        draw_title(axes, "③  FOCUS removes nothing.")
        axes.set_axis_off()
        return
    strongest = float(np.abs(removed).max())
    draw_images(axes, _images(removed), n_columns=2, limits=(-strongest, strongest))
    draw_title(axes, "③  Drawn as images, they are\nthe light. FOCUS removes them.")
    if len(removed) == 2:
        words = "Light from any side is a mix of these."
        axes.text(0.0, -0.06, words, transform=axes.transAxes, va="top", fontsize=LABEL_SIZE, color=FAINT)


def _draw_test(figure: Figure, focus: Focus, digits: UnderLight[int], groups: tuple[Group, ...]) -> None:
    """Draw a few test images of each group, before and after."""
    grid = figure.add_gridspec(1, len(groups), left=LEFT, right=RIGHT, top=0.555, bottom=0.445, wspace=0.08)
    for column, group in enumerate(groups):
        axes = figure.add_subplot(grid[0, column])
        rows = digits.test[group.members][:N_SHOWN]
        draw_images(
            axes,
            _images(np.concatenate([rows, focus.denoise(rows)])),
            n_columns=len(rows),
            limits=BRIGHTNESS,
            row_labels=("before", "after") if column == 0 else (),
        )
        label = f"{group.members.sum()} {group.label}"
        axes.set_title(label, loc="left", fontsize=LABEL_SIZE + 1, color=group.colours[1], fontweight="bold", pad=6)
    sentence = "④  The test shows digits that no set has shown. The light goes, the digits stay."
    figure.text(LEFT, 0.598, sentence, fontsize=TITLE_SIZE, color=INK)


def _draw_alarms(
    figure: Figure, digits: UnderLight[int], runs: tuple[Floats, Floats], groups: tuple[Group, ...]
) -> None:
    """Draw who is strangest, before and after: the strongest as images, then everyone."""
    n_hidden = int(digits.is_anomaly.sum())
    grid = figure.add_gridspec(
        2, 2, left=LEFT, right=RIGHT, top=0.365, bottom=0.035, height_ratios=[0.25, 1.0], wspace=0.1, hspace=0.06
    )
    for column, (when, scores) in enumerate(zip(("⑤  Before", "⑥  After"), runs, strict=True)):
        strongest = np.argsort(-scores, kind="stable")[:n_hidden]
        n_found = int(digits.is_anomaly[strongest].sum())
        faces, bars = figure.add_subplot(grid[0, column]), figure.add_subplot(grid[1, column])
        frames = [next(group.colours[0] for group in groups if group.members[row]) for row in strongest]
        draw_images(
            faces, _images(digits.test[strongest]), n_columns=n_hidden, limits=BRIGHTNESS, gap=0.18, frames=frames
        )
        found, verb = "all" if n_found == n_hidden else _count(n_found), "is" if n_found < 2 else "are"
        draw_title(faces, f"{when}, {found} of the {n_hidden} strongest alarms {verb} right.")
        draw_ranked_scores(bars, scores, groups, n_strongest=n_hidden, measure="distance to the 10 nearest")


def _images(rows: Floats) -> Any:
    side = round(rows.shape[1] ** 0.5)
    return rows.reshape(len(rows), side, side)


def _which(n_directions: int) -> str:
    if n_directions == 1:
        return "One direction varies inside every set\nand cannot tell the sets apart."
    many = _count(n_directions).replace("none", "no").capitalize()
    return f"{many} directions vary inside every set\nand cannot tell the sets apart."


def _count(number: int) -> str:
    return COUNTS[number] if number < len(COUNTS) else str(number)

"""The figure of the demo: what was learned, and its effect on images and alarms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from undistract._arrays import Floats
from undistract.datasets import IlluminationExperiment
from undistract.focus import Focus
from undistract.report.figures import (
    AMBER,
    BLUE,
    DASHED,
    FAINT,
    GREY,
    INK,
    LABEL_SIZE,
    TITLE_SIZE,
    draw_images,
    draw_spectrum,
    draw_title,
    new_figure,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Light can exceed the range from paper (0) to ink (1). All images share this scale, so that they can be compared.
BRIGHTNESS = (-0.35, 1.35)
N_SHOWN = 6
LEFT, RIGHT = 0.1, 0.98
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Rows that are drawn in one colour."""

    label: str
    members: npt.NDArray[np.bool_]  # (n,)
    colours: tuple[str, str]  # for shapes, for text
    marked: bool = False  # draw a triangle below each bar, so that a few rows are visible among many


def demo_figure(
    focus: Focus, digits: IlluminationExperiment[int], before: Floats, after: Floats, normal: str, odd: str
) -> Figure:
    """Return the figure of the demo, 1400 pixels wide.

    Parameters
    ----------
    focus : Focus
        Fitted on ``digits.training``.
    digits : IlluminationExperiment
    before, after : (n,) arrays
        Scores of the original test rows, and of those after `focus`.
    normal, odd : str
        The plural names of the normal and the hidden digits.

    Notes
    -----
    The images "after" come from `Focus.denoise`, which is closest to the clean image; the scores are those of a
    detector on the rows of `Focus.transform`.
    """
    candidates = (
        RowGroup(f"plain {normal}", ~digits.is_anomaly & ~digits.is_lit, GREY),
        RowGroup(f"{normal} under light", ~digits.is_anomaly & digits.is_lit, AMBER),
        RowGroup(f"hidden {odd}", digits.is_anomaly, BLUE, marked=True),
    )
    groups = tuple(group for group in candidates if group.members.any())
    figure = new_figure(14, 11.6)
    headline = f"Find the {odd} among the {normal}: first learn to ignore changing light."
    figure.text(LEFT, 0.972, headline, fontsize=20, color=INK, fontweight="bold", va="center")
    _draw_learned(figure, focus, digits)
    _draw_test(figure, focus, digits, groups)
    _draw_alarms(figure, digits, (before, after), groups)
    return figure


def _draw_learned(figure: Figure, focus: Focus, digits: IlluminationExperiment[int]) -> None:
    """Draw some training images, the spectrum, and the removed patterns."""
    grid = figure.add_gridspec(
        1, 3, left=LEFT, right=RIGHT, top=0.885, bottom=0.665, width_ratios=[1.15, 1.3, 1.0], wspace=0.2
    )
    training, spectrum, patterns = (figure.add_subplot(grid[0, column]) for column in range(3))
    # A stride that is not a multiple of the eight orientations gives different digits in different orientations.
    examples = digits.training[:: len(digits.training) // 4 + 3][:4]
    draw_images(
        training,
        _images(np.concatenate([group.rows[:N_SHOWN] for group in examples])),
        n_columns=N_SHOWN,
        limits=BRIGHTNESS,
        row_labels=[str(group.name).replace(" turned", "\nturned") for group in examples],
    )
    draw_title(training, f"①  Training: {len(digits.training)} groups of other digits.\nLight varies in each of them.")
    draw_spectrum(spectrum, focus.distraction_, n_removed=focus.n_removed_, cutoff=focus.cutoff_)
    draw_title(spectrum, f"②  {_which(focus.n_removed_)}")
    _draw_patterns(patterns, focus.patterns_[:, : focus.n_removed_].T)


def _draw_patterns(axes: Axes, removed: Floats) -> None:
    if len(removed) == 0:
        draw_title(axes, "③  FOCUS removes no direction.")
        axes.set_axis_off()
        return
    strongest = float(np.abs(removed).max())
    draw_images(axes, _images(removed), n_columns=2, limits=(-strongest, strongest))
    draw_title(axes, "③  As images, they show the\nlight. FOCUS removes them.")
    if len(removed) == 2:
        note = "Light from any side is a mix of these two."
        axes.text(0.0, -0.06, note, transform=axes.transAxes, va="top", fontsize=LABEL_SIZE, color=FAINT)


def _draw_test(figure: Figure, focus: Focus, digits: IlluminationExperiment[int], groups: tuple[RowGroup, ...]) -> None:
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
            row_labels=() if column else ("before", "after"),
        )
        label = f"{group.members.sum()} {group.label}"
        axes.set_title(label, loc="left", fontsize=LABEL_SIZE + 1, color=group.colours[1], fontweight="bold", pad=6)
    sentence = "④  The test digits are not in the training data. FOCUS removes the light and keeps the digits."
    figure.text(LEFT, 0.598, sentence, fontsize=TITLE_SIZE, color=INK)


def _draw_alarms(
    figure: Figure, digits: IlluminationExperiment[int], runs: tuple[Floats, Floats], groups: tuple[RowGroup, ...]
) -> None:
    """Draw the highest scores before and after: the strongest alarms as images, then all scores as bars."""
    n_hidden = int(digits.is_anomaly.sum())
    grid = figure.add_gridspec(
        2, 2, left=LEFT, right=RIGHT, top=0.365, bottom=0.035, height_ratios=[0.25, 1.0], wspace=0.1, hspace=0.06
    )
    for column, (run, scores) in enumerate(zip(("⑤  Before", "⑥  After"), runs, strict=True)):
        strongest = np.argsort(-scores, kind="stable")[:n_hidden]
        n_correct = int(digits.is_anomaly[strongest].sum())
        images = figure.add_subplot(grid[0, column])
        bars = figure.add_subplot(grid[1, column])
        frames = [next(group.colours[0] for group in groups if group.members[row]) for row in strongest]
        draw_images(
            images, _images(digits.test[strongest]), n_columns=n_hidden, limits=BRIGHTNESS, gap=0.18, frames=frames
        )
        draw_title(images, f"{run}: {n_correct} of the {n_hidden} strongest alarms are correct.")
        draw_ranked_scores(bars, scores, groups, n_strongest=n_hidden, measure="distance to the 10 nearest")


def _images(rows: Floats) -> Any:
    side = round(rows.shape[1] ** 0.5)
    return rows.reshape(len(rows), side, side)


def _which(n_directions: int) -> str:
    if n_directions == 1:
        return "One direction varies within every group\nbut does not distinguish groups."
    count = COUNTS[n_directions].capitalize() if n_directions < len(COUNTS) else str(n_directions)
    return f"{count} directions vary within every group\nbut do not distinguish groups."


def draw_ranked_scores(
    axes: Axes, scores: Floats, groups: Sequence[RowGroup], *, n_strongest: int, measure: str = "strangeness"
) -> None:
    """Draw the scores as bars, highest first, each in the colour of its group.

    Parameters
    ----------
    scores : (n,) array
        Higher is more anomalous.
    groups : sequence of RowGroup
        The colours of rows.
    n_strongest : int
        Separate this many bars with a line: the rows that a person would review.
    measure : str
        The label of the axis.
    """
    order = np.argsort(-scores, kind="stable")
    rank = np.arange(1, len(scores) + 1)
    top = float(scores.max())
    label_height = 1.06 * top
    for group in groups:
        is_member = group.members[order]
        members = rank[is_member]
        axes.bar(members, scores[order][is_member], width=1.0, color=group.colours[0], linewidth=0)
        style: dict[str, Any] = {"fontsize": LABEL_SIZE, "color": group.colours[1], "fontweight": "bold"}
        if group.marked and len(members):
            axes.plot(members, np.full(len(members), -0.05 * top), "^", color=group.colours[0], markersize=7)
            axes.text(members.max() + 3, -0.055 * top, group.label, va="center", **style)
        else:
            axes.text(len(scores), label_height, group.label, ha="right", va="top", **style)
            label_height -= 0.1 * top
    axes.axvline(n_strongest + 0.5, color=INK, linewidth=1, linestyle=DASHED)
    axes.text(n_strongest + 2.5, 1.06 * top, f"{n_strongest} strongest", va="top", fontsize=LABEL_SIZE, color=INK)
    axes.set_xlim(0.0, len(scores) + 1)
    axes.set_ylim(-0.11 * top, 1.06 * top)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_ylabel(measure, fontsize=LABEL_SIZE, color=INK)
    axes.set_xlabel(f"all {len(scores)} test rows, highest score first", fontsize=LABEL_SIZE, color=INK, labelpad=8)
    tidy(axes)

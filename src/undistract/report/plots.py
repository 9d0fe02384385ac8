"""Plots, one part of a figure per function: each draws into the axes it is given.

matplotlib is an extra and is touched in this room alone, through its object-oriented side: no global state, no window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from undistract.arrays import Floats
from undistract.errors import InputError
from undistract.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Blue, amber and grey stay apart for every kind of colour vision (after Okabe and Ito, 2008); the second of each is
# for words, dark enough to be read on white.
BLUE, AMBER, GREY = ("#0072B2", "#00568A"), ("#E69F00", "#945F00"), ("#BDBDBD", "#666666")
INK, FAINT = "#1F1F1F", "#666666"

TITLE_SIZE, LABEL_SIZE = 14, 11.5
DASHED = (0, (4, 3))
PICTURES = (".png", ".svg", ".pdf")
N_BARS = 200  # more bars than this are drawn as one outline


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that are drawn alike."""

    label: str
    members: npt.NDArray[np.bool_]  # (n,)
    colours: tuple[str, str]  # for shapes, for words
    marked: bool = False  # a triangle below each bar, so that few rows are not lost among many


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, in inches of 100 pixels, that belongs to no window."""
    canvas = need("matplotlib.backends.backend_agg", extra="plot", to="Drawing plots").FigureCanvasAgg
    figure: Figure = need("matplotlib.figure", extra="plot", to="Drawing plots").Figure(
        figsize=(width, height), dpi=100, facecolor="white"
    )
    canvas(figure)
    return figure


def check_picture_name(path: Path) -> None:
    """Refuse a name that no picture is saved under; to be asked before the work that goes into one.

    Examples
    --------
    >>> check_picture_name(Path("demo.jpeg"))
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Cannot save a picture as 'demo.jpeg'; end the name in .png, .svg, .pdf.
    """
    if path.suffix.lower() not in PICTURES:
        raise InputError(f"Cannot save a picture as {path.name!r}; end the name in {', '.join(PICTURES)}.")


def save_figure(figure: Figure, path: Path) -> Path:
    """Save a figure as what its name ends in."""
    check_picture_name(path)
    try:
        figure.savefig(path)
    except OSError as error:
        raise InputError(f"Cannot write {str(path)!r}: {error.strerror}. Save somewhere else.") from error
    return path


def draw_title(axes: Axes, sentence: str) -> None:
    """Write above the panel what it shows, as a sentence."""
    axes.set_title(sentence, loc="left", fontsize=TITLE_SIZE, color=INK, pad=12)


def draw_spectrum(
    axes: Axes,
    distraction: Floats,
    *,
    n_removed: int,
    cutoff: float,
    n_shown: int | None = None,
    noise_edges: tuple[float, float] | None = None,
    pure_distractor: float | None = None,
) -> None:
    """Draw how distracting each direction is, the cut-off, and which directions go.

    Parameters
    ----------
    distraction : (d,) array
        Largest first.
    n_removed : int
        The first so many are drawn as removed.
    cutoff : float
        The least distraction that is removed.
    n_shown : int, optional
        Only the first so many are drawn.
    noise_edges : pair of float, optional
        Between which values pure noise would read: a band.
    pure_distractor : float, optional
        What a direction that tells nothing about sets is expected to read: a mark on the right.
    """
    shown = distraction[:n_shown]
    rank = np.arange(1, len(shown) + 1)
    for these, colour in ((rank <= n_removed, AMBER[0]), (rank > n_removed, GREY[0])):
        if len(rank) <= N_BARS:
            axes.bar(rank[these], shown[these], width=0.8, color=colour)
        elif these.any():
            # One outline instead of thousands of bars; the last value reaches half a step further.
            ends = np.append(rank[these] - 0.5, rank[these][-1] + 0.5)
            axes.fill_between(ends, np.append(shown[these], shown[these][-1]), step="post", color=colour, linewidth=0)
    end = len(rank) + 0.5
    words: dict[str, Any] = {"ha": "right", "fontsize": LABEL_SIZE}
    axes.axhline(cutoff, color=INK, linewidth=1, linestyle=DASHED)
    side, away = ("bottom", 0.015) if pure_distractor is None else ("top", -0.02)
    axes.text(end, cutoff + away, f"cut-off {cutoff:.4g}", va=side, color=INK, **words)
    if noise_edges is not None:
        axes.axhspan(*noise_edges, color=BLUE[0], alpha=0.25, linewidth=0)
        axes.text(end, 1.11, "pure noise would read here", va="bottom", color=BLUE[1], **words)
    if pure_distractor is not None:
        axes.plot([end + 0.5], [pure_distractor], "<", color=BLUE[0], markersize=7, clip_on=False)
    if n_removed:
        axes.text(0.6, 1.03, "removed", va="bottom", fontsize=LABEL_SIZE, color=AMBER[1], fontweight="bold")
    if n_removed < len(shown):
        label = "kept: they tell sets apart"
        # Below the cut-off's own label, where no bar reaches; else above them all.
        height = min(0.66, max(cutoff - 0.25, 0.1))
        height = height if shown[len(shown) // 2] < height - 0.02 else 1.03
        axes.text(end, height, label, va="bottom", color=GREY[1], fontweight="bold", **words)
    axes.set_xlim(0.0, len(rank) + 1)
    axes.set_ylim(0.0, 1.12 if noise_edges is None else 1.2)
    axes.set_yticks([0.0, 0.5, 1.0], ["0", ".5", "1"])
    axes.set_xticks([])
    which = f"the {len(rank)}" if len(rank) == len(distraction) else f"the first {len(rank)} of {len(distraction)}"
    axes.set_xlabel(
        f"{which} directions of the data, most distracting first", fontsize=LABEL_SIZE, color=INK, labelpad=8
    )
    axes.set_ylabel("distraction", fontsize=LABEL_SIZE, color=INK)
    tidy(axes)


def draw_images(
    axes: Axes,
    images: Floats,
    *,
    n_columns: int,
    limits: tuple[float, float],
    gap: float = 0.1,
    frames: Sequence[str] | None = None,
    row_labels: Sequence[str] = (),
) -> None:
    """Lay (n, height, width) grey images out as a grid, row by row, all on the same scale of brightness.

    Parameters
    ----------
    limits : pair of float
        What is drawn black, and what white.
    gap : float
        Space between two images, as a share of their width.
    frames : sequence of colours, optional
        One frame per image.
    row_labels : sequence of str
        Written to the left of each row.
    """
    tall = images.shape[1] / images.shape[2]
    for number, image in enumerate(images):
        row, column = divmod(number, n_columns)
        left, top = column * (1 + gap), row * (tall + gap)
        axes.imshow(
            image,
            cmap="gray",
            vmin=limits[0],
            vmax=limits[1],
            extent=(left, left + 1, top + tall, top),
            interpolation="nearest",
        )
        if frames is not None:
            around = ([left, left + 1, left + 1, left, left], [top, top, top + tall, top + tall, top])
            axes.plot(*around, color=frames[number], linewidth=4, solid_joinstyle="miter", clip_on=False)
    for row, label in enumerate(row_labels):
        middle = row * (tall + gap) + tall / 2
        axes.text(-1.5 * gap, middle, label, ha="right", va="center", fontsize=LABEL_SIZE, color=FAINT)
    n_rows = -(-len(images) // n_columns)
    axes.set_xlim(0, n_columns * (1 + gap) - gap)
    axes.set_ylim(n_rows * (tall + gap) - gap, 0)
    axes.set_aspect("equal")
    axes.set_anchor("NW")
    axes.set_axis_off()


def draw_ranked_scores(
    axes: Axes, scores: Floats, groups: Sequence[Group], *, n_strongest: int, measure: str = "strangeness"
) -> None:
    """Draw the scores as bars, strongest first, each in the colour of its group.

    Parameters
    ----------
    scores : (n,) array
        High is strange.
    groups : sequence of Group
        Which rows are drawn in which colour.
    n_strongest : int
        The first so many are set apart by a line: those that somebody would look at.
    measure : str
        What a score measures.
    """
    order = np.argsort(-scores, kind="stable")
    rank, top = np.arange(1, len(scores) + 1), float(scores.max())
    label_height = 1.06 * top
    for group in groups:
        mine = group.members[order]
        axes.bar(rank[mine], scores[order][mine], width=1.0, color=group.colours[0], linewidth=0)
        words: dict[str, Any] = {"fontsize": LABEL_SIZE, "color": group.colours[1], "fontweight": "bold"}
        if group.marked and mine.any():
            axes.plot(rank[mine], np.full(mine.sum(), -0.05 * top), "^", color=group.colours[0], markersize=7)
            axes.text(rank[mine].max() + 3, -0.055 * top, group.label, va="center", **words)
        else:
            axes.text(len(scores), label_height, group.label, ha="right", va="top", **words)
            label_height -= 0.1 * top
    axes.axvline(n_strongest + 0.5, color=INK, linewidth=1, linestyle=DASHED)
    axes.text(n_strongest + 2.5, 1.06 * top, f"{n_strongest} strongest", va="top", fontsize=LABEL_SIZE, color=INK)
    axes.set_xlim(0.0, len(scores) + 1)
    axes.set_ylim(-0.11 * top, 1.06 * top)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_ylabel(measure, fontsize=LABEL_SIZE, color=INK)
    axes.set_xlabel(f"all {len(scores)} rows of the test, strangest first", fontsize=LABEL_SIZE, color=INK, labelpad=8)
    tidy(axes)


def tidy(axes: Axes) -> None:
    """Take away what carries no meaning: the upper and right borders, dark ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=FAINT, labelsize=LABEL_SIZE, length=3)

"""Why a row was flagged, drawn: the features that carried its score, and how much of its deviation was ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from undistract.detect.explain import Explanation
from undistract.report.plots import AMBER, BLUE, FAINT, GREY, INK, LABEL_SIZE, TITLE_SIZE, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def explanation_figure(explanation: Explanation, *, n_features: int = 8) -> Figure:
    """Draw one explanation in one figure.

    Examples
    --------
    >>> why = Explanation(7, 9.5, np.array([0.4, 8.6, 0.5]), True, np.array([1.0, 9.0, 0.1]), 0.93, ("a", "b", "c"))
    >>> [text.get_text() for text in explanation_figure(why).texts]
    ['Row 7 scores 9.5: why?']
    """
    figure = new_figure(8, 1.9 + 0.34 * min(n_features, len(explanation.contributions)))
    height = figure.get_figheight()
    figure.text(
        0.03,
        1 - 0.3 / height,
        f"Row {explanation.row} scores {explanation.score:.3g}: why?",
        fontsize=TITLE_SIZE,
        color=INK,
        fontweight="bold",
        va="center",
    )
    split = figure.add_axes((0.03, 1 - 1.05 / height, 0.94, 0.26 / height))
    draw_split(split, explanation.ignored)
    bars = figure.add_axes((0.24, 0.15 / height, 0.7, 1 - 1.75 / height))
    draw_contributions(bars, explanation, n_features=n_features)
    return figure


def draw_split(axes: Axes, ignored: float) -> None:
    """Draw how much of the deviation from the context was ignored, and how much the detector saw."""
    axes.barh([0], [ignored], color=AMBER[0])
    axes.barh([0], [1 - ignored], left=[ignored], color=BLUE[0])
    axes.set_xlim(0, 1)
    axes.set_axis_off()
    words: dict[str, Any] = {"fontsize": LABEL_SIZE, "fontweight": "bold", "va": "bottom"}
    axes.text(0, 0.5, f"{100 * ignored:.3g}% of its deviation was ignored", color=AMBER[1], ha="left", **words)
    axes.text(1, 0.5, f"{100 * (1 - ignored):.3g}% was seen", color=BLUE[1], ha="right", **words)


def draw_contributions(axes: Axes, explanation: Explanation, *, n_features: int = 8) -> None:
    """Draw the features that carried most of the score as bars, and all others together as one."""
    order = np.argsort(-np.abs(explanation.contributions), kind="stable")
    shown, others = order[:n_features], order[n_features:]
    values = [float(explanation.contributions[place]) for place in shown]
    labels = [explanation.feature_names[place] for place in shown]
    if len(others):
        values.append(float(explanation.contributions[others].sum()))
        labels.append(f"{len(others)} others together")
    places = [-float(place) for place in range(len(values))]
    colours = [GREY[0] if len(others) and place == len(values) - 1 else BLUE[0] for place in range(len(values))]
    axes.barh(places, values, color=colours, height=0.7)
    axes.set_yticks(places, labels)
    axes.set_xticks([])
    axes.axvline(0, color=FAINT, linewidth=1)
    reach = max(max(values), 0.0) or 1.0
    axes.set_xlim(min(min(values) * 1.15, 0.0), reach * 1.15)
    for place, value in zip(places, values, strict=True):
        axes.text(max(value, 0.0) + 0.01 * reach, place, f"{value:.2g}", va="center", fontsize=LABEL_SIZE, color=FAINT)
    what = "What each feature carried of the score" if explanation.exact else "How far the score falls without each"
    axes.set_title(what, loc="left", fontsize=LABEL_SIZE, color=INK)
    tidy(axes)
    axes.spines[["left", "bottom"]].set_visible(False)

"""Why a row was flagged, drawn: the features that carried its score, and how much of its deviation was ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from undistract.detect.explain import Explanation
from undistract.report.bars import draw_strongest
from undistract.report.plots import AMBER, BLUE, INK, LABEL_SIZE, TITLE_SIZE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def explanation_figure(explanation: Explanation, *, n_features: int = 8) -> Figure:
    """Draw one explanation in one figure: what was ignored, and which features carried the score.

    With ``n_features=0`` the features are left out, for rows that are images.

    Examples
    --------
    >>> import numpy as np
    >>> why = Explanation(7, 9.5, np.array([0.4, 8.6, 0.5]), True, np.array([1.0, 9.0, 0.1]), 0.93, ("a", "b", "c"))
    >>> [text.get_text() for text in explanation_figure(why).texts]
    ['Row 7 scores 9.5: why?']
    """
    n_bars = min(n_features, len(explanation.contributions))
    figure = new_figure(8, 1.9 + 0.34 * n_bars if n_bars else 1.2)
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
    if n_features:
        bars = figure.add_axes((0.26, 0.15 / height, 0.7, 1 - 1.75 / height))
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
    colours = (BLUE[0], BLUE[0])
    draw_strongest(axes, explanation.contributions, explanation.feature_names, n_shown=n_features, colours=colours)
    what = "What each feature carried of the score" if explanation.exact else "How far the score falls without each"
    axes.set_title(what, loc="left", fontsize=LABEL_SIZE, color=INK)

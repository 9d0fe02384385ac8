"""The strongest of many values as named bars: what a pattern moves, what carried a score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from undistract.arrays import Floats
from undistract.report.plots import AMBER, BLUE, FAINT, GREY, LABEL_SIZE, new_figure, tidy
from undistract.report.words import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_NAME = 24  # characters of a name beside a bar


def bars_figure(values: Floats, names: Sequence[str], *, n_shown: int = 12) -> Figure:
    """Draw the strongest values, amber above zero and blue below, in a figure of their own.

    Examples
    --------
    >>> figure = bars_figure(np.array([0.1, -2.0, 1.0]), ["load", "heat", "fan"], n_shown=2)
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['heat', 'fan']
    """
    height = 0.3 + 0.28 * min(n_shown, len(values))
    figure = new_figure(5.2, height)
    axes = figure.add_axes((0.4, 0.1 / height, 0.58, 1 - 0.2 / height))
    colours = (AMBER[0], BLUE[0])
    draw_strongest(axes, values, names, n_shown=n_shown, colours=colours, others=False)
    return figure


def draw_strongest(
    axes: Axes, values: Floats, names: Sequence[str], *, n_shown: int, colours: tuple[str, str], others: bool = True
) -> None:
    """Draw the strongest values as named bars, and all others together as one.

    Parameters
    ----------
    values : (n,) array
        Of either sign.
    names : sequence of str
    n_shown : int
        So many get a bar of their own.
    colours : pair
        For values above zero, and below.
    others : bool
        Whether the rest gets one bar with its sum.
    """
    order = np.argsort(-np.abs(values), kind="stable")
    shown, rest = order[:n_shown], order[n_shown:]
    lengths = [float(values[place]) for place in shown]
    labels = [readable(names[place], LONGEST_NAME) for place in shown]
    shades = [colours[0] if length >= 0 else colours[1] for length in lengths]
    if len(rest) and others:
        lengths.append(float(values[rest].sum()))
        labels.append(f"{len(rest)} others together")
        shades.append(GREY[0])
    places = [-float(place) for place in range(len(lengths))]
    axes.barh(places, lengths, color=shades, height=0.7)
    axes.set_yticks(places, labels)
    axes.set_xticks([])
    axes.axvline(0, color=FAINT, linewidth=1)
    right, left = max([*lengths, 0.0]), min([*lengths, 0.0])
    reach = (right - left) or 1.0
    axes.set_xlim(left - (0.03 * reach if left else 0.0), (right or 0.05 * reach) + 0.15 * reach)
    for place, length in zip(places, lengths, strict=True):
        axes.text(
            max(length, 0.0) + 0.01 * reach, place, f"{length:.2g}", va="center", fontsize=LABEL_SIZE, color=FAINT
        )
    tidy(axes)
    axes.spines[["left", "bottom"]].set_visible(False)

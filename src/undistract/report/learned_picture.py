"""What was learned, as one picture: the spectrum, and what the ignored directions look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from undistract.report.bars import draw_strongest
from undistract.report.contents import Learned, as_image
from undistract.report.plots import AMBER, BLUE, draw_spectrum, draw_title, new_figure
from undistract.report.png import diverging

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_DIRECTIONS, N_FEATURES, N_SHOWN = 3, 8, 60


def learned_picture(learned: Learned) -> Figure:
    """Draw the spectrum on the left, and up to three ignored directions on the right.

    Examples
    --------
    >>> from undistract import Focus
    >>> rng = np.random.default_rng(0)
    >>> focus = Focus().fit_sets(rng.normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10))
    >>> [axes.get_title(loc="left") for axes in learned_picture(Learned.of(focus)).axes]
    ['1 of 4 directions is ignored', 'Ignored direction 1']
    """
    n_removed, n_all = learned.cut.n_removed, len(learned.spectrum.distraction)
    drawn = min(n_removed, N_DIRECTIONS)
    figure = new_figure(6.2 + 3.6 * drawn, 4.2)
    grid = figure.add_gridspec(
        1,
        1 + drawn,
        width_ratios=[5.2] + [3.2] * drawn,
        left=0.6 / (6.2 + 3.6 * drawn),
        right=0.97,
        top=0.86,
        wspace=0.45,
    )
    axes = figure.add_subplot(grid[0])
    draw_spectrum(
        axes, learned.spectrum.distraction, n_removed=n_removed, cutoff=learned.cut.cutoff, n_shown=max(N_SHOWN, drawn)
    )
    draw_title(axes, f"{n_removed} of {n_all} directions {'is' if n_removed == 1 else 'are'} ignored")
    for place in range(drawn):
        pattern = learned.spectrum.patterns[:, place]
        pattern = pattern * (-1.0 if pattern[np.abs(pattern).argmax()] < 0 else 1.0)
        axes = figure.add_subplot(grid[1 + place])
        if learned.image_shape is None:
            draw_strongest(
                axes, pattern, learned.feature_names, n_shown=N_FEATURES, colours=(AMBER[0], BLUE[0]), others=False
            )
        else:
            axes.imshow(diverging(as_image(pattern, learned.image_shape) / (np.abs(pattern).max() or 1.0)))
            axes.set_axis_off()
        draw_title(axes, f"Ignored direction {place + 1}")
    return figure

"""Figures: each `draw_` function draws one panel into the axes that it gets.

matplotlib is an optional dependency. Only this package uses it, through its object-oriented interface: no global
state, no window.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from undistract._arrays import Floats
from undistract._optional import import_optional
from undistract.detect.explain import Explanation
from undistract.errors import InputError
from undistract.report.data import ModelSummary, as_image
from undistract.report.images import AMBER as AMBER
from undistract.report.images import BLUE as BLUE
from undistract.report.images import FAINT as FAINT
from undistract.report.images import GREY as GREY
from undistract.report.images import INK as INK
from undistract.report.images import diverging

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE_SIZE, LABEL_SIZE = 14, 11.5
DASHED = (0, (4, 3))
PICTURES = (".png", ".svg", ".pdf")
N_BARS = 200  # more bars than this are drawn as one outline
LONGEST_NAME = 24  # characters of a bar's label
# Characters that are invisible or not valid in files: control characters, unpaired surrogates, and marks that change
# the writing direction, which could make one name look like another.
_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
# Colours of figures → variables of style.css, which have other values in dark mode.
CSS_VARIABLES = {
    INK: "ink",
    FAINT: "faint",
    GREY[0]: "grey",
    BLUE[0]: "blue",
    BLUE[1]: "deep-blue",
    AMBER[0]: "amber",
    AMBER[1]: "deep-amber",
}
# Without date and version, so that the output is deterministic.
_SVG_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "page", "path.simplify": False, "text.parse_math": False}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure without a window; sizes are in inches of 100 pixels."""
    canvas = import_optional("matplotlib.backends.backend_agg", extra="plot", to="Drawing plots").FigureCanvasAgg
    figure: Figure = import_optional("matplotlib.figure", extra="plot", to="Drawing plots").Figure(
        figsize=(width, height), dpi=100, facecolor="white"
    )
    canvas(figure)
    return figure


def check_picture_name(path: Path) -> None:
    """Raise an error if a figure cannot be saved under this name. Call it before long computations.

    Examples
    --------
    >>> check_picture_name(Path("demo.jpeg"))
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Cannot save a figure as 'demo.jpeg'. Use a name that ends in .png, .svg, .pdf.
    """
    if path.suffix.lower() not in PICTURES:
        raise InputError(f"Cannot save a figure as {path.name!r}. Use a name that ends in {', '.join(PICTURES)}.")


def save_figure(figure: Figure, path: Path) -> Path:
    """Save a figure in the format of the file extension."""
    check_picture_name(path)
    try:
        figure.savefig(path)
    except OSError as error:
        raise InputError(f"Cannot write {str(path)!r}: {error.strerror}. Save to another folder.") from error
    return path


def draw_title(axes: Axes, sentence: str) -> None:
    """Write a sentence above a panel as its title."""
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
    """Draw the distraction of each direction, the cut-off, and which directions are removed.

    Parameters
    ----------
    distraction : (d,) array
        Largest first.
    n_removed : int
        The number of removed directions; they come first.
    cutoff : float
        The smallest distraction that is removed.
    n_shown : int, optional
        The number of directions to draw.
    noise_edges : pair of float, optional
        The range of distraction under pure noise, drawn as a band.
    pure_distractor : float, optional
        The expected distraction of a direction without group differences, drawn as a mark on the right.
    """
    heights = distraction[:n_shown]
    rank = np.arange(1, len(heights) + 1)
    for selected, colour in ((rank <= n_removed, AMBER[0]), (rank > n_removed, GREY[0])):
        if len(rank) <= N_BARS:
            axes.bar(rank[selected], heights[selected], width=0.8, color=colour)
        elif selected.any():
            # One outline instead of thousands of bars; the last value extends half a step further.
            edges = np.append(rank[selected] - 0.5, rank[selected][-1] + 0.5)
            steps = np.append(heights[selected], heights[selected][-1])
            axes.fill_between(edges, steps, step="post", color=colour, linewidth=0)
    end = len(rank) + 0.5
    style: dict[str, Any] = {"ha": "right", "fontsize": LABEL_SIZE}
    axes.axhline(cutoff, color=INK, linewidth=1, linestyle=DASHED)
    if pure_distractor is None:
        axes.text(end, cutoff + 0.015, f"cut-off {cutoff:.4g}", va="bottom", color=INK, **style)
    else:  # the mark of the pure distractor is above the line
        axes.text(end, cutoff - 0.02, f"cut-off {cutoff:.4g}", va="top", color=INK, **style)
    if noise_edges is not None:
        axes.axhspan(*noise_edges, color=BLUE[0], alpha=0.25, linewidth=0)
        axes.text(end, 1.11, "range under pure noise", va="bottom", color=BLUE[1], **style)
    if pure_distractor is not None:
        axes.plot([end + 0.5], [pure_distractor], "<", color=BLUE[0], markersize=7, clip_on=False)
    if n_removed:
        axes.text(0.6, 1.03, "removed", va="bottom", fontsize=LABEL_SIZE, color=AMBER[1], fontweight="bold")
    if n_removed < len(heights):
        # Below the label of the cut-off if the bars are low enough; otherwise above all bars.
        height = min(0.66, max(cutoff - 0.25, 0.1))
        if heights[len(heights) // 2] >= height - 0.02:
            height = 1.03
        axes.text(end, height, "kept: they distinguish groups", va="bottom", color=GREY[1], fontweight="bold", **style)
    axes.set_xlim(0.0, len(rank) + 1)
    axes.set_ylim(0.0, 1.12 if noise_edges is None else 1.2)
    axes.set_yticks([0.0, 0.5, 1.0], ["0", ".5", "1"])
    axes.set_xticks([])
    count = f"{len(rank)}"
    if len(rank) < len(distraction):
        count = f"first {len(rank)} of {len(distraction)}"
    axes.set_xlabel(
        f"the {count} directions of the data, most distracting first", fontsize=LABEL_SIZE, color=INK, labelpad=8
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
    """Draw (n, height, width) grey images as a grid, row by row, with the same brightness scale.

    Parameters
    ----------
    limits : pair of float
        The values of black and white.
    gap : float
        Space between two images, as a share of their width.
    frames : sequence of colours, optional
        One frame per image.
    row_labels : sequence of str
        Labels to the left of the rows.
    """
    aspect = images.shape[1] / images.shape[2]  # the width of an image is 1
    for number, image in enumerate(images):
        row, column = divmod(number, n_columns)
        x = column * (1 + gap)
        y = row * (aspect + gap)
        extent = (x, x + 1, y + aspect, y)
        axes.imshow(image, cmap="gray", vmin=limits[0], vmax=limits[1], extent=extent, interpolation="nearest")
        if frames is not None:
            corners = ([x, x + 1, x + 1, x, x], [y, y, y + aspect, y + aspect, y])
            axes.plot(*corners, color=frames[number], linewidth=4, solid_joinstyle="miter", clip_on=False)
    for row, label in enumerate(row_labels):
        middle = row * (aspect + gap) + aspect / 2
        axes.text(-1.5 * gap, middle, label, ha="right", va="center", fontsize=LABEL_SIZE, color=FAINT)
    n_rows = -(-len(images) // n_columns)
    axes.set_xlim(0, n_columns * (1 + gap) - gap)
    axes.set_ylim(n_rows * (aspect + gap) - gap, 0)
    axes.set_aspect("equal")
    axes.set_anchor("NW")
    axes.set_axis_off()


def readable(text: object, width: int | None = None) -> str:
    r"""Return text in one line of at most `width` characters, with invisible characters replaced.

    Examples
    --------
    >>> readable("cpu\x00 load\nof the rack", 12)
    'cpu� load o…'
    """
    line = _UNREADABLE.sub("\ufffd", re.sub(r"[ \t\n\r\f\v]+", " ", str(text)))
    if width is not None and len(line) > width:
        line = line[: width - 1] + "…"
    return line


def tidy(axes: Axes) -> None:
    """Hide the upper and right borders and use faint ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=FAINT, labelsize=LABEL_SIZE, length=3)


def bars_figure(values: Floats, names: Sequence[str], *, n_shown: int = 12) -> Figure:
    """Return a figure of the largest values: amber above zero, blue below.

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
    """Draw the largest values as named bars, and the sum of all others as one bar.

    Parameters
    ----------
    values : (n,) array
        Positive or negative.
    names : sequence of str
    n_shown : int
        The number of values with their own bar.
    colours : pair
        For values above zero, and below.
    others : bool
        Whether to draw a bar with the sum of the other values.
    """
    order = np.argsort(-np.abs(values), kind="stable")
    largest = order[:n_shown]
    smaller = order[n_shown:]
    lengths = [float(values[index]) for index in largest]
    labels = [readable(names[index], LONGEST_NAME) for index in largest]
    shades = [colours[0] if length >= 0 else colours[1] for length in lengths]
    if len(smaller) and others:
        lengths.append(float(values[smaller].sum()))
        labels.append(f"{len(smaller)} others together")
        shades.append(GREY[0])
    positions = [-float(row) for row in range(len(lengths))]  # the first bar on top
    axes.barh(positions, lengths, color=shades, height=0.7)
    axes.set_yticks(positions, labels)
    axes.set_xticks([])
    axes.axvline(0, color=FAINT, linewidth=1)
    low = min([*lengths, 0.0])
    high = max([*lengths, 0.0])
    span = (high - low) or 1.0
    margin = 0.03 * span if low < 0 else 0.0
    axes.set_xlim(low - margin, (high or 0.05 * span) + 0.15 * span)  # space for the numbers on the right
    for position, length in zip(positions, lengths, strict=True):
        axes.text(
            max(length, 0.0) + 0.01 * span, position, f"{length:.2g}", va="center", fontsize=LABEL_SIZE, color=FAINT
        )
    tidy(axes)
    axes.spines[["left", "bottom"]].set_visible(False)


def model_figure(model: ModelSummary) -> Figure:
    """Draw the spectrum on the left, and up to three ignored directions on the right.

    Examples
    --------
    >>> from undistract import Focus
    >>> rng = np.random.default_rng(0)
    >>> focus = Focus().fit_groups(rng.normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10))
    >>> [axes.get_title(loc="left") for axes in model_figure(ModelSummary.of(focus)).axes]
    ['1 of 4 directions is ignored', 'Ignored direction 1']
    """
    distraction = model.spectrum.distraction
    n_removed = model.selection.n_removed
    n_drawn = min(n_removed, 3)
    width = 6.2 + 3.6 * n_drawn
    figure = new_figure(width, 4.2)
    ratios = [5.2] + [3.2] * n_drawn
    grid = figure.add_gridspec(1, len(ratios), width_ratios=ratios, left=0.6 / width, right=0.97, top=0.86, wspace=0.45)
    axes = figure.add_subplot(grid[0])
    draw_spectrum(axes, distraction, n_removed=n_removed, cutoff=model.selection.cutoff, n_shown=60)
    verb = "is" if n_removed == 1 else "are"
    draw_title(axes, f"{n_removed} of {len(distraction)} directions {verb} ignored")
    for direction in range(n_drawn):
        pattern = model.pattern(direction)
        axes = figure.add_subplot(grid[1 + direction])
        if model.image_shape is None:
            draw_strongest(axes, pattern, model.feature_names, n_shown=8, colours=(AMBER[0], BLUE[0]), others=False)
        else:
            axes.imshow(diverging(as_image(pattern, model.image_shape) / (np.abs(pattern).max() or 1.0)))
            axes.set_axis_off()
        draw_title(axes, f"Ignored direction {direction + 1}")
    return figure


def explanation_figure(explanation: Explanation, *, n_features: int = 8) -> Figure:
    """Return a figure of one explanation: the ignored share, and the contributions of features.

    With ``n_features=0`` the contributions are left out, for rows that are images.

    Examples
    --------
    >>> import numpy as np
    >>> contributions = np.array([0.4, 8.6, 0.5])
    >>> explanation = Explanation(7, 9.5, contributions, True, np.array([1.0, 9.0, 0.1]), 0.93, ("a", "b", "c"))
    >>> [text.get_text() for text in explanation_figure(explanation).texts]
    ['Row 7, score 9.5']
    """
    n_bars = min(n_features, len(explanation.contributions))
    height = 1.9 + 0.34 * n_bars if n_bars else 1.2
    figure = new_figure(8, height)
    title = f"Row {explanation.row}, score {explanation.score:.3g}"
    figure.text(0.03, 1 - 0.3 / height, title, fontsize=TITLE_SIZE, color=INK, fontweight="bold", va="center")
    split = figure.add_axes((0.03, 1 - 1.05 / height, 0.94, 0.26 / height))
    draw_split(split, explanation.ignored)
    if n_features:
        bars = figure.add_axes((0.26, 0.15 / height, 0.7, 1 - 1.75 / height))
        draw_contributions(bars, explanation, n_features=n_features)
    return figure


def draw_split(axes: Axes, ignored: float) -> None:
    """Draw the share of the deviation that was ignored, and the share that the detector used."""
    axes.barh([0], [ignored], color=AMBER[0])
    axes.barh([0], [1 - ignored], left=[ignored], color=BLUE[0])
    axes.set_xlim(0, 1)
    axes.set_axis_off()
    style: dict[str, Any] = {"fontsize": LABEL_SIZE, "fontweight": "bold", "va": "bottom"}
    axes.text(0, 0.5, f"{100 * ignored:.3g} % of the deviation is ignored", color=AMBER[1], ha="left", **style)
    axes.text(1, 0.5, f"{100 * (1 - ignored):.3g} % is scored", color=BLUE[1], ha="right", **style)


def draw_contributions(axes: Axes, explanation: Explanation, *, n_features: int = 8) -> None:
    """Draw the largest contributions to the score as bars, and the sum of all others as one bar."""
    colours = (BLUE[0], BLUE[0])
    draw_strongest(axes, explanation.contributions, explanation.feature_names, n_shown=n_features, colours=colours)
    title = "Decrease of the score without each feature"
    if explanation.exact:  # the contributions add up to the score
        title = "Contribution of each feature to the score"
    axes.set_title(title, loc="left", fontsize=LABEL_SIZE, color=INK)


def figure_svg(figure: Figure, label: str = "") -> str:
    """Return a matplotlib figure as SVG, in the colours of the page for light and dark mode.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn with the colours of `undistract.report.figures`.
    label : str
        The text for screen readers.

    Examples
    --------
    >>> figure = new_figure(3, 2)
    >>> _ = figure.add_subplot().plot([1, 3, 2], color=BLUE[0])
    >>> svg = figure_svg(figure, "It rises & falls.")
    >>> "var(--blue)" in svg, "http" in svg, 'aria-label="It rises &amp; falls."' in svg
    (True, False, True)
    """
    matplotlib = import_optional("matplotlib", extra="plot", to="Drawing plots")
    for text in figure.findobj(import_optional("matplotlib.text", extra="plot", to="Drawing plots").Text):
        text.set_parse_math(False)  # a name such as "cost in $" is not a formula
    buffer = StringIO()
    with matplotlib.rc_context(_SVG_SETTINGS), warnings.catch_warnings():
        # The fonts of the browser have more letters than the one that measures text here.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(buffer, format="svg", transparent=True, metadata=_NO_METADATA)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    # A style element would apply to the whole page.
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r"<[^>]*>", _adapt_tag, svg)  # only inside tags: text stays unchanged
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(readable(label))}"', 1)


def _adapt_tag(match: re.Match[str]) -> str:
    """Adapt one tag to the page: colours and font of the page, no URLs, no ids that other figures have too."""
    tag = match[0]
    for colour, name in CSS_VARIABLES.items():
        tag = tag.replace(colour.lower(), f"var(--{name})")
    tag = re.sub(r'\sxmlns(:xlink)?="[^"]*"|\sversion="1.1"', "", tag).replace("xlink:href", "href")
    # Ids of groups are numbered per figure and nothing refers to them. Other ids are checksums of their content.
    tag = re.sub(r'\sid="(?![a-z][0-9a-f]{8,}")[^"]*"', "", tag)
    tag = re.sub(r"font: ([^;\"]*?px) [^;\"]*", r"font: \1 var(--font)", tag)
    # Two decimals are precise enough.
    return re.sub(r'\sd="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), tag)

"""Figures and images inside a page: a plot as SVG that follows the page's colours, an array as a PNG in the file."""

from __future__ import annotations

import re
import warnings
from base64 import b64encode
from io import StringIO
from typing import TYPE_CHECKING

import numpy as np

from undistract.arrays import Rows
from undistract.extras import need
from undistract.report.html import Html, element, safe
from undistract.report.png import png, shrunk
from undistract.report.style import NIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST_SIDE = 256  # pixels of an image in a page; a larger one is averaged down
# No date and no version inside: the same picture is the same file.
_EXPORT = {"svg.fonttype": "none", "svg.hashsalt": "page", "path.simplify": False, "text.parse_math": False}
_NO_WORDS = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def plot(figure: Figure, caption: str = "", *, says: str = "") -> Html:
    """Put a matplotlib figure into a page, in the page's colours by day and by night.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn with the colours of `undistract.report.plots`.
    caption : str
        Stands below it.
    says : str
        For those who cannot see it; by default the caption.

    Examples
    --------
    >>> from undistract.report.plots import BLUE, new_figure
    >>> figure = new_figure(3, 2)
    >>> _ = figure.add_subplot().plot([1, 3, 2], color=BLUE[0])
    >>> drawn = plot(figure, "It rises & falls.")
    >>> "var(--blue)" in drawn, "http" in drawn, drawn.endswith("rises &amp; falls.</figcaption></figure>")
    (True, False, True)
    """
    svg = _svg(figure).replace("<svg", f'<svg role="img" aria-label="{safe(says or caption)}"', 1)
    return element("figure", Html(svg), *([element("figcaption", caption)] if caption else []))


def picture(
    pixels: Rows | bytes, caption: str = "", *, limits: tuple[float, float] | None = None, signed: bool = False
) -> Html:
    """Put an image into a page.

    Parameters
    ----------
    pixels : (height, width) or (height, width, 3) array, or bytes
        Grey values, colours (0 to 255, or 0 to 1), or a ready PNG.
    caption : str
    limits : pair of float, optional
        What is drawn black, and what white; by default the least and the greatest value. Colours need none.
    signed : bool
        Grey values around zero: amber above, blue below, as strong on either side.

    Examples
    --------
    >>> picture(np.array([[0.0, 1.0], [1.0, 0.0]]), "a chessboard")
    '<figure><img src="data:image/png;base64,...
    """
    small = pixels if isinstance(pixels, bytes) else shrunk(np.asarray(pixels), LARGEST_SIDE)
    data = small if isinstance(small, bytes) else png(small, limits=limits, signed=signed)
    shown = element("img", src=f"data:image/png;base64,{b64encode(data).decode()}", alt=caption)
    return element("figure", shown, *([element("figcaption", caption)] if caption else []))


def _svg(figure: Figure) -> str:
    matplotlib = need("matplotlib", extra="plot", to="Drawing plots")
    for text in figure.findobj(need("matplotlib.text", extra="plot", to="Drawing plots").Text):
        text.set_parse_math(False)  # a name such as "cost in $" is no formula
    drawn = StringIO()
    with matplotlib.rc_context(_EXPORT), warnings.catch_warnings():
        # The browser has more letters than the font that measures them here.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(drawn, format="svg", transparent=True, metadata=_NO_WORDS)
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    # A style inside would reach the whole page.
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, count=1, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", _tag, svg)  # only inside tags: words stay as they are


def _tag(found: re.Match[str]) -> str:
    """Let one tag fit into a page: its colours and font, no address, no name that another figure has too."""
    tag = found[0]
    for colour, (name, _) in NIGHT.items():
        tag = tag.replace(colour.lower(), f"var(--{name})")
    tag = re.sub(r'\sxmlns(:xlink)?="[^"]*"|\sversion="1.1"', "", tag).replace("xlink:href", "href")
    # Groups are numbered in each figure anew, and nothing points to them; what is pointed to is called by a checksum.
    tag = re.sub(r'\sid="(?![a-z][0-9a-f]{8,}")[^"]*"', "", tag)
    tag = re.sub(r"font: ([^;\"]*?px) [^;\"]*", r"font: \1 var(--font)", tag)
    # Hundredths of a point are enough for anybody.
    return re.sub(r'\sd="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), tag)

"""Safe pieces of a page: whatever is put in is text, until `Html` says that it was made here.

    document(title, section("What was removed", element("p", words), table(header, rows)))

A page is one file without scripts, and a Content-Security-Policy in it lets a browser load nothing from elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from undistract.errors import InputError
from undistract.files import write_whole
from undistract.report.style import STYLE
from undistract.report.words import grouped, readable

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
NOTHING = "–"
_VOID = ("br", "hr", "img", "meta")
_NAME = re.compile(r"[a-z][a-z0-9-]*")


class Html(str):
    """Text that may stand in a page as it is, because it was made here.

    Examples
    --------
    >>> element("p", "a < b", Html("<br>"))
    '<p>a &lt; b<br></p>'
    """

    __slots__ = ()


def safe(content: object) -> Html:
    """Escape anything that was not made here.

    Examples
    --------
    >>> safe("<script>")
    '&lt;script&gt;'
    """
    return content if isinstance(content, Html) else Html(escape(readable(content)))


def element(tag: str, *content: object, **attributes: object) -> Html:
    """Return one element; `class_` gives its class, and an attribute that is None is left out.

    Examples
    --------
    >>> element("td", 3, class_="number")
    '<td class="number">3</td>'
    """
    names = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None}
    for name in (tag, *names):
        # An attribute such as onclick would be a script, and one with a blank in it could be anything.
        if not _NAME.fullmatch(name) or name.startswith("on"):
            raise InputError(f"{name!r} cannot be the name of an element or attribute; expected one such as 'title'.")
    inside = "".join(f' {name}="{escape(readable(value))}"' for name, value in names.items())
    if tag in _VOID:
        return Html(f"<{tag}{inside}>")
    return Html(f"<{tag}{inside}>{joined(content)}</{tag}>")


def joined(pieces: Iterable[object]) -> Html:
    """Put pieces one after the other, each made safe."""
    return Html("".join(safe(piece) for piece in pieces))


def section(title: str, *content: object, level: int = 2) -> Html:
    """Return a heading and what stands under it, kept together in print where it fits.

    Examples
    --------
    >>> section("Alarms", element("p", "None."))
    '<section><h2>Alarms</h2><p>None.</p></section>'
    """
    return element("section", element(f"h{level}", title), *content)


def table(header: Sequence[object], rows: Iterable[Sequence[object]], *, marked: Iterable[int] = ()) -> Html:
    """Return a table; columns of numbers stand to the right, and a wide one scrolls by itself.

    Parameters
    ----------
    header : sequence
        What the columns are called.
    rows : iterable of sequences
        Cells; numbers are written with four digits, None and NaN as a dash. A ready ``element("td", ...)`` or
        ``element("th", ...)`` stands as it is.
    marked : iterable of int
        Rows that are set in bold.

    Examples
    --------
    >>> made = table(["set", "alarms"], [["camera-3", 12]])
    >>> '<tr><td>camera-3</td><td class="number">12</td></tr>' in made
    True
    """
    body, bold = [list(row) for row in rows], set(marked)
    numeric = [_is_numeric(row[place] for row in body if place < len(row)) for place in range(len(header))]
    head = [
        element("th", name, class_="number" if right else None) for name, right in zip(header, numeric, strict=True)
    ]
    lines = [
        element("tr", *map(_cell, row), class_="marked" if number in bold else None) for number, row in enumerate(body)
    ]
    whole = element("table", element("thead", element("tr", *head)), element("tbody", *lines))
    return element("div", whole, class_="wide")


def number(text: object) -> Html:
    """Return a cell with a number that is already written out, such as 12 %."""
    return element("td", text, class_="number")


def pairs(words: Mapping[Any, Any]) -> Html:
    """Return a list of words and what they are.

    Examples
    --------
    >>> pairs({"cushion": 0.1})
    '<dl><dt>cushion</dt><dd>0.1</dd></dl>'
    """
    return element("dl", *(joined([element("dt", word), element("dd", shown(what))]) for word, what in words.items()))


def shown(value: object) -> object:
    """Write a number for people: four digits, a dash where there is none; anything else stays."""
    if value is None or (isinstance(value, Real) and value != value):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return grouped(int(value))
    return f"{float(value):.4g}" if isinstance(value, Real) else value


def document(title: str, *body: object, style: str = "") -> str:
    """Return a whole page: one file, light or dark as the reader likes, that prints.

    Parameters
    ----------
    title : str
    *body : Html or text
    style : str
        More CSS, of the program's own making.

    Examples
    --------
    >>> page = document("A & B", element("h1", "A & B"))
    >>> "<title>A &amp; B</title>" in page, "Content-Security-Policy" in page
    (True, True)
    """
    head = (
        element("meta", charset="utf-8"),
        # A header cannot be sent with a file; the policy stands before anything that could load something.
        Html(f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        Html(f"<style>{STYLE}{style}</style>"),
    )
    whole = element("html", element("head", *head), "\n", element("body", element("main", *body)), lang="en")
    return f"<!doctype html>\n{whole}\n"


def write_document(text: str, path: str | Path) -> None:
    """Write a page, whole or not at all: what was there before stays until the new one is complete.

    Examples
    --------
    >>> write_document(document("Empty"), "/no such folder/page.html")
    Traceback (most recent call last):
    ...
    undistract.errors.FileError: /no such folder/page.html cannot be written: there is no folder /no such folder...
    """
    write_whole(path, text.encode("utf-8"))


def _cell(content: object) -> Html:
    if isinstance(content, Html) and content.startswith(("<td", "<th")):
        return content
    return element("td", shown(content), class_="number" if _is_number(content) else None)


def _is_number(content: object) -> bool:
    return isinstance(content, Real) and not isinstance(content, bool)


def _is_numeric(cells: Iterable[object]) -> bool:
    told = [cell for cell in cells if cell is not None]
    return bool(told) and all(_is_number(cell) or (isinstance(cell, Html) and 'class="number' in cell) for cell in told)

"""The tables: one for each case, one for each step after the fit, and the promises about growth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from benchmarks.speed.alone import STREAMED
from benchmarks.speed.cases import Case
from benchmarks.speed.growth import COMPARED, promises
from benchmarks.speed.peers import OURS
from benchmarks.speed.results import NONE, Result

# A matrix of few features is negligible.
FEW = 300


class Table(NamedTuple):
    """Cells as they are written."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


def tables(results: Sequence[Result]) -> list[Table]:
    """Lay all results out."""
    made = [_fits(list(found)) for _, found in _by_case(results, "fit", "parts")]
    for part, floor, title in (
        ("transform", "gemm", "Transform against the plain product"),
        ("update", "fit", "One answer against a fit of all rows"),
    ):
        for _, found in _by_case(results, part):
            made.append(_steps(list(found), floor, title))
    grown = [one for one in results if one.part in ("rows", "features", "groups", "memory")]
    return made + ([_growth(grown), _promises(grown)] if grown else [])


def plain(table: Table) -> str:
    """Write a table for the terminal: columns in line, numbers to the right."""
    columns = list(zip(table.header, *table.rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(cell.ljust(width) if place in (0, len(widths) - 1) else cell.rjust(width)
                  for place, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in (table.header, *table.rows)
    ]  # fmt: skip
    return "\n".join([table.title, *(f"  {line}" for line in lines)])


def markdown(table: Table) -> str:
    """Write a table as Markdown, with its title above it."""
    between = ("---", *("---:" for _ in table.header[1:-1]), "---")
    lines = [f"| {' | '.join(row)} |" for row in (table.header, between, *table.rows)]
    return "\n".join([f"**{table.title}**", "", *lines])


def number(value: float, digits: int = 2) -> str:
    """Write a number, or a dash if there is none."""
    if np.isnan(value):
        return "–"
    return f"{value:.{digits}f}" if value >= 0.1 or value == 0 or digits == 0 else f"{value:.2g}"


def _by_case(results: Sequence[Result], *parts: str) -> Iterable[tuple[object, Iterable[Result]]]:
    some = [one for one in results if one.part in parts]
    return groupby(some, key=lambda one: (one.case, one.rows, one.features, one.groups))


def _title(one: Result) -> str:
    words = Case(one.case, one.rows, one.features, one.groups).words
    return words + (f" (reduced: {one.reduced})" if one.reduced else "")


def _fits(found: list[Result]) -> Table:
    header = ("", "CPU s", "÷ dsyrk", "÷ Focus", "rounds", "peak MB", "d×d", "")
    rows = [
        (
            f"· {one.name}" if one.part == "parts" else one.name,
            number(one.seconds),
            number(one.to_floor),
            number(one.to_ours),
            str(one.rounds or "–"),
            number(one.peak, 0) if one.part == "fit" else "",
            number(one.squares if one.features >= FEW else NONE) if one.part == "fit" else "",
            _asked(one) or one.note,
        )
        for one in sorted(found, key=_place(found))
    ]
    return Table(f"{found[0].case}: {_title(found[0])}", header, rows)


def _place(found: list[Result]) -> Callable[[Result], float]:
    """Put the parts of our fit right below it."""
    ours = next(place for place, one in enumerate(found) if one.name == OURS.name)
    return lambda one: ours + 0.5 if one.part == "parts" else found.index(one)


def _asked(one: Result) -> str:
    if np.isnan(one.ask):
        return ""
    return f"{'✓' if one.to_floor <= one.ask else '✗'} asked: ≤ {one.ask:g}"


def _steps(found: list[Result], floor: str, title: str) -> Table:
    rows = [(one.name, number(1000 * one.seconds), number(one.to_floor), str(one.rounds), one.note) for one in found]
    return Table(f"{title}: {_title(found[0])}", ("", "CPU ms", f"÷ {floor}", "rounds", ""), rows)


def _growth(grown: list[Result]) -> Table:
    """Give one row for each size, and everybody's seconds side by side."""
    names = [peer.name for peer in COMPARED]
    rows = []
    for (part, *sizes), found in _by_size(grown):
        one = {result.name: result for result in found}
        streamed = one.get(STREAMED)
        seconds = [number(one[name].seconds, 3) if name in one else "–" for name in names]
        ratio = one[OURS.name].to_floor if OURS.name in one else NONE
        memory = f"{streamed.peak:.0f} MB streamed in {number(streamed.seconds)} s" if streamed else ""
        rows.append((part, *map(str, sizes), *seconds, number(ratio), memory))
    header = ("growing", "rows", "features", "groups", *(f"{name}, s" for name in names), "Focus ÷ dsyrk", "peak")
    return Table("Growth", header, rows)


def _by_size(grown: list[Result]) -> Iterable[tuple[tuple[str, int, int, int], Iterable[Result]]]:
    return groupby(grown, key=lambda one: (one.part, one.rows, one.features, one.groups))


def _promises(grown: list[Result]) -> Table:
    rows = [(one.words, one.figure, "✓" if one.kept else "✗") for one in promises(grown)]
    return Table("What we promise of growth", ("", "measured", ""), rows)

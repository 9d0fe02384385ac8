"""Write the tables and the picture of docs/speed.md from the results that are kept in benchmarks/results.

python -m benchmarks.speed.page [--results benchmarks/results/speed.csv] [--docs docs]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.speed.peers import OURS, PAPER, RIVALS
from benchmarks.speed.picture import draw
from benchmarks.speed.results import Result, read
from benchmarks.speed.table import Table, markdown, number, tables
from paper.common import replace

ROOT = Path(__file__).parents[2]


def summary(results: Sequence[Result]) -> Table:
    """One row for each case: our fit against dsyrk, and each rival against our fit."""
    names = [PAPER.name, *(rival.name for rival in RIVALS)]
    rows = []
    for ours in (one for one in results if one.part == "fit" and one.name == OURS.name):
        others = {one.name: one for one in results if one.part == "fit" and one.case == ours.case}
        arguments = "–" if np.isnan(ours.ask) else f"≤ {ours.ask:g} {'✓' if ours.to_floor <= ours.ask else '✗'}"
        size = f"{ours.case}: {ours.rows} × {ours.features}, {ours.groups}" + (" (reduced)" if ours.reduced else "")
        rows.append((size, number(ours.to_floor), arguments, *(_ratio(others.get(name)) for name in names)))
    header = ("case: rows × features, groups", "Focus ÷ dsyrk", "arguments", *(f"{name} ÷ Focus" for name in names))
    return Table("Each case", header, rows)


def losses(results: Sequence[Result]) -> str:
    """Return a text that lists where another method is faster."""
    lost = [one for one in results if one.part == "fit" and one.name in {rival.name for rival in RIVALS}]
    lost = [one for one in lost if one.to_ours < 1]
    if not lost:
        return "In none of these cases is a rival faster than `Focus`."
    lines = [f"- {one.name} in case {one.case}: {number(one.to_ours)} of our time" for one in lost]
    return "Here a rival is faster than `Focus`:\n\n" + "\n".join(lines)


def write_page(results: Sequence[Result], page: Path, picture: Path) -> None:
    """Put the tables into the page, between its marks, and draw the picture."""
    made = tables(results)
    fits = [table for table in made if "÷ Focus" in table.header]
    grown = [table for table in made if table.title in ("Growth", "What we promise of growth")]
    steps = [table for table in made if table not in fits and table not in grown]
    inside = {
        "summary": _bare(summary(results)),
        "losses": losses(results),
        "fits": "\n\n".join(map(markdown, fits)),
        "steps": "\n\n".join(map(markdown, steps)),
        "growth": "\n\n".join(map(markdown, reversed(grown))),
    }
    for name, text in inside.items():
        replace(page, rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", text + "\n")
    draw(results, picture)


def _bare(table: Table) -> str:
    return markdown(table).split("\n", 2)[2]


def _ratio(one: Result | None) -> str:
    if one is None or np.isnan(one.to_ours):
        return "–" if one is None else one.note.split(":")[0] or "–"
    return number(one.to_ours) + (" (not finite)" if "finite" in one.note else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results" / "speed.csv")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    arguments = parser.parse_args()
    write_page(read(arguments.results), arguments.docs / "speed.md", arguments.docs / "images" / "speed.png")
    print("Wrote the tables of speed.md and images/speed.png.")


if __name__ == "__main__":
    main()

"""The claims of the paper: measure them again, write what is found into expected.toml, and the tables of the README."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from paper.common import HERE, publish, replace

EXPECTED = HERE / "expected.toml"
VERDICTS = ("holds", "holds with a reservation", "wrong")
# One table per part of the paper; a claim belongs to the first section it names.
PARTS = {"2.1": ("2.1",), "2.2": ("2.2",), "3.1": ("3.1",), "3.2": ("3.2",), "4": ("4", "5"), "6": ("6",)}
Claim = dict[str, Any]


def claims() -> list[Claim]:
    """Read the claims in the order of the paper."""
    found: list[Claim] = tomllib.loads(EXPECTED.read_text(encoding="utf-8"))["claim"]
    return found


def measured(claim: Claim) -> list[float] | None:
    """Measure a claim, to four digits; None where it was judged by reading."""
    if "script" not in claim:
        return None
    values = np.atleast_1d(_measures(claim["script"])[claim["key"]])
    # What is left of rounding is a zero.
    return [0.0 if abs(value) < 1e-9 else float(f"{value:.4g}") for value in values]


@cache
def _measures(script: str) -> dict[str, float | list[float]]:
    found: dict[str, float | list[float]] = import_module(f"paper.{script}").measures()
    return found


def agrees(claim: Claim) -> bool:
    """Tell whether what is found lies within the tolerance of what the paper prints."""
    return bool(np.all(np.abs(np.subtract(claim["found"], claim["prints"])) <= claim["tolerance"]))


def write_found() -> None:
    """Measure every claim that has a script, and write what is found into expected.toml."""
    for claim in claims():
        found = measured(claim)
        if found is not None:
            replace(
                EXPECTED, rf'(id = "{re.escape(claim["id"])}"\n(?:(?!\[\[)[^\n]*\n)*?found = )[^\n]*(\n)', str(found)
            )


def tables() -> None:
    """Write the table of verdicts and one table of claims per part of the paper."""
    every = claims()
    counted = Counter(claim["verdict"] for claim in every)
    publish("verdicts", [*VERDICTS, "all"], [[*(str(counted[one]) for one in VERDICTS), str(len(every))]])
    for part, sections in PARTS.items():
        mine = [claim for claim in every if claim["section"].split(",")[0].startswith(sections)]
        publish(
            f"claims {part}", ["claim", "the paper says", "prints", "we find", "verdict", "remark"], map(_row, mine)
        )


def _row(claim: Claim) -> list[str]:
    prints, found = (", ".join(f"{value:.3g}" for value in claim.get(name, [])) or "–" for name in ("prints", "found"))
    words = (claim[name].replace("|", "\\|") for name in ("says", "verdict", "remark"))
    says, verdict, remark = words
    return [f"`{claim['id']}` ({claim['section']})", says, prints, found, f"**{verdict}**", remark]


if __name__ == "__main__":
    write_found()
    tables()

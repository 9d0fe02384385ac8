"""The results: one CSV, a row for each thing that was timed."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from benchmarks.speed.cases import Case
from undistract.errors import InputError

NONE = float("nan")


@dataclass(frozen=True)
class Result:
    """How long one thing took, and how much memory."""

    part: str  # "fit", "parts", "transform", "update", or what grows: "rows", "features", "groups", "memory"
    case: str
    rows: int
    features: int
    groups: int
    reduced: str  # what is smaller than in the full case
    name: str
    seconds: float = NONE  # least CPU time
    to_floor: float = NONE  # ÷ dsyrk (fits and their parts), gemm (transform), full fit (update)
    to_ours: float = NONE  # ÷ Focus
    ask: float = NONE  # upper target of to_floor
    rounds: int = 0
    peak: float = NONE  # MB in addition to the rows
    squares: float = NONE  # the same in d × d matrices
    note: str = ""


def result(part: str, case: Case, name: str, **found: float | int | str) -> Result:
    """Make a result of a case."""
    return Result(part, case.name, case.n_rows, case.n_features, case.n_groups, case.reduced, name, **found)  # type: ignore[arg-type]


def write(path: Path, results: Iterable[Result]) -> None:
    """Write all results; numbers with four digits, empty if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.DictWriter(file, [field.name for field in fields(Result)], lineterminator="\n")
        lines.writeheader()
        for one in results:
            lines.writerow({name: _cell(value) for name, value in asdict(one).items()})


def read(path: Path) -> list[Result]:
    """Read them again."""
    kinds = {"int": int, "float": lambda text: float(text) if text else NONE, "str": str}
    names = [field.name for field in fields(Result)]
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        if lines.fieldnames != names:
            raise InputError(
                f"{path.name} has the columns {lines.fieldnames}; expected {names}. Run the benchmark again."
            )
        return [
            Result(**{field.name: kinds[str(field.type)](line[field.name]) for field in fields(Result)})
            for line in lines
        ]


def _cell(value: float | int | str) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.4g}"
    return str(value)

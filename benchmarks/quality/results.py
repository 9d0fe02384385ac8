"""The results: one CSV, a row for each test × method × setting × detector. It grows, and is never rewritten.

A file whose name ends in .gz is packed; what is added to it is packed by itself, and read as one.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import pandas as pd

from undistract.errors import InputError


@dataclass(frozen=True)
class Result:
    """How well one detector did behind one method, on one test."""

    data: str
    task: str
    part: str
    seed: int
    test: int
    method: str
    setting: str
    detector: str
    average_precision: float  # NaN where the method or the detector had no answer
    auroc: float
    n_removed: float  # directions that the method took out
    n_kept: float  # columns that it handed on
    seconds: float  # to learn; the settings of a method share what they can, so the first one pays


COLUMNS = [field.name for field in fields(Result)]
STEP = ["task", "part", "seed", "method", "setting", "detector"]  # what is run, and skipped, as one


def read(path: Path) -> pd.DataFrame:
    """Read all results so far; none if there is no file."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    numbers = ["average_precision", "auroc", "n_removed", "n_kept", "seconds"]
    # An empty setting is a setting, not a missing value.
    found = pd.read_csv(path, keep_default_na=False, na_values=dict.fromkeys(numbers, ""), dtype={"setting": str})
    if list(found.columns) != COLUMNS:
        raise InputError(f"{path.name} has the columns {list(found.columns)}; expected {COLUMNS}. Use another file.")
    return found


def append(path: Path, results: Sequence[Result]) -> None:
    """Add results at the end, whole lines at once: a run that is stopped leaves a file that can be read."""
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = pd.DataFrame([asdict(one) for one in results], columns=COLUMNS).to_csv(index=False, header=new)
    with (gzip.open if path.suffix == ".gz" else open)(path, "at", encoding="utf-8", newline="") as file:
        file.write(lines)


def chosen(results: pd.DataFrame) -> dict[tuple[str, str, str], str]:
    """Choose the setting of each (data, method, detector) by its mean average precision where choosing is allowed.

    It uses the labels of those trials, which do not exist in practice: generous to every method but the automatic one,
    which has nothing to choose. A setting that had no answer on some of them is passed over.
    """
    owner = ["data", "method", "detector"]
    trials = results[results.part == "choose"].groupby([*owner, "setting"]).average_precision
    # A run that was stopped has seen some settings on fewer trials than others: these do not compare.
    whole = trials.size() == trials.size().groupby(owner).transform("max")
    means = trials.agg(lambda one: one.mean(skipna=False))[whole].dropna()
    return {best[:3]: best[3] for best in means.groupby(owner).idxmax()}

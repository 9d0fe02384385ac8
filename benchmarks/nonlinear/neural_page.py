"""Write the tables of docs/neural.md from benchmarks/results/neural.csv.gz.

    python -m benchmarks.nonlinear.neural_page

A mean is over seeds and their tests; an interval is 95 % of 1000 means of seeds drawn again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.quality.methods import ORACLE
from benchmarks.quality.results import read
from benchmarks.quality.table import markdown, short
from paper.common import replace

RESULTS = Path(__file__).parents[1] / "results" / "neural.csv.gz"
PAGE = Path(__file__).parents[2] / "docs" / "neural.md"
METHODS = ("raw", "linear", "linear fixed", "LDA", "neural", "neural convolutional", "neural chosen", ORACLE)
N_DRAWS = 1000


def quality(results: pd.DataFrame, methods: Sequence[str] = METHODS) -> pd.DataFrame:
    """Give mean average precision with its interval, tasks and detectors by methods."""
    found = results[results.part == "report"]
    cells = found.groupby(["task", "detector", "method"], sort=False).apply(_cell, include_groups=False).unstack()
    return cells[[name for name in methods if name in cells]].fillna("–")


def choices(results: pd.DataFrame) -> pd.DataFrame:
    """Give the mean of both detectors at every setting that was tried, where choosing is allowed."""
    found = results[(results.part == "choose") & results.method.isin(["raw", "linear", "neural chosen"])]
    name = found.setting.where(found.setting != "", found.method)
    # With nothing appended, a weight weighs nothing.
    name = name.str.replace("append=nothing weight=0.3", "").str.replace("append=nothing weight=1.0", "append=nothing")
    name = name.str.replace("n_components=16 ", "").where(~name.str.contains("  "))
    means = found.assign(setting=name).groupby(["setting", "task"], sort=False).average_precision.mean().unstack()
    return means.assign(mean=means.mean(axis=1, skipna=False))


def cost(results: pd.DataFrame, methods: Sequence[str] = ("linear", "neural", "neural convolutional")) -> pd.DataFrame:
    """Give the CPU seconds of learning; tasks that share their training rows share a training."""
    found = results[(results.part == "report") & results.method.isin(methods)]
    paid = found[~found.task.str.contains("patch|person")].drop_duplicates(["task", "seed", "method"])
    paid = paid[paid.average_precision.notna()]
    return paid.groupby(["task", "method"], sort=False).seconds.mean().unstack().round(1)


def _cell(found: pd.DataFrame) -> str:
    of_seeds = found.groupby("seed").average_precision.mean().to_numpy()
    if np.isnan(of_seeds).any():
        return "–"
    drawn = np.random.default_rng(0).choice(of_seeds, (N_DRAWS, len(of_seeds))).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{short(of_seeds.mean())} [{short(low)}, {short(high)}]"


def main() -> None:
    results = read(RESULTS)
    for name, table in (("quality", quality(results)), ("choices", choices(results)), ("cost", cost(results))):
        replace(PAGE, rf"(<!-- {name} -->\n).*?(\n<!-- end of {name} -->)", markdown(table))


if __name__ == "__main__":
    main()

"""Write the tables of docs/kernel.md from benchmarks/results/nonlinear.csv and neural.csv.gz.

    python -m benchmarks.nonlinear.page

Kernel FOCUS is in the one file; the other methods are in the other, on the same tasks and seeds.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.nonlinear import neural_page
from benchmarks.quality.methods import ORACLE
from benchmarks.quality.results import read
from benchmarks.quality.table import markdown
from paper.common import replace

RESULTS = Path(__file__).parents[1] / "results"
PAGE = Path(__file__).parents[2] / "docs" / "kernel.md"
KERNEL = ("kernel", "kernel Nyström", "kernel Fourier", "kernel chosen")
METHODS = ("raw", "linear", "linear fixed", "LDA", *KERNEL, "neural", "neural convolutional", ORACLE)


def results() -> pd.DataFrame:
    """Read both files; of the other, the seeds that kernel FOCUS was run on."""
    ours, others = read(RESULTS / "nonlinear.csv"), read(RESULTS / "neural.csv.gz")
    runs = ours[["task", "part", "seed"]].drop_duplicates()
    baselines = others.merge(runs, on=["task", "part", "seed"])
    return pd.concat([ours, baselines[~baselines.method.isin(ours.method.unique())]], ignore_index=True)


def quality(found: pd.DataFrame) -> pd.DataFrame:
    """Give mean average precision with its interval, tasks and detectors by methods."""
    return neural_page.quality(found, METHODS)


def cost(found: pd.DataFrame) -> pd.DataFrame:
    """Give the CPU seconds of learning."""
    return neural_page.cost(found, ("linear", *KERNEL[:3], "neural", "neural convolutional"))


def choices(found: pd.DataFrame) -> pd.DataFrame:
    """Give the mean of both detectors at the settings that were tried, at the automatic gamma."""
    tried = found[(found.part == "choose") & found.method.isin(["raw", "linear", "kernel chosen"])]
    # A run that was stopped has tried some seeds by its defaults alone.
    tried = tried.merge(tried[tried.method == "kernel chosen"][["task", "seed"]].drop_duplicates())
    tried = tried[~tried.setting.str.contains("scale=0.5")]
    name = tried.setting.str.replace("scale=1.0 ", "").where(tried.setting != "", tried.method)
    means = tried.assign(setting=name).groupby(["setting", "task"], sort=False).average_precision.mean().unstack()
    return means.assign(mean=means.mean(axis=1, skipna=False))


def main() -> None:
    found = results()
    for table in (quality, cost, choices):
        name = table.__name__
        replace(PAGE, rf"(<!-- {name} -->\n).*?(\n<!-- end of {name} -->)", markdown(table(found)))


if __name__ == "__main__":
    main()

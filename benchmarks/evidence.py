"""Write the tables of docs/evidence.md from the results that are kept in benchmarks/results.

    python -m benchmarks.evidence

The results come from `benchmarks.quality.run` and `benchmarks.cutoff_study`.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.cutoff_study import table as study_table
from benchmarks.quality.methods import AUTOMATIC, RAW
from benchmarks.quality.results import read
from benchmarks.quality.table import (
    PLACE,
    balance,
    harm,
    hindsight,
    markdown,
    means_and_intervals,
    ranks,
    summary,
    worst,
)
from paper.common import replace

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "evidence.md"


def tables(results: pd.DataFrame, study: pd.DataFrame) -> dict[str, str]:
    """Give every table of the page as Markdown, under its name."""
    found = summary(results)
    harmful = harm(found)
    made = {
        "ranks": ranks(found).drop(columns="by data set"),
        "ranks by data set": _by_data(found),
        "worst case": worst(found),
        "worst case kNN": worst(found[found.detector == "kNN"]),
        "balance": balance(found),
        "means": means_and_intervals(found),
        "hindsight": hindsight(results),
        "study": study_table(study),
    }
    nowhere = f"On no task and detector is {AUTOMATIC.name} more than .01 below {RAW.name}."
    return {name: markdown(table) for name, table in made.items()} | {
        "harm": markdown(harmful) if len(harmful) else nowhere
    }


def _by_data(found: pd.DataFrame) -> pd.DataFrame:
    """Mean rank on each data set, over its tasks and detectors; the last column counts each data set once."""
    means = found.pivot(index=PLACE, columns="method", values="mean")
    contenders = [name for name in ranks(found).index if name in means.columns]
    ranked = means[contenders].rank(axis=1, ascending=False, na_option="bottom").groupby("data").mean().T
    ranked["all"] = ranked.mean(axis=1)
    return ranked.sort_values("all").rename_axis(index="method", columns=None)


def main() -> None:
    results = read(RESULTS / "quality.csv.gz")
    study = pd.read_csv(RESULTS / "cutoff_study.csv.gz")
    for name, text in tables(results, study).items():
        replace(PAGE, rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", text + "\n")
    print(f"Wrote the tables of {PAGE.name}.")


if __name__ == "__main__":
    main()

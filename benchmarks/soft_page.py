"""Write the tables of docs/soft.md from the results that are kept in benchmarks/results.

    python -m benchmarks.soft_page

The results come from `benchmarks.quality.run` and `benchmarks.strength_study`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.quality.methods import AUTOMATIC, RAW, SOFT
from benchmarks.quality.results import read
from benchmarks.quality.table import N_DRAWS, markdown, short
from benchmarks.strength_study import RULES, SAVED
from paper.common import replace

PAGE = Path(__file__).parents[1] / "docs" / "soft.md"
QUALITY = SAVED.parent / "quality.csv.gz"
N_LISTED = 5


def change_by_data(results: pd.DataFrame) -> pd.DataFrame:
    """Give soft minus hard, the mean over the tasks of a data set; data sets by detectors."""
    means = _means(results)
    return (means[SOFT.name] - means[AUTOMATIC.name]).groupby(["data", "detector"]).mean().unstack()


def by_data(results: pd.DataFrame) -> pd.DataFrame:
    """Do the same for the page, with intervals over several seeds, and a mean over detectors."""
    change = change_by_data(results)
    table = change.map(signed).assign(mean=change.mean(axis=1).map(signed))
    for (data, detector), found in _reported(results).groupby(["data", "detector"]):
        values = found.pivot_table(index="seed", columns="method", values="average_precision")
        of_seeds = (values[SOFT.name] - values[AUTOMATIC.name]).to_numpy()
        if len(of_seeds) > 1 and table.loc[data, detector] != "0":
            drawn = np.random.default_rng(0).choice(of_seeds, (N_DRAWS, len(of_seeds))).mean(axis=1)
            low, high = map(signed, np.quantile(drawn, [0.025, 0.975]))
            table.loc[data, detector] += f" [{low}, {high}]"
    return table.loc[change.mean(axis=1).sort_values().index].rename_axis(columns=None)


def by_task(results: pd.DataFrame) -> pd.DataFrame:
    """List the tasks and detectors on which soft differs most from hard: the worst and the best."""
    means = _means(results)
    change = means[SOFT.name] - means[AUTOMATIC.name]
    ends = pd.concat([change.nsmallest(N_LISTED), change.nlargest(N_LISTED)[::-1]])
    shown = means.loc[ends.index, [RAW.name, AUTOMATIC.name, SOFT.name]].map(short)
    named = shown.rename(columns={AUTOMATIC.name: "hard", SOFT.name: "soft"}).rename_axis(columns=None)
    return named.assign(difference=ends.map(signed)).droplevel("data")


def rules(study: pd.DataFrame) -> pd.DataFrame:
    """Give each rule minus the hard removal, where choosing is allowed; the worst of any task and detector."""
    found = study[(study.part == "choose") & study.forced.isna()]
    values = found.pivot(index=["data", "task", "seed", "detector"], columns="rule", values="average_precision")
    change = values.sub(values["hard"], axis=0)[[rule for rule in RULES if rule in values]]
    of_data = change.groupby(["data", "detector"]).mean()
    table = of_data.groupby("data").mean().T
    table["mean"] = table.mean(axis=1)
    table["worst data set and detector"] = of_data.min()
    table["worst task and detector"] = change.groupby(["task", "detector"]).mean().min()
    return table.map(signed).rename_axis(columns=None)


def few(study: pd.DataFrame) -> pd.DataFrame:
    """Give what a forced cut-off does to reported trials whose groups are few: mean, and the largest harm it does."""
    found = study[(study.part == "report") & study.forced.notna()]
    place = ["data", "n_groups"]
    values = found.pivot(index=[*place, "task", "seed", "detector"], columns="rule", values="average_precision")
    values = values.groupby([*place, "task", "detector"]).mean()
    harm = values.sub(values["nothing"], axis=0).groupby(place).min()
    means = values.groupby(place).mean()
    table = pd.DataFrame({"removed": found.groupby(place).n_removed.median().map("{:.0f}".format)})
    for rule, name in (("nothing", "raw"), ("hard", "hard"), ("automatic", "soft")):
        table[name] = means[rule].map(short)
    for rule, name in (("hard", "hard"), ("automatic", "soft")):
        table[f"largest loss, {name}"] = np.minimum(harm[rule], 0.0).map(signed)
    return table


def signed(value: float) -> str:
    """Write +.012 for 0.012."""
    text = f"{value:+.3f}".replace("0.", ".", 1)
    return "–" if np.isnan(value) else "0" if text in ("+.000", "-.000") else text


def _reported(results: pd.DataFrame) -> pd.DataFrame:
    return results[(results.part == "report") & results.method.isin([RAW.name, AUTOMATIC.name, SOFT.name])]


def _means(results: pd.DataFrame) -> pd.DataFrame:
    """Mean of every task and detector, (places, methods)."""
    means = _reported(results).groupby(["data", "task", "detector", "method"]).average_precision.mean()
    return means.unstack().dropna()


def tables() -> dict[str, str]:
    """Give every table of the page as Markdown, under its name."""
    results, study = read(QUALITY), pd.read_csv(SAVED)
    made = {"data": by_data(results), "tasks": by_task(results), "rules": rules(study), "few": few(study)}
    return {name: markdown(table) for name, table in made.items()}


def main() -> None:
    for name, text in tables().items():
        replace(PAGE, rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", text + "\n")


if __name__ == "__main__":
    main()

"""Tables of the results: means with intervals, wins and losses, ranks, the worst case, harm done.

    python -m benchmarks.quality.table out/quality.csv --page out/quality.html

The terms are explained in `RULES`, and on the page.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.quality.methods import AUTOMATIC, FIXED, METHODS, ORACLE, RAW, SOFT
from benchmarks.quality.results import chosen, read
from undistract._arrays import Floats
from undistract.errors import InputError

TIE = 0.01
N_DRAWS = 1000
RULES = {
    "setting": "of every method but the automatic one: chosen by mean average precision, with labels, on other trials "
    "than those reported. Nobody has such labels in practice: this is generous to them.",
    "mean": "average precision over the reported tests, at that setting.",
    "interval": f"95 % of {N_DRAWS} bootstrap means: seeds are drawn again, and in each seed its tests.",
    "win, loss": f"FOCUS automatic is better or worse. It is a tie if the means differ by less than {TIE}, or if the "
    "interval of the difference (paired: the same draws for both) holds 0.",
    "rank": "1 is the best of a task and detector; equal means share their ranks; no answer is the last rank.",
    "worst case": "the largest loss against the best method of the same task and detector; no answer counts as 0.",
    "harm": f"FOCUS automatic more than {TIE} below raw.",
    "hindsight": "the best mean of any setting, chosen on the reported tests themselves: no method could do this.",
    "not ranked": "the oracle; FOCUS fixed, which is FOCUS with a setting chosen by labels; and FOCUS soft, which "
    "shrinks the same directions that FOCUS automatic cuts, so that it would count twice.",
}
PLACE = ["data", "task", "detector"]
NAMES = [method.name for method in METHODS] + [ORACLE]
CONTENDERS = [name for name in NAMES if name not in (FIXED.name, SOFT.name, ORACLE)]


def summary(results: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Give one row for each task, detector and method, and how FOCUS automatic differs from it."""
    reported = results[results.part == "report"]
    if AUTOMATIC.name not in set(reported.method):
        raise InputError(f"There is no reported result of {AUTOMATIC.name} to compare with. Run --part report first.")
    choices = chosen(results)
    keys = zip(reported.data, reported.method, reported.detector, strict=True)
    # A method without settings has nothing to choose.
    settled = (reported.setting == "") | (reported.setting == [choices.get(key) for key in keys])
    rows = []
    for place, found in reported[settled].groupby(PLACE, sort=False):
        values = found.pivot(index=["seed", "test"], columns="method", values="average_precision")
        removed = found.groupby("method").n_removed.median()
        drawn = _draws(values, np.random.default_rng(seed))  # (draws, tests), each row sums to one
        with np.errstate(invalid="ignore"):
            means, lost = drawn @ values.to_numpy(), drawn @ (-values.sub(values[AUTOMATIC.name], axis=0)).to_numpy()
        for number, method in enumerate(values.columns):
            mean = values[method].mean(skipna=False)
            difference = values[AUTOMATIC.name].mean(skipna=False) - mean
            low, high = _interval(lost[:, number])
            rows.append(
                dict(zip(PLACE, place, strict=True))
                | {"method": method, "n": len(values), "n_removed": removed.get(method), "mean": mean}
                | dict(zip(("low", "high"), _interval(means[:, number]), strict=True))
                | {"difference": difference, "verdict": _verdict(difference, low, high)}
            )
    return pd.DataFrame(rows)


def balance(found: pd.DataFrame) -> pd.DataFrame:
    """Count what FOCUS automatic wins, ties and loses against each method, over tasks and detectors."""
    others = found[found.method != AUTOMATIC.name]
    counts = pd.crosstab(others.method, others.verdict)
    return _ordered(counts.reindex(columns=["win", "tie", "loss", "no answer"], fill_value=0))


def ranks(found: pd.DataFrame) -> pd.DataFrame:
    """Mean rank of each method: over all tasks and detectors, with each data set counting once, and by detector."""
    means = _means(found)
    ranked = means.rank(axis=1, ascending=False, na_option="bottom")
    columns = {"all": ranked.mean(), "by data set": ranked.groupby("data").mean().mean()}
    columns |= dict(ranked.groupby("detector").mean().T.items())
    return pd.DataFrame(columns).sort_values("all")


def worst(found: pd.DataFrame) -> pd.DataFrame:
    """Largest loss of each method against the best of its task and detector, and where."""
    means = _means(found).fillna(0.0)
    loss = -means.sub(means.max(axis=1), axis=0)
    where = loss.idxmax()
    table = pd.DataFrame({"loss": loss.max(), "mean loss": loss.mean()})
    table["task"] = [where[name][PLACE.index("task")] for name in table.index]
    table["detector"] = [where[name][PLACE.index("detector")] for name in table.index]
    return table.sort_values("loss")


def harm(found: pd.DataFrame) -> pd.DataFrame:
    """List where FOCUS automatic does worse than no method at all."""
    worse = found[(found.method == RAW.name) & (found.difference < -TIE)].rename(columns={"mean": RAW.name})
    return worse[[*PLACE, RAW.name, "difference", "verdict"]].sort_values("difference").set_index(PLACE)


def hindsight(results: pd.DataFrame) -> pd.DataFrame:
    """Best mean of any setting of each method, if all settings were reported, next to the automatic one.

    One row for each task and detector, one column for each method.
    """
    reported = results[results.part == "report"]
    # Only the seeds that tried every setting compare.
    tried = reported.groupby([*PLACE, "seed"])[["method", "setting"]].transform("nunique").sum(axis=1)
    whole = tried == tried.groupby([reported[name] for name in PLACE]).transform("max")
    means = _mean(reported[whole].groupby([*PLACE, "method", "setting"], sort=False))
    of_method = means.groupby([*PLACE, "method"], sort=False)
    best = means[of_method.transform("size") > 1].groupby([*PLACE, "method"], sort=False).max().unstack("method")
    automatic = means.xs(AUTOMATIC.name, level="method").droplevel("setting").rename(AUTOMATIC.name)
    return best.reindex(columns=[name for name in NAMES if name in best.columns]).join(automatic)


def settings(results: pd.DataFrame) -> pd.DataFrame:
    """Show the chosen setting of each method, for each data set and detector."""
    some = {key: setting for key, setting in chosen(results).items() if setting}
    index = pd.MultiIndex.from_tuples(some, names=["data", "method", "detector"]) if some else None
    wide = pd.Series(some.values(), index, dtype=object).unstack("method").fillna("–") if some else pd.DataFrame()
    return wide.reindex(columns=[name for name in NAMES if name in wide.columns])


def means_and_intervals(found: pd.DataFrame) -> pd.DataFrame:
    """Lay the means out: one row for each task and detector, one column for each method.

    The last column has the median number of directions that FOCUS automatic removed.
    """
    cells = found.assign(
        cell=[
            "–" if np.isnan(one.mean) else f"{short(one.mean)} [{short(one.low)}, {short(one.high)}]"
            for one in found[["mean", "low", "high"]].itertuples(index=False)
        ]
    )
    wide = cells.pivot(index=PLACE, columns="method", values="cell").reindex(_places(found))
    removed = found[found.method == AUTOMATIC.name].set_index(PLACE).n_removed.map("{:.0f}".format)
    laid_out = wide.reindex(columns=[name for name in NAMES if name in wide.columns]).fillna("–")
    return laid_out.assign(removed=removed)


def markdown(table: pd.DataFrame) -> str:
    """Write a table as Markdown, its index first."""
    flat = table.reset_index()
    lines = [list(map(str, flat.columns)), ["---"] * flat.shape[1]]
    lines += [[short(cell) if isinstance(cell, float) else str(cell) for cell in row] for row in flat.to_numpy(object)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tables(results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Give every table under its heading."""
    found = summary(results)
    made = {
        "Mean rank": ranks(found),
        "Worst case": worst(found),
        f"Wins, ties and losses of {AUTOMATIC.name}": balance(found),
        f"Where {AUTOMATIC.name} does harm": harm(found),
        "Average precision": means_and_intervals(found),
    }
    more = {"Best setting in hindsight": hindsight(results), "Chosen settings": settings(results)}
    return made | {heading: table for heading, table in more.items() if len(table)}


def _mean(tests: Any) -> pd.Series:
    """Mean average precision of groups of tests; without an answer to one of them there is none."""
    return tests.average_precision.agg(lambda one: one.mean(skipna=False))


def _draws(values: pd.DataFrame, rng: np.random.Generator) -> Floats:
    """Draw seeds again, and in each seed its tests; the weight of every test in every draw."""
    seeds, owner = np.unique(values.index.get_level_values("seed"), return_inverse=True)
    times = rng.multinomial(len(seeds), np.full(len(seeds), 1 / len(seeds)), N_DRAWS)[:, owner]  # (draws, tests)
    weights = np.empty(times.shape)
    for number in range(len(seeds)):
        own = owner == number
        weights[:, own] = rng.multinomial(own.sum(), np.full(own.sum(), 1 / own.sum()), N_DRAWS)
    weights *= times
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _interval(drawn: Floats) -> tuple[float, float]:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def _verdict(difference: float, low: float, high: float) -> str:
    if np.isnan(difference):
        return "no answer"
    if abs(difference) < TIE or low <= 0 <= high:
        return "tie"
    return "win" if difference > 0 else "loss"


def _means(found: pd.DataFrame) -> pd.DataFrame:
    """Means of those that compete, (places, methods)."""
    wide = found.pivot(index=PLACE, columns="method", values="mean").reindex(_places(found))
    return wide[[name for name in CONTENDERS if name in wide.columns]]


def _places(found: pd.DataFrame) -> pd.MultiIndex:
    """Tasks and detectors in the order in which they were run."""
    return pd.MultiIndex.from_frame(found[PLACE].drop_duplicates())


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    return table.reindex([name for name in NAMES if name in table.index])


def short(value: float) -> str:
    """Write .71 for 0.71, as in the docs; 3.50 stays."""
    if np.isnan(value):
        return "–"
    text = f"{value:.2f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--page", type=Path, help="write one HTML file too")
    wanted = parser.parse_args()
    results = read(wanted.results)
    for heading, table in tables(results).items():
        print(f"## {heading}\n\n{markdown(table) if len(table) else 'Nowhere.'}\n")
    print("\n".join(f"- *{word}*: {rule}" for word, rule in RULES.items()))
    if wanted.page:
        from benchmarks.quality.page import page
        from undistract._io import atomic_write

        atomic_write(wanted.page, page(results).encode("utf-8"))


if __name__ == "__main__":
    main()

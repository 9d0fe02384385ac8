"""Write the tables and the picture of docs/classification.md from the results that are kept in benchmarks/results.

    python -m benchmarks.few_shot.page

Means are over seeds: other people, other images, other draws of the nuisance. An interval is 95 % of 1000 means of
seeds drawn again. `few_shot_fresh` holds seeds that were run once, after all was decided. A setting is *chosen* for
each seed, distance and number of examples on held-out teaching groups of that seed; *at best* is the one setting with
the best mean on the reported classes, which cannot be known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.few_shot.kernels import ALL_NAMES, KERNEL_LDA, PRODUCT_LDA, PRODUCT_LIKELY, PRODUCT_NAP
from benchmarks.few_shot.methods import AUGMENTED, CONTROL, COUNTED, LIKELY, LIKELY_PLDA, LIKELY_RCA
from benchmarks.few_shot.recognise import DISTANCES, SHOWN
from benchmarks.few_shot.tasks import tasks
from benchmarks.quality.methods import RAW
from benchmarks.quality.table import markdown, short
from paper.common import replace
from undistract.report.figures import AMBER, BLUE, DASHED, GREY, INK, LABEL_SIZE, draw_title, new_figure, tidy

RESULTS = Path(__file__).parents[1] / "results" / "few_shot.csv.gz"
FRESH = RESULTS.with_name("few_shot_fresh.csv.gz")
DOCS = Path(__file__).parents[2] / "docs"
BASELINES = [RAW.name, AUGMENTED, "PCA drop-top", "NAP", "RCA", "LDA"]
OURS = (COUNTED, LIKELY, PRODUCT_LIKELY)
CONTROLS = ((LIKELY, LIKELY_PLDA), (LIKELY, LIKELY_RCA), (LIKELY, CONTROL))
PRODUCT_CONTROLS = tuple((PRODUCT_LIKELY, name) for name in (PRODUCT_NAP, PRODUCT_LDA, KERNEL_LDA))
KEY = ["task", "seed", "method", "distance"]
COUNTS = [str(shown) for shown in SHOWN]
N_DRAWS = 1000
NOT_RUN = "–"
KERNELS_FROM = 10  # the first seed that was not used when kernels were added; the two blocks are separate


def read(path: Path = RESULTS) -> pd.DataFrame:
    """Read the results; an empty setting is a setting."""
    return pd.read_csv(path, keep_default_na=False, dtype={"setting": str})


def chosen(results: pd.DataFrame) -> pd.DataFrame:
    """Give the accuracy of every seed at the settings that its own held-out groups chose."""
    reported = results[results.part == "report"].set_index([*KEY, "setting"])[COUNTS]
    held_out = results[results.part == "choose"].set_index([*KEY, "setting"])[COUNTS]
    # Methods without settings were not tried there; with groups held out, not all settings could be tried.
    tried = held_out.reindex(reported.index)
    tried.loc[tried.index.get_level_values("setting") == ""] = 0.0
    tried = tried.dropna()
    values = {
        shown: reported[shown].loc[tried[shown].groupby(KEY, sort=False).idxmax()].droplevel("setting")
        for shown in COUNTS
    }
    return pd.DataFrame(values)


def at_best(results: pd.DataFrame) -> pd.DataFrame:
    """Give the same at the one setting that turned out best over all seeds, for each number of examples."""
    reported = results[results.part == "report"]
    place = ["task", "method", "distance"]
    values = {}
    for shown in COUNTS:
        means = reported.groupby([*place, "setting"], sort=False)[shown].mean()
        best = means.groupby(place, sort=False).idxmax()
        wide = reported.set_index([*place, "setting"])
        values[shown] = wide.loc[wide.index.isin(best)].reset_index().set_index(KEY)[shown]
    return pd.DataFrame(values)


def by_method(results: pd.DataFrame, distance: str, shown: str) -> pd.DataFrame:
    """Lay out the mean of every method on every task, chosen / at best."""
    means, best = (
        one(results)[shown].xs(distance, level="distance").groupby(["method", "task"]).mean()
        for one in (chosen, at_best)
    )
    n_settings = results.groupby("method").setting.nunique()
    rows = []
    for method in ALL_NAMES:
        cells = {"method": method}
        for task in _tasks(results):
            cells[task] = NOT_RUN
            if (method, task) in means.index:
                hindsight = f" / {short(best[method, task])}" if n_settings[method] > 1 else ""
                cells[task] = short(means[method, task]) + hindsight
        rows.append(cells)
    return pd.DataFrame(rows).set_index("method")


def against(results: pd.DataFrame, shown: str = "1", methods: Sequence[str] = OURS) -> pd.DataFrame:
    """Compare methods, chosen on held-out groups, with raw rows and the best baseline: chosen too, and at its best.

    Differences are to the latter, in points.
    """
    ours, hindsight = chosen(results)[shown], at_best(results)[shown]
    rows = []
    for task, distance in product(_tasks(results), DISTANCES):
        mine = ours.xs((task, distance), level=("task", "distance")).unstack("method")
        theirs = hindsight.xs((task, distance), level=("task", "distance")).unstack("method")[BASELINES]
        best = [one.mean().idxmax() for one in (mine[BASELINES], theirs)]
        cells = {
            "task": task,
            "distance": distance,
            "seeds": f"{mine.index.min()} to {mine.index.max()}",
            RAW.name: short(mine[RAW.name].mean()),
            "best baseline, chosen": f"{best[0]} {short(mine[best[0]].mean())}",
            "at its best": f"{best[1]} {short(theirs[best[1]].mean())}",
        }
        for name in methods:
            seen = name in mine and mine[name].notna().all()
            cells[name] = (
                f"{short(mine[name].mean())} ({_difference(mine[name] - theirs[best[1]])})" if seen else NOT_RUN
            )
        rows.append(cells)
    return pd.DataFrame(rows).set_index("task")


def controls(results: Sequence[pd.DataFrame], pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Say by how many points a form is above its controls: one example, all chosen, the cosine for what is a map."""
    rows = []
    for some in results:
        found = chosen(some)["1"].xs("cosine", level="distance").unstack("method")
        for task in _tasks(some):
            mine = found.loc[task].dropna(axis=1)
            if all(name in mine for pair in pairs for name in pair):
                cells = {f"{form} above {name}": _difference(mine[form] - mine[name]) for form, name in pairs}
                rows.append({"task": task, "seeds": f"{mine.index.min()} to {mine.index.max()}", **cells})
    return pd.DataFrame(rows).set_index("task")


def _tasks(results: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(results.task))


def _difference(values: pd.Series) -> str:
    """Write a mean difference in points, and 95 % of the means of seeds drawn again."""
    drawn = np.random.default_rng(0).choice(values.to_numpy(), (N_DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{100 * values.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


LINES = {
    RAW.name: (GREY[1], (0, (1, 2)), 1.6),
    AUGMENTED: (GREY[0], "-", 1.6),
    "RCA": (GREY[1], DASHED, 1.6),
    "LDA": (GREY[1], "-", 1.6),
    COUNTED: (BLUE[0], "-", 2.2),
    LIKELY: (AMBER[0], "-", 2.6),
    PRODUCT_LIKELY: (INK, "-", 2.2),
}


def picture(results: pd.DataFrame, path: Path) -> None:
    """Draw accuracy against the number of examples, one panel for each task; letters show what was drawn on them."""
    shown = _tasks(results)
    figure = new_figure(10.5, 7.2)
    panels = figure.subplots(2, (len(shown) + 1) // 2, sharex=True, sharey=True).ravel()
    means = chosen(results).xs("cosine", level="distance").groupby(["task", "method"]).mean()
    letters = {task.task: task.taught for task in tasks("EMNIST", 1)}
    for axes, task in zip(panels, shown, strict=False):
        for method, (colour, style, width) in LINES.items():
            if (task, method) not in means.index:
                continue
            axes.plot(SHOWN, means.loc[(task, method), COUNTS], color=colour, ls=style, lw=width, label=method)
        axes.set(ylim=(0, 1), xticks=SHOWN)
        draw_title(axes, task)
        tidy(axes)
        if task in letters:  # faces are not ours to show
            row = np.hstack([letters[task][name][0].reshape(28, 28) for name in ("A", "E", "K", "R", "g", "t")])
            strip = axes.inset_axes((0.32, 0.02, 0.66, 0.2))
            strip.imshow(row, cmap="gray_r", vmin=-1, vmax=2)
            strip.set_axis_off()
    figure.supxlabel("examples of each class", y=0.1, fontsize=LABEL_SIZE, color=INK)
    figure.supylabel("recognised (cosine)", fontsize=LABEL_SIZE, color=INK)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=(len(labels) + 1) // 2, frameon=False, fontsize=LABEL_SIZE)
    figure.subplots_adjust(left=0.08, right=0.99, top=0.94, bottom=0.17, hspace=0.28, wspace=0.1)
    figure.savefig(path, dpi=100, metadata={"Software": None})


def tables(results: pd.DataFrame, fresh: pd.DataFrame) -> dict[str, str]:
    """Give every table of the page as Markdown, under its name."""
    blocks = [fresh[fresh.seed < KERNELS_FROM], fresh[fresh.seed >= KERNELS_FROM]]
    made = {"one example": against(results), "five examples": against(results, "5")}
    made["fresh"] = pd.concat([against(block, methods=OURS[1:]) for block in blocks])
    made["controls"] = controls([results, *blocks], CONTROLS)
    made["product controls"] = controls([results, *blocks], PRODUCT_CONTROLS)
    for (words, shown), distance in product({"one": "1", "five": "5"}.items(), DISTANCES):
        made[f"{words}, {distance}"] = by_method(results, distance, shown)
    return {name: markdown(table) for name, table in made.items()}


def main() -> None:
    results = read()
    for name, text in tables(results, read(FRESH)).items():
        replace(DOCS / "classification.md", rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", text + "\n")
    picture(results, DOCS / "images" / "few_shot.png")
    print("Wrote the tables of docs/classification.md and docs/images/few_shot.png.")


if __name__ == "__main__":
    main()

"""Write the tables and the picture of docs/classification.md from the results that are kept in benchmarks/results.

    python -m benchmarks.few_shot.page

Means are over seeds: other people, other images, other draws of what distracts. An interval is 95 % of 1000 means of
seeds drawn again. A setting is *chosen* for each seed, distance and number of examples on held-out teaching sets of
that seed; *at best* is the one setting with the best mean on the reported classes, which nobody can know.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.few_shot.methods import AUGMENTED, CONTROL, COUNTED, GRADED, NAMES, TWO_VIEWS
from benchmarks.few_shot.recognise import DISTANCES, SHOWN
from benchmarks.few_shot.tasks import tasks
from benchmarks.quality.methods import AUTOMATIC, RAW
from benchmarks.quality.table import markdown, short
from paper.common import replace
from undistract.report.plots import AMBER, BLUE, DASHED, GREY, INK, LABEL_SIZE, draw_title, new_figure, tidy

RESULTS = Path(__file__).parents[1] / "results" / "few_shot.csv.gz"
DOCS = Path(__file__).parents[2] / "docs"
BASELINES = [name for name in NAMES if name not in (AUTOMATIC.name, COUNTED, GRADED, TWO_VIEWS, CONTROL)]
VIEWS = (TWO_VIEWS, CONTROL)  # of length one already, so that their Euclidean distance is a cosine
KEY = ["task", "seed", "method", "distance"]
COUNTS = [str(shown) for shown in SHOWN]
N_DRAWS = 1000


def read(path: Path = RESULTS) -> pd.DataFrame:
    """Read the results; an empty setting is a setting."""
    return pd.read_csv(path, keep_default_na=False, dtype={"setting": str})


def chosen(results: pd.DataFrame) -> pd.DataFrame:
    """Give the accuracy of every seed at the settings that its own held-out sets chose."""
    reported = results[results.part == "report"].set_index([*KEY, "setting"])[COUNTS]
    held_out = results[results.part == "choose"].set_index([*KEY, "setting"])[COUNTS]
    # What has no setting was not tried there; fewer sets teach when some are held out, so that not all could be tried.
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


def by_examples(results: pd.DataFrame, distance: str) -> pd.DataFrame:
    """Lay out the means of every method, chosen / at best, by the number of examples."""
    ours, hindsight = (one(results).xs(distance, level="distance") for one in (chosen, at_best))
    rows = []
    names = [name for name in NAMES if distance == "cosine" or name not in VIEWS]
    for task, method in product(_tasks(results), names):
        means, best = (one.xs((task, method), level=("task", "method")).mean() for one in (ours, hindsight))
        n_settings = results[(results.task == task) & (results.method == method)].setting.nunique()
        both = [f"{short(means[one])} / {short(best[one])}" if n_settings > 1 else short(means[one]) for one in COUNTS]
        rows.append((task, method, *both))
    return pd.DataFrame(rows, columns=["task", "method", *COUNTS]).set_index("task")


def against(results: pd.DataFrame, shown: str = "1") -> pd.DataFrame:
    """Compare FOCUS, chosen on held-out sets, with raw rows and with the best baseline at its best setting."""
    ours, hindsight = chosen(results)[shown], at_best(results)[shown]
    rows = []
    for task, distance in product(_tasks(results), DISTANCES):
        mine = ours.xs((task, distance), level=("task", "distance")).unstack("method")
        theirs = hindsight.xs((task, distance), level=("task", "distance")).unstack("method")[BASELINES]
        best = theirs.mean().idxmax()
        plain = [short(mine[name].mean()) for name in (RAW.name, AUTOMATIC.name)]
        cells = [
            f"{short(mine[name].mean())} ({_difference(mine[name] - theirs[best])})"
            if distance == "cosine" or name not in VIEWS
            else ""
            for name in (COUNTED, GRADED, *VIEWS)
        ]
        rows.append((task, distance, len(mine), plain[0], f"{best} {short(theirs[best].mean())}", plain[1], *cells))
    names = ["task", "distance", "seeds", RAW.name, "best baseline at best", AUTOMATIC.name, COUNTED, GRADED, *VIEWS]
    return pd.DataFrame(rows, columns=names).set_index("task")


def settings(results: pd.DataFrame, shown: str = "1") -> pd.DataFrame:
    """Say which setting turned out best for one example, with the cosine."""
    reported = results[(results.part == "report") & (results.distance == "cosine") & (results.setting != "")]
    means = reported.groupby(["task", "method", "setting"], sort=False)[shown].mean()
    best = means.groupby(["task", "method"], sort=False).idxmax().map(lambda key: key[2]).unstack("method")
    return best.loc[_tasks(results), [name for name in NAMES if name in best.columns]]


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
    COUNTED: (BLUE[0], "-", 2.6),
    TWO_VIEWS: (AMBER[0], "-", 2.2),
}


def picture(results: pd.DataFrame, path: Path) -> None:
    """Draw accuracy against the number of examples, one panel for each task, above it what the task looks like."""
    shown = [task for task in _tasks(results) if task != "COIL"]
    figure = new_figure(3.4 * len(shown), 5.2)
    grid = figure.add_gridspec(2, len(shown), height_ratios=(1, 5), hspace=0.32, left=0.05, right=0.99, bottom=0.2)
    means = chosen(results).xs("cosine", level="distance").groupby(["task", "method"]).mean()
    letters = {task.task: task for task in tasks("EMNIST", 1)}
    for place, task in enumerate(shown):
        strip = figure.add_subplot(grid[0, place])
        strip.set_axis_off()
        if task in letters:  # faces are not ours to show
            taught = letters[task].taught
            row = np.hstack([taught[name][0].reshape(28, 28) for name in ("A", "E", "K", "R", "g", "t")])
            strip.imshow(row, cmap="gray_r", vmin=-1, vmax=2)
        draw_title(strip, task)
        axes = figure.add_subplot(grid[1, place])
        for method, (colour, style, width) in LINES.items():
            axes.plot(SHOWN, means.loc[(task, method), COUNTS], color=colour, ls=style, lw=width, label=method)
        axes.set_ylim(0, 1)
        axes.set_xticks(SHOWN)
        axes.set_xlabel("examples of each class", fontsize=LABEL_SIZE, color=INK)
        tidy(axes)
        if place == 0:
            axes.set_ylabel("recognised (cosine)", fontsize=LABEL_SIZE, color=INK)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False, fontsize=LABEL_SIZE)
    figure.savefig(path, dpi=100, metadata={"Software": None})


def tables(results: pd.DataFrame) -> dict[str, str]:
    """Give every table of the page as Markdown, under its name."""
    made = {"one example": against(results), "five examples": against(results, "5"), "settings": settings(results)}
    made |= {distance: by_examples(results, distance) for distance in DISTANCES}
    return {name: markdown(table) for name, table in made.items()}


def main() -> None:
    results = read()
    for name, text in tables(results).items():
        replace(DOCS / "classification.md", rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", text + "\n")
    picture(results, DOCS / "images" / "few_shot.png")
    print("Wrote the tables of docs/classification.md and docs/images/few_shot.png.")


if __name__ == "__main__":
    main()

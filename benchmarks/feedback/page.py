"""Write the tables and the picture of docs/feedback.md from the results that are kept in benchmarks/results.

    python -m benchmarks.feedback.page

Means are over tasks and seeds; an interval is 95 % of 1000 means of seeds drawn again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.feedback.candidates import FORMULAS, PROTECTIONS
from benchmarks.feedback.reviewer import STEPS
from benchmarks.feedback.rivals import ENSEMBLES, RIDGES
from benchmarks.feedback.run import CLEAN, DETECTORS, KNOWN, OURS, SETS
from benchmarks.quality.table import markdown, short
from paper.common import replace
from undistract.report.figures import AMBER, BLUE, DASHED, FAINT, GREY, INK, LABEL_SIZE, draw_title, new_figure, tidy

RESULTS = Path(__file__).parents[1] / "results"
DOCS = Path(__file__).parents[2] / "docs"
SHOWN = tuple(step for step in STEPS if step != 1)
METHODS = (OURS, KNOWN, *ENSEMBLES, SETS, CLEAN)
FALSE_ALARMS, BOTH = "silhouettes 0.5 common, none in 2", "silhouettes 0.5 common, 91 in 2"
PANELS = (
    (FALSE_ALARMS, "same kind", "Silhouettes, other images"),
    (FALSE_ALARMS, "never reviewed", "... kinds never reviewed"),
    (BOTH, "same kind", "... anomalies among the answers"),
    ("Yale person", "never reviewed", "Yale, people never reviewed"),
)
N_DRAWS = 1000


def by_answers(results: pd.DataFrame, value: str, detector: str) -> pd.DataFrame:
    """Return each method's mean and interval after a number of answers, for every task and context."""
    rows = []
    for (task, context), found in results[results.wrong == 0].groupby(["task", "context"], sort=False):
        for method in METHODS if detector == "kNN" else (OURS, KNOWN, SETS, CLEAN):  # ensembles have their own
            mine = found[(found.method == method) & found.detector.isin([detector, method])]
            cells = [_cell(mine[mine.answers == step], value) for step in SHOWN]
            if any(cells):
                rows.append((task, context, method, *cells))
    frame = _frame(rows, ["task", "test", "method", *map(str, SHOWN)])
    return frame.loc[:, (frame != "").any()]


def gains(results: pd.DataFrame) -> pd.DataFrame:
    """Give the share of the clean oracle's gain that is reached, by answers and by false alarms alone."""
    rows = []
    right = results[(results.wrong == 0) & (results.detector == "kNN")]
    for (task, context), found in right[right.data == "silhouettes"].groupby(["task", "context"], sort=False):
        oracle = found[found.method == CLEAN].set_index("seed").average_precision
        ours = found[found.method == OURS]
        for counted in ("answers", "false_alarms"):
            reached = pd.concat([_after(ours, counted, step) for step in STEPS], axis=1, keys=STEPS)
            shares = [_share(reached[step] - reached[0], oracle - reached[0]) for step in STEPS[1:]]
            rows.append((task, context, counted.replace("_", " "), *shares))
    return _frame(rows, ["task", "test", "counted", *map(str, STEPS[1:])])


def wrong_answers(results: pd.DataFrame) -> pd.DataFrame:
    """Give the mean after 16 answers when some of them are wrong."""
    ours = results[(results.method == OURS) & (results.detector == "kNN")]
    start = ours[(ours.answers == 0) & (ours.wrong == 0)].groupby(["data", "context"], sort=False).average_precision
    end = ours[ours.answers == max(STEPS)].pivot_table(
        index=["data", "context"], columns="wrong", values="average_precision", sort=False
    )
    end = end.sort_index(axis=1)
    end.columns = [f"16 answers, {wrong:.0%} wrong" for wrong in end.columns]
    return end.join(start.mean().rename("no answers"))[["no answers", *end.columns]].reset_index().set_index("data")


def choosing(results: pd.DataFrame, names: list[str], wrong: float) -> pd.DataFrame:
    """Give the mean of each way to learn after 4 and 16 answers, and how many confirmed anomalies vanished."""
    some = results[(results.wrong == wrong) & results.method.isin(names)].drop_duplicates(
        ["task", "seed", "method", "context", "answers"]
    )
    table = {}
    for data, found in some.groupby("data", sort=False):
        means = found.groupby(["method", "answers"]).average_precision.mean().unstack()
        table[data] = [" ".join(short(means.loc[name, step]) for step in (0, 4, 16)) for name in names]
    vanished = some[some.answers == max(STEPS)].groupby("method").vanished.mean()
    table["vanished"] = [f"{vanished[name]:.1%}" for name in names]
    return pd.DataFrame(table, index=pd.Index(names, name="way"))


def picture(results: pd.DataFrame, path: Path) -> None:
    """Draw average precision against answers, one panel for each test."""
    figure = new_figure(15.0, 4.8)
    greys = zip(ENSEMBLES, ("-", (0, (1.5, 1.5))), strict=True)
    styles = {OURS: (BLUE[0], "-", 3), KNOWN: (AMBER[0], "-", 2)} | {
        name: (GREY[1], style, 1.6) for name, style in greys
    }
    right = results[results.wrong == 0]
    for place, (task, context, title) in enumerate(PANELS):
        axes = figure.add_subplot(1, len(PANELS), place + 1)
        found = right[(right.task == task) & (right.context == context)]
        for method, (colour, style, width) in styles.items():
            mine = found[(found.method == method) & found.detector.isin(["kNN", method])]
            values = np.array([_interval(mine[mine.answers == step], "average_precision") for step in STEPS])
            spots = np.arange(len(STEPS))
            axes.plot(spots, values[:, 0], color=colour, lw=width, ls=style, label=method, zorder=3)
            axes.fill_between(spots, values[:, 1], values[:, 2], color=colour, alpha=0.13, lw=0)
        for method, colour in ((CLEAN, INK), (SETS, FAINT)):
            mine = found[(found.method == method) & (found.detector == "kNN")]
            if len(mine):
                style = DASHED if method == CLEAN else (0, (1, 2))
                axes.axhline(mine.average_precision.mean(), color=colour, lw=1.4, ls=style, label=method)
        axes.set_ylim(0, 1.04)
        axes.set_xticks(np.arange(len(STEPS)), map(str, STEPS))
        axes.set_xlabel("answers of a person", fontsize=LABEL_SIZE, color=INK)
        draw_title(axes, title)
        tidy(axes)
        if place == 0:
            axes.set_ylabel("average precision, nearest neighbours", fontsize=LABEL_SIZE, color=INK)
            handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False, fontsize=LABEL_SIZE)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=100, metadata={"Software": None})


def _after(found: pd.DataFrame, counted: str, step: int) -> pd.Series:
    """Return each seed's value after a number of answers, or all it ever gets."""
    reached = found[found[counted] <= step].sort_values("answers")
    exact = found[found[counted] == step].sort_values("answers").drop_duplicates("seed").set_index("seed")
    last = reached.drop_duplicates("seed", keep="last").set_index("seed")
    return exact.average_precision.combine_first(last.average_precision)


def _interval(found: pd.DataFrame, value: str) -> tuple[float, float, float]:
    """Mean and 95 % of the means of seeds drawn again."""
    values = found.drop_duplicates(["task", "seed", "context", "answers"])[value].to_numpy()
    drawn = np.random.default_rng(0).choice(values, (N_DRAWS, len(values))).mean(axis=1)
    return (float(values.mean()), *np.quantile(drawn, (0.025, 0.975)))


def _share(gain: pd.Series, possible: pd.Series) -> str:
    """Mean gain as a share of the mean that is possible, and 95 % of it with seeds drawn again."""
    drawn = np.random.default_rng(0).integers(0, len(gain), (N_DRAWS, len(gain)))
    many = gain.to_numpy()[drawn].mean(axis=1) / possible.loc[gain.index].to_numpy()[drawn].mean(axis=1)
    low, high = np.quantile(many, (0.025, 0.975))
    return f"{gain.mean() / possible.mean():.0%} [{low:.0%}, {high:.0%}]"


def _cell(found: pd.DataFrame, value: str) -> str:
    if not len(found):
        return ""
    mean, low, high = _interval(found, value)
    return f"{short(mean)} [{short(low)}, {short(high)}]"


def _frame(rows: list[tuple[str, ...]], columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns).set_index(columns[0])


def tables(report: pd.DataFrame, choose: pd.DataFrame) -> dict[str, str]:
    """Give every table of the page as Markdown, under its name."""
    lit = report[report.data.isin(["silhouettes", "Yale"])]
    made = {
        "average precision": by_answers(lit, "average_precision", "kNN"),
        "precision": by_answers(lit, "precision", "kNN"),
        **{name: by_answers(lit, "average_precision", name) for name in DETECTORS[1:]},
        "gains": gains(report),
        "wrong answers": wrong_answers(report),
        "formulas": choosing(choose, list(FORMULAS), 0.0),
        "ridges": choosing(choose, [f"{name}, {ridge:g}" for name in ENSEMBLES for ridge in RIDGES], 0.0),
        "protections": choosing(choose, list(PROTECTIONS), 0.0),
        "protections, wrong": choosing(choose, list(PROTECTIONS), 0.2),
    }
    return {name: markdown(table) for name, table in made.items()}


def main() -> None:
    report, choose = (pd.read_csv(RESULTS / f"{name}.csv.gz") for name in ("feedback", "feedback_choose"))
    for name, text in tables(report, choose).items():
        replace(DOCS / "feedback.md", rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", text + "\n")
    picture(report, DOCS / "images" / "feedback.png")
    print("Wrote the tables of docs/feedback.md and docs/images/feedback.png.")


if __name__ == "__main__":
    main()

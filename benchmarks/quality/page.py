"""One HTML file with every table and one picture per data set: nothing to load, light or dark as the reader likes."""

from __future__ import annotations

import pandas as pd
from pandas.api.types import is_numeric_dtype

from benchmarks.quality import table as tables
from benchmarks.quality.methods import AUTOMATIC, ORACLE, RAW
from undistract.report.html import NOTHING, Html, document, element, joined, number, pairs, section, table
from undistract.report.pictures import plot
from undistract.report.plots import AMBER, BLUE, GREY, INK, LABEL_SIZE, new_figure, tidy

# The better, the darker; FOCUS automatic stands out.
STYLE = """
body { max-width: 78rem }
td { white-space: nowrap }
td.shade { background: color-mix(in srgb, var(--blue) calc(var(--value) * 45%), transparent) }
td.best { font-weight: 700 } th, td { padding: .25rem .55rem }
"""


def page(results: pd.DataFrame) -> str:
    """Write the page of some results."""
    found = tables.summary(results)
    made = tables.tables(results)
    body = [element("h1", "Detection quality"), _words(results, found)]
    for heading, made_table in made.items():
        if heading == "Average precision":
            data_sets = found.groupby("data", sort=False)
            parts = [section(str(data), _picture(mine), _shaded(mine), level=3) for data, mine in data_sets]
            body.append(section(heading, element("p", _LEGEND), *parts))
        else:
            body.append(section(heading, _plain(made_table) if len(made_table) else element("p", "Nowhere.")))
    return document("Detection quality", *body, style=STYLE)


_LEGEND = (
    "Filled: FOCUS automatic, with its interval. Ring: raw rows. Grey: the other methods, each at the setting chosen "
    "for it. Upright stroke: the clean oracle, where there is one. In the tables bold is best, brackets hold "
    "intervals, and the last column says how many directions FOCUS automatic removed (the median)."
)


def _words(results: pd.DataFrame, found: pd.DataFrame) -> Html:
    tests = results[results.part == "report"][["task", "seed", "test"]].drop_duplicates()
    words = (
        f"{len(tests)} tests of {found.task.nunique()} tasks on {found.data.nunique()} data sets; "
        f"{found.detector.nunique()} detectors, {found.method.nunique()} methods."
    )
    return joined([element("p", words), pairs(tables.RULES)])


def _plain(made_table: pd.DataFrame) -> Html:
    """Write a table as it is, the row of FOCUS automatic set off."""
    flat = made_table.reset_index()
    rows = [[tables.short(cell) if isinstance(cell, float) else cell for cell in row] for row in flat.to_numpy(object)]
    numeric = [is_numeric_dtype(flat[name]) for name in flat.columns]
    cells = [[number(cell) if right else cell for cell, right in zip(row, numeric, strict=True)] for row in rows]
    return table(flat.columns, cells, marked=[place for place, row in enumerate(rows) if row[0] == AUTOMATIC.name])


def _shaded(found: pd.DataFrame) -> Html:
    """Write the means of one data set: the better, the darker; the best of those that compete in bold."""
    wide = found.pivot(index=["task", "detector"], columns="method", values=["mean", "low", "high"])
    wide = wide.reindex(pd.MultiIndex.from_frame(found[["task", "detector"]].drop_duplicates()))
    methods = [name for name in tables.NAMES if name in set(found.method)]
    removed = found[found.method == AUTOMATIC.name].set_index(["task", "detector"]).n_removed
    rows = []
    for place, row in wide.iterrows():
        best = row["mean"].reindex(tables.CONTENDERS).max()
        cells = [element("td", place[0], " ", element("small", place[1]))]
        for method in methods:
            mean, low, high = (row[which, method] for which in ("mean", "low", "high"))
            if mean != mean:
                cells.append(number(NOTHING))
                continue
            bold = " best" if method in tables.CONTENDERS and mean == best else ""
            between = element("small", f"[{tables.short(low)}, {tables.short(high)}]")
            shade = {"class_": f"number shade{bold}", "style": f"--value: {mean:.3f}"}
            cells.append(element("td", tables.short(mean), " ", between, **shade))
        rows.append([*cells, number(f"{removed[place]:.0f}")])
    return table(["", *methods, "removed"], rows)


def _picture(found: pd.DataFrame) -> Html:
    """Draw the means of one data set as dots, a panel for each detector, as SVG whose colours follow the page."""
    tasks, detectors = (list(dict.fromkeys(found[name])) for name in ("task", "detector"))
    figure = new_figure(2.0 + 2.2 * len(detectors), 0.9 + 0.3 * len(tasks))
    panels = figure.subplots(1, len(detectors), sharey=True, squeeze=False)[0]
    for axes, detector in zip(panels, detectors, strict=True):
        for height, task in enumerate(tasks):
            here = found[(found.task == task) & (found.detector == detector)].set_index("method")
            axes.axhline(height, color=GREY[0], linewidth=0.5, zorder=0)
            for method, one in here.iterrows():
                if method == AUTOMATIC.name:
                    axes.plot([one.low, one.high], [height, height], color=BLUE[0], linewidth=3, alpha=0.5, zorder=3)
                    axes.plot(one["mean"], height, "o", color=BLUE[0], markersize=8, zorder=4)
                elif method == RAW.name:
                    axes.plot(one["mean"], height, "o", color=INK, markersize=7, fillstyle="none", zorder=5)
                elif method == ORACLE:
                    axes.plot(one["mean"], height, "|", color=AMBER[0], markersize=14, markeredgewidth=3, zorder=2)
                elif method in tables.CONTENDERS:
                    axes.plot(one["mean"], height, "o", color=GREY[0], markersize=5, zorder=1)
        axes.set_title(detector, loc="left", fontsize=LABEL_SIZE, color=INK)
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        tidy(axes)
    panels[0].set_yticks(range(len(tasks)), tasks)
    panels[0].set_ylim(len(tasks) - 0.5, -0.5)
    figure.tight_layout(w_pad=1.5)
    return plot(figure, says="Average precision of each method, by task and detector")

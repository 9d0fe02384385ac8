"""One HTML file with every table and one figure per data set. It loads nothing and supports dark mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from benchmarks.quality import table as tables
from benchmarks.quality.methods import AUTOMATIC, ORACLE, RAW
from undistract.report.figures import AMBER, BLUE, GREY, INK, LABEL_SIZE, new_figure, tidy
from undistract.report.page import render_template

TEMPLATES = Path(__file__).parent / "templates"


def page(results: pd.DataFrame) -> str:
    """Return the page of some results."""
    summary = tables.summary(results)
    tests = results[results.part == "report"][["task", "seed", "test"]].drop_duplicates()
    sections = []
    for heading, table in tables.tables(results).items():
        if heading == "Average precision":
            groups = summary.groupby("data", sort=False)
            sections.append(
                {"heading": heading, "data_groups": [_data_facts(str(name), rows) for name, rows in groups]}
            )
        else:
            sections.append({"heading": heading, "data_groups": [], **_table_facts(table)})
    return render_template(
        "quality.html",
        folder=TEMPLATES,
        title="Detection quality",
        totals=f"{len(tests)} tests of {summary.task.nunique()} tasks on {summary.data.nunique()} data sets; "
        f"{summary.detector.nunique()} detectors, {summary.method.nunique()} methods.",
        rules=list(tables.RULES.items()),
        sections=sections,
    )


def _table_facts(table: pd.DataFrame) -> dict[str, Any]:
    """Return the rows of a table; the row of FOCUS automatic is marked."""
    flat = table.reset_index()
    rows = [[tables.short(cell) if isinstance(cell, float) else cell for cell in row] for row in flat.to_numpy(object)]
    columns = [{"name": name, "is_number": is_numeric_dtype(flat[name])} for name in flat.columns]
    return {"columns": columns, "rows": rows, "marked": AUTOMATIC.name}


def _data_facts(name: str, summary: pd.DataFrame) -> dict[str, Any]:
    """Return the means of one data set: better ones have a darker shade, the best competing one is bold."""
    wide = summary.pivot(index=["task", "detector"], columns="method", values=["mean", "low", "high"])
    wide = wide.reindex(pd.MultiIndex.from_frame(summary[["task", "detector"]].drop_duplicates()))
    methods = [method for method in tables.NAMES if method in set(summary.method)]
    removed = summary[summary.method == AUTOMATIC.name].set_index(["task", "detector"]).n_removed
    rows = []
    for key, row in wide.iterrows():
        best = row["mean"].reindex(tables.CONTENDERS).max()
        cells: list[dict[str, Any] | None] = []
        for method in methods:
            mean = row["mean", method]
            if pd.isna(mean):
                cells.append(None)
                continue
            interval = f"[{tables.short(row['low', method])}, {tables.short(row['high', method])}]"
            is_best = method in tables.CONTENDERS and mean == best
            cells.append({"mean": tables.short(mean), "interval": interval, "shade": f"{mean:.3f}", "is_best": is_best})
        rows.append({"task": key[0], "detector": key[1], "cells": cells, "removed": f"{removed[key]:.0f}"})
    return {"name": name, "figure": _figure(summary), "methods": methods, "rows": rows}


def _figure(summary: pd.DataFrame) -> Any:
    """Draw the means of result data set as dots, a panel for each detector, in the colours of the page."""
    tasks, detectors = (list(dict.fromkeys(summary[name])) for name in ("task", "detector"))
    figure = new_figure(2.0 + 2.2 * len(detectors), 0.9 + 0.3 * len(tasks))
    panels = figure.subplots(1, len(detectors), sharey=True, squeeze=False)[0]
    for axes, detector in zip(panels, detectors, strict=True):
        for height, task in enumerate(tasks):
            selected = summary[(summary.task == task) & (summary.detector == detector)].set_index("method")
            axes.axhline(height, color=GREY[0], linewidth=0.5, zorder=0)
            for method, result in selected.iterrows():
                if method == AUTOMATIC.name:
                    axes.plot(
                        [result.low, result.high], [height, height], color=BLUE[0], linewidth=3, alpha=0.5, zorder=3
                    )
                    axes.plot(result["mean"], height, "o", color=BLUE[0], markersize=8, zorder=4)
                elif method == RAW.name:
                    axes.plot(result["mean"], height, "o", color=INK, markersize=7, fillstyle="none", zorder=5)
                elif method == ORACLE:
                    axes.plot(result["mean"], height, "|", color=AMBER[0], markersize=14, markeredgewidth=3, zorder=2)
                elif method in tables.CONTENDERS:
                    axes.plot(result["mean"], height, "o", color=GREY[0], markersize=5, zorder=1)
        axes.set_title(detector, loc="left", fontsize=LABEL_SIZE, color=INK)
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        tidy(axes)
    panels[0].set_yticks(range(len(tasks)), tasks)
    panels[0].set_ylim(len(tasks) - 0.5, -0.5)
    figure.tight_layout(w_pad=1.5)
    return figure

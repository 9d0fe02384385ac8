"""One HTML file with every table and one picture per data set: nothing to load, light or dark as the reader likes."""

from __future__ import annotations

from html import escape
from io import StringIO

import pandas as pd
from pandas.api.types import is_numeric_dtype

from benchmarks.quality import table as tables
from benchmarks.quality.methods import AUTOMATIC, ORACLE, RAW
from undistract.extras import need
from undistract.report.plots import AMBER, BLUE, FAINT, GREY, INK, LABEL_SIZE, new_figure, tidy

# The colours of a plot become names, and the page says what they are by day and by night.
NAMED = {INK: "ink", FAINT: "faint", GREY[0]: "grey", BLUE[0]: "blue", AMBER[0]: "amber"}
STYLE = """
:root { color-scheme: light dark; --ink: #1f1f1f; --faint: #666; --grey: #bdbdbd; --blue: #0072b2; --amber: #e69f00;
        --paper: #fff; --line: #ddd; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --faint: #a8a8a8; --grey: #6a6a6a; --blue: #4db2ec; --amber: #f0b429; --paper: #161616;
          --line: #3a3a3a; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 78rem;
       margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; margin: 2.2rem 0 .6rem; }
p, dl { max-width: 46rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; font-size: 14px; }
dt { color: var(--faint); }
dd { margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: .25rem .55rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { font-weight: 600; vertical-align: bottom; }
.name { text-align: left; font-weight: 400; }
tr:first-child .name { font-weight: 600; }
td.shade { background: color-mix(in srgb, var(--blue) calc(var(--value) * 45%), transparent); }
td.best { font-weight: 700; }
tr.ours th, tr.ours td { font-weight: 700; }
small { color: var(--faint); font-weight: 400; }
svg { max-width: 100%; height: auto; display: block; }
"""


def page(results: pd.DataFrame) -> str:
    """Write the page of some results."""
    found = tables.summary(results)
    made = tables.tables(results)
    body = [_words(results, found)]
    for heading, table in made.items():
        if heading == "Average precision":
            body += [f"<h2>{heading}</h2>", f"<p>{_LEGEND}</p>"]
            for data, mine in found.groupby("data", sort=False):
                body += [f"<h3>{escape(str(data))}</h3>", _picture(mine), _shaded(mine)]
        else:
            body += [f"<h2>{escape(heading)}</h2>", _plain(table) if len(table) else "<p>Nowhere.</p>"]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Detection quality</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body><h1>Detection quality</h1>\n{chr(10).join(body)}\n</body></html>\n"
    )


_LEGEND = (
    "Filled: FOCUS automatic, with its interval. Ring: raw rows. Grey: the other methods, each at the setting chosen "
    "for it. Upright stroke: the clean oracle, where there is one. In the tables bold is best, brackets hold "
    "intervals, and the last column says how many directions FOCUS automatic removed (the median)."
)


def _words(results: pd.DataFrame, found: pd.DataFrame) -> str:
    tests = results[results.part == "report"][["task", "seed", "test"]].drop_duplicates()
    rules = "".join(f"<dt>{escape(word)}</dt><dd>{escape(rule)}</dd>" for word, rule in tables.RULES.items())
    return (
        f"<p>{len(tests)} tests of {found.task.nunique()} tasks on {found.data.nunique()} data sets; "
        f"{found.detector.nunique()} detectors, {found.method.nunique()} methods.</p><dl>{rules}</dl>"
    )


def _plain(table: pd.DataFrame) -> str:
    """Write a table as it is, the row of FOCUS automatic set off."""
    n_names = table.index.nlevels
    flat = table.reset_index()
    head = "".join(f"<th{_name(not is_numeric_dtype(flat[name]))}>{escape(str(name))}</th>" for name in flat.columns)
    rows = []
    for row in flat.to_numpy(object):
        words = [tables.short(cell) if isinstance(cell, float) else str(cell) for cell in row]
        cells = "".join(f'<th class="name">{escape(word)}</th>' for word in words[:n_names])
        cells += "".join(
            f"<td{_name(isinstance(cell, str))}>{escape(word)}</td>"
            for cell, word in zip(row[n_names:], words[n_names:], strict=True)
        )
        rows.append(f"<tr{' class=ours' if row[0] == AUTOMATIC.name else ''}>{cells}</tr>")
    return f'<div class="wide"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _shaded(found: pd.DataFrame) -> str:
    """Write the means of one data set: the better, the darker; the best of those that compete in bold."""
    wide = found.pivot(index=["task", "detector"], columns="method", values=["mean", "low", "high"])
    wide = wide.reindex(pd.MultiIndex.from_frame(found[["task", "detector"]].drop_duplicates()))
    methods = [name for name in tables.NAMES if name in set(found.method)]
    removed = found[found.method == AUTOMATIC.name].set_index(["task", "detector"]).n_removed
    head = "".join(f"<th>{escape(name)}</th>" for name in ["", *methods, "removed"])
    rows = []
    for place, row in wide.iterrows():
        best = row["mean"].reindex(tables.CONTENDERS).max()
        cells = f'<th class="name">{escape(place[0])} <small>{escape(place[1])}</small></th>'
        for method in methods:
            mean, low, high = (row[which, method] for which in ("mean", "low", "high"))
            if mean != mean:
                cells += "<td>–</td>"
                continue
            bold = " best" if method in tables.CONTENDERS and mean == best else ""
            between = f"<small>[{tables.short(low)}, {tables.short(high)}]</small>"
            cells += f'<td class="shade{bold}" style="--value: {mean:.3f}">{tables.short(mean)} {between}</td>'
        rows.append(f"<tr>{cells}<td>{removed[place]:.0f}</td></tr>")
    return f'<div class="wide"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _picture(found: pd.DataFrame) -> str:
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
    matplotlib = need("matplotlib", extra="plot", to="Drawing plots")
    drawn = StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "quality", "font.family": "sans-serif"}):
        no_words = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(drawn, format="svg", transparent=True, metadata=no_words)
    svg = drawn.getvalue()
    for colour, name in NAMED.items():
        svg = svg.replace(colour.lower(), f"var(--{name})")
    return svg[svg.index("<svg") :]


def _name(is_name: bool) -> str:
    return ' class="name"' if is_name else ""

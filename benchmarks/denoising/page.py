"""Write the tables and the picture of docs/denoising.md from the results that are kept in benchmarks/results.

    python -m benchmarks.denoising.page

Means are over seeds; in brackets the least and the largest seed. The other methods use the number of directions that
turned out best for them; FOCUS decides automatically, or gets the number two.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.denoising import faces
from benchmarks.denoising.run import CUSHIONS, NOTHING, NUMBERS, REMOVALS, RESULTS, RIVALS
from benchmarks.denoising.tasks import silhouettes
from benchmarks.quality.table import markdown, short
from paper.common import replace
from undistract import Focus
from undistract.report.figures import FAINT, LABEL_SIZE, new_figure

DOCS = Path(__file__).parents[2] / "docs"
DEFAULT = 0.1  # the ridge of Focus


def read(path: Path = RESULTS) -> pd.DataFrame:
    """Read the results; rivals have no ridge, and some tasks no images."""
    return pd.read_csv(path, dtype={"number": str})


def beside_rivals(results: pd.DataFrame, measure: str = "psnr") -> pd.DataFrame:
    """Lay out every task: nothing, the rivals at their best, FOCUS as it is by default."""
    rows = []
    for task, mine in results.groupby("task", sort=False):
        if mine[measure].isna().all():
            continue
        cells = {"task": task, NOTHING: _cell(mine[mine.method == NOTHING], measure)}
        for name in RIVALS:
            every = mine[mine.method == name]
            best = every.groupby("number")[measure].mean().idxmax()
            cells[f"{name}, at best"] = f"{_cell(every[every.number == best], measure)}, {best} out"
        ours = mine[(mine.ridge == DEFAULT) & (mine.number == "automatic")]
        cells |= {name: _cell(ours[ours.method == name], measure) for name in REMOVALS.values()}
        counts = sorted(set(ours.n_removed))
        cells["out"] = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        rows.append(cells)
    return pd.DataFrame(rows).set_index("task")


def by_cushion(results: pd.DataFrame) -> pd.DataFrame:
    """Lay out PSNR by ridge, for the automatic number of directions and for two."""
    rows = []
    for (task, number), mine in results[results.ridge.notna()].groupby(["task", "number"], sort=False):
        cells = {"task": task, "directions": number}
        for ridge in CUSHIONS:
            here = mine[mine.ridge == ridge]
            means = here.groupby("method").psnr.mean()
            values = " / ".join(f"{means[name]:.1f}" for name in REMOVALS.values())
            median = f" ({here.n_removed.median():.0f})" if number == NUMBERS[0] else ""
            cells[f"ridge {ridge:g}"] = values + median
        rows.append(cells)
    return pd.DataFrame(rows).set_index("task")


def of_faces(results: pd.DataFrame) -> pd.DataFrame:
    """Lay out what happens to faces of unseen people."""
    means = results.groupby("method", sort=False)[list(faces.MEASURES)].mean()
    counts = results.groupby("method", sort=False).n_removed.agg(["min", "max"])
    shares = ("light left", "people left", "recognised")
    table = pd.DataFrame(
        {name: means[name].map(short if name in shares else "{:.1f}".format) for name in faces.MEASURES}
    )
    table.insert(0, "out", [f"{low} to {high}" if low < high else str(low) for low, high in counts.to_numpy()])
    return table


def tables() -> dict[str, str]:
    """Give every table of the page as Markdown, under its name."""
    results = read()
    made = {
        "PSNR": beside_rivals(results),
        "SSIM": beside_rivals(results, "ssim"),
        "clean images": beside_rivals(results, "psnr_clean"),
        "ridges": by_cushion(results),
        "faces": of_faces(read(faces.RESULTS)),
    }
    return {name: markdown(table) for name, table in made.items()}


def picture(path: Path) -> None:
    """Draw some outlines: clean, under light, and cleaned in two ways."""
    task = silhouettes(0, 1.0)
    focus = Focus().fit_moments(task.moments)
    change = ((task.rows - task.clean) ** 2).sum(axis=1)
    shown = np.argsort(-change, kind="stable")[10:90:10]
    lines = {
        "clean": task.clean,
        "under light": task.rows,
        "orthogonal complement": focus.denoise(task.rows, removal="orthogonal"),
        "oblique": focus.denoise(task.rows),
    }
    figure = new_figure(9.2, 4.8)
    panels = figure.subplots(len(lines), len(shown))
    for axes, (name, rows) in zip(panels, lines.items(), strict=True):
        for panel, which in zip(axes, shown, strict=True):
            panel.imshow(rows[which].reshape(28, 28), cmap="gray_r", vmin=-1, vmax=2)
            panel.set(xticks=[], yticks=[])
            panel.spines[:].set_visible(False)
        axes[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=LABEL_SIZE, color=FAINT)
    figure.subplots_adjust(left=0.11, right=0.995, top=0.99, bottom=0.01, wspace=0.06, hspace=0.06)
    figure.savefig(path, metadata={"Software": None})


def _cell(results: pd.DataFrame, measure: str) -> str:
    """Write a mean over seeds, and the least and the largest of them."""
    one = short if measure == "ssim" else "{:.1f}".format
    values = results[measure]
    if np.isinf(values).any():
        return "∞"
    return f"{one(values.mean())} [{one(values.min())}, {one(values.max())}]"


def main() -> None:
    for name, text in tables().items():
        replace(DOCS / "denoising.md", rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", text + "\n")
    picture(DOCS / "images" / "denoising.png")
    print("Wrote the tables of docs/denoising.md and docs/images/denoising.png.")


if __name__ == "__main__":
    main()

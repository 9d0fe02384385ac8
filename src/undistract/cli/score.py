"""`undistract score`: new data through a model, before and after what distracts is taken out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from undistract.cli import options
from undistract.cli.commands import Command
from undistract.cli.talk import Talk, shell_path

if TYPE_CHECKING:
    from rich.table import Table

ALARMED = 3


@click.command(cls=Command)
@options.paths_argument
@click.option(
    "--with", "model", required=True, type=click.Path(path_type=Path), metavar="MODEL", help="What was learned."
)
@options.save_option("SCORES", help="Where the scores go, such as match.scores.")
@click.option("--adapt", is_flag=True, help="Judge each set by its own rows: what most of them do is usual.")
@click.option("--csv", "table", type=options.Target(), metavar="FILE", help="Also as .csv, .parquet or .npz.")
@click.option("--render", type=options.Target(), metavar="OUT.mp4", help="Draw the scores onto the clip.")
@click.option("--fail-on-alarm", is_flag=True, help=f"Exit with {ALARMED} where anything alarms.")
@options.ignore_option
@options.no_cache_option
@options.cluster_option
@click.pass_context
def score(
    ctx: click.Context,
    paths: tuple[str, ...],
    model: Path,
    save: Path,
    adapt: bool,
    table: Path | None,
    render: Path | None,
    fail_on_alarm: bool,
    ignore: tuple[str, ...],
    no_cache: bool,
    cluster: str | None,
) -> None:
    """Score every row of new data, and say what alarms.

    Data is read as the model says: the same features, columns and windows as those it learned from.

    \b
    Examples:
      undistract score today.csv --with street.focus --save today.scores
      undistract score match.mp4 --with street.focus --save match.scores --render match-scored.mp4
      undistract score today/ --with street.focus --save today.scores --csv today.csv
      undistract score today.csv --with street.focus --save today.scores --fail-on-alarm || call-someone
    """  # noqa: D301
    from undistract import workflow

    talk: Talk = ctx.obj
    learned = workflow.Model.load(model)
    sets = workflow.read_sets(paths, learned.reading, ignore=ignore, cache=options.make_cache(no_cache))
    found = workflow.score(sets, learned, adapt=adapt, progress=talk.progress, cluster=cluster)
    found = replace(found, model=str(model.resolve()))
    found.save(save, provenance={"paths": list(paths), "model": str(model)})
    summary = found.summary()
    talk.show(_table(summary))
    if found.threshold is None:
        talk.say("Each set was judged by its own rows, so there is no threshold: look at the strongest rows.")
    talk.say(f"Saved the scores: {save}")
    if table is not None:
        talk.say(f"Saved the table: {workflow.write_scores(found, table)}")
    if render is not None:
        talk.say(f"Saved the clip: {workflow.render(found, render)}")
    talk.say(f"See it: undistract report {shell_path(save)} --save {shell_path(save.with_suffix('.html'))}")
    threshold = None if found.threshold is None else found.threshold.value
    talk.give({"scores": save, "threshold": threshold, "sets": summary, "table": table, "clip": render})
    if fail_on_alarm and found.alarms():
        ctx.exit(ALARMED)


def _table(summary: list[dict[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table()
    grid.add_column("set", overflow="fold")
    for heading in ("rows", "alarms\nbefore", "alarms\nafter", "strongest\nrow", "at", "score"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for one in summary:
        strongest = one["strongest"] or {"row": "–", "time": None, "score": float("nan")}
        time = strongest["time"]
        at = f"{time:.2f}" if isinstance(time, float) else time or "–"
        counts = ("–" if one[name] is None else str(one[name]) for name in ("alarms_before", "alarms_after"))
        name = Text(one["set"])  # brackets in a name are no markup
        grid.add_row(name, str(one["rows"]), *counts, str(strongest["row"]), at, f"{strongest['score']:.4g}")
    return grid

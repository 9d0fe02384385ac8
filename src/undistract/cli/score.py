"""`undistract score`: score new data with a model, before and after removing nuisance variation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from undistract.cli import options
from undistract.cli.main import Command
from undistract.cli.output import Output, shell_path

if TYPE_CHECKING:
    from rich.table import Table

EXIT_ALARM = 3


@click.command(cls=Command)
@options.paths_argument
@options.model_option
@options.save_option("SCORES", help="The scores file to write, such as match.scores.")
@click.option("--adapt", is_flag=True, help="Compare each row with the other rows of its own group.")
@click.option(
    "--csv", "table", type=options.OutputPath(), metavar="FILE", help="Also write a .csv, .parquet or .npz file."
)
@click.option(
    "--render", type=options.OutputPath(), metavar="OUT.mp4", help="Write a copy of the clip with its scores."
)
@click.option("--fail-on-alarm", is_flag=True, help=f"Exit with code {EXIT_ALARM} if there is an alarm.")
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
    """Score every row of new data and list the alarms.

    Data is read with the settings of the model: the same features, columns and windows.

    \b
    Examples:
      undistract score today.csv --with street.focus --save today.scores
      undistract score match.mp4 --with street.focus --save match.scores --render match-scored.mp4
      undistract score today/ --with street.focus --save today.scores --csv today.csv
      undistract score today.csv --with street.focus --save today.scores --fail-on-alarm || call-someone
    """  # noqa: D301
    from undistract import pipeline

    output: Output = ctx.obj
    learned = pipeline.Model.load(model)
    groups = pipeline.read_sources(paths, learned.reading, ignore=ignore, cache=options.make_cache(no_cache))
    scored = pipeline.score(groups, learned, adapt=adapt, progress=output.progress, cluster=cluster)
    scored = replace(scored, model=str(model.resolve()))
    scored.save(save, provenance={"paths": list(paths), "model": str(model)})
    summary = scored.summary()
    output.print_table(_table(summary))
    threshold = None
    if scored.threshold is not None:
        threshold = scored.threshold.value
    else:
        output.print("Each row was compared with its own group, so there is no threshold. Look at the highest scores.")
    output.print(f"Saved the scores: {save}")
    if table is not None:
        output.print(f"Saved the table: {pipeline.write_scores(scored, table)}")
    if render is not None:
        output.print(f"Saved the clip: {pipeline.render(scored, render)}")
    output.print(f"For a report: undistract report {shell_path(save)} --save {shell_path(save.with_suffix('.html'))}")
    output.print_json({"scores": save, "threshold": threshold, "groups": summary, "table": table, "clip": render})
    if fail_on_alarm and scored.alarms():
        ctx.exit(EXIT_ALARM)


def _table(summary: list[dict[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table()
    grid.add_column("group", overflow="fold")
    for heading in ("rows", "alarms\nbefore", "alarms\nafter", "strongest\nrow", "time", "score"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for group in summary:
        strongest = group["strongest"] or {"row": "–", "time": None, "score": float("nan")}
        time = strongest["time"] or "–"
        if isinstance(strongest["time"], float):
            time = f"{strongest['time']:.2f}"
        grid.add_row(
            Text(group["set"]),  # as Text, so that brackets in a name are not read as markup
            str(group["rows"]),
            _count(group["alarms_before"]),
            _count(group["alarms_after"]),
            str(strongest["row"]),
            time,
            f"{strongest['score']:.4g}",
        )
    return grid


def _count(number: int | None) -> str:
    return "–" if number is None else str(number)

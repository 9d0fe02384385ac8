"""`undistract denoise`: signals, tables and pictures without what distracts, for people and programs."""

from __future__ import annotations

from pathlib import Path

import click

from undistract.cli import options
from undistract.cli.commands import Command
from undistract.cli.talk import Talk


@click.command(cls=Command, replaces="paths")
@options.paths_argument
@click.option(
    "--with", "model", required=True, type=click.Path(path_type=Path), metavar="MODEL", help="What was learned."
)
@options.save_option("OUT", folder=True, help="A .npy, .csv, .tsv or .parquet file, or a folder for pictures.")
@click.option(
    "--removal",
    type=click.Choice(["oblique", "kept_span"]),
    default="oblique",
    show_default=True,
    help="Oblique is the closest to the clean rows; kept_span never amplifies.",
)
@click.option("--dtype", type=click.Choice(["float32", "float64"]), help="Of a .npy file.  [default: as it is read]")
@click.option("--chunk-rows", type=click.IntRange(min=1), metavar="ROWS", help="Read so many rows at a time.")
@options.ignore_option
@options.no_cache_option
@click.pass_context
def denoise(
    ctx: click.Context,
    paths: tuple[str, ...],
    model: Path,
    save: Path,
    removal: str,
    dtype: str | None,
    chunk_rows: int | None,
    ignore: tuple[str, ...],
    no_cache: bool,
) -> None:
    """Write data as it would be without what distracts, in its own features.

    Data is read as the model says. Where it learned from windows over time, a row is the mean of what became of it in
    all windows that hold it. What people taught the model counts. Files may be larger than memory.

    What OUT ends in says how: a numpy array, a table with the columns of the model and the column of times, or, without
    an ending, a folder of grey pictures of the size that the model sees; that takes a model of pixels. A file is
    replaced, whole or not at all; a folder must be new or empty.

    \b
    Examples:
      undistract denoise today.csv --with machine.focus --save clean.csv
      undistract denoise year.npy --with machine.focus --save clean.npy
      undistract denoise faces/anna --with faces.focus --save anna-clean
      undistract denoise match.mp4 --with street.focus --save frames --removal kept_span
    """  # noqa: D301
    from undistract import workflow
    from undistract.workflow.transforming import spans

    talk: Talk = ctx.obj
    learned = workflow.Model.load(model)
    reading = workflow.series_reading(learned.reading)
    sets = workflow.read_sets(paths, reading, ignore=ignore, cache=options.make_cache(no_cache))
    found = workflow.denoise(
        sets, learned, save, removal=removal, chunk_rows=chunk_rows, dtype=dtype, progress=talk.progress
    )
    what = "rows" if found.cut_off is None else "pictures"
    n_removed, n_features = learned.focus.n_removed_, learned.focus.n_features_in_
    talk.say(f"Saved {found.n_rows} {what} without {n_removed} of {n_features} directions: {save}")
    if found.cut_off is not None and found.cut_off > 0.01:
        talk.note(f"{found.cut_off:.0%} of the values lie beyond black or white, and are cut off in the pictures.")
    if not n_removed:
        talk.note("The model ignores nothing, so the data is as it was.")
    talk.give(
        {
            "saved": save,
            "rows": found.n_rows,
            "columns": found.n_columns,
            "removed": n_removed,
            "cut_off": found.cut_off,
            "sets": spans(sets),
        }
    )

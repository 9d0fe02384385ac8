"""`undistract transform`: rows without what distracts, for any other program."""

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
@options.save_option("FILE.npy", help="Where the rows go, such as clean.npy.")
@click.option(
    "--dtype", type=click.Choice(["float32", "float64"]), help="Of what is written.  [default: as it is read]"
)
@click.option("--chunk-rows", type=click.IntRange(min=1), metavar="ROWS", help="Read so many rows at a time.")
@options.ignore_option
@options.no_cache_option
@click.pass_context
def transform(
    ctx: click.Context,
    paths: tuple[str, ...],
    model: Path,
    save: Path,
    dtype: str | None,
    chunk_rows: int | None,
    ignore: tuple[str, ...],
    no_cache: bool,
) -> None:
    """Write rows without what distracts, to be used by any other program.

    Data is read as the model says: the same features, columns and windows as those it learned from. What people taught
    the model counts. Files may be larger than memory. The result is a numpy array, one row for each row that was read;
    several sets follow one another (--json says where each begins). It is written whole or not at all.

    \b
    Examples:
      undistract transform year.npy --with street.focus --save clean.npy
      undistract transform today.csv --with machine.focus --save clean.npy --dtype float32
      undistract transform match.mp4 --with street.focus --save match.npy
      undistract transform calm/ --with street.focus --save calm.npy --json
    """  # noqa: D301
    from undistract import workflow
    from undistract.workflow.transforming import spans

    talk: Talk = ctx.obj
    learned = workflow.Model.load(model)
    sets = workflow.read_sets(paths, learned.reading, ignore=ignore, cache=options.make_cache(no_cache))
    found = workflow.transform(sets, learned, save, chunk_rows=chunk_rows, dtype=dtype, progress=talk.progress)
    n_rows, n_columns = found.shape
    talk.say(f"Saved {n_rows} rows of {n_columns} columns, of {learned.focus.n_features_in_} features: {save}")
    talk.give({"saved": save, "rows": n_rows, "columns": n_columns, "dtype": str(found.dtype), "sets": spans(sets)})

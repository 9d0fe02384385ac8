"""`undistract transform`: write rows without nuisance variation, for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from undistract.cli import options
from undistract.cli.main import Command
from undistract.cli.output import Output


@click.command(cls=Command, replaces="paths")
@options.paths_argument
@options.model_option
@options.save_option("FILE.npy", help="The array file to write, such as clean.npy.")
@options.dtype_option
@options.chunk_rows_option
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
    """Write rows without nuisance variation, for other programs.

    Data is read with the settings of the model: the same features, columns and windows. The feedback in the model is
    applied. Files may be larger than memory. The result is a numpy array with one row per input row; several groups
    follow one another (--json lists the first row of each). The file is written atomically.

    \b
    Examples:
      undistract transform year.npy --with street.focus --save clean.npy
      undistract transform today.csv --with machine.focus --save clean.npy --dtype float32
      undistract transform match.mp4 --with street.focus --save match.npy
      undistract transform calm/ --with street.focus --save calm.npy --json
    """  # noqa: D301
    from undistract import pipeline
    from undistract.pipeline.transforms import group_offsets

    output: Output = ctx.obj
    learned = pipeline.Model.load(model)
    groups = pipeline.read_sources(paths, learned.reading, ignore=ignore, cache=options.make_cache(no_cache))
    array = pipeline.transform(groups, learned, save, chunk_rows=chunk_rows, dtype=dtype, progress=output.progress)
    n_rows, n_columns = array.shape
    output.print(f"Saved {n_rows} rows of {n_columns} columns, from {learned.focus.n_features_in_} features: {save}")
    output.print_json(
        {
            "saved": save,
            "rows": n_rows,
            "columns": n_columns,
            "dtype": str(array.dtype),
            "groups": group_offsets(groups),
        }
    )

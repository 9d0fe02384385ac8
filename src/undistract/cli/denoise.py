"""`undistract denoise`: write data in its original features, without nuisance variation."""

from __future__ import annotations

from pathlib import Path

import click

from undistract.cli import options
from undistract.cli.main import Command
from undistract.cli.output import Output


@click.command(cls=Command, replaces="paths")
@options.paths_argument
@options.model_option
@options.save_option("OUT", folder=True, help="A .npy, .csv, .tsv or .parquet file, or a folder for images.")
@click.option(
    "--removal",
    type=click.Choice(["oblique", "orthogonal"]),
    default="oblique",
    show_default=True,
    help="oblique is closest to the clean rows; orthogonal never amplifies noise.",
)
@options.dtype_option
@options.chunk_rows_option
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
    """Write data without nuisance variation, in its original features.

    Data is read with the settings of the model, and the feedback in the model is applied. If the model uses windows,
    a row is the mean of its values in all windows that contain it. Files may be larger than memory.

    The extension of OUT selects the format: a numpy array, or a table with the columns of the model and the time
    column. Without an extension, OUT is a folder of grey images of the size that the model uses; this needs a model
    of pixels. A file is replaced atomically; a folder must be new or empty.

    \b
    Examples:
      undistract denoise today.csv --with machine.focus --save clean.csv
      undistract denoise year.npy --with machine.focus --save clean.npy
      undistract denoise faces/anna --with faces.focus --save anna-clean
      undistract denoise match.mp4 --with street.focus --save frames --removal orthogonal
    """  # noqa: D301
    from undistract import pipeline
    from undistract.pipeline.transforms import group_offsets

    output: Output = ctx.obj
    learned = pipeline.Model.load(model)
    reading = pipeline.series_reading(learned.reading)
    groups = pipeline.read_sources(paths, reading, ignore=ignore, cache=options.make_cache(no_cache))
    result = pipeline.denoise(
        groups, learned, save, removal=removal, chunk_rows=chunk_rows, dtype=dtype, progress=output.progress
    )
    n_removed = learned.focus.n_removed_
    unit = "rows" if result.cut_off is None else "images"  # only images have a share of clipped values
    output.print(
        f"Saved {result.n_rows} {unit} without {n_removed} of {learned.focus.n_features_in_} directions: {save}"
    )
    if result.cut_off is not None and result.cut_off > 0.01:
        output.note(
            f"{result.cut_off:.0%} of the values are outside of the range from black to white and were clipped."
        )
    if not n_removed:
        output.note("The model removes no direction, so the data is unchanged.")
    output.print_json(
        {
            "saved": save,
            "rows": result.n_rows,
            "columns": result.n_columns,
            "removed": n_removed,
            "cut_off": result.cut_off,
            "groups": group_offsets(groups),
        }
    )

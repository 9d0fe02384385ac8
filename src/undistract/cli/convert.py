"""`undistract convert`: export a model or scores for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from undistract.cli.main import Command
from undistract.cli.options import file_argument, save_option
from undistract.cli.output import Output


@click.command(cls=Command)
@file_argument("file", metavar="MODEL_OR_SCORES")
@save_option("FILE", help="A model as .onnx or .npz; scores as .csv, .parquet or .npz.")
@click.pass_obj
def convert(output: Output, file: Path, save: Path) -> None:
    """Export a model or scores for other programs. The file extension selects the format.

    \b
    Examples:
      undistract convert street.focus --save street.onnx
      undistract convert street.focus --save street.npz
      undistract convert match.scores --save match.csv
    """  # noqa: D301
    from undistract import pipeline

    pipeline.convert(pipeline.open_file(file), save)
    output.print(f"Saved: {save}")
    output.print_json({"from": file, "saved": save})

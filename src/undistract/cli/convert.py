"""`undistract convert`: models and scores for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from undistract.cli.commands import Command
from undistract.cli.options import file_argument, save_option
from undistract.cli.talk import Talk


@click.command(cls=Command)
@file_argument("file", metavar="MODEL_OR_SCORES")
@save_option("FILE", help="A model as .onnx or .npz; scores as .csv, .parquet or .npz.")
@click.pass_obj
def convert(talk: Talk, file: Path, save: Path) -> None:
    """Write a model or scores for other programs; what the name ends in says how.

    \b
    Examples:
      undistract convert street.focus --save street.onnx
      undistract convert street.focus --save street.npz
      undistract convert match.scores --save match.csv
    """  # noqa: D301
    from undistract import workflow

    workflow.convert(workflow.open_file(file), save)
    talk.say(f"Saved: {save}")
    talk.give({"from": file, "saved": save})

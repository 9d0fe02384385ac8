"""`undistract explain`: show what a model ignores."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from time import time

import click

from undistract.cli.main import Command
from undistract.cli.options import OutputPath, file_argument
from undistract.cli.output import Output


@click.command(cls=Command)
@file_argument("model")
@click.option("--save", type=OutputPath(), metavar="FILE.png", help="Save a figure (.png, .svg or .pdf).")
@click.option(
    "--features",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    help="The number of features to list per direction.",
)
@click.pass_obj
def explain(output: Output, model: Path, save: Path | None, features: int) -> None:
    """Show what a model ignores, why, and how strong the evidence is.

    \b
    Examples:
      undistract explain street.focus
      undistract explain street.focus --save street.png
      undistract explain street.focus --json
    """  # noqa: D301
    from undistract import pipeline

    loaded = pipeline.Model.load(model).without_expired(time())
    directions = pipeline.ignored_directions(loaded, n_features=features)
    output.print(str(loaded.focus.summary(loaded.feature_names)))
    output.print(loaded.describe_threshold())
    for number, direction in enumerate(directions, start=1):
        steps = ", ".join(f"{name} {step:+.3g}" for name, step in direction.steps.items())
        output.print(f"Ignored direction {number} (distraction {direction.distraction:.3f}), a typical step: {steps}")
    if save is not None:
        pipeline.save_model_figure(loaded, save)
        output.print(f"Saved the figure: {save}")
    ignored = [asdict(direction) for direction in directions]
    output.print_json({"model": model, **loaded.summary(), "ignored": ignored, "picture": save})

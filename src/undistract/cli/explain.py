"""`undistract explain`: what a model ignores."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from time import time

import click

from undistract.cli.commands import Command
from undistract.cli.options import Target, file_argument
from undistract.cli.talk import Talk


@click.command(cls=Command)
@file_argument("model")
@click.option("--save", type=Target(), metavar="FILE.png", help="Save a picture of it.")
@click.option(
    "--features",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    help="How many are named for each direction.",
)
@click.pass_obj
def explain(talk: Talk, model: Path, save: Path | None, features: int) -> None:
    """Say what a model ignores, why, and how sure that is.

    \b
    Examples:
      undistract explain street.focus
      undistract explain street.focus --save street.png
      undistract explain street.focus --json
    """  # noqa: D301
    from undistract import workflow

    found = workflow.Model.load(model).without_expired(time())
    directions = workflow.ignored_directions(found, n_features=features)
    talk.say(found.focus.describe())
    talk.say(found.when_to_alarm())
    for number, one in enumerate(directions, start=1):
        steps = ", ".join(f"{name} {step:+.3g}" for name, step in one.steps.items())
        talk.say(f"Ignored direction {number} (distraction {one.distraction:.3f}), a typical step: {steps}")
    if save is not None:
        workflow.save_learned_picture(found, save)
        talk.say(f"Saved the picture: {save}")
    talk.give({"model": model, **found.summary(), "ignored": [asdict(one) for one in directions], "picture": save})

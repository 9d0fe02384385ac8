"""`undistract merge`: what several sites learned, joined without sharing a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from undistract.cli import options
from undistract.cli.commands import Command
from undistract.cli.talk import Talk


@click.command(cls=Command, replaces="models")
@options.file_argument("models", nargs=-1, required=True, metavar="MODELS...")
@options.save_option("MODEL", help="Where the joined model goes.")
@options.focus_options
@click.pass_context
def merge(ctx: click.Context, /, models: tuple[Path, ...], save: Path, **settings: Any) -> None:
    """Join what several sites learned: the same as if all sets had been learned in one place.

    Only sums travel. Learn with --without-rows, and no row leaves its site. The joined model keeps no rows; it judges a
    set by the set's own rows. Settings of FOCUS are those that the models have; as soon as one is given here, all are
    as given here, or as by default.

    \b
    Examples:
      undistract learn here/*.csv --without-rows --save here.focus
      undistract learn there/*.csv --without-rows --save there.focus
      undistract merge here.focus there.focus --save both.focus
    """  # noqa: D301
    from undistract import workflow

    talk: Talk = ctx.obj
    found = workflow.merge([workflow.Model.load(one) for one in models], focus=options.make_focus(**settings))
    found.save(save, provenance={"merged": [str(one) for one in models]})
    talk.say("\n".join(line for line in found.focus.describe().splitlines() if not line.startswith("Caution")))
    talk.say(f"Saved the model: {save}")
    talk.give({"model": save, **found.summary()})

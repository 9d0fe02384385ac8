"""`undistract merge`: merge the models of several sites without sharing rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from undistract.cli import options
from undistract.cli.main import Command
from undistract.cli.output import Output


@click.command(cls=Command, replaces="models")
@options.file_argument("models", nargs=-1, required=True, metavar="MODELS...")
@options.save_option("MODEL", help="The merged model to write.")
@options.focus_options
@click.pass_context
def merge(ctx: click.Context, /, models: tuple[Path, ...], save: Path, **settings: Any) -> None:
    """Merge the models of several sites. The result is the same as learning all groups in one place.

    Only sums are shared. Learn with --without-rows, and no row leaves its site. The merged model has no reference
    rows, so it compares each row with the other rows of its own group. Without FOCUS options, the settings of the
    models are used. If you pass at least one, those that you leave out have their default values.

    \b
    Examples:
      undistract learn here/*.csv --without-rows --save here.focus
      undistract learn there/*.csv --without-rows --save there.focus
      undistract merge here.focus there.focus --save both.focus
    """  # noqa: D301
    from undistract import pipeline

    output: Output = ctx.obj
    loaded = [pipeline.Model.load(path) for path in models]
    merged = pipeline.merge(loaded, focus=options.make_focus(**settings))
    merged.save(save, provenance={"merged": [str(path) for path in models]})
    output.print(merged.focus.summary(merged.feature_names).text(cautions=False))
    output.print(f"Saved the model: {save}")
    output.print_json({"model": save, **merged.summary()})

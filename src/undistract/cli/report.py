"""`undistract report`: one page that people look at."""

from __future__ import annotations

from pathlib import Path

import click

from undistract.cli import options
from undistract.cli.commands import Command
from undistract.cli.talk import Talk


@click.command(cls=Command)
@options.file_argument("file", metavar="SCORES_OR_MODEL")
@options.save_option("FILE.html", help="Where the page goes.")
@click.option("--with", "model", type=click.Path(path_type=Path), metavar="MODEL", help="Where the model is by now.")
@click.option("--sets", "paths", multiple=True, metavar="PATH", help="Where the data is by now; may come again.")
@click.option("--title", default="What was ignored, and what is strange", help="What stands above it.")
@options.no_cache_option
@click.pass_obj
def report(
    talk: Talk, file: Path, save: Path, model: Path | None, paths: tuple[str, ...], title: str, no_cache: bool
) -> None:
    """Write one self-contained HTML page: what is ignored and how sure that is, what alarms and why.

    Scores know their model and their data. Where these have moved, say so with --with and --sets. Needs the extra plot.

    \b
    Examples:
      undistract report today.scores --save today.html
      undistract report street.focus --save street.html
      undistract report faces.focus --sets faces/ --save faces.html
      undistract report today.scores --with old/street.focus --sets archive/today.csv --save today.html
    """  # noqa: D301
    from undistract import workflow

    learned, scored = workflow.what_to_report(file, model)
    cache = options.make_cache(no_cache)
    if paths:
        sets = workflow.read_sets(paths, learned.reading, cache=cache)
    else:
        sets = workflow.read_again([one.source for one in scored or ()], learned.reading, cache=cache)
    if not sets and scored is not None:
        talk.note("The data that was scored is not where it was, so alarms have no pictures and no reasons (--sets).")
    workflow.write_report(save, learned, scored, sets=sets, title=title)
    talk.say(f"Saved the report: {save}")
    talk.give({"report": save})

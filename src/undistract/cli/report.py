"""`undistract report`: write a report as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from undistract.cli import options
from undistract.cli.main import Command
from undistract.cli.output import Output


@click.command(cls=Command)
@options.file_argument("file", metavar="SCORES_OR_MODEL")
@options.save_option("FILE.html", help="The page to write.")
@options.moved_model_option
@options.data_option
@click.option("--title", default="Anomaly detection report", show_default=True, help="The title of the page.")
@options.no_cache_option
@click.pass_obj
def report(
    output: Output, file: Path, save: Path, model: Path | None, data: tuple[str, ...], title: str, no_cache: bool
) -> None:
    """Write one self-contained HTML page: what is ignored, how strong the evidence is, and which rows alarm and why.

    A scores file records the paths of its model and data. If they were moved, pass --with and --data. Needs the extra
    plot.

    \b
    Examples:
      undistract report today.scores --save today.html
      undistract report street.focus --save street.html
      undistract report faces.focus --data faces/ --save faces.html
      undistract report today.scores --with old/street.focus --data archive/today.csv --save today.html
    """  # noqa: D301
    from undistract import pipeline

    learned, scored = pipeline.load_model_and_scores(file, model)
    cache = options.make_cache(no_cache)
    if data:
        sources = pipeline.read_sources(data, learned.reading, cache=cache)
    else:
        sources = pipeline.reopen_sources([scores.source for scores in scored or ()], learned.reading, cache=cache)
    if not sources and scored is not None:
        output.note("The scored data was not found, so alarms have no images and no explanations. Pass --data PATH.")
    pipeline.write_report(save, learned, scored, sources=sources, title=title)
    output.print(f"Saved the report: {save}")
    output.print_json({"report": save})

"""`undistract learn`: fit a model to groups of normal data."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from undistract.cli import options
from undistract.cli.main import Command
from undistract.cli.output import Output


@click.command(cls=Command)
@options.paths_argument
@options.save_option("MODEL", help="The model file to write, such as street.focus.")
@options.reading_options
@options.ignore_option
@options.focus_options
@click.option(
    "--detector",
    type=options.RegistryChoice("undistract.detect.registry", "SAVEABLE_DETECTORS"),
    default="nearest",
    show_default=True,
    help="The anomaly detector that scores rows.",
)
@click.option(
    "--threshold",
    type=options.RegistryChoice("undistract.detect.registry", "THRESHOLDS"),
    default="quantile",
    show_default=True,
    help="The rule that computes the alarm threshold from held-out groups.",
)
@click.option(
    "--rate",
    type=float,
    help="The false alarm rate: the share of normal rows that alarm; for alarm_budget, alarms per day.  "
    "[default: 0.01, or that of the rule]",
)
@click.option("--rows-per-day", type=float, metavar="N", help="Rows scored per day, for alarm_budget.")
@click.option(
    "--reference-rows",
    type=click.IntRange(min=2),
    default=3000,
    show_default=True,
    metavar="N",
    help="The number of normal rows to keep as a reference for new rows.",
)
@click.option(
    "--without-rows", is_flag=True, help="Store only sums, no rows, so that the model can be shared and merged."
)
@click.option(
    "--checkpoint",
    type=options.OutputPath(),
    metavar="FILE",
    help="Save progress to this file. Run the same command again to resume.",
)
@options.no_cache_option
@options.cluster_option
@click.pass_context
def learn(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    save: Path,
    ignore: tuple[str, ...],
    detector: str,
    threshold: str,
    rate: float | None,
    rows_per_day: float | None,
    reference_rows: int,
    without_rows: bool,
    checkpoint: Path | None,
    no_cache: bool,
    cluster: str | None,
    cutoff: float | str | None,
    n_remove: int | None,
    ridge: float | None,
    prior: str | None,
    removal: str | None,
    strength: float | str | None,
    **reading: Any,
) -> None:
    """Learn from groups of normal data what to ignore, what is normal, and when to alarm.

    A group is a file, a folder of images, or the rows with the same value in a column. Pass several groups, each from
    one context: a day, a camera, a machine, a person. Labels are not needed. PATHS are files, folders or patterns.

    \b
    Examples:
      undistract learn calm/*.csv --time when --save street.focus
      undistract learn servers.parquet --group machine --columns numeric --save servers.focus
      undistract learn calm/*.mp4 --features flow --save street.focus
      undistract learn faces/ --features 'pixels(size=42x48)' --save faces.focus
      undistract learn year.npy --split-every 10000 --window 5 --save year.focus
      undistract learn archive/*.parquet --checkpoint sums.checkpoint --save archive.focus
      undistract learn calm/*.parquet --cluster local:4 --save street.focus
      undistract learn calm/ --config options.toml --save street.focus
    """  # noqa: D301
    from undistract import pipeline

    output: Output = ctx.obj
    read_options = options.make_reading(**reading)
    focus = options.make_focus(
        cutoff=cutoff, n_remove=n_remove, ridge=ridge, prior=prior, removal=removal, strength=strength
    )
    rule = options.make_threshold(threshold, rate, rows_per_day)
    groups = pipeline.read_sources(paths, read_options, ignore=ignore, cache=options.make_cache(no_cache))
    for source_data in groups:
        output.detail(f"Group {source_data.name} from {source_data.origin}")
    if checkpoint is not None and checkpoint.exists():
        output.print(f"Resuming from {checkpoint}.")
    model = pipeline.learn(
        groups,
        focus=focus,
        detector=detector,
        threshold=rule,
        n_known=reference_rows,
        keep_rows=not without_rows,
        reading=read_options,
        checkpoint=checkpoint,
        progress=output.progress,
        cluster=cluster,
    )
    model.save(save, provenance={"paths": list(paths), "learned": datetime.now(UTC).isoformat(timespec="seconds")})
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)  # its contents are in the model
    # Cautions were printed as notes already.
    output.print(model.focus.summary(model.feature_names).text(cautions=False))
    output.print(model.describe_threshold())
    output.print(f"Saved the model: {save}")
    output.print_json({"model": save, **model.summary()})

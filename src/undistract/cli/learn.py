"""`undistract learn`: sets of normal data in, a model out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from undistract.cli import options
from undistract.cli.commands import Command
from undistract.cli.talk import Talk


@click.command(cls=Command)
@options.paths_argument
@options.save_option("MODEL", help="Where the model goes, such as street.focus.")
@options.reading_options
@options.ignore_option
@options.focus_options
@click.option(
    "--detector",
    type=click.Choice(options.DETECTORS),
    default="nearest",
    show_default=True,
    help="What says how strange a row is.",
)
@click.option("--rate", type=float, help="How often a normal row may alarm.  [default: 0.01]")
@click.option(
    "--known",
    type=click.IntRange(min=2),
    default=3000,
    show_default=True,
    help="Normal rows to keep, to compare new ones with.",
)
@click.option("--without-rows", is_flag=True, help="Keep sums alone: they may leave the house, and can be merged.")
@click.option(
    "--checkpoint",
    type=options.Target(),
    metavar="FILE",
    help="Write down how far it is; run again after a break, it goes on from there.",
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
    rate: float | None,
    known: int,
    without_rows: bool,
    checkpoint: Path | None,
    no_cache: bool,
    cluster: str | None,
    cutoff: float | str | None,
    n_remove: int | None,
    cushion: float | None,
    prior: str | None,
    removal: str | None,
    strength: float | str | None,
    **reading: Any,
) -> None:
    """Learn from sets of normal data what to ignore, what is usual, and when to alarm.

    A set is a file, a folder of images, or the rows with one value in a column. Give several, each from one context: a
    day, a camera, a machine, a person. Nothing is labelled. PATHS are files, folders or patterns.

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
    from undistract import workflow

    talk: Talk = ctx.obj
    how = options.make_reading(**reading)
    focus = options.make_focus(
        cutoff=cutoff, n_remove=n_remove, cushion=cushion, prior=prior, removal=removal, strength=strength
    )
    sets = workflow.read_sets(paths, how, ignore=ignore, cache=options.make_cache(no_cache))
    for one in sets:
        talk.detail(f"Set {one.name} from {one.source}")
    if checkpoint is not None and checkpoint.exists():
        talk.say(f"Going on from {checkpoint}.")
    model = workflow.learn(
        sets,
        focus=focus,
        detector=detector,
        threshold=rate,
        n_known=known,
        keep_rows=not without_rows,
        reading=how,
        checkpoint=checkpoint,
        progress=talk.progress,
        cluster=cluster,
    )
    model.save(save, provenance={"paths": list(paths), "learned": datetime.now(UTC).isoformat(timespec="seconds")})
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)  # what it held is in the model
    # Cautions came as notes already.
    talk.say("\n".join(line for line in model.focus.describe().splitlines() if not line.startswith("Caution")))
    talk.say(model.when_to_alarm())
    talk.say(f"Saved the model: {save}")
    talk.give({"model": save, **model.summary()})

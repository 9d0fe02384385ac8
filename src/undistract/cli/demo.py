"""`undistract demo`: the whole story on data that comes with the package."""

from __future__ import annotations

from pathlib import Path

import click

from undistract.cli.commands import Command
from undistract.errors import InputError

PICTURES = (".png", ".svg", ".pdf")


@click.command(cls=Command)
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.png",
    help="Save one picture that tells the story (.png, .svg or .pdf). Needs matplotlib.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Which light falls on which image, and which fours hide. Try others.",
)
def demo(save: Path | None, seed: int) -> None:
    """Find digits that do not belong, under changing light.

    Light falls across scanned digits and raises false alarms. FOCUS looks at 64 sets of other digits, finds by itself
    that light varies inside every set, and removes it. Then three common detectors look for the fours that hide among
    fives, before and after. Nothing is labelled, nothing is downloaded, and it takes a few seconds.

    \b
    Examples:
      undistract demo
      undistract demo --save demo.png
      undistract demo --seed 7
    """  # noqa: D301 (click reads the backspace: it keeps the lines of the next paragraph)
    if save is not None:
        _check(save)

    from rich.console import Console

    from undistract.demo import run_demo, save_picture, tell

    found = run_demo(seed)
    tell(found, Console())
    if save is None:
        click.echo("\nSee it: undistract demo --save demo.png")
    else:
        save_picture(found, save)
        click.echo(f"\nSaved the picture: {save}")


def _check(save: Path) -> None:
    """Say what is wrong with the file name before any work is done."""
    if save.suffix.lower() not in PICTURES:
        raise InputError(f"Cannot save a picture as {save.name!r}; end the name in {', '.join(PICTURES)}.")
    if not save.parent.is_dir():
        raise InputError(f"There is no folder {str(save.parent)!r}. Make it first, or save somewhere else.")

"""`undistract demo`: the whole story on data that comes with the package, and on a clip that it draws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from undistract.cli.commands import Command
from undistract.cli.options import Target
from undistract.cli.talk import Talk
from undistract.extras import MissingExtraError

if TYPE_CHECKING:
    from undistract.demo import Demo


@click.command(cls=Command)
@click.option(
    "--save",
    type=Target(),
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
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("undistract-demo"),
    show_default=True,
    help="Where the reports and clips go.",
)
@click.option(
    "--part",
    type=click.Choice(["all", "digits", "clip"]),
    default="all",
    show_default=True,
    help="Tell one of the two.",
)
@click.pass_obj
def demo(talk: Talk, save: Path | None, seed: int, folder: Path, part: str) -> None:
    """Find digits that do not belong, under changing light; then a stranger in a clip.

    Light falls across scanned digits and raises false alarms. FOCUS looks at 64 sets of other digits, finds by itself
    that light varies inside every set, and removes it. Then three common detectors look for the fours that hide among
    fives, before and after. The same happens to a clip of wandering dots that the demo draws (needs the extra video).
    Nothing is labelled, nothing is downloaded, and it takes less than a minute.

    \b
    Examples:
      undistract demo
      undistract demo --save demo.png
      undistract demo --seed 7 --part digits
      undistract demo --folder out
    """  # noqa: D301 (click reads the backspace: it keeps the lines of the next paragraph)
    if save is not None:
        from undistract.report.plots import check_picture_name

        check_picture_name(save)
    made = {} if part == "clip" else _digits(talk, save, seed, folder)
    if part != "digits":
        made |= _clip(talk, seed, folder)
    for what, path in made.items():
        talk.say(f"{what}: {path}")
    talk.give(made)


def _digits(talk: Talk, save: Path | None, seed: int, folder: Path) -> dict[str, Path]:
    from rich.console import Console

    from undistract.demo import run_demo, save_picture, tell

    found = run_demo(seed)
    if talk.progress:
        tell(found, Console())
    if save is None:
        talk.say("\nSee it: undistract demo --save demo.png\n")
    else:
        save_picture(found, save)
        talk.say(f"\nSaved the picture: {save}\n")
    return _reported(talk, found, folder)


def _reported(talk: Talk, found: Demo, folder: Path) -> dict[str, Path]:
    from undistract.demo_clips import report_digits

    try:
        folder.mkdir(parents=True, exist_ok=True)
        return {"The report on the digits": report_digits(found, folder / "digits.html")}
    except MissingExtraError as error:
        talk.note(str(error))
        return {}


def _clip(talk: Talk, seed: int, folder: Path) -> dict[str, Path]:
    """Tell the story of the clip, as far as the libraries that are there allow."""
    from undistract.demo_clips import FEATURES, N_CLIPS, report_clip, run_clip_story

    made: dict[str, Path] = {}
    try:
        story = run_clip_story(folder, seed)
        counts = story.frames_that_alarm()
        n_strange = int(story.is_strange.sum())
        talk.say(f"Clips: {N_CLIPS} calm ones with dots that wander under changing light; one with a stranger.\n")
        talk.say(story.model.focus.describe())
        for when, (right, wrong) in counts.items():
            frames = f"{right} of {n_strange} frames with the stranger"
            talk.say(f"{when.capitalize()}: {frames} alarm, and {wrong} of the others.")
        talk.say(f"\nAgain by hand: undistract learn {folder / 'calm'} --features '{FEATURES}' --save calm.focus\n")
        made["The clip with its scores"] = story.rendered
        made["The report on the clip"] = report_clip(story, folder / "clip.html")
    except MissingExtraError as error:
        talk.note(str(error))
    return made

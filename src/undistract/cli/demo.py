"""`undistract demo`: try the method on data that comes with the package and on generated video clips."""

from __future__ import annotations

from pathlib import Path

import click

from undistract._optional import MissingExtraError
from undistract._text import pluralize
from undistract.cli.main import Command
from undistract.cli.options import OutputPath
from undistract.cli.output import Output


@click.command(cls=Command)
@click.option(
    "--save",
    type=OutputPath(),
    metavar="FILE.png",
    help="Save a figure of the result (.png, .svg or .pdf). Needs matplotlib.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Random seed for the light and the hidden digits.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("undistract-demo"),
    show_default=True,
    help="The folder for reports and clips.",
)
@click.option(
    "--part",
    type=click.Choice(["all", "digits", "clip"]),
    default="all",
    show_default=True,
    help="Run only one part.",
)
@click.pass_obj
def demo(output: Output, save: Path | None, seed: int, folder: Path, part: str) -> None:
    """Find anomalous digits under changing light, then a stranger in a video clip.

    Changing light on scanned digits causes false alarms. FOCUS learns from 64 groups of other digits that light varies
    within every group, and removes it. Three common detectors then search for fours hidden among fives, before and
    after. The second part does the same for generated video clips of moving dots (needs the extra video).
    There are no labels and no downloads, and it takes less than a minute.

    \b
    Examples:
      undistract demo
      undistract demo --save demo.png
      undistract demo --seed 7 --part digits
      undistract demo --folder out
    """  # noqa: D301 (click reads the backspace: it keeps the lines of the next paragraph)
    if save is not None:
        from undistract.report.figures import check_picture_name

        check_picture_name(save)
    files: dict[str, Path] = {}
    if part != "clip":
        files |= _run_digits(output, save, seed, folder)
    if part != "digits":
        files |= _run_clip(output, seed, folder)
    for description, path in files.items():
        output.print(f"{description}: {path}")
    output.print_json(files)


def _run_digits(output: Output, save: Path | None, seed: int, folder: Path) -> dict[str, Path]:
    from rich.console import Console

    from undistract.demo import print_demo, report_digits, run_demo, save_demo_figure

    result = run_demo(seed)
    if output.progress:
        print_demo(result, Console())
    if save is None:
        output.print("\nFor a figure, run: undistract demo --save demo.png\n")
    else:
        save_demo_figure(result, save)
        output.print(f"\nSaved the figure: {save}\n")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return {"Report on the digits": report_digits(result, folder / "digits.html")}
    except MissingExtraError as error:
        output.note(str(error))
        return {}


def _run_clip(output: Output, seed: int, folder: Path) -> dict[str, Path]:
    """Run the video part, as far as the installed libraries allow."""
    from undistract.demo import FEATURES, N_CLIPS, report_clip, run_clip_demo

    files: dict[str, Path] = {}
    try:
        result = run_clip_demo(folder, seed)
        counts = result.frames_that_alarm()
        n_strange = int(result.is_strange.sum())
        output.print(f"Clips: {N_CLIPS} normal ones with moving dots under changing light; one with a stranger.\n")
        output.print(str(result.model.focus.summary(result.model.feature_names)))
        for run, (n_hits, n_false) in counts.items():
            hits = f"{n_hits} of {n_strange} frames with the stranger alarm"
            output.print(f"{run.capitalize()}: {hits}, and {pluralize(n_false, 'other frame')}.")
        output.print(f"\nTo repeat it: undistract learn {folder / 'calm'} --features '{FEATURES}' --save calm.focus\n")
        files["Clip with scores"] = result.rendered
        files["Report on the clip"] = report_clip(result, folder / "clip.html")
    except MissingExtraError as error:
        output.note(str(error))
    return files

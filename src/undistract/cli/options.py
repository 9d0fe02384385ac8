"""Options that several commands share: where data lies, how it is read, what FOCUS is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from undistract.focus import Focus
    from undistract.sets.cache import RowCache
    from undistract.workflow import Reading

Decorator = Callable[[Any], Any]

# Those that a model file can hold.
DETECTORS = ("nearest", "mahalanobis", "discriminative", "sparse_combination", "density_ratio")

paths_argument = click.argument("paths", nargs=-1, required=True, metavar="PATHS...")
ignore_option = click.option("--ignore", multiple=True, metavar="PATTERN", help="Leave files out; may come again.")
no_cache_option = click.option("--no-cache", is_flag=True, help="Do not keep rows of videos for the next time.")


cluster_option = click.option(
    "--cluster", metavar="URL|local:N", help="Let Dask workers read the files: a scheduler, or N processes here."
)


class Target(click.Path):
    """A file, or a folder too, that will be written: that its place is missing is told before the work, not after."""

    def __init__(self, *, folder: bool = False) -> None:
        super().__init__(dir_okay=folder, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(super().convert(value, param, ctx))  # type: ignore[arg-type]
        if not path.parent.is_dir():
            raise click.ClickException(
                f"There is no folder {str(path.parent)!r}. Make it first, or save somewhere else."
            )
        return path


def file_argument(name: str, **settings: Any) -> Decorator:
    """Name a file that must be there; whoever opens it says best what is wrong with it."""
    return click.argument(name, type=click.Path(path_type=Path), **settings)


def save_option(metavar: str, *, folder: bool = False, **settings: Any) -> Decorator:
    """Name the file that is written, or the folder where one will do."""
    return click.option("--save", required=True, type=Target(folder=folder), metavar=metavar, **settings)


def _size(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Read a width and a height, such as 48x42."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,6})x(\d{1,6})", value.lower())
    width, height = map(int, found.groups()) if found else (0, 0)
    if not (width and height):
        raise click.BadParameter(f"{value!r:.80} is no size; expected width x height, such as 48x42.")
    return width, height


def _number_or_auto(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | str | None:
    """Read a number, or "auto"."""
    if value is None or value == "auto":
        return value
    try:
        return float(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is neither a number nor 'auto'.") from error


_READING: list[Decorator] = [
    click.option(
        "--features",
        metavar="SPEC",
        help="Frames to rows: pixels, gradients, cells, flow, 'flow+pixels(size=24x16)', 'network(path=net.onnx)'.",
    ),
    click.option("--columns", metavar="A,B", help="Columns of tables that are features, or: numeric."),
    click.option("--group", metavar="COLUMN", help="The column that says which set a row belongs to."),
    click.option("--time", metavar="COLUMN", help="The column that says when a row was seen."),
    click.option(
        "--window",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="ROWS",
        help="Take so many rows in a row as one.",
    ),
    click.option(
        "--stride",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="ROWS",
        help="Begin a window every so many rows.",
    ),
    click.option("--drop-missing", is_flag=True, help="Leave rows with missing values out."),
    click.option("--impute", is_flag=True, help="Fill missing values with the mean of their set."),
    click.option("--key", metavar="PATTERN", help="Which arrays of .npz files are taken, such as '*_train'."),
    click.option("--resize", callback=_size, metavar="WxH", help="Scale images to one size."),
    click.option("--split-every", type=click.IntRange(min=1), metavar="ROWS", help="Cut long recordings into sets."),
    click.option(
        "--delimiter", metavar="SIGN", help="What stands between columns of text tables.  [default: seen by itself]"
    ),
    click.option("--decimal", default=".", show_default=True, metavar="SIGN", help="The decimal sign of text tables."),
    click.option("--no-header", is_flag=True, help="Text tables have no line of names."),
]

READING_OPTIONS = frozenset(
    (
        "--features",
        "--columns",
        "--group",
        "--time",
        "--window",
        "--stride",
        "--drop-missing",
        "--impute",
        "--key",
        "--resize",
        "--split-every",
        "--delimiter",
        "--decimal",
        "--no-header",
    )
)

_FOCUS: list[Decorator] = [
    click.option(
        "--cutoff",
        callback=_number_or_auto,
        metavar="NUMBER|auto",
        help="Ignore directions at least so distracting.  [default: auto]",
    ),
    click.option("--n-remove", type=click.IntRange(min=0), metavar="N", help="Ignore so many directions instead."),
    click.option("--cushion", type=float, help="Variance granted to every direction.  [default: 0.1]"),
    click.option(
        "--prior", type=click.Choice(["uniform", "by_size"]), help="How much each set counts.  [default: uniform]"
    ),
    click.option(
        "--removal",
        type=click.Choice(["kept_span", "eigen", "oblique", "soft"]),
        help="How directions go: cut, or shrunk.  [default: kept_span]",
    ),
    click.option(
        "--strength",
        callback=_number_or_auto,
        metavar="NUMBER|auto",
        help="How much a soft removal shrinks.  [default: auto]",
    ),
]


def reading_options(command: Any) -> Any:
    """Add the options that say how rows are made of files."""
    return _with(_READING, command)


def focus_options(command: Any) -> Any:
    """Add the options of FOCUS."""
    return _with(_FOCUS, command)


def _with(options: list[Decorator], command: Any) -> Any:
    for option in reversed(options):
        command = option(command)
    return command


def make_reading(*, columns: str | None, drop_missing: bool, impute: bool, no_header: bool, **same: Any) -> Reading:
    """Make the reading that the options describe."""
    from undistract.workflow import Reading

    if drop_missing and impute:
        raise click.UsageError("--drop-missing and --impute both say what to do where a value is missing. Give one.")
    names = columns if columns in (None, "numeric") else tuple(name.strip() for name in str(columns).split(","))
    missing = "drop" if drop_missing else "impute" if impute else "refuse"
    return Reading(columns=names, missing=missing, header=not no_header, **same)


def make_focus(**options: Any) -> Focus | None:
    """Make the Focus that the options describe; None where none was given."""
    from undistract.focus import Focus

    given = {name: value for name, value in options.items() if value is not None}
    return Focus(**given) if given else None


def make_cache(no_cache: bool) -> RowCache | None:
    """Return where rows of videos are kept."""
    from undistract.sets.cache import RowCache, cache_folder

    return None if no_cache else RowCache(cache_folder())

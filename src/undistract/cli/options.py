"""Options that several commands share: input files, reading options, FOCUS settings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from undistract.detect.thresholds import ThresholdRule
    from undistract.focus import Focus
    from undistract.pipeline import ReadOptions
    from undistract.sources.cache import RowCache


Decorator = Callable[[Any], Any]


def read_config(ctx: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Use the values of a file as defaults, so that the command line takes precedence."""
    if path is None:
        return
    try:
        settings = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # bad TOML, bad UTF-8, a number with too many digits, deep nesting
        raise click.BadParameter(f"{path} is not TOML ({error}). Write lines such as: window = 5") from error
    options = _options_by_name(ctx, parameter)
    unknown = [key for key in settings if key not in options]
    if unknown:
        raise click.BadParameter(
            f"{path} contains {', '.join(map(repr, unknown))}, which {ctx.info_name} does not have. "
            f"Options are: {', '.join(sorted(options))}."
        )
    defaults = dict(ctx.default_map or {})
    for key, value in settings.items():
        defaults[options[key].name or key] = _as_argument(options[key], key, value)
    ctx.default_map = defaults


def _options_by_name(ctx: click.Context, config: click.Parameter) -> dict[str, click.Option]:
    options = {}
    for option in ctx.command.params:
        if isinstance(option, click.Option) and option is not config:
            for name in option.opts:
                if name.startswith("--"):
                    options[name.lstrip("-")] = option
    return options


def _as_argument(option: click.Option, key: str, value: Any) -> Any:
    """Return a value as the shell would pass it; a list becomes repeated values or text with commas."""
    if isinstance(value, dict):
        raise click.BadParameter(f"{key} is a table; expected text, a number, true, false or a list.")
    if isinstance(value, list):
        texts = [str(element) for element in value]
        return texts if option.multiple else ",".join(texts)
    if isinstance(value, bool) and not option.multiple:
        return value
    # Numbers are passed as text: click would round the number 5.7 to 5 windows, and fail on inf with a traceback.
    return [str(value)] if option.multiple else str(value)


class RegistryChoice(click.Choice):  # type: ignore[type-arg]
    """A choice among the names in a registry, whose module is imported when the names are needed."""

    def __init__(self, module: str, registry: str) -> None:
        self._module = module
        self._registry = registry
        super().__init__(())

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(getattr(import_module(self._module), self._registry))

    @choices.setter
    def choices(self, names: tuple[str, ...]) -> None:
        """Ignore the empty choices of the base class."""


paths_argument = click.argument("paths", nargs=-1, required=True, metavar="PATHS...")
ignore_option = click.option("--ignore", multiple=True, metavar="PATTERN", help="Skip matching files; repeatable.")
no_cache_option = click.option("--no-cache", is_flag=True, help="Do not cache the rows of videos.")
cluster_option = click.option(
    "--cluster", metavar="URL|local:N", help="Read files with Dask: a scheduler address, or N local processes."
)


class OutputPath(click.Path):
    """An output file or folder. A missing parent folder is an error before the work starts."""

    def __init__(self, *, folder: bool = False) -> None:
        super().__init__(dir_okay=folder, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(super().convert(value, param, ctx))  # type: ignore[arg-type]
        if not path.parent.is_dir():
            raise click.ClickException(
                f"There is no folder {str(path.parent)!r}. Create it first, or save to another folder."
            )
        return path


model_option = click.option(
    "--with", "model", required=True, type=click.Path(path_type=Path), metavar="MODEL", help="The model from learn."
)
moved_model_option = click.option(
    "--with", "model", type=click.Path(path_type=Path), metavar="MODEL", help="The model, if it was moved."
)
data_option = click.option("--data", multiple=True, metavar="PATH", help="The data, if it was moved; repeatable.")
dtype_option = click.option(
    "--dtype", type=click.Choice(["float32", "float64"]), help="The dtype of a .npy file.  [default: as in the data]"
)
chunk_rows_option = click.option(
    "--chunk-rows", type=click.IntRange(min=1), metavar="N", help="The number of rows to read at a time."
)


def file_argument(name: str, **settings: Any) -> Decorator:
    """Return an argument for an input file. Its reader checks the file, because it has the better message."""
    return click.argument(name, type=click.Path(path_type=Path), **settings)


def save_option(metavar: str, *, folder: bool = False, **settings: Any) -> Decorator:
    """Return the option for the output file, or for a folder if `folder` is true."""
    return click.option("--save", required=True, type=OutputPath(folder=folder), metavar=metavar, **settings)


def _size(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Parse a width and a height, such as 48x42."""
    if value is None:
        return None
    match = re.fullmatch(r"0*([1-9]\d{0,5})x0*([1-9]\d{0,5})", value.lower())
    if match is None:
        raise click.BadParameter(f"{value!r:.80} is not a size; expected width x height, such as 48x42.")
    return int(match[1]), int(match[2])


def _number_or_auto(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | str | None:
    """Parse a number or "auto"."""
    if value is None or value == "auto":
        return value
    try:
        return float(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is neither a number nor 'auto'.") from error


class _FeaturesOption(click.Option):
    """An option whose help lists the registered extractors, which are imported for the help only."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from undistract.features import EXTRACTORS

        names = ", ".join(EXTRACTORS)
        self.help = f"How to turn frames into rows: {names}; or combined: 'flow+pixels(size=24x16)'."
        return super().get_help_record(ctx)


_READING: list[Decorator] = [
    click.option("--features", cls=_FeaturesOption, metavar="SPEC", help="How to turn frames into rows."),
    click.option("--columns", metavar="A,B", help="The feature columns of tables, or: numeric."),
    click.option("--group", metavar="COLUMN", help="The column with the group of each row."),
    click.option("--time", metavar="COLUMN", help="The column with the time of each row."),
    click.option(
        "--window",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help="Combine N consecutive rows into one feature vector.",
    ),
    click.option(
        "--stride",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help="Start a window every N rows.",
    ),
    click.option("--drop-missing", is_flag=True, help="Skip rows with missing values."),
    click.option("--impute", is_flag=True, help="Fill missing values with the mean of their group."),
    click.option("--key", metavar="PATTERN", help="The arrays to read from .npz files, such as '*_train'."),
    click.option("--resize", callback=_size, metavar="WxH", help="Resize images to this width and height."),
    click.option(
        "--split-every", type=click.IntRange(min=1), metavar="N", help="Split long recordings into groups of N rows."
    ),
    click.option("--delimiter", metavar="CHAR", help="The column separator of text tables.  [default: detected]"),
    click.option(
        "--decimal", default=".", show_default=True, metavar="CHAR", help="The decimal separator of text tables."
    ),
    click.option("--no-header", is_flag=True, help="Text tables have no header line."),
]

_FOCUS: list[Decorator] = [
    click.option(
        "--cutoff",
        callback=_number_or_auto,
        metavar="NUMBER|auto",
        help="Remove directions with at least this distraction.  [default: auto]",
    ),
    click.option("--n-remove", type=click.IntRange(min=0), metavar="N", help="Remove exactly N directions instead."),
    click.option("--ridge", type=float, help="Ridge added to the variance of every direction.  [default: 0.1]"),
    click.option(
        "--prior", type=click.Choice(["uniform", "by_size"]), help="The weight of each group.  [default: uniform]"
    ),
    click.option(
        "--removal",
        type=RegistryChoice("undistract.algebra.projection", "REMOVALS"),
        help="How to remove directions: projected out, or shrunk (soft).  [default: orthogonal]",
    ),
    click.option(
        "--strength",
        callback=_number_or_auto,
        metavar="NUMBER|auto",
        help="How strongly soft removal shrinks.  [default: auto]",
    ),
]


def reading_options(command: Any) -> Any:
    """Add the options for reading files."""
    return _with(_READING, command)


def reading_option_names() -> set[str]:
    """Return the names of the options for reading files."""
    options: list[click.Option] = reading_options(lambda: None).__click_params__
    return {name for option in options for name in option.opts}


def focus_options(command: Any) -> Any:
    """Add the options of FOCUS."""
    return _with(_FOCUS, command)


def _with(options: list[Decorator], command: Any) -> Any:
    for option in reversed(options):
        command = option(command)
    return command


def make_reading(*, columns: str | None, drop_missing: bool, impute: bool, no_header: bool, **same: Any) -> ReadOptions:
    """Return the reading options as one value."""
    from undistract.pipeline import ReadOptions

    if drop_missing and impute:
        raise click.UsageError("--drop-missing and --impute exclude each other. Use one of them.")
    names: str | tuple[str, ...] | None = columns
    if columns is not None and columns != "numeric":
        names = tuple(name.strip() for name in columns.split(","))
    missing = "error"
    if drop_missing:
        missing = "drop"
    elif impute:
        missing = "impute"
    return ReadOptions(columns=names, missing=missing, header=not no_header, **same)


def make_focus(**options: Any) -> Focus | None:
    """Return a Focus with these options, or None if no option was passed."""
    from undistract.focus import Focus

    settings = {name: value for name, value in options.items() if value is not None}
    return Focus(**settings) if settings else None


def make_threshold(name: str, rate: float | None, rows_per_day: float | None) -> ThresholdRule:
    """Return a threshold rule with these settings; those that were not passed have the defaults of the rule."""
    from undistract.detect.registry import THRESHOLDS

    rule = THRESHOLDS[name]
    settings = {}
    if rows_per_day is not None:
        if "rows_per_day" not in signature(rule).parameters:
            raise click.UsageError(f"--rows-per-day does not apply to --threshold {name}. Use it with alarm_budget.")
        settings["rows_per_day"] = rows_per_day
    return rule(**settings) if rate is None else rule(rate, **settings)


def make_cache(no_cache: bool) -> RowCache | None:
    """Return the cache for rows of videos, or None."""
    from undistract.sources.cache import RowCache, cache_folder

    return None if no_cache else RowCache(cache_folder())

"""The behaviour that all commands share: lazy loading, common options, and errors in one readable line."""

from __future__ import annotations

import io
import re
import sys
import warnings
from importlib import import_module
from typing import Any

import click

from undistract._optional import MissingExtraError
from undistract.cli.options import OutputPath, read_config, reading_option_names
from undistract.cli.output import Output
from undistract.errors import EvidenceWarning, InputError, NoGroupsWarning
from undistract.version import __version__

# The lines of `undistract --help`. They are listed here so that help does not import every command.
COMMANDS = {
    "learn": "Learn from groups of normal data which variation to ignore.",
    "explain": "Show what a model ignores and how strong the evidence is.",
    "score": "Score new data with a model, with and without FOCUS.",
    "transform": "Write rows without nuisance variation, for other programs.",
    "denoise": "Write signals, tables or images without nuisance variation.",
    "review": "Review alarms in the browser and mark false alarms.",
    "relearn": "Update a model with the feedback from a review.",
    "report": "Write a report as one HTML page.",
    "serve": "Score rows over HTTP, for other programs.",
    "info": "Show the contents of a file without loading it.",
    "convert": "Export a model or scores for other programs.",
    "merge": "Merge models of several sites without sharing rows.",
    "demo": "Try everything on data that comes with the package.",
    "completion": "Print a script for shell completion.",
}


class Commands(click.Group):
    """A click group that imports the module of a command when the command runs."""

    def main(self, *arguments: Any, **settings: Any) -> Any:
        """Run a command. Characters that the output encoding lacks are printed as question marks."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
                # Otherwise a name with an accent could end hours of work in a traceback.
                stream.reconfigure(errors="replace")
        return super().main(*arguments, **settings)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"undistract.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


class Command(click.Command):
    """A command with `--json`, `--quiet`, `--verbose`, `--debug` and `--config`.

    A command never overwrites its input files, except those of the parameter `replaces`.
    """

    def __init__(self, *arguments: Any, replaces: str | None = None, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._replaces = replaces
        self.params += _common_options()

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Expected errors become one line; any other exception is a bug and keeps its traceback."""
        names = ("as_json", "quiet", "verbose")
        ctx.obj = output = Output(**{name: ctx.params.pop(name) for name in names})
        debug = ctx.params.pop("debug")
        try:
            with warnings.catch_warnings():
                _note_warnings(output)
                self._check_outputs(ctx.params)
                return super().invoke(ctx)
        except (InputError, MissingExtraError, OSError) as error:
            if debug or isinstance(error, BrokenPipeError):  # click handles a closed pipe itself
                raise
            raise click.ClickException(_format_error(error) + self._hint_at_learn(str(error))) from error

    def _hint_at_learn(self, message: str) -> str:
        """Return a hint if a reading error recommends options that only `learn` has."""
        own_options = {name for parameter in self.params for name in parameter.opts}
        advised = set(re.findall(r"--[a-z-]+", message)) & reading_option_names()
        if not advised or advised & own_options or self.name is None:
            return ""
        return (
            f" These are options of learn: {self.name} reads data with the settings of the model. "
            "Change the file, or learn again."
        )

    def _check_outputs(self, values: dict[str, Any]) -> None:
        """Raise an error if an output file is also an input file, before any work is done."""
        outputs = []
        for parameter in self.params:
            path = values.get(parameter.name or "")
            if isinstance(parameter.type, OutputPath) and path is not None:
                outputs.append(path)
        resolved = [path.resolve() for path in outputs]
        for number, path in enumerate(outputs):
            if resolved[number] in resolved[:number]:
                raise click.UsageError(f"Two options name the same file, {path}. Use a different name for each.")
        if not any(path.is_file() for path in outputs):
            return
        from undistract._io import refuse_overwriting_inputs
        from undistract.sources.discover import source_files

        inputs = _as_list(values.get("reviews"))
        for parameter in self.params:
            is_input = isinstance(parameter.type, click.Path) and not isinstance(parameter.type, OutputPath)
            if is_input and parameter.name != self._replaces:
                inputs += _as_list(values.get(parameter.name or ""))
        if values.get("paths") and self._replaces != "paths":
            inputs += source_files(values["paths"], values.get("ignore", ())).values()
        for path in outputs:
            refuse_overwriting_inputs(path, inputs)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, tuple) else [value]


def _common_options() -> list[click.Parameter]:
    return [
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object, for other programs."),
        click.Option(["--quiet", "-q"], is_flag=True, help="Print errors only."),
        click.Option(["--verbose", "-v"], is_flag=True, help="Print each step."),
        click.Option(["--debug"], is_flag=True, help="Print the traceback of an error."),
        click.Option(
            ["--config"],
            type=click.Path(exists=True, dir_okay=False),
            metavar="FILE.toml",
            is_eager=True,
            expose_value=False,
            callback=read_config,
            help="Read options from a file, such as split-every = 500. The command line takes precedence.",
        ),
    ]


def _note_warnings(output: Output) -> None:
    """Print warnings about weak evidence as notes, each once. Other warnings are shown by Python as usual."""
    default_show = warnings.showwarning

    def show(message: Any, category: type[Warning], *args: Any, **kwargs: Any) -> None:
        if issubclass(category, EvidenceWarning | NoGroupsWarning):
            output.note(str(message))
        else:
            default_show(message, category, *args, **kwargs)

    warnings.showwarning = show
    for category in (EvidenceWarning, NoGroupsWarning):
        warnings.simplefilter("always", category)


def _format_error(error: Exception) -> str:
    if not isinstance(error, OSError) or not error.strerror:
        return " ".join(str(error).split())
    return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."


@click.group(cls=Commands)
@click.version_option(__version__, prog_name="undistract")
def main() -> None:
    """Remove nuisance variation before anomaly detection.

    Learn from groups of normal data (videos, machines, people, days). Variation that occurs within every group but
    does not distinguish groups is a distraction. FOCUS removes it, so that any detector raises fewer false alarms.

    \b
    Start with: undistract demo
    With your own files:
      undistract learn  calm/*.csv --save street.focus
      undistract score  today.csv --with street.focus --save today.scores
      undistract report today.scores --save today.html
    """  # noqa: D301 (click reads the backspace: it keeps the lines of the next paragraph)

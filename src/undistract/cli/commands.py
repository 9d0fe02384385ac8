"""What every command has in common: it is loaded when it is asked for, talks alike, and fails in one readable line."""

from __future__ import annotations

import io
import re
import sys
import warnings
from importlib import import_module
from typing import Any

import click

from undistract.cli.config import read_config
from undistract.cli.options import READING_OPTIONS, Target
from undistract.cli.talk import Talk
from undistract.errors import EvidenceWarning, InputError, NoSetsWarning
from undistract.extras import MissingExtraError

# The lines of `undistract --help`, so that it need not load a command to name it.
COMMANDS = {
    "learn": "Learn from sets of normal data what to ignore.",
    "explain": "Say what a model ignores, and how sure that is.",
    "score": "Score new data with a model: alarms before and after.",
    "transform": "Write rows without what distracts, for other programs.",
    "denoise": "Write signals, tables or pictures without what distracts.",
    "review": "Look at alarms in the browser, and say what to ignore.",
    "relearn": "Learn from what people said: the next model.",
    "report": "Write one HTML page that people look at.",
    "serve": "Score rows over HTTP, for other programs.",
    "info": "Say what a file holds, without loading it.",
    "convert": "Write a model or scores for other programs.",
    "merge": "Join models of several sites without sharing a row.",
    "demo": "See all of it on data that comes with the package.",
    "completion": "Let the shell complete commands and options.",
}


class Commands(click.Group):
    """A group whose commands live in modules of their own, loaded on demand."""

    def main(self, *arguments: Any, **settings: Any) -> Any:
        """Run a command; what the terminal or the file behind a pipe cannot write becomes a question mark."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
                stream.reconfigure(errors="replace")  # after hours of work a name with an accent ended in a traceback
        return super().main(*arguments, **settings)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"undistract.cli.{cmd_name}"), cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


class Command(click.Command):
    """A command with `--json`, `--quiet`, `--verbose`, `--debug` and `--config`.

    What it reads is never written over; `replaces` names what it makes anew, and may be put in its place.
    """

    def __init__(self, *arguments: Any, replaces: str | None = None, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._replaces = replaces
        self.params += _common_options()

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; anything but an error of ours is a bug and keeps its traceback."""
        names = ("as_json", "quiet", "verbose")
        ctx.obj = talk = Talk(**{name: ctx.params.pop(name) for name in names})
        debug = ctx.params.pop("debug")
        try:
            with warnings.catch_warnings():
                _note_warnings(talk)
                self._keep_what_is_read(ctx.params)
                return super().invoke(ctx)
        except (InputError, MissingExtraError, OSError) as error:
            if debug or isinstance(error, BrokenPipeError):  # click knows what to do when nobody reads on
                raise
            raise click.ClickException(_in_one_line(error) + self._whose_options(str(error))) from error

    def _whose_options(self, words: str) -> str:
        """Say whose options those are that an error of reading advises, where this command has none of them."""
        here = {name for one in self.params for name in one.opts}
        advised = set(re.findall(r"--[a-z-]+", words)) & READING_OPTIONS
        if not advised or advised & here or self.name is None:
            return ""
        return f" Such options belong to learn: {self.name} reads as the model says. Change the file, or learn again."

    def _keep_what_is_read(self, given: dict[str, Any]) -> None:
        """Refuse to write over what is read, before any work is done."""
        targets = [given[one.name] for one in self.params if isinstance(one.type, Target) and one.name in given]
        written = [path for path in targets if path is not None]
        places = [path.resolve() for path in written]
        for number, path in enumerate(written):
            if places[number] in places[:number]:
                raise click.UsageError(f"Two options name one file, {path}. Give every file a name of its own.")
        if not any(path.is_file() for path in written):
            return
        from undistract.files import keep_apart
        from undistract.sets.paths import set_paths

        read = [*_listed(given.get("reviews"))]
        for one in self.params:
            if isinstance(one.type, click.Path) and not isinstance(one.type, Target) and one.name != self._replaces:
                read += _listed(given.get(one.name or ""))
        if given.get("paths") and self._replaces != "paths":
            read += set_paths(given["paths"], given.get("ignore", ())).values()
        for path in written:
            keep_apart(path, read)


def _listed(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, tuple) else [value]


def _common_options() -> list[click.Parameter]:
    return [
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object, for machines."),
        click.Option(["--quiet", "-q"], is_flag=True, help="Say nothing unless something is wrong."),
        click.Option(["--verbose", "-v"], is_flag=True, help="Tell what is being done."),
        click.Option(["--debug"], is_flag=True, help="Show where an error came from."),
        click.Option(
            ["--config"],
            type=click.Path(exists=True, dir_okay=False),
            metavar="FILE.toml",
            is_eager=True,
            expose_value=False,
            callback=read_config,
            help="Take options from a file: split-every = 500. The command line wins.",
        ),
    ]


def _note_warnings(talk: Talk) -> None:
    """Let what stands on thin evidence become a note, once; other warnings go their usual way."""
    usual = warnings.showwarning

    def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, EvidenceWarning | NoSetsWarning):
            talk.note(str(message))
        else:
            usual(message, category, *where, **more)

    warnings.showwarning = show
    for category in (EvidenceWarning, NoSetsWarning):
        warnings.simplefilter("always", category)


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, ImportError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return " ".join(str(error).split())

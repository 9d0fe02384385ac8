"""Output of commands: results on stdout, notes and progress on stderr; or one JSON object and nothing else."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from undistract._text import to_jsonable

if TYPE_CHECKING:
    from rich.table import Table


@dataclass
class Output:
    """The output options of a command, and the notes that it has printed."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def progress(self) -> bool | None:
        """Whether to show progress bars."""
        return not (self.quiet or self.as_json)

    def print(self, text: str = "") -> None:
        """Print text, unless --quiet or --json is set."""
        if not (self.quiet or self.as_json):
            click.echo(text)

    def print_table(self, table: Table) -> None:
        """Print a table, unless --quiet or --json is set."""
        if not (self.quiet or self.as_json):
            from rich.console import Console

            console = Console()
            # Names in the first column may wrap, but numbers must not be cut off. A terminal that is too narrow for
            # the numbers and a name of 12 characters breaks the lines itself.
            table.columns[0].max_width = 12
            min_width = table.__rich_measure__(console, console.options.update(width=10_000)).minimum
            table.columns[0].max_width = None
            console.width = max(console.width, min_width)
            console.print(table)

    def detail(self, text: str) -> None:
        """Print text to stderr if --verbose is set."""
        if self.verbose:
            click.echo(text, err=True)

    def note(self, text: str) -> None:
        """Print a note to stderr, once."""
        if text not in self.notes:
            self.notes.append(text)
            if not self.quiet:
                click.echo(f"Note: {text}", err=True)

    def print_json(self, result: Mapping[str, Any]) -> None:
        """Print the result as a JSON object if --json is set."""
        if self.as_json:
            click.echo(json.dumps(to_jsonable({**result, "notes": self.notes}), indent=2))


def shell_path(path: Path) -> str:
    """Quote a path for a shell.

    Examples
    --------
    >>> shell_path(Path("today.scores")), shell_path(Path("my day.scores")), shell_path(Path("-day.scores"))
    ('today.scores', "'my day.scores'", './-day.scores')
    """
    text = str(path)
    if text.startswith("-"):  # otherwise it would be read as an option
        text = f"./{text}"
    return shlex.quote(text)

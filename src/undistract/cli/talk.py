"""How commands talk: results on stdout, notes and progress on stderr; or one JSON object and nothing else."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.table import Table


@dataclass
class Talk:
    """What was asked for, and the notes that were made on the way."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def progress(self) -> bool | None:
        """Whether bars are shown: on a terminal, unless nobody reads along."""
        return not (self.quiet or self.as_json)

    def say(self, words: str = "") -> None:
        """Print a line for people."""
        if not (self.quiet or self.as_json):
            click.echo(words)

    def show(self, table: Table) -> None:
        """Print a table for people."""
        if not (self.quiet or self.as_json):
            from rich.console import Console

            console = Console()
            # Names fold, numbers are never cut off: where there is no room for them, the terminal breaks the lines.
            table.columns[0].max_width = 12
            needed = table.__rich_measure__(console, console.options.update(width=10_000)).minimum
            table.columns[0].max_width = None
            console.width = max(console.width, needed)
            console.print(table)

    def detail(self, words: str) -> None:
        """Tell what is being done, to those who asked."""
        if self.verbose:
            click.echo(words, err=True)

    def note(self, words: str) -> None:
        """Make a note on stderr, once."""
        if words not in self.notes:
            self.notes.append(words)
            if not self.quiet:
                click.echo(f"Note: {words}", err=True)

    def give(self, found: Mapping[str, Any]) -> None:
        """Print the one JSON object, where it was asked for."""
        if self.as_json:
            click.echo(json.dumps(plain({**found, "notes": self.notes}), indent=2))


def shell_path(path: Path) -> str:
    """Return a path so that it can be copied into a shell.

    Examples
    --------
    >>> shell_path(Path("today.scores")), shell_path(Path("my day.scores")), shell_path(Path("-day.scores"))
    ('today.scores', "'my day.scores'", './-day.scores')
    """
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: what is not finite becomes null, what is not known a text.

    Examples
    --------
    >>> plain({"value": float("inf"), "sets": (1, 2)})
    {'value': None, 'sets': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)

"""The command line: words from the shell, one function of the story, words to the shell.

Commands import what they need when they run, so that `undistract --help` answers at once.
"""

from __future__ import annotations

from typing import Any

import click

from undistract.cli.demo import demo
from undistract.errors import InputError
from undistract.extras import MissingExtraError
from undistract.version import __version__


class ReadableErrors(click.Group):
    """A group of commands that says in one line what went wrong, where the user can mend it."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; anything but an error of ours is a bug and keeps its traceback."""
        try:
            return super().invoke(ctx)
        except (InputError, MissingExtraError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=ReadableErrors)
@click.version_option(__version__, prog_name="undistract")
def main() -> None:
    """Teach an anomaly detector what to ignore.

    Show it sets of normal data (videos, machines, people, days). What varies inside every set and never tells sets
    apart is a distraction: FOCUS removes it, and any detector raises fewer false alarms.

    Begin with: undistract demo
    """


main.add_command(demo)

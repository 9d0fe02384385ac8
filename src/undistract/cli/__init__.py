"""The command line: words from the shell, one function of the story, words to the shell.

Commands import what they need when they run, so that `undistract --help` answers at once.
"""

from __future__ import annotations

import click

from undistract.cli.commands import Commands
from undistract.version import __version__


@click.group(cls=Commands)
@click.version_option(__version__, prog_name="undistract")
def main() -> None:
    """Teach an anomaly detector what to ignore.

    Show it sets of normal data (videos, machines, people, days). What varies inside every set and never tells sets
    apart is a distraction: FOCUS removes it, and any detector raises fewer false alarms.

    \b
    Begin with: undistract demo
    With your own files:
      undistract learn  calm/*.csv --save street.focus
      undistract score  today.csv --with street.focus --save today.scores
      undistract report today.scores --save today.html
    """  # noqa: D301 (click reads the backspace: it keeps the lines of the next paragraph)

"""`undistract info`: what a file holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from undistract.cli.commands import Command
from undistract.cli.options import file_argument
from undistract.cli.talk import Talk

LONGEST, SOME, EVERYTHING = 72, 3, 99


@click.command(cls=Command)
@file_argument("file")
@click.pass_obj
def info(talk: Talk, file: Path) -> None:
    """Say what a file holds, from its header alone: nothing is loaded.

    \b
    Examples:
      undistract info street.focus
      undistract info street.focus --verbose
      undistract info match.scores --json
    """  # noqa: D301
    from undistract.storage import describe_file

    found = describe_file(file)
    shown = found if talk.verbose else {key: one for key, one in found.items() if key != "arrays"}
    for line in _lines(shown, EVERYTHING if talk.verbose else SOME):
        talk.say(line)
    talk.give(found)


def _lines(value: Mapping[str, Any], depth: int, indent: str = "") -> Iterator[str]:
    """Write a mapping as a list, what lies in it further to the right; below `depth` only what kind it is."""
    for key, one in value.items():
        if isinstance(one, Mapping) and one and not depth:
            yield f"{indent}{key}: {one.get('type', '…')}"
        elif isinstance(one, Mapping) and one:
            yield f"{indent}{key}:"
            yield from _lines(one, depth - 1, indent + "  ")
        else:
            words = str(one)
            yield f"{indent}{key}: {words if len(words) <= LONGEST else words[:LONGEST] + '…'}"

"""`undistract info`: show the contents of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from undistract.cli.main import Command
from undistract.cli.options import file_argument
from undistract.cli.output import Output

MAX_WIDTH = 72  # characters of one value
DEFAULT_DEPTH = 3
FULL_DEPTH = 99


@click.command(cls=Command)
@file_argument("file")
@click.pass_obj
def info(output: Output, file: Path) -> None:
    """Show the contents of a file. Only the header is read.

    \b
    Examples:
      undistract info street.focus
      undistract info street.focus --verbose
      undistract info match.scores --json
    """  # noqa: D301
    from undistract.storage import describe_file

    description = describe_file(file)
    if output.verbose:
        lines = _lines(description, FULL_DEPTH)
    else:
        lines = _lines({key: value for key, value in description.items() if key != "arrays"}, DEFAULT_DEPTH)
    for line in lines:
        output.print(line)
    output.print_json(description)


def _lines(mapping: Mapping[str, Any], depth: int, indent: str = "") -> Iterator[str]:
    """Format a nested mapping as indented lines; below `depth`, only the type of a value is shown."""
    for key, value in mapping.items():
        if isinstance(value, Mapping) and value and not depth:
            yield f"{indent}{key}: {value.get('type', '…')}"
        elif isinstance(value, Mapping) and value:
            yield f"{indent}{key}:"
            yield from _lines(value, depth - 1, indent + "  ")
        else:
            text = str(value)
            if len(text) > MAX_WIDTH:
                text = text[:MAX_WIDTH] + "…"
            yield f"{indent}{key}: {text}"

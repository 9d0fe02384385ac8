"""Options from a file, for those who have many: TOML, whose keys are the names of options."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click


def read_config(ctx: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Take the values of a file as defaults, so that the command line wins."""
    if path is None:
        return
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # of TOML, of UTF-8, of numbers that are too long, of nesting
        raise click.BadParameter(f"{path} is not TOML ({error}). Write lines such as: window = 5") from error
    options = {
        name.lstrip("-"): option
        for option in ctx.command.params
        if isinstance(option, click.Option) and option is not parameter
        for name in option.opts
        if name.startswith("--")
    }
    unknown = [key for key in given if key not in options]
    if unknown:
        raise click.BadParameter(
            f"{path} sets {', '.join(map(repr, unknown))}, and {ctx.info_name} has no such option. "
            f"There are: {', '.join(sorted(options))}."
        )
    ctx.default_map = {
        **(ctx.default_map or {}),
        **{options[key].name or key: _value(options[key], key, value) for key, value in given.items()},
    }


def _value(option: click.Option, key: str, value: Any) -> Any:
    """Return a value as the shell would have given it; a list stands for words with commas between them."""
    if isinstance(value, list):
        return [str(one) for one in value] if option.multiple else ",".join(map(str, value))
    if isinstance(value, dict):
        raise click.BadParameter(f"{key} is a table; expected a text, a number, true, false or a list.")
    # As a text: taken as a number, 5.7 windows would be 5, and infinitely many an accident.
    return [str(value)] if option.multiple else value if isinstance(value, bool) else str(value)

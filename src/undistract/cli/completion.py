"""`undistract completion`: a script that lets the shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from undistract.cli.commands import Command


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script for the shell; it completes commands, options and files.

    \b
    Examples:
      undistract completion bash >> ~/.bashrc
      undistract completion zsh  >> ~/.zshrc
      undistract completion fish > ~/.config/fish/completions/undistract.fish
    """  # noqa: D301
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "undistract", "_UNDISTRACT_COMPLETE")
    # Not `source()`, which asks the shell for its version: the script may be for another machine.
    click.echo(script.source_template % script.source_vars())
    ctx.exit()

"""`undistract completion`: print a script for shell completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from undistract.cli.main import Command


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that makes the shell complete commands, options and files.

    \b
    Examples:
      undistract completion bash >> ~/.bashrc
      undistract completion zsh  >> ~/.zshrc
      undistract completion fish > ~/.config/fish/completions/undistract.fish
    """  # noqa: D301
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    script = completion_class(ctx.find_root().command, {}, "undistract", "_UNDISTRACT_COMPLETE")
    # Not `source()`, which runs the shell to find its version: the script may be for another machine.
    click.echo(script.source_template % script.source_vars())
    ctx.exit()

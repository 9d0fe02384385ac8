"""What `serve` and `review` have in common: where they listen, and who may come in."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from undistract.cli.talk import Talk
from undistract.errors import InputError
from undistract.extras import need

LEAST = 16


@dataclass(frozen=True)
class Door:
    """Where to listen, under which names, and the secret that opens."""

    host: str
    port: int
    token: str
    made_up: bool  # the token was not given, so it must be told
    allow_host: tuple[str, ...]

    def serve(self, talk: Talk, ready: Callable[[str], None], **parts: Any) -> None:
        """Serve the app that is made of a desk, a model, or both, until it is ended."""
        from undistract.web import server
        from undistract.web.app import make_app
        from undistract.web.guard import names_for

        if not server.is_loopback(self.host):
            talk.note(
                f"Listening on {self.host}: other machines can reach this, and what is sent is not encrypted. "
                "Put it behind a proxy with TLS. Callers use a name given with --allow-host."
            )
        app = make_app(token=self.token, hosts=names_for(self.host, self.allow_host), **parts)
        server.serve(app, host=self.host, port=self.port, ready=ready)


def door_options(port: int) -> Callable[[Any], Any]:
    """Add the options of a door; the command gets it as `door`."""
    options = [
        click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on."),
        click.option(
            "--port", type=click.IntRange(0, 65535), default=port, show_default=True, help="0 takes any free one."
        ),
        click.option("--token", envvar="UNDISTRACT_TOKEN", show_envvar=True, help="The secret that opens the door."),
        click.option("--token-file", type=click.Path(path_type=Path), metavar="FILE", help="A file that holds it."),
        click.option("--allow-host", multiple=True, metavar="NAME", help="Another name callers use; may come again."),
    ]

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def make_door(
    talk: Talk, host: str, port: int, token: str | None, token_file: Path | None, allow_host: tuple[str, ...]
) -> Door:
    """Make the door that the options describe."""
    for library in ("fastapi", "uvicorn"):
        need(library, extra="web", to="The web app")
    secret = given_token(token, token_file)
    if secret is None and talk.quiet:
        raise click.UsageError("--quiet would hide the token that is made up. Give one: --token-file FILE.")
    return Door(host, port, secret or secrets.token_urlsafe(32), secret is None, allow_host)


def given_token(token: str | None, file: Path | None) -> str | None:
    """Return the token that was given, from a file or as it is; None where none was."""
    if file is not None:
        token = file.read_text(encoding="utf-8", errors="replace").strip()  # what is no text is no token, as told below
    if token is not None and not re.fullmatch(rf"[\w.~-]{{{LEAST},}}", token, re.ASCII):
        raise InputError(
            f"The token has {len(token)} characters; expected {LEAST} or more: letters, digits, - _ . ~ only. "
            "Make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'."
        )
    return token

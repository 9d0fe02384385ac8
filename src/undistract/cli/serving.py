"""Options of the commands that run a server: address, allowed host names, token."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from undistract._optional import import_optional
from undistract.cli.output import Output
from undistract.errors import InputError

MIN_TOKEN_LENGTH = 16


@dataclass(frozen=True)
class ServerOptions:
    """The address to listen on, the host names that clients may use, and the token."""

    host: str
    port: int
    token: str
    token_is_generated: bool  # the token was generated, so it must be printed
    allow_host: tuple[str, ...]

    def serve(self, output: Output, ready: Callable[[str], None], **parts: Any) -> None:
        """Serve a review, a model, or both, until the process is stopped."""
        from undistract.web import server
        from undistract.web.app import make_app
        from undistract.web.security import names_for

        if not server.is_loopback(self.host):
            output.note(
                f"Listening on {self.host}: other machines can connect, and traffic is not encrypted. "
                "Use a proxy with TLS, and pass the host name of the clients' address with --allow-host."
            )
        app = make_app(token=self.token, hosts=names_for(self.host, self.allow_host), **parts)
        server.serve(app, host=self.host, port=self.port, ready=ready)


def add_server_options(port: int) -> Callable[[Any], Any]:
    """Add the server options, with this default port."""
    options = [
        click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on."),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=port,
            show_default=True,
            help="The port to listen on; 0 for any free port.",
        ),
        click.option("--token", envvar="UNDISTRACT_TOKEN", show_envvar=True, help="The secret that clients must send."),
        click.option("--token-file", type=click.Path(path_type=Path), metavar="FILE", help="A file with the token."),
        click.option("--allow-host", multiple=True, metavar="NAME", help="Another allowed host name; repeatable."),
    ]

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def server_options(
    output: Output, host: str, port: int, token: str | None, token_file: Path | None, allow_host: tuple[str, ...]
) -> ServerOptions:
    """Check the server options and generate a token if none was passed."""
    for library in ("fastapi", "uvicorn"):
        import_optional(library, extra="web", to="The web app")
    secret = read_token(token, token_file)
    if secret is None and output.quiet:
        raise click.UsageError("--quiet would hide the generated token. Pass one with --token-file FILE.")
    return ServerOptions(host, port, secret or secrets.token_urlsafe(32), secret is None, allow_host)


def read_token(token: str | None, file: Path | None) -> str | None:
    """Return the token from the file or the option, or None."""
    if file is not None:
        token = file.read_text(encoding="utf-8", errors="replace").strip()  # bytes that are not text fail the check
    if token is not None and not re.fullmatch(rf"[\w.~-]{{{MIN_TOKEN_LENGTH},}}", token, re.ASCII):
        raise InputError(
            f"The token has {len(token)} characters; expected at least {MIN_TOKEN_LENGTH}, only letters, digits and "
            "- _ . ~. To create one: python -c 'import secrets; print(secrets.token_urlsafe(32))'."
        )
    return token

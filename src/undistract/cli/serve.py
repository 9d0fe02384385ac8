"""`undistract serve`: rows scored over HTTP."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

import click

from undistract.cli.commands import Command
from undistract.cli.options import file_argument
from undistract.cli.talk import Talk
from undistract.errors import InputError
from undistract.extras import need

LEAST = 16


@click.command(cls=Command)
@file_argument("model")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="The port; 0 takes any free one.",
)
@click.option("--token", envvar="UNDISTRACT_TOKEN", show_envvar=True, help="The secret that callers send.")
@click.option("--token-file", type=click.Path(path_type=Path), metavar="FILE", help="A file that holds the secret.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another name callers use; may come again.")
@click.pass_obj
def serve(
    talk: Talk,
    model: Path,
    host: str,
    port: int,
    token: str | None,
    token_file: Path | None,
    allow_host: tuple[str, ...],
) -> None:
    """Score rows over HTTP: POST /score; also /model, /health, /metrics and /openapi.json.

    Every call needs the token. It is made up and printed unless you give one. Needs the extra web.

    \b
    Examples:
      undistract serve street.focus
      undistract serve street.focus --port 0 --token-file secret.txt
      UNDISTRACT_TOKEN=... undistract serve street.focus --host 0.0.0.0 --allow-host scores.example.org

    \b
    Then, from another shell:
      curl http://127.0.0.1:8765/score -H "Authorization: Bearer $UNDISTRACT_TOKEN" \\
           -H "Content-Type: application/json" -d '{"rows": [[0.1, 0.2, 0.3]], "explain": true}'
    """  # noqa: D301
    need("fastapi", extra="web", to="The scoring service")
    need("uvicorn", extra="web", to="The scoring service")
    from undistract import workflow
    from undistract.web import server
    from undistract.web.app import make_app
    from undistract.web.guard import names_for

    secret = given_token(token, token_file)
    if secret is None and talk.quiet:
        raise click.UsageError("--quiet would hide the token that is made up. Give one: --token-file FILE.")
    known = secret or secrets.token_urlsafe(32)
    learned = workflow.Model.load(model)
    if not server.is_loopback(host):
        talk.note(
            f"Listening on {host}: other machines can reach this, and what is sent is not encrypted. "
            "Put it behind a proxy with TLS. Callers use a name given with --allow-host."
        )

    def ready(url: str) -> None:
        talk.say(f"Serving {model} at {url}")
        if secret is None:
            talk.say(f"The token, for this time: {known}")
        talk.say("Score rows: POST /score. End with Ctrl-C.")
        talk.give({"url": url, "token": known if secret is None else None, "model": model})

    app = make_app(token=known, hosts=names_for(host, allow_host), model=learned)
    server.serve(app, host=host, port=port, ready=ready)


def given_token(token: str | None, file: Path | None) -> str | None:
    """Return the token that was given, from a file or as it is; None where none was."""
    if file is not None:
        token = file.read_text(encoding="utf-8").strip()
    if token is not None and not re.fullmatch(rf"[\w.~-]{{{LEAST},}}", token, re.ASCII):
        raise InputError(
            f"The token has {len(token)} characters; expected {LEAST} or more: letters, digits, - _ . ~ only. "
            "Make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'."
        )
    return token

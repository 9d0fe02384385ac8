"""`undistract serve`: score rows over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from undistract.cli.main import Command
from undistract.cli.options import file_argument
from undistract.cli.output import Output
from undistract.cli.serving import add_server_options, server_options


@click.command(cls=Command)
@file_argument("model")
@add_server_options(port=8765)
@click.pass_obj
def serve(output: Output, /, model: Path, **address: Any) -> None:
    """Score rows over HTTP: POST /score; also /model, /health, /metrics and /openapi.json.

    Every request needs the token. Without --token or --token-file, one is generated and printed. Needs the extra web.

    \b
    Examples:
      undistract serve street.focus
      undistract serve street.focus --port 0 --token-file secret.txt
      UNDISTRACT_TOKEN=... undistract serve street.focus --host 0.0.0.0 --allow-host scores.example.org

    \b
    Then, from another shell, with the token in UNDISTRACT_TOKEN:
      curl http://127.0.0.1:8765/score -H "Authorization: Bearer $UNDISTRACT_TOKEN" \\
           -H "Content-Type: application/json" -d '{"rows": [[0.1, 0.2, 0.3]], "explain": true}'
    """  # noqa: D301
    server = server_options(output, **address)
    from undistract import pipeline

    def ready(url: str) -> None:
        output.print(f"Serving {model} at {url}")
        if server.token_is_generated:
            output.print(f"Token for this session: {server.token}")
        output.print("Score rows with POST /score. Stop with Ctrl-C.")
        # A token from the user may be a lasting secret; only a generated one is printed.
        generated = server.token if server.token_is_generated else None
        output.print_json({"url": url, "token": generated, "model": model})

    server.serve(output, ready, model=pipeline.Model.load(model))

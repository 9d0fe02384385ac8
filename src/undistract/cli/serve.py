"""`undistract serve`: rows scored over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from undistract.cli.commands import Command
from undistract.cli.options import file_argument
from undistract.cli.talk import Talk
from undistract.cli.web_door import door_options, make_door


@click.command(cls=Command)
@file_argument("model")
@door_options(port=8765)
@click.pass_obj
def serve(talk: Talk, /, model: Path, **place: Any) -> None:
    """Score rows over HTTP: POST /score; also /model, /health, /metrics and /openapi.json.

    Every call needs the token. It is made up and printed unless you give one. Needs the extra web.

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
    door = make_door(talk, **place)
    from undistract import workflow

    def ready(url: str) -> None:
        talk.say(f"Serving {model} at {url}")
        if door.made_up:
            talk.say(f"The token, for this time: {door.token}")
        talk.say("Score rows: POST /score. End with Ctrl-C.")
        talk.give({"url": url, "token": door.token if door.made_up else None, "model": model})

    door.serve(talk, ready, model=workflow.Model.load(model))

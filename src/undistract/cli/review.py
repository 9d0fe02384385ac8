"""`undistract review`: alarms in the browser, and every answer kept."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from threading import Thread
from typing import Any

import click

from undistract.cli import options
from undistract.cli.commands import Command
from undistract.cli.talk import Talk
from undistract.cli.web_door import door_options, make_door
from undistract.extras import need


@click.command(cls=Command)
@options.file_argument("scores")
@click.option("--with", "model", type=click.Path(path_type=Path), metavar="MODEL", help="The model, if it has moved.")
@click.option("--data", multiple=True, metavar="PATH", help="Where the data is, if it has moved; may come again.")
@click.option("--store", metavar="FILE|URL", help="Where answers are kept.  [default: beside the scores, .review]")
@click.option("--no-browser", is_flag=True, help="Do not open a browser; open the address yourself.")
@door_options(port=0)
@options.no_cache_option
@click.pass_obj
def review(
    talk: Talk,
    /,
    scores: Path,
    model: Path | None,
    data: tuple[str, ...],
    store: str | None,
    no_browser: bool,
    no_cache: bool,
    **place: Any,
) -> None:
    """Look at alarms in the browser, and say what to ignore.

    The strongest alarm comes first. Press f for familiar, a for an anomaly, u if you are unsure, ? for all keys. The
    list is ranked anew after every answer. Answers are kept at once; several people can review together.

    \b
    Examples:
      undistract review match.scores
      undistract review match.scores --with moved/street.focus --data moved/match.mp4
      undistract review match.scores --store postgresql+psycopg://me@host/review

    \b
    Then:
      undistract relearn street.focus --from match.review --save street-2.focus
    """  # noqa: D301
    door = make_door(talk, **place)
    need("sqlalchemy", extra="web", to="Keeping a review")
    from undistract.workflow.desk import Desk

    log = store if store is None or "://" in store else Path(store)
    talk.detail(f"Reading the data of {scores}")
    with Desk.open(scores, model=model, store=log, data=data, cache=options.make_cache(no_cache)) as desk:

        def ready(url: str) -> None:
            address = f"{url}?token={door.token}"
            talk.say(f"Review {scores} at {address}")
            talk.say(f"Answers are kept in {desk.where}. End with Ctrl-C.")
            talk.give({"url": url, "address": address, "answers": desk.where, "open": desk.queue(0, 1)["open"]})
            if not no_browser:
                Thread(target=webbrowser.open, args=(address,), daemon=True).start()

        door.serve(talk, ready, desk=desk, model=desk.model)

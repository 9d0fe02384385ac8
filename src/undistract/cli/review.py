"""`undistract review`: review alarms in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from threading import Thread
from typing import Any

import click

from undistract._optional import import_optional
from undistract.cli import options
from undistract.cli.main import Command
from undistract.cli.output import Output
from undistract.cli.serving import add_server_options, server_options


@click.command(cls=Command)
@options.file_argument("scores")
@options.moved_model_option
@options.data_option
@click.option("--store", metavar="FILE|URL", help="Where to store verdicts.  [default: next to the scores, .review]")
@click.option("--no-browser", is_flag=True, help="Do not open a browser, only print the address.")
@add_server_options(port=0)
@options.no_cache_option
@click.pass_obj
def review(
    output: Output,
    /,
    scores: Path,
    model: Path | None,
    data: tuple[str, ...],
    store: str | None,
    no_browser: bool,
    no_cache: bool,
    **address: Any,
) -> None:
    """Review alarms in the browser and mark false alarms.

    The strongest alarm comes first. Press f for a false alarm, a for an anomaly, u for unsure, ? for all keys. The list
    is re-ranked after every verdict. Verdicts are saved immediately; several people can review together.

    \b
    Examples:
      undistract review match.scores
      undistract review match.scores --with moved/street.focus --data moved/match.mp4
      undistract review match.scores --store postgresql+psycopg://me@host/review

    \b
    Then:
      undistract relearn street.focus --from match.review --save street-2.focus
    """  # noqa: D301
    server = server_options(output, **address)
    import_optional("sqlalchemy", extra="web", to="Storing a review")
    from undistract.review.session import ReviewSession

    log = store if store is None or "://" in store else Path(store)
    output.detail(f"Reading the data of {scores}")
    with ReviewSession.open(scores, model=model, store=log, data=data, cache=options.make_cache(no_cache)) as session:

        def ready(url: str) -> None:
            link = f"{url}?token={server.token}"
            n_open = session.queue(0, 1)["open"]
            output.print(f"Review {scores} at {link}")
            output.print(f"Verdicts are stored in {session.where}. Stop with Ctrl-C.")
            output.print_json({"url": url, "address": link, "answers": session.where, "open": n_open})
            if not no_browser:
                Thread(target=webbrowser.open, args=(link,), daemon=True).start()

        server.serve(output, ready, session=session, model=session.model)

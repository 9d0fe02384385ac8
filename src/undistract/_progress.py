"""A progress bar for long runs, on stderr, only in a terminal and only after two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeVar, cast

T = TypeVar("T")

# Seconds before the bar is shown.
PATIENCE = 2.0


def track(results: Iterable[T], *, total: int | None, what: str, progress: bool | None) -> Iterator[T]:
    """Yield the results and show the progress in a terminal.

    Parameters
    ----------
    results : iterable
    total : int or None
        Number of results, if known.
    what : str
        Description shown next to the bar.
    progress : bool or None
        True shows the bar at once, None after two seconds, False never. Without a terminal there is no bar.

    Examples
    --------
    >>> list(track([1, 2], total=2, what="Counting", progress=None))
    [1, 2]
    """
    if progress is False or not sys.stderr.isatty():
        yield from results
        return
    start = time.monotonic()
    bar = None
    task = None
    try:
        for done, result in enumerate(chain([None], results)):
            if bar is None and (progress or time.monotonic() - start > PATIENCE):
                from rich.console import Console
                from rich.progress import MofNCompleteColumn, Progress

                columns = (*Progress.get_default_columns(), MofNCompleteColumn())
                bar = Progress(*columns, console=Console(file=sys.stderr), transient=True)
                task = bar.add_task(what, total=total)
                bar.start()
            if done:
                yield cast("T", result)
            # Count a result when the next one is requested, because the consumer works on it until then.
            if bar is not None and task is not None:
                bar.update(task, completed=done)
    finally:
        if bar is not None:
            bar.stop()

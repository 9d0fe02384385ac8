"""A progress bar for long runs: on stderr, in a terminal, and only when there is something to wait for."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeVar, cast

T = TypeVar("T")

# Seconds before a run counts as long.
PATIENCE = 2.0


def watched(results: Iterable[T], *, total: int | None, what: str, progress: bool | None) -> Iterator[T]:
    """Hand on the results as they come, and show how far we are.

    Parameters
    ----------
    results : iterable
    total : int or None
        How many results there will be, where that is known.
    what : str
        What is being done, beside the bar.
    progress : bool or None
        True shows the bar at once, None after two seconds, False never. Without a terminal there is no bar.

    Examples
    --------
    >>> list(watched([1, 2], total=2, what="Counting", progress=None))
    [1, 2]
    """
    if progress is False or not sys.stderr.isatty():
        yield from results
        return
    begun, bar, task = time.monotonic(), None, None
    try:
        for done, result in enumerate(chain([None], results)):
            if bar is None and (progress or time.monotonic() - begun > PATIENCE):
                from rich.console import Console
                from rich.progress import MofNCompleteColumn, Progress

                columns = (*Progress.get_default_columns(), MofNCompleteColumn())
                bar = Progress(*columns, console=Console(file=sys.stderr), transient=True)
                task = bar.add_task(what, total=total)
                bar.start()
            if done:
                yield cast("T", result)
            # Counted when the next is asked for: whatever is done with a result belongs to it.
            if bar is not None and task is not None:
                bar.update(task, completed=done)
    finally:
        if bar is not None:
            bar.stop()

"""Run tasks in their order: here, or on a cluster that may lose workers, or its scheduler."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Any
from uuid import uuid4

from undistract.errors import ClusterError
from undistract.parallel.lazy import dask_part
from undistract.parallel.part import Refused

# Seconds between two looks at whether the scheduler is still there.
POLL = 0.25
RUNNING = "running"
ENDED = ("finished", "error", "cancelled")
# While a worker computes, the next tasks should be waiting for it.
AHEAD = 3


@dataclass(frozen=True, eq=False)
class Task:
    """Some functions that may run side by side, and what joins their results.

    Parameters
    ----------
    calls : sequence of (function, made)
        `made` is what Dask makes before: the arguments of the function.
    join : callable, optional
        Takes the list of results; without it there is one call, and its result is taken.
    what : str
        For messages.
    ready : object, optional
        The result, where it is known already.
    """

    calls: Sequence[tuple[Callable[..., Any], Sequence[Any]]]
    what: str
    join: Callable[[list[Any]], Any] | None = None
    ready: Any = None


@dataclass(frozen=True, eq=False)
class Here:
    """Runs every task in this process."""

    def run(self, tasks: Iterable[Task]) -> Iterator[Any]:
        for task in tasks:
            yield _given(task.ready if task.ready is not None else self._done(task))

    def travels(self, what: Any) -> bool:
        return True

    def _done(self, task: Task) -> Any:
        results = [one.compute(scheduler="synchronous") for one in _delayed(task)]
        return results[0] if task.join is None else task.join(results)


@dataclass(frozen=True, eq=False)
class OnCluster:
    """Runs tasks on the workers of a Dask client.

    Parameters
    ----------
    client : distributed.Client
    retries : int
        How often a task is tried again when it fails, or when workers die of it.
    timeout : float, optional
        Seconds in which the next task must be done.
    """

    client: Any
    retries: int = 3
    timeout: float | None = None
    _threads: list[float] = field(default_factory=list, repr=False)  # how many, and when they were counted

    def run(self, tasks: Iterable[Task]) -> Iterator[Any]:
        """Give results in the order of the tasks; only a window of them is under way at a time."""
        waiting: deque[tuple[Task, _Sent | None]] = deque()
        source = iter(tasks)
        ended = False
        try:
            while True:
                while not ended and self._may_send(waiting):
                    task = next(source, None)
                    if task is None:
                        ended = True
                    else:
                        waiting.append((task, None if task.ready is not None else self._send(task)))
                if not waiting:
                    return
                task, sent = waiting[0]
                found = task.ready if sent is None else self._result(task, sent)
                waiting.popleft()
                yield _given(found)
        finally:
            # After an error or Ctrl-C nobody waits for these any more.
            if self.client.status == RUNNING:
                with suppress(Exception):
                    self.client.cancel([sent.future for _, sent in waiting if sent is not None])

    def travels(self, what: Any) -> bool:
        """Tell whether an object can be sent to a worker."""
        serialize = dask_part("distributed.protocol").serialize
        was = logging.root.manager.disable
        logging.disable(logging.ERROR)  # that it cannot is an answer, and Dask would write a page of tracebacks
        try:
            header, _ = serialize(what)
        finally:
            logging.disable(was)
        return bool(header.get("serializer") != "error")

    def _may_send(self, waiting: deque[tuple[Task, _Sent | None]]) -> bool:
        # What is ready counts as well: it takes memory until those before it are done.
        n_calls = sum(len(task.calls) for task, _ in waiting)
        return len(waiting) < 2 or n_calls < AHEAD * self._n_threads()

    def _n_threads(self) -> float:
        # Workers come and go, but to ask for every task would keep the scheduler from its work.
        if not self._threads or time.monotonic() - self._threads[1] > 1:
            with self._explained():
                self._threads[:] = sum(self.client.nthreads().values()), time.monotonic()
        return self._threads[0]

    def _send(self, task: Task) -> _Sent:
        with self._explained():
            config = dask_part().config
            # Rows that lie here travel with their task, so that they are still there when a worker dies.
            with config.set({"distributed.admin.large-graph-warning-threshold": "64 GiB"}):
                results = [self.client.compute(one, retries=self.retries) for one in _delayed(task)]
            future = results[0]
            if task.join is not None:
                key = f"undistract-join-{uuid4().hex}"
                future = self.client.submit(task.join, results, key=key, pure=False, retries=self.retries)
            return _Sent(future)

    def _result(self, task: Task, sent: _Sent) -> Any:
        for tried in range(self.retries + 1):
            sent = sent if tried == 0 else self._send(task)
            self._wait(task, sent)
            with self._explained():
                if sent.future.status == "finished":
                    return sent.future.result()
                if sent.future.status != "error":
                    raise ClusterError(f"The work on {task.what} was cancelled by somebody else. Run it again.")
                error = sent.future.exception()
            if type(error).__name__ != "KilledWorker":
                raise ClusterError(
                    f"The work on {task.what} failed {self.retries + 1} times, at last with "
                    f"{type(error).__name__}: {error}"
                ) from error
        raise ClusterError(
            f"Workers died again and again over {task.what}. Have they enough memory for a piece of it, with all that "
            "they hold besides? Give them more, or cut the rows into smaller chunks."
        ) from error

    def _wait(self, task: Task, sent: _Sent) -> None:
        began = time.monotonic()
        while not sent.ended():
            self._check_scheduler()
            if self.timeout is not None and time.monotonic() - began > self.timeout:
                with self._explained():
                    n_workers = len(self.client.nthreads())
                raise ClusterError(
                    f"Nothing came back of {task.what} in {self.timeout:g} seconds; the cluster has "
                    f"{n_workers} worker{'' if n_workers == 1 else 's'}. Start some, or allow more time (timeout=)."
                )
        self._check_scheduler()

    def _check_scheduler(self) -> None:
        if self.client.status != RUNNING:
            raise self._gone()

    def _explained(self) -> _Explained:
        return _Explained(self)

    def _gone(self) -> ClusterError:
        address = getattr(self.client.scheduler, "address", None) or "its address"
        return ClusterError(
            f"The scheduler at {address} is gone, and with it what was under way. Start it again and run this again; "
            "with checkpoint=FOLDER only what is missing is computed."
        )


class _Sent:
    """A task under way."""

    def __init__(self, future: Any) -> None:
        self.future = future
        self._told = Event()
        self._listen()

    def ended(self) -> bool:
        """Wait a moment, and tell whether there is a result or an error."""
        told = self._told.wait(POLL)
        if self.future.status in ENDED:
            return True
        if told:  # its worker died with the result: it is being made again
            self._told.clear()
            self._listen()
        return False

    def _listen(self) -> None:
        self.future.add_done_callback(lambda _: self._told.set())


class _Explained:
    """Whatever Dask raises when its scheduler is gone becomes one error that says so."""

    def __init__(self, cluster: OnCluster) -> None:
        self.cluster = cluster

    def __enter__(self) -> None:
        self.cluster._check_scheduler()

    def __exit__(self, kind: Any, error: BaseException | None, where: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, ClusterError):
            # The connection to the workers may break a moment before the client hears of the scheduler.
            deadline = time.monotonic() + 1.0
            while time.monotonic() < deadline:
                if self.cluster.client.status != RUNNING:
                    raise self.cluster._gone() from error
                time.sleep(0.05)


def runner(client: Any, *, retries: int = 3, timeout: float | None = None) -> Here | OnCluster:
    """Return what runs tasks: the client given, else the one that is open in this process, else this process."""
    if client is None and "distributed" in sys.modules:
        with suppress(ValueError):  # there is none
            client = sys.modules["distributed"].default_client()
    return Here() if client is None else OnCluster(client, retries, timeout)


def _delayed(task: Task) -> list[Any]:
    delayed = dask_part().delayed
    return [
        delayed(call, pure=False, traverse=False)(*made, dask_key_name=f"undistract-{uuid4().hex}")
        for call, made in task.calls
    ]


def _given(found: Any) -> Any:
    if isinstance(found, Refused):
        raise found.error
    return found

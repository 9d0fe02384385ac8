"""Run tasks in order, in this process or on a Dask cluster that may lose workers or its scheduler."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any
from uuid import uuid4

from threadpoolctl import threadpool_limits

from undistract._optional import MissingExtraError, import_optional
from undistract._text import pluralize
from undistract.errors import ClusterError, InputError

# Seconds between two checks whether the scheduler is alive.
POLL = 0.25
RUNNING = "running"
ENDED = ("finished", "error", "cancelled")
# Calls per worker thread to send in advance, so that workers do not wait for the next task.
TASKS_PER_THREAD = 3
LOCAL = "local:"
SETTINGS = {
    # Send the next task to a worker before it has finished the current one.
    "distributed.scheduler.worker-saturation": 2.0,
    # By default a worker returns every freed block to the system and faults it in again page by page, and profiles
    # itself a hundred times a second. Without both, 300 000 rows of 256 features took 2.0 s of CPU instead of 3.1 s.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**28,
    "distributed.worker.profile.enabled": False,
}
# Seconds to wait for a connection to a scheduler.
CONNECT_SECONDS = 5

_lock = Lock()
_n_users = 0
_limits: threadpool_limits | None = None


def import_dask(module: str = "dask") -> Any:
    """Import a module of Dask; if it is missing, the error names the extra to install."""
    import_optional("dask", extra="dask", to="Gathering moments on a cluster")
    return import_optional(module, extra="dask", to="Gathering moments on a cluster")


def is_dask(value: Any) -> bool:
    """Return True for a Dask collection."""
    return bool(import_dask("dask.base").is_dask_collection(value))


def is_dask_array(value: Any) -> bool:
    """Return True for a Dask array. A Delayed has every attribute, so look at its class instead."""
    return is_dask(value) and hasattr(type(value), "chunks") and hasattr(type(value), "ndim")


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside this block; safe to nest and to share between threads.

    A worker may run several tasks at a time in different threads, and the limit applies to the process. The first
    task that enters sets it, the last one that leaves restores it.
    """
    global _n_users, _limits
    with _lock:
        _n_users += 1
        if _n_users == 1:
            _limits = threadpool_limits(1)
    try:
        yield
    finally:
        with _lock:
            _n_users -= 1
            if _n_users == 0 and _limits is not None:
                _limits.restore_original_limits()
                _limits = None


@dataclass(frozen=True)
class InputFailure:
    """An input error as a return value, because a retry would not help."""

    error: Exception


def catch_input_errors(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with one BLAS thread; return input errors as a value.

    Examples
    --------
    >>> from undistract._arrays import as_rows
    >>> catch_input_errors(as_rows, [1.0])
    InputFailure(error=InputError('X has shape (1,), expected (rows, features)...
    """
    try:
        with one_thread():
            return function(*arguments)
    except (InputError, MissingExtraError) as error:
        return InputFailure(error)


@contextmanager
def open_cluster(where: Any) -> Iterator[Any]:
    """Connect to a cluster and close everything that was opened for the connection.

    Parameters
    ----------
    where : distributed.Client or str
        A client (it stays open); the address of a scheduler, such as ``"tcp://10.0.0.1:8786"``; or ``"local:4"`` for
        four worker processes on this machine, each with one thread, which are stopped at the end of the block.

    Yields
    ------
    distributed.Client

    Examples
    --------
    >>> with open_cluster("local:no"):
    ...     pass
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: The cluster is 'local:no'; expected a number of processes after local:...
    """
    distributed = import_optional("distributed", extra="dask", to="Using a cluster")
    if not isinstance(where, str):
        yield where
        return
    if where.startswith(LOCAL):
        count = where.removeprefix(LOCAL)
        if not count.isdecimal() or int(count) < 1:
            raise InputError(f"The cluster is {where!r}; expected a number of processes after local:, such as local:2.")
        with (
            import_dask().config.set(SETTINGS),
            distributed.LocalCluster(
                n_workers=int(count), threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
            ) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            yield client
        return
    try:
        client = distributed.Client(where, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"There is no scheduler at {where} ({str(error).splitlines()[0]}). Start one with: dask scheduler; then "
            "pass its address, such as tcp://10.0.0.1:8786, or local:2 for two processes on this machine."
        ) from error
    with client:
        yield client


@dataclass(frozen=True, eq=False)
class Task:
    """Function calls that may run in parallel, and a function that joins their results.

    Parameters
    ----------
    calls : sequence of (function, arguments)
        Arguments that are Dask collections are computed first.
    join : callable, optional
        Called with the list of results. Without it there is one call, and its result is used.
    what : str
        Description for messages.
    ready : object, optional
        The result, if it is already known (from a checkpoint).
    """

    calls: Sequence[tuple[Callable[..., Any], Sequence[Any]]]
    what: str
    join: Callable[[list[Any]], Any] | None = None
    ready: Any = None


@dataclass(frozen=True, eq=False)
class LocalRunner:
    """Runs tasks in this process."""

    def run(self, tasks: Iterable[Task]) -> Iterator[Any]:
        for task in tasks:
            result = task.ready
            if result is None:
                results = [call.compute(scheduler="synchronous") for call in _delayed(task)]
                result = results[0] if task.join is None else task.join(results)
            yield _unwrap(result)

    def is_picklable(self, value: Any) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class DaskRunner:
    """Runs tasks on the workers of a Dask client.

    Parameters
    ----------
    client : distributed.Client
    retries : int
        Number of retries if a task fails or its worker dies.
    timeout : float, optional
        Maximum seconds to wait for the next result.
    """

    client: Any
    retries: int = 3
    timeout: float | None = None
    _threads: list[float] = field(default_factory=list, repr=False)  # number of worker threads, time of counting

    def run(self, tasks: Iterable[Task]) -> Iterator[Any]:
        """Yield results in the order of the tasks; only a limited number of tasks is submitted at a time."""
        waiting: deque[tuple[Task, Any]] = deque()
        source = iter(tasks)
        ended = False
        try:
            while True:
                while not ended and self._may_send(waiting):
                    task = next(source, None)
                    if task is None:
                        ended = True
                    else:
                        waiting.append((task, self._send(task) if task.ready is None else None))
                if not waiting:
                    return
                task, future = waiting[0]
                result = task.ready if future is None else self._result(task, future)
                waiting.popleft()
                # After Ctrl-C a traceback keeps this frame, and a future in it would keep its result on a worker.
                del future
                yield _unwrap(result)
        finally:
            # After an error or Ctrl-C, cancel the tasks that are still running.
            if self.client.status == RUNNING:
                with suppress(Exception):
                    self.client.cancel([future for _, future in waiting if future is not None])

    def is_picklable(self, value: Any) -> bool:
        """Return True if the object can be sent to a worker."""
        serialize = import_dask("distributed.protocol").serialize
        level = logging.root.manager.disable
        logging.disable(logging.ERROR)  # failure is an expected result here, but Dask would log long tracebacks
        try:
            header, _ = serialize(value)
        finally:
            logging.disable(level)
        return bool(header.get("serializer") != "error")

    def _may_send(self, waiting: deque[tuple[Task, Any]]) -> bool:
        # Count results from checkpoints too: they use memory until all tasks before them are done.
        n_calls = sum(len(task.calls) for task, _ in waiting)
        return len(waiting) < 2 or n_calls < TASKS_PER_THREAD * self._n_threads()

    def _n_threads(self) -> float:
        # The number of workers changes, but a request per task would slow the scheduler down.
        if not self._threads or time.monotonic() - self._threads[1] > 1:
            with self._translate_errors():
                n_threads = sum(self.client.nthreads().values())
                self._threads[:] = [n_threads, time.monotonic()]
        return self._threads[0]

    def _send(self, task: Task) -> Any:
        with self._translate_errors():
            config = import_dask().config
            # Rows in memory are embedded in their task, so that they survive the death of a worker.
            with config.set({"distributed.admin.large-graph-warning-threshold": "64 GiB"}):
                results = [self.client.compute(call, retries=self.retries) for call in _delayed(task)]
            future = results[0]
            if task.join is not None:
                key = f"undistract-join-{uuid4().hex}"
                future = self.client.submit(task.join, results, key=key, pure=False, retries=self.retries)
            return future

    def _result(self, task: Task, future: Any) -> Any:
        for attempt in range(self.retries + 1):
            if attempt > 0:
                future = self._send(task)
            self._wait(task, future)
            with self._translate_errors():
                if future.status == "finished":
                    return future.result()
                if future.status != "error":
                    raise ClusterError(f"The work on {task.what} was cancelled by another program. Run it again.")
                error = future.exception()
            if type(error).__name__ != "KilledWorker":
                raise ClusterError(
                    f"The work on {task.what} failed {self.retries + 1} times, at last with "
                    f"{type(error).__name__}: {error}"
                ) from error
        raise ClusterError(
            f"Workers died repeatedly over {task.what}, probably for lack of memory. "
            "Give them more memory, or use smaller chunks of rows."
        ) from error

    def _wait(self, task: Task, future: Any) -> None:
        """Wait for a result or an error; a dead scheduler is noticed within POLL seconds."""
        start = time.monotonic()
        # Not `future.exception(timeout=POLL)`: the traceback of its TimeoutError keeps the future and its result alive.
        done = Event()
        future.add_done_callback(lambda _: done.set())
        while future.status not in ENDED:
            if done.wait(POLL) and future.status not in ENDED:
                # The worker died with the result, which is computed again.
                done.clear()
                future.add_done_callback(lambda _: done.set())
            self._check_scheduler()
            if self.timeout is not None and time.monotonic() - start > self.timeout:
                with self._translate_errors():
                    n_workers = len(self.client.nthreads())
                raise ClusterError(
                    f"No result for {task.what} within {self.timeout:g} seconds; the cluster has "
                    f"{pluralize(n_workers, 'worker')}. Start workers, or allow more time (timeout=)."
                )
        self._check_scheduler()

    def _check_scheduler(self) -> None:
        if self.client.status != RUNNING:
            raise self._gone()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn any error that Dask raises after the loss of its scheduler into one `ClusterError`."""
        self._check_scheduler()
        try:
            yield
        except ClusterError:
            raise
        except Exception as error:
            # The connection to the workers may break a moment before the client notices the loss of the scheduler.
            deadline = time.monotonic() + 1.0
            while time.monotonic() < deadline:
                if self.client.status != RUNNING:
                    raise self._gone() from error
                time.sleep(0.05)
            raise

    def _gone(self) -> ClusterError:
        address = getattr(self.client.scheduler, "address", None) or "its address"
        return ClusterError(
            f"The scheduler at {address} is gone, and the results of running tasks are lost. Start it and run "
            "this again; with checkpoint=FOLDER only missing results are computed."
        )


def runner(client: Any, *, retries: int = 3, timeout: float | None = None) -> LocalRunner | DaskRunner:
    """Return a runner for the given client, for the open client of this process, or for this process itself."""
    if client is None and "distributed" in sys.modules:
        with suppress(ValueError):  # no client is open
            client = sys.modules["distributed"].default_client()
    if client is None:
        return LocalRunner()
    return DaskRunner(client, retries, timeout)


def _delayed(task: Task) -> list[Any]:
    delayed = import_dask().delayed
    return [
        delayed(function, pure=False, traverse=False)(*arguments, dask_key_name=f"undistract-{uuid4().hex}")
        for function, arguments in task.calls
    ]


def _unwrap(result: Any) -> Any:
    if isinstance(result, InputFailure):
        raise result.error
    return result

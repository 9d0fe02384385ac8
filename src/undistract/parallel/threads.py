"""One BLAS thread in each task: several tasks share a machine, and the order of a sum must not depend on threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from threadpoolctl import threadpool_limits

_lock = Lock()
_inside = 0
_limits: threadpool_limits | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS use one thread while anybody is inside.

    A worker may run several tasks at a time, each in a thread of its own, and the limit holds for the whole process: it
    is set by the first that comes in, and lifted by the last that leaves.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    global _inside, _limits
    with _lock:
        _inside += 1
        if _inside == 1:
            _limits = threadpool_limits(1)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _limits is not None:
                _limits.restore_original_limits()
                _limits = None

"""Where the workers are: a client, the address of a scheduler, or processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from undistract.errors import ClusterError, InputError
from undistract.extras import need
from undistract.parallel.lazy import dask_part

LOCAL = "local:"
SETTINGS = {
    # The next leaf waits at its worker, and not for the scheduler.
    "distributed.scheduler.worker-saturation": 2.0,
    # By default a worker gives every freed block back to the system and gets it again page by page, and looks a hundred
    # times a second at what it does. Without both, 300 000 rows of 256 features took 2.0 s of CPU instead of 3.1 s.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**28,
    "distributed.worker.profile.enabled": False,
}
# Seconds in which a scheduler must answer.
PATIENCE = 5


@contextmanager
def opened_cluster(where: Any) -> Iterator[Any]:
    """Connect to a cluster, and close again what was opened for it.

    Parameters
    ----------
    where : distributed.Client or str
        A client, which stays open; the address of a scheduler, such as ``"tcp://10.0.0.1:8786"``; or ``"local:4"`` for
        four worker processes on this machine, each with one thread, that end with the block.

    Yields
    ------
    distributed.Client

    Examples
    --------
    >>> with opened_cluster("local:no"):
    ...     pass
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: The cluster is 'local:no'; expected a number of processes after local:...
    """
    distributed = need("distributed", extra="dask", to="Using a cluster")
    if not isinstance(where, str):
        yield where
        return
    if where.startswith(LOCAL):
        count = where.removeprefix(LOCAL)
        if not count.isdecimal() or int(count) < 1:
            raise InputError(f"The cluster is {where!r}; expected a number of processes after local:, such as local:2.")
        with (
            dask_part().config.set(SETTINGS),
            distributed.LocalCluster(
                n_workers=int(count), threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
            ) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            yield client
        return
    try:
        client = distributed.Client(where, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"There is no scheduler at {where} ({str(error).splitlines()[0]}). Start one with: dask scheduler; then "
            "give its address, such as tcp://10.0.0.1:8786, or local:2 for two processes on this machine."
        ) from error
    with client:
        yield client

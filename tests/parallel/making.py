"""Functions that run on workers: make rows, fail, kill processes."""

import os
import signal
import time
from pathlib import Path

import numpy as np


def rows_of(seed, n_rows=120, n_features=6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_features)) @ rng.normal(size=(n_features, n_features)) + 5 * rng.normal(size=6)


def named_rows(n_groups, n_rows=120):
    return {f"set {number}": rows_of(number, n_rows + 7 * number) for number in range(n_groups)}


def dying(marker, *arguments):
    """Kill the worker at the first call; return rows at later calls."""
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return rows_of(*arguments)


def killing(pid, marker, *arguments):
    """Kill another process and record the time."""
    Path(marker).write_text(repr(time.time()))
    os.kill(pid, signal.SIGKILL)
    return rows_of(*arguments)


def failing(marker, times, *arguments):
    """Fail `times` times, then return rows."""
    n_failures = Path(marker).stat().st_size if Path(marker).exists() else 0
    if n_failures < times:
        with Path(marker).open("ab") as file:
            file.write(b"x")
        raise OSError("the network drive is asleep")
    return rows_of(*arguments)


def sleeping(seconds):
    time.sleep(seconds)
    return rows_of(0)


def bits(moments):
    """Return the content of moments as bytes, for comparison bit by bit."""
    noise = moments.mean_noise(np.eye(moments.n_features))
    arrays = (moments.counts, moments.weights, moments.mean, moments.within, moments.between, *noise)
    return moments.names, type(moments.store).__name__, tuple(array.tobytes() for array in arrays)

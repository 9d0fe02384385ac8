"""One competitor alone in a fresh process: its peak of memory, and whether it ends in time.

    python -m benchmarks.speed.alone '{"case": {"name": "C", ...}, "peer": "Focus", "seconds": 60}'

A tiny case is learned first so that every library is loaded, and the rows are drawn. Then free memory goes back to the
system and the high-water mark of the process is set back (Linux; elsewhere what drawing took is missing from the peak).
It is read after one run, and counts whole pages that were touched, not memory that was allocated and never used. BLAS
uses some MB itself. dsyrk is timed afterwards, so that there is a ratio in any case.
"""

from __future__ import annotations

import ctypes
import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.speed.cases import TINY, Case, sample
from benchmarks.speed.clock import time_interleaved
from benchmarks.speed.peers import FLOOR, OURS, PEERS
from undistract import Focus
from undistract._arrays import Floats

ROOT = Path(__file__).parents[2]
STREAMED = "Focus, streamed"


class Alone(NamedTuple):
    """What one process found."""

    seconds: float  # of CPU
    floor: float  # of dsyrk in the same process
    peak: float  # MB in addition to the rows
    note: str  # why there is no answer, or what is wrong with it
    compiled: bool  # whether numba was loaded


def alone(case: Case, peer: str, most_seconds: float) -> Alone:
    """Run a competitor in a separate process, and stop it after a number of CPU seconds."""
    request = json.dumps({"case": asdict(case), "peer": peer, "seconds": most_seconds})
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.alone", request],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode == 0:
        return Alone(*json.loads(told.stdout.splitlines()[-1]))
    out_of_time = told.returncode == -signal.SIGPROF
    words = f"> {most_seconds:.0f} s" if out_of_time else (told.stderr.strip().splitlines() or ["was killed"])[-1]
    return Alone(np.nan, np.nan, np.nan, words, False)


def streamed(case: Case) -> Focus:
    """Learn from a generator of groups: one block of rows, moved for each group, so that drawing is cheap."""
    n_rows = case.n_rows // case.n_groups
    block = sample(Case("block", n_rows, case.n_features, 1)).X
    moves = np.random.default_rng(0)

    def groups() -> Iterator[Floats]:
        for _ in range(case.n_groups):
            yield block + moves.normal(size=case.n_features)

    return Focus().fit_groups(groups())


def _run(case: Case, name: str, most_seconds: float) -> Alone:
    peer, data = PEERS.get(name), None
    (peer or OURS).learn(sample(TINY))
    if peer is not None:
        data = sample(case)
    mark = _set_back()
    begun = time.process_time()
    _limit(most_seconds)
    try:
        found = streamed(case).distraction_ if peer is None else peer.learned(peer.learn(data))
    except (MemoryError, np.linalg.LinAlgError, ValueError) as error:
        return Alone(np.nan, np.nan, np.nan, f"fails: {str(error).splitlines()[0]:.80}", False)
    seconds, peak = time.process_time() - begun, _high_water() - mark
    note = "" if np.isfinite(found).all() else "its answer is not finite"
    _limit(None)
    floor = np.nan if data is None else time_interleaved({FLOOR.name: lambda: FLOOR.learn(data)}, 2)[FLOOR.name].seconds
    return Alone(seconds, floor, peak, note, "numba" in sys.modules)


def _limit(seconds: float | None) -> None:
    """End this process after this CPU time from now on; never, with None. The signal is not handled."""
    signal.setitimer(signal.ITIMER_PROF, 0.0 if seconds is None else max(seconds, 1e-3))


def _set_back() -> float:
    """Set the high-water mark back to what is held now, where the system can, and return it."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)  # what drawing the rows left behind goes back to the system
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _high_water()


def _high_water() -> float:
    """Most memory that this process held, in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        # On Linux ru_maxrss also remembers the process that started this one; the mark of its own memory does not.
        lines = status.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024e-6
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes * (1e-6 if sys.platform == "darwin" else 1024e-6)


def main() -> None:
    request = json.loads(sys.argv[1])
    with threadpool_limits(1), np.errstate(all="ignore"):
        found = _run(Case(**request["case"]), request["peer"], request["seconds"])
    print(json.dumps(found))


if __name__ == "__main__":
    main()

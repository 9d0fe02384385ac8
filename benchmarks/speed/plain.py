"""Our fit without compiled code, against dsyrk, in a separate process: numba is chosen when a process starts.

UNDISTRACT_NUMBA=0 python -m benchmarks.speed.plain '{"case": {...}, "rounds": 3}'
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.speed.cases import TINY, Case, sample
from benchmarks.speed.clock import Timed, time_interleaved
from benchmarks.speed.peers import FLOOR, OURS


def without_numba(case: Case, rounds: int) -> dict[str, Timed]:
    """Time dsyrk and our fit, interleaved, with numba turned off."""
    request = json.dumps({"case": asdict(case), "rounds": rounds})
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.plain", request],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"UNDISTRACT_NUMBA": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    return {name: Timed(*one) for name, one in json.loads(told.stdout.splitlines()[-1]).items()}


def main() -> None:
    request = json.loads(sys.argv[1])
    OURS.learn(sample(TINY))
    data = sample(Case(**request["case"]))
    runs = {peer.name: lambda peer=peer: peer.learn(data) for peer in (FLOOR, OURS)}
    print(json.dumps(time_interleaved(runs, request["rounds"])))


if __name__ == "__main__":
    main()

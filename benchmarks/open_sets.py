"""How much memory open sets take, and closed ones: `python benchmarks/open_sets.py`.

Each line is a process of its own, so that the highest mark of one does not hide that of another.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import numpy as np


def measure(n_sets: int, n_features: int, close: bool) -> str:
    """Feed sets in two pieces each, and say how many megabytes that took."""
    from resource import RUSAGE_SELF, getrusage

    from undistract import Focus

    rng, focus = np.random.default_rng(0), Focus()
    before = getrusage(RUSAGE_SELF).ru_maxrss
    for number in range(n_sets):
        for _ in range(2):
            focus.partial_fit(rng.normal(size=(200, n_features)) + number, sets=[number] * 200)
        if close:
            focus.close_sets()
    took = (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024
    focus.describe()
    solved = (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024
    how = "closed one by one" if close else "open"
    return f"{n_sets} sets of {n_features} features, {how}: {took:.0f} MB, {solved:.0f} MB when asked"


def main() -> None:
    """Print four lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--one", nargs=2, metavar=("SETS", "CLOSE"), help="only this, here")
    asked = parser.parse_args()
    if asked.one:
        print(measure(int(asked.one[0]), asked.features, asked.one[1] == "True"))
        return
    for close in (False, True):
        for n_sets in (100, 1000):
            line = [sys.executable, __file__, "--features", str(asked.features), "--one", str(n_sets), str(close)]
            subprocess.run(line, check=True)


if __name__ == "__main__":
    main()

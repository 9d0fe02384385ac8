"""How much memory open groups take, and closed ones: `python benchmarks/open_groups.py`.

Each line is a separate process, so that the highest mark of one does not hide that of another.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import numpy as np


def measure(n_groups: int, n_features: int, close: bool) -> str:
    """Feed groups in two pieces each, and return how many megabytes that took."""
    from resource import RUSAGE_SELF, getrusage

    from undistract import Focus

    rng, focus = np.random.default_rng(0), Focus()
    before = getrusage(RUSAGE_SELF).ru_maxrss
    for number in range(n_groups):
        for _ in range(2):
            focus.partial_fit(rng.normal(size=(200, n_features)) + number, groups=[number] * 200)
        if close:
            focus.close_groups()
    took = (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024
    focus.summary()
    solved = (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024
    how = "closed one by one" if close else "open"
    return f"{n_groups} groups of {n_features} features, {how}: {took:.0f} MB, {solved:.0f} MB when arguments"


def main() -> None:
    """Print four lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--one", nargs=2, metavar=("SETS", "CLOSE"), help="only this, here")
    arguments = parser.parse_args()
    if arguments.one:
        print(measure(int(arguments.one[0]), arguments.features, arguments.one[1] == "True"))
        return
    for close in (False, True):
        for n_groups in (100, 1000):
            line = [sys.executable, __file__, "--features", str(arguments.features), "--one", str(n_groups), str(close)]
            subprocess.run(line, check=True)


if __name__ == "__main__":
    main()

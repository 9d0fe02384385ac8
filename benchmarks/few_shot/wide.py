"""What a few_shot costs where few rows of many features teach: solved among the rows, and with matrices of d × d.

    OMP_NUM_THREADS=1 python -m benchmarks.few_shot.wide --features 4000

Time is taken first, then memory in addition to the rows in a separate, slower run. Matrices are left out beyond
`--most` features: at 20 000 each takes 3.2 GB.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc

import numpy as np

from undistract import Moments
from undistract.few_shot import Likelihood, _Solved

SETS, ROWS = 30, 10


def measured(moments: Moments) -> tuple[float, float]:
    """Solve, and return the seconds and the MB that it took."""
    begun = time.perf_counter()
    _Solved.of(moments)
    seconds = time.perf_counter() - begun
    tracemalloc.start()
    _Solved.of(moments)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, peak


def main() -> None:
    """Compare both solvers at each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, nargs="+", default=[1000, 4000, 20_000])
    parser.add_argument("--most", type=int, default=4000)
    options = parser.parse_args()
    for n_features in options.features:
        rng = np.random.default_rng(0)
        scale = np.linspace(0.1, 3, n_features)
        moments = Moments.of(
            rng.normal(size=n_features) + rng.normal(size=(ROWS, n_features)) * scale for _ in range(SETS)
        )
        examples = moments.mean + rng.normal(size=(14, n_features))
        solvers = {"among the rows": moments}
        if n_features <= options.most:
            solvers["with matrices"] = moments.without_rows()
        answers = []
        for name, one in solvers.items():
            seconds, peak = measured(one)
            print(f"{SETS * ROWS} rows of {n_features} features, {name}: {seconds:.2f} s, {peak:.0f} MB", flush=True)
            answers.append(Likelihood.of(one, between_ridge=0.03, within_ridge=0.3)(examples, examples))
        if len(answers) == 2:
            apart = np.abs(answers[0] - answers[1]).max() / np.abs(answers[1]).max()
            print(f"  their answers differ by {apart:.0e} of the largest")


if __name__ == "__main__":
    main()

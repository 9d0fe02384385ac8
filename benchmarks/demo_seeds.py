"""The demo on many seeds: the picture shows one, this table shows that it is no exception.

python benchmarks/demo_seeds.py
"""

import warnings

import numpy as np

from undistract import EvidenceWarning, Focus
from undistract.datasets import make_illuminated_digits
from undistract.demo import NEIGHBOURS, compare, run_demo

KINDS = ("raw", "focus", "clean")


def weaker(amplitude, seed):
    digits = make_illuminated_digits(amplitude=amplitude, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        focus = Focus().fit_groups(digits.training)
    return compare(NEIGHBOURS, digits, focus), focus.n_removed_


def main():
    runs = [run_demo(seed) for seed in range(11)]
    print("average precision, mean (worst) over seeds 0 to 10      as it is   with FOCUS  no light fallen")
    for place, first in enumerate(runs[0].comparisons):
        compared = [run.comparisons[place] for run in runs]
        cells = []
        for kind in KINDS:
            found = np.array([getattr(one, kind).average_precision for one in compared])
            cells.append(f"{found.mean():.2f} ({found.min():.2f})")
        print(f"{first.detector:52s} {cells[0]:>11s} {cells[1]:>12s} {cells[2]:>16s}")
    print("directions removed:", sorted({run.focus.n_removed_ for run in runs}))
    print("\nother amplitudes of light, 10 nearest neighbours, mean over seeds 0 to 4")
    for amplitude in (0.25, 0.35, 0.5, 1.0):
        found = [weaker(amplitude, seed) for seed in range(5)]
        raw, after, clean = (np.mean([getattr(one, kind).average_precision for one, _ in found]) for kind in KINDS)
        removed = sorted({count for _, count in found})
        print(f"{amplitude:4.2f}: {raw:.2f} as it is, {after:.2f} with FOCUS, {clean:.2f} clean; removed {removed}")


if __name__ == "__main__":
    main()

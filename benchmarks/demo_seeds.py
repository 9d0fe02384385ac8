"""The demo on many seeds: the picture shows one, this table shows that it is no exception.

python benchmarks/demo_seeds.py
"""

import numpy as np

from undistract.demo import run_demo


def main():
    runs = [run_demo(seed) for seed in range(11)]
    print("average precision, mean (worst) over seeds 0 to 10      as it is   with FOCUS  no light fallen")
    for place, first in enumerate(runs[0].comparisons):
        compared = [run.comparisons[place] for run in runs]
        cells = []
        for kind in ("raw", "focus", "clean"):
            found = np.array([getattr(one, kind).average_precision for one in compared])
            cells.append(f"{found.mean():.2f} ({found.min():.2f})")
        print(f"{first.detector:52s} {cells[0]:>11s} {cells[1]:>12s} {cells[2]:>16s}")
    print("directions removed:", sorted({run.focus.n_removed_ for run in runs}))


if __name__ == "__main__":
    main()

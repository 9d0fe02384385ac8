"""Is the light found? How many directions go by themselves on the illuminated silhouettes, and how far from the light.

    python -m benchmarks.light_found [--seeds 5]

The trials are those that the quality benchmark reports: outlines of the test classes teach nothing. The angle is the
larger one between the two true gradients and the two leading patterns.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.linalg import subspace_angles

from benchmarks.quality.table import short
from benchmarks.quality.trials import trials
from undistract import Focus


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    wanted = parser.parse_args()
    found: dict[str, list[tuple[int, float, float]]] = {}
    last = None
    for trial in trials("silhouettes", "report", wanted.seeds):
        if trial.halves is last:  # the other tests of the same training
            continue
        last = trial.halves
        focus = Focus().fit_moments(trial.moments)
        assert trial.gradients is not None
        angle = np.degrees(subspace_angles(focus.patterns_[:, :2], trial.gradients.T)).max()
        found.setdefault(trial.task.split()[1], []).append((focus.n_removed_, float(angle), focus.distraction_[1]))
    print("| amplitude | directions removed | largest angle to the light | least λ of the two |")
    print("| --- | --- | --- | --- |")
    for amplitude, rows in found.items():
        counts, angles, least = zip(*rows, strict=True)
        print(f"| {amplitude} | {', '.join(map(str, counts))} | {max(angles):.1f}° | {short(min(least))} |")


if __name__ == "__main__":
    main()

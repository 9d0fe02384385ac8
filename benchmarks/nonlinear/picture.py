"""Draw docs/images/kernel.png: the ring, what linear FOCUS keeps of it, and what kernel FOCUS keeps.

python -m benchmarks.nonlinear.picture
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

from benchmarks.nonlinear.tasks import task
from undistract import Focus, KernelFocus

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "kernel.png"
SEED = 100  # of the part for choosing


def main() -> None:
    one = task("ring", SEED, "choose")
    test = one.tests[0]
    linear, kernel = Focus().fit(one.rows, groups=one.groups), KernelFocus().fit(one.rows, groups=one.groups)
    shown = {
        "Rows of an unseen ring": test.rows,
        f"Linear FOCUS removes {linear.n_removed_} of {test.rows.shape[1]} directions": linear.transform(test.rows),
        f"Kernel FOCUS removes {kernel.n_removed_} of {kernel.map_.n_out}": kernel.transform(test.rows),
    }
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
    for axis, (title, rows) in zip(axes, shown.items(), strict=True):
        # The two directions in which rows spread most.
        x, y = PCA(2, svd_solver="full").fit_transform(rows).T
        for strange, colour, name in ((False, "#8aa0b4", "usual radius"), (True, "#c8452f", "another radius")):
            some = test.truth == strange
            axis.scatter(x[some], y[some], s=14, color=colour, label=name, linewidths=0)
        axis.set_title(title, fontsize=10)
        axis.set_aspect("equal", adjustable="datalim")
        axis.tick_params(labelsize=7)
    axes[0].legend(fontsize=8, frameon=False)
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()

"""Section 3.1.1: on the same example, PCA fails in two ways."""

from __future__ import annotations

import numpy as np

from paper.analytic_example import SEEDS
from paper.common import number, publish
from undistract import Moments
from undistract._arrays import Floats
from undistract.datasets.synthetic import analytic_example, mix_features

FEATURES = ("descriptive", "distracting", "constant")


def eigenvalues(matrix: str, mixing: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the eigenvalues of "within" or "total", and which feature each eigenvector reads most, (seed, 3) each."""
    values, read = np.zeros((len(SEEDS), 3)), np.zeros((len(SEEDS), 3), dtype=int)
    for seed in SEEDS:
        groups = analytic_example(seed=seed)
        moments = Moments.of(groups if mixing is None else mix_features(groups, mixing))
        ascending, vectors = np.linalg.eigh(getattr(moments, matrix))
        values[seed] = ascending[::-1]
        # A turned copy is turned back, so that the question stays the same: which feature does it read?
        plain = vectors if mixing is None else mixing.T @ vectors
        read[seed] = np.abs(plain[:, ::-1]).argmax(axis=0)
    return values, read


def measures() -> dict[str, float | list[float]]:
    """Measure the claims of the section."""
    within, read_within = eigenvalues("within")
    total, read_total = eigenvalues("total")
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turned_within, turned_total = eigenvalues("within", rotation)[1], eigenvalues("total", rotation)[1]
    return {
        "within": within.mean(axis=0).tolist(),
        "total": total.mean(axis=0).tolist(),
        "total_from_to": [total[:, 0].min(), total[:, 0].max()],
        "within_removes_the_descriptive_first": float(np.mean(read_within[:, 0] == 0)),
        "total_removes_the_constant_first": float(np.mean(read_total[:, -1] == 2)),
        "the_same_when_turned": [float(np.mean(turned_within[:, 0] == 0)), float(np.mean(turned_total[:, -1] == 2))],
    }


def tables() -> None:
    """Print the table, and put it into the README."""
    found = measures()
    low, high = np.ravel(found["total_from_to"])
    rows = []
    for matrix, printed, what in (
        ("within", "4, .9, 0", "drop the top: the descriptive feature goes first"),
        ("total", "80, 1, 0", "drop the bottom: the constant feature goes first"),
    ):
        values = ", ".join(number(value, 2) for value in np.ravel(found[matrix]))
        share = found[f"{matrix}_removes_the_{what.split('the ')[2].split()[0]}_first"]
        rows.append([f"C {matrix}", printed, values, what, f"{share:.0%} of 200 draws"])
    publish(
        "pca", ["matrix", "eigenvalues in the paper", "mean of 200 draws", "what PCA would remove", "how often"], rows
    )
    print(f"the largest eigenvalue of total: from {low:.1f} to {high:.1f}")


if __name__ == "__main__":
    tables()

"""How many groups does it take? The same experiment with more and more of its training groups, chosen at random.

    python -m benchmarks.how_many_groups [--data DIR] [--draws 5]

Digits (64 pixels) come with scikit-learn; silhouettes (784 pixels) are those of the paper's experiment and are left out
where the images are not found. A draw is another seed of the experiment and another choice of its groups.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from undistract import EvidenceWarning, Focus, InputError, NearestDetector
from undistract.datasets import make_illuminated_digits, make_illuminated_silhouettes
from undistract.detect import quality

COUNTS = {"digits": (2, 4, 8, 16, 32, 64), "silhouettes": (4, 16, 64, 256, 960)}


def precision(rows, truth):
    return quality(NearestDetector(n_neighbors=10).fit(rows).scores_, truth).average_precision


def with_groups(experiment, count, rng):
    """Directions removed, how much of the light and of the clean images they hold, and average precision after it."""
    chosen = rng.choice(len(experiment.training), min(count, len(experiment.training)), replace=False)
    focus = Focus().fit_groups([experiment.training[one] for one in chosen])
    shares = []
    for moved in (experiment.gradients, experiment.clean - experiment.clean.mean(axis=0)):
        lengths = (moved**2).sum(axis=1)
        shares.append(focus.projection_.ignored_share(moved) @ lengths / lengths.sum() if focus.n_removed_ else 0.0)
    return focus.n_removed_, *shares, precision(focus.transform(experiment.test), experiment.is_anomaly)


def table(name, make, draws):
    experiments = [make(seed) for seed in range(draws)]
    raw, clean = (
        np.mean([precision(getattr(one, rows), one.is_anomaly) for one in experiments]) for rows in ("test", "clean")
    )
    print(f"\n{name}, {experiments[0].test.shape[1]} features: raw {raw:.2f}, without any light {clean:.2f}\n")
    print("| groups | directions removed | of the light | of the images | average precision, mean (worst) |")
    print("| --- | --- | --- | --- | --- |")
    for count in COUNTS[name]:
        found = [with_groups(one, count, np.random.default_rng([seed, count])) for seed, one in enumerate(experiments)]
        removed, light, images, after = map(np.array, zip(*found, strict=True))
        print(f"| {count} | {removed.min()} to {removed.max()} | {light.mean():.0%} | {images.mean():.0%} ", end="")
        print(f"| {after.mean():.2f} ({after.min():.2f}) |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="the folder with the silhouettes")
    parser.add_argument("--draws", type=int, default=5)
    wanted = parser.parse_args()
    warnings.simplefilter("ignore", EvidenceWarning)
    table("digits", lambda seed: make_illuminated_digits(seed=seed), wanted.draws)
    try:
        make_illuminated_silhouettes(data=wanted.data)
    except (InputError, ImportError, OSError) as error:
        print(f"\nNo silhouettes: {error}")
    else:
        left_out = ["Faces 3"]
        table(
            "silhouettes",
            lambda seed: make_illuminated_silhouettes(data=wanted.data, leave_out=left_out, seed=seed),
            wanted.draws,
        )


if __name__ == "__main__":
    main()

"""A process that learns with a checkpoint and prints a line for every chunk it reads, so that it can be killed there.

python -m tests.campaigns.checkpoint_learner FOLDER CHECKPOINT MODEL [--without-rows]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

from undistract import FeatureSet, learn
from undistract.workflow import checkpoints

CHUNK = 1000


def sets_of(folder: Path, told=None) -> list[FeatureSet]:
    """Each file is a set; some are a single chunk, some are many, and one in three is float32."""

    def reading(path: Path) -> FeatureSet:
        def read():
            rows = np.load(path, mmap_mode="r")
            for start in range(0, len(rows), CHUNK):
                if told is not None:
                    told(path.name)
                yield rows[start : start + CHUNK]

        return FeatureSet.reading(path.name, read, source=str(path))

    return [reading(path) for path in sorted(folder.glob("*.npy"))]


def write_sets(folder: Path, seed: int = 0) -> None:
    """Write the files: short sets between long ones."""
    rng = np.random.default_rng(seed)
    for number, n_rows in enumerate([40, 30000, 60, 50, 30, 45000, 7, 90, 20000, 80, 3000, 200]):
        rows = rng.normal(size=12) + rng.normal(size=(n_rows, 12)) * [20, *[1] * 11]
        np.save(folder / f"set{number:02}.npy", rows.astype(np.float32) if number % 3 == 0 else rows)


def main(folder: str, checkpoint: str, model: str, *more: str) -> None:
    """Learn, and save the model; what is left of the checkpoint is for the caller to look at."""
    warnings.simplefilter("ignore")
    checkpoints.SECONDS = 0.0  # write at every chance
    sets = sets_of(Path(folder), lambda name: print(name, flush=True))
    learn(sets, n_known=200, keep_rows="--without-rows" not in more, checkpoint=checkpoint).save(model)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Learn with a checkpoint and print a line for every chunk, so that the process can be killed at that point.

python -m tests.campaigns.checkpoint_learner FOLDER CHECKPOINT MODEL [--without-rows]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

from undistract import Source, learn
from undistract.pipeline import training as checkpoints

CHUNK = 1000


def sources_of(folder: Path, report=None) -> list[Source]:
    """Return one source per file; some have one chunk, some have many, and one in three is float32."""

    def reading(path: Path) -> Source:
        def read():
            rows = np.load(path, mmap_mode="r")
            for start in range(0, len(rows), CHUNK):
                if report is not None:
                    report(path.name)
                yield rows[start : start + CHUNK]

        return Source.from_reader(path.name, read, origin=str(path))

    return [reading(path) for path in sorted(folder.glob("*.npy"))]


def write_groups(folder: Path, seed: int = 0) -> None:
    """Write the files: short groups between long ones."""
    rng = np.random.default_rng(seed)
    for number, n_rows in enumerate([40, 30000, 60, 50, 30, 45000, 7, 90, 20000, 80, 3000, 200]):
        rows = rng.normal(size=12) + rng.normal(size=(n_rows, 12)) * [20, *[1] * 11]
        np.save(folder / f"set{number:02}.npy", rows.astype(np.float32) if number % 3 == 0 else rows)


def main(folder: str, checkpoint: str, model: str, *more: str) -> None:
    """Learn and save the model; the caller checks the checkpoint."""
    warnings.simplefilter("ignore")
    checkpoints.CHECKPOINT_SECONDS = 0.0  # write as often as possible
    groups = sources_of(Path(folder), lambda name: print(name, flush=True))
    learn(groups, n_known=200, keep_rows="--without-rows" not in more, checkpoint=checkpoint).save(model)


if __name__ == "__main__":
    main(*sys.argv[1:])

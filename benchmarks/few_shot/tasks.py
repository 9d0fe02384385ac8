"""The tasks: groups of some classes teach, other classes are recognised from a few examples each.

    Yale      24 people under 64 lights teach, 14 others are recognised
    Yale/2    the same at half the size, 24 × 21 pixels, and their logarithm: light multiplies, its logarithm adds
    EMNIST    52 letters teach, ten digits are recognised; light, a slant or the width of the pen is drawn on each image
    COIL      12 objects in 72 poses teach, 8 others are recognised: a turn is no direction, so this is a control

A seed draws the classes that teach (not for EMNIST, where letters teach), the images and what is drawn on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.few_shot.distortions import DISTORTIONS
from benchmarks.quality.trials import DATA, Rows, _load
from undistract.datasets.silhouettes import CHARACTERS, load_images

N_PEOPLE, N_OBJECTS, N_DIGITS = 24, 12, 10
PER_CLASS = 60  # of characters
DARK = 0.02  # added before the logarithm is taken: about five grey levels of 255

FACES = "yale_faces/extended_yale_b_48x42.npz"
Redraw = Callable[[Rows, np.random.Generator], Rows]  # rows (n, d) → the same with one more distractor drawn on each


@dataclass(frozen=True, eq=False)
class Task:
    """What teaches, and what is to be recognised."""

    data: str
    task: str
    seed: int
    taught: Mapping[str, Rows]  # the rows of each group
    classes: Mapping[str, Rows]  # the rows of each new class
    redraw: Redraw | None = None  # where one can draw the distractor; else differences inside groups must do

    def held_out(self) -> Task:
        """Let every third set be a class to be recognised, and the others teach: here settings may be chosen."""
        named = list(self.taught.items())
        start = self.seed % 3
        classes = dict(named[start::3])
        taught = {name: rows for name, rows in named if name not in classes}
        return Task(self.data, self.task, self.seed, taught, classes, self.redraw)


def tasks(data: str, n_seeds: int, first: int = 0) -> Iterator[Task]:
    """Give the tasks of a data set."""
    for seed in range(first, first + n_seeds):
        yield from DATA_SETS[data](seed)


def yale(seed: int) -> Iterator[Task]:
    """Give people under 64 lights."""
    images = _faces()
    yield _unseen("Yale", "Yale", seed, images.reshape(len(images), -1), _load(FACES)["subject"], N_PEOPLE)


def small_yale(seed: int) -> Iterator[Task]:
    """Give the same at half the size, as pixels and as their logarithm."""
    images = _faces()
    n, height, width = images.shape
    small = images.reshape(n, height // 2, 2, width // 2, 2).mean(axis=(2, 4)).reshape(n, -1)
    for name, rows in (("pixels", small), ("logarithm", np.log(small + np.float32(DARK)))):
        yield _unseen("Yale/2", f"Yale/2 {name}", seed, rows, _load(FACES)["subject"], N_PEOPLE)


def _faces() -> Rows:
    images: Rows = _load(FACES)["images"] / np.float32(255)
    return images


def coil(seed: int) -> Iterator[Task]:
    """Give objects on a turntable."""
    file = _load("coil20/coil20_32x32.npz")
    images = file["images"] / np.float32(255)
    yield _unseen("COIL", "COIL", seed, images.reshape(len(images), -1), file["object"], N_OBJECTS)


def _unseen(data: str, task: str, seed: int, rows: Rows, owner: Rows, n_taught: int) -> Task:
    owners = np.random.default_rng(seed).permutation(np.unique(owner))
    groups = {str(one): rows[owner == one] for one in owners}
    names = list(groups)
    taught, classes = names[:n_taught], names[n_taught:]
    return Task(data, task, seed, {one: groups[one] for one in taught}, {one: groups[one] for one in classes})


def characters(seed: int) -> Iterator[Task]:
    """Give letters and digits, with one kind of distractor drawn on every image."""
    scans = load_images(CHARACTERS, DATA)
    for number, (name, distort) in enumerate(DISTORTIONS.items()):
        rng = np.random.default_rng([seed, number])

        def redraw(rows: Rows, rng: np.random.Generator, distort: Redraw = distort) -> Rows:
            return distort(rows.reshape(len(rows), 28, 28), rng).reshape(len(rows), -1)

        groups = {}
        for label in range(len(scans.class_names)):
            images = scans.of(label)
            some = rng.choice(images, min(PER_CLASS, len(images)), replace=False).astype(np.float32)
            groups[scans.name(label)] = redraw(some.reshape(len(some), -1), rng)
        names = list(groups)
        taught, classes = names[N_DIGITS:], names[:N_DIGITS]
        yield Task(
            "EMNIST",
            f"EMNIST {name}",
            seed,
            {one: groups[one] for one in taught},
            {one: groups[one] for one in classes},
            redraw,
        )


DATA_SETS: dict[str, Callable[[int], Iterator[Task]]] = {
    "EMNIST": characters,
    "Yale": yale,
    "Yale/2": small_yale,
    "COIL": coil,
}

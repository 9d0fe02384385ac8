"""Recognise rows by their nearest example, and count how often that is right.

Examples are drawn at random, the same for every method; what was not drawn is to be recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.few_shot.methods import Judged
from benchmarks.few_shot.tasks import Task
from undistract._arrays import Floats, Rows

SHOWN = (1, 2, 3, 4, 5)  # examples of each class
N_DRAWS = 10
DISTANCES = ("Euclidean", "cosine")
Ints = NDArray[np.intp]


def accuracies(task: Task, change: Callable[[Rows], Rows], mean: Rows) -> Mapping[tuple[str, int], float]:
    """Share of rows whose nearest example is of their class, by distance and number of examples, after a map.

    A method with its own similarity has the same under both distances.
    """
    rows, owner = _stacked(task.classes)
    if isinstance(change, Judged):
        distances = dict.fromkeys(DISTANCES, -change.change(rows, rows))
    else:
        seen = change(rows) - change(mean[None].astype(rows.dtype))
        distances = _distances(seen, seen)
    found = {}
    for distance, between in distances.items():
        for shown in SHOWN:
            right = [
                np.mean((owner[drawn[between[:, drawn].argmin(axis=1)]] == owner)[others])
                for drawn, others in draws(owner, shown)
            ]
            found[distance, shown] = float(np.mean(right))
    return found


def augmented(task: Task, copies: int, mean: Rows) -> Mapping[tuple[str, int], float]:
    """Do the same on the rows as they are, with copies of the examples that a distractor was drawn on."""
    rows, owner = _stacked(task.classes)
    middle = mean[None].astype(rows.dtype)
    found: dict[tuple[str, int], list[float]] = {}
    for shown in SHOWN:
        for number, (drawn, others) in enumerate(draws(owner, shown)):
            rng = np.random.default_rng([shown, number])
            examples, whose = rows[drawn], np.tile(owner[drawn], copies + 1)
            many = np.concatenate([examples, *(_drawn_on(task, examples, rng) for _ in range(copies))])
            for distance, between in _distances(rows[others] - middle, many - middle).items():
                right = whose[between.argmin(axis=1)] == owner[others]
                found.setdefault((distance, shown), []).append(float(np.mean(right)))
    return {key: float(np.mean(values)) for key, values in found.items()}


def draws(owner: Ints, shown: int) -> tuple[tuple[Ints, Ints], ...]:
    """Draw examples of each class, several times: which rows are shown, and which are not."""
    return _draws(tuple(owner.tolist()), shown)


@lru_cache(maxsize=len(SHOWN))  # all methods of a task see the same
def _draws(owner: tuple[int, ...], shown: int) -> tuple[tuple[Ints, Ints], ...]:
    members = [np.flatnonzero(np.array(owner) == one) for one in sorted(set(owner))]
    rng = np.random.default_rng(shown)
    drawn = [np.concatenate([rng.choice(rows, shown, replace=False) for rows in members]) for _ in range(N_DRAWS)]
    return tuple((some, np.setdiff1d(np.arange(len(owner)), some)) for some in drawn)


def _drawn_on(task: Task, examples: Rows, rng: np.random.Generator) -> Rows:
    """Draw a distractor on each example, or add how two rows of one teaching set differ."""
    if task.redraw is not None:
        return task.redraw(examples, rng)
    groups = list(task.taught.values())
    pairs = [rng.choice(groups[rng.integers(len(groups))], 2, replace=False) for _ in examples]
    return examples + np.array([one - other for one, other in pairs])


def _distances(rows: Rows, examples: Rows) -> dict[str, Floats]:
    """Order the examples by their distance to each row, (rows, examples), less what they all share."""
    products, squares = rows @ examples.T, (examples**2).sum(axis=1)
    return dict(zip(DISTANCES, (squares - 2 * products, -products / np.sqrt(np.maximum(squares, 1e-24))), strict=True))


def _stacked(classes: Mapping[str, Rows]) -> tuple[Rows, Ints]:
    owner = np.repeat(np.arange(len(classes)), [len(rows) for rows in classes.values()])
    return np.concatenate(list(classes.values())), owner

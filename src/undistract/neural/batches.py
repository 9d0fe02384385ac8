"""Batches for the loss: a few sets, a few rows of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from undistract.algebra.set_labels import number_sets
from undistract.arrays import Ints
from undistract.errors import InputError


class SetBatches:
    """Draw batches of some sets with some rows each; the `batch_sampler` of a PyTorch DataLoader.

    All sets take part equally often, however many rows they have. Sets with a single row show no variation and are
    never drawn; sets with fewer than `n_rows` rows come with all they have.

    Parameters
    ----------
    sets : (n,) sequence of hashables
        Which set each row of the data belongs to.
    n_sets : int, default=16
        Sets in a batch; all of them where there are fewer.
    n_rows : int, default=8
        Rows of each set in a batch.
    n_batches : int, optional
        Batches in one round; as many as are needed to draw as many rows as there are, if left out.
    random_state : int, optional
        Seed. A round that follows another draws other rows.

    Examples
    --------
    >>> from undistract.neural import SetBatches
    >>> batches = SetBatches(["a"] * 50 + ["b"] * 50 + ["c"] * 50, n_sets=2, n_rows=5, random_state=0)
    >>> len(batches)
    15
    >>> [len(rows) for rows in batches][:3]
    [10, 10, 10]
    """

    def __init__(
        self,
        sets: Any,
        *,
        n_sets: int = 16,
        n_rows: int = 8,
        n_batches: int | None = None,
        random_state: int | None = None,
    ) -> None:
        for name, value, least in (("n_sets", n_sets, 2), ("n_rows", n_rows, 2), ("n_batches", n_batches, 1)):
            if (name, value) != ("n_batches", None) and not _is_whole(value, least):
                raise InputError(f"{name} is {value!r}; expected a whole number of at least {least}.")
        labels = sets if hasattr(sets, "__len__") else list(sets)
        _, numbers = number_sets(labels, len(labels))
        self._rows = members(numbers)
        if len(self._rows) < 2:
            raise InputError(
                f"{len(self._rows)} set(s) have two rows or more; expected two sets or more. "
                "Say which set (video, machine, person, day) each row belongs to."
            )
        self.n_sets, self.n_rows = min(n_sets, len(self._rows)), n_rows
        self.n_batches = n_batches or -(-len(numbers) // (self.n_sets * n_rows))
        self._rng = np.random.default_rng(random_state)

    def __len__(self) -> int:
        return self.n_batches

    def __iter__(self) -> Iterator[list[int]]:
        waiting: list[int] = []
        for _ in range(self.n_batches):
            # A new deal is put below the old one: a set is drawn again only after all others were.
            if len(waiting) < self.n_sets:
                dealt = self._rng.permutation(len(self._rows)).tolist()
                waiting += [one for one in dealt if one not in waiting] + [one for one in dealt if one in waiting]
            drawn, waiting = waiting[: self.n_sets], waiting[self.n_sets :]
            yield [int(row) for one in drawn for row in self._some(self._rows[one])]

    def _some(self, rows: Ints) -> Ints:
        return rows if len(rows) <= self.n_rows else self._rng.choice(rows, self.n_rows, replace=False)


def members(numbers: Ints) -> list[Ints]:
    """Return the places of the rows of each set that has two or more.

    Examples
    --------
    >>> members(np.array([0, 1, 0, 2, 2]))
    [array([0, 2]), array([3, 4])]
    """
    order = np.argsort(numbers, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(numbers))[:-1])
    return [rows for rows in groups if len(rows) > 1]


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)

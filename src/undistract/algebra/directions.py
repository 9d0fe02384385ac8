"""Directions: how each is read, how rows move along it, and how unevenly sets vary there.

They are as wide as the features. Where features are many and rows few, they are formed when somebody asks (`few_rows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from undistract.arrays import Floats


class Directions(Protocol):
    """What a spectrum knows of its directions besides how distracting they are."""

    @property
    def number(self) -> int:
        """How many there are, q."""

    @property
    def filters(self) -> Floats:
        """What reads each direction, (d, q), with filtersᵀ · metric · filters = I."""

    @property
    def patterns(self) -> Floats:
        """How rows move along it, (d, q): metric · filters."""

    @property
    def unevenness(self) -> Floats:
        """How unevenly sets vary where each pattern lies, (q,); 0: all alike."""

    @property
    def filter_squares(self) -> Floats:
        """The squared length of each filter, (q,)."""

    @property
    def pattern_squares(self) -> Floats:
        """The squared length of each pattern, (q,)."""

    def first(self, number: int) -> Directions:
        """Return the first so many."""

    def are_even(self, number: int, most: float) -> bool:
        """Tell whether the first so many are at most so uneven, on average."""


@dataclass(frozen=True, eq=False)
class Known:
    """Directions that are there.

    Examples
    --------
    >>> known = Known(np.diag([0.5, 1.0]), np.diag([2.0, 1.0]), unevenness=np.array([0.1, 0.9]))
    >>> known.pattern_squares, known.first(1).patterns.T, known.are_even(1, most=0.25), known.are_even(2, most=0.25)
    (array([4., 1.]), array([[2., 0.]]), True, False)
    """

    filters: Floats
    patterns: Floats
    unevenness: Floats

    @classmethod
    def none(cls, n_features: int) -> Known:
        """Return no directions at all."""
        return cls(np.zeros((n_features, 0)), np.zeros((n_features, 0)), np.zeros(0))

    @property
    def number(self) -> int:
        """How many there are, q."""
        return int(self.patterns.shape[1])

    @cached_property
    def filter_squares(self) -> Floats:
        """The squared length of each filter, (q,)."""
        return squares(self.filters)

    @cached_property
    def pattern_squares(self) -> Floats:
        """The squared length of each pattern, (q,)."""
        return squares(self.patterns)

    def first(self, number: int) -> Known:
        """Return the first so many."""
        return Known(self.filters[:, :number], self.patterns[:, :number], self.unevenness[:number])

    def are_even(self, number: int, most: float) -> bool:
        """Tell whether the first so many are at most so uneven, on average."""
        return number == 0 or bool(self.unevenness[:number].mean() <= most)


def squares(columns: Floats) -> Floats:
    """Return the squared length of each column, (q,)."""
    summed: Floats = np.einsum("ij,ij->j", columns, columns)
    return summed

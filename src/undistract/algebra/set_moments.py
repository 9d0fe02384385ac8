"""Moments of one set: count, mean and scatter of its rows.

    scatter = Σ (x - μ)(x - μ)ᵀ

The mean is held as `origin + offset`, a row of the data and a small rest: the step from one mean to another stays
exact even where the rows lie a million standard deviations away from zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from undistract.algebra.gather import gather, gather_rows
from undistract.arrays import Floats, as_rows, check_range, quiet, same_features


@dataclass(frozen=True, eq=False)
class SetMoments:
    """Count, mean and scatter of the rows of one set; pieces of one set join with ``+`` in any order.

    Fewer rows than half the features are kept as they are, so that wide data never needs a (d, d) matrix.

    Examples
    --------
    >>> import numpy as np
    >>> piece, rest = SetMoments.of([[0.0, 1.0], [2.0, 1.0]]), SetMoments.of([[4.0, 1.0]])
    >>> (piece + rest).count, (piece + rest).mean
    (3, array([2., 1.]))
    >>> (piece + rest).scatter
    array([[8., 0.],
           [0., 0.]])
    """

    count: int
    origin: Floats  # (d,) a row of the set
    offset: Floats  # (d,) the mean, minus origin
    deviations: Floats | None  # (n, d) rows minus mean, while they are few
    folded: Floats | None  # (d, d) scatter, once they are many

    @classmethod
    def of(cls, rows: Any) -> SetMoments:
        """Sum up some rows of one set."""
        X = as_rows(rows)
        counts = np.array([len(X)])
        with quiet():
            if 2 * len(X) <= X.shape[1]:
                anchors, offsets, deviations, _ = gather_rows(X, None, counts)
                return cls(len(X), anchors[0], offsets[0], deviations, None)._checked()
            found = gather(X, None, counts, np.ones(1), np.ones((1, 1)))
            return cls(len(X), found.origin, found.offset, None, found.scatters[0])._checked()

    @property
    def mean(self) -> Floats:
        """The mean of the rows, (d,)."""
        return self.origin + self.offset

    @property
    def scatter(self) -> Floats:
        """Sum of (x - mean)(x - mean)ᵀ over the rows, (d, d)."""
        if self.folded is not None:
            return self.folded
        assert self.deviations is not None
        return self.deviations.T @ self.deviations

    def __add__(self, other: SetMoments) -> SetMoments:
        """Join two pieces of the same set (Chan, Golub and LeVeque, 1983)."""
        if not isinstance(other, SetMoments):
            return NotImplemented
        same_features(len(self.origin), len(other.origin), "The other piece")
        count = self.count + other.count
        with quiet():
            step = (other.origin - self.origin) + (other.offset - self.offset)  # (d,)
            offset = self.offset + step * (other.count / count)
            if self.deviations is not None and other.deviations is not None and 2 * count <= len(step):
                here, there = self.count / count, other.count / count
                deviations = np.vstack([self.deviations - step * there, other.deviations + step * here])
                return SetMoments(count, self.origin, offset, deviations, None)._checked()
            shift = np.outer(step, step) * (self.count * other.count / count)  # (d, d)
            return SetMoments(count, self.origin, offset, None, self.scatter + other.scatter + shift)._checked()

    def __radd__(self, other: object) -> SetMoments:
        """Let `sum` begin with its zero."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _checked(self) -> SetMoments:
        """Refuse rows whose squares leave the range of numbers."""
        squares = np.diag(self.scatter) if self.deviations is None else (self.deviations**2).sum(axis=0)
        check_range(squares / self.count, self.offset != 0)
        return self

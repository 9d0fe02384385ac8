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
from undistract.arrays import Floats, as_rows, finite, same_features


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
        if 2 * len(X) <= X.shape[1]:
            origin, means, deviations = gather_rows(X, None, counts)
            return cls(len(X), origin, means[0], finite(deviations), None)
        origin, means, (scatter,) = gather(X, None, counts, np.ones((1, 1)))
        return cls(len(X), origin, means[0], None, finite(scatter))

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
        step = (other.origin - self.origin) + (other.offset - self.offset)  # (d,)
        offset = self.offset + step * (other.count / count)
        if self.deviations is not None and other.deviations is not None and 2 * count <= len(step):
            pieces = [
                self.deviations - step * (other.count / count),
                other.deviations + step * (self.count / count),
            ]
            return SetMoments(count, self.origin, offset, np.vstack(pieces), None)
        shift = np.outer(step, step) * (self.count * other.count / count)  # (d, d)
        return SetMoments(count, self.origin, offset, None, finite(self.scatter + other.scatter + shift))

"""The soft filter: rows shrink along what distracts, and are not cut.

    (I + Σ s_i a_i a_iᵀ)^(-½) = I - U diag(1 - 1/g) Uᵀ,   ‖a_i‖ = 1,   s_i ≥ 0 the strength along each pattern

U are the left singular vectors of [√s_i a_i], g = √(1 + σ²) with its singular values σ. Without strength it is the
identity; without bound it takes the span of the patterns out. One filter serves the projection (`Soft`) and the
penalty ρ/2 vᵀ(I + Σ s_i a_i a_iᵀ)v, which is plain ridge on filtered rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from undistract.arrays import Floats, Rows, multiplying


@dataclass(frozen=True, eq=False)
class SoftFilter:
    """A symmetric map of rows that shrinks a few directions and leaves the others.

    Examples
    --------
    >>> import numpy as np
    >>> half = SoftFilter.of(np.array([[2.0], [0.0]]), np.array([3.0]))
    >>> half(np.ones((1, 2)))
    array([[0.5, 1. ]])
    >>> half.undo(half(np.ones((1, 2))))
    array([[1., 1.]])
    """

    directions: Floats  # (d, r) U, orthonormal
    stretch: Floats  # (r,) g ≥ 1: how much longer rows were along each of them

    @classmethod
    def of(cls, patterns: Floats, strengths: Floats) -> Self:
        """Take patterns of any length (d, r), and the strength along each (r,)."""
        directions, values, _ = np.linalg.svd(unit(patterns) * np.sqrt(strengths), full_matrices=False)
        return cls(directions, np.hypot(1.0, values))

    def __call__(self, X: Rows) -> Rows:
        """Filter rows, (n, d)."""
        return self._scaled(X, 1 / self.stretch - 1)

    def undo(self, Z: Rows) -> Rows:
        """Give filtered rows back as they were, (n, d)."""
        return self._scaled(Z, self.stretch - 1)

    @multiplying
    def _scaled(self, X: Rows, change: Floats) -> Rows:
        directions, change = (array.astype(X.dtype, copy=False) for array in (self.directions, change))
        scaled: Rows = X + (X @ directions * change) @ directions.T
        return scaled


def unit(patterns: Floats) -> Floats:
    """Bring every column to length one, (d, r); none may be zero.

    Examples
    --------
    >>> unit(np.array([[3e200], [4e200]]))
    array([[0.6],
           [0.8]])
    """
    # Brought near 1 first, so that the squares in the norm neither overflow nor vanish.
    near = patterns / np.abs(patterns).max(axis=0, initial=0.0)
    columns: Floats = near / np.linalg.norm(near, axis=0)
    return columns

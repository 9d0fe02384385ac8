"""The way back: from coordinates in the space of a kernel to rows.

    B = argmin |X - μ - (Z - ν) B|² + r |B|²        X the rows that span, Z their coordinates
    row ≈ μ + (z - ν) B

Learned by ridge regression, as few points of that space are the image of any row. For the linear kernel it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from undistract.arrays import Floats
from undistract.kernel.maps import SpanMap

RIDGE = 1e-10  # relative to the largest variance of the coordinates


@dataclass(frozen=True, eq=False)
class WayBack:
    """A linear map from coordinates to rows.

    Examples
    --------
    >>> from undistract.kernel.kernels import Kernel
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> span = SpanMap.of(X, Kernel.of(X, "rbf"))
    >>> bool(np.abs(WayBack.of(span)(span(X)) - X).max() < 0.1)
    True
    """

    mean: Floats  # (d,) of the rows
    middle: Floats  # (r,) of their coordinates
    weights: Floats  # (r, d)

    @classmethod
    def of(cls, span: SpanMap) -> WayBack:
        """Learn from the rows that span."""
        rows, coordinates = span.rows, span(span.rows)
        mean, middle = rows.mean(axis=0), coordinates.mean(axis=0)
        spread = coordinates - middle
        # Wide and short or long and narrow, a singular value decomposition solves it without squares.
        left, lengths, right = np.linalg.svd(spread, full_matrices=False)
        damped = lengths / (lengths**2 + RIDGE * max(float(lengths[0]) ** 2, float(np.finfo(np.float64).tiny)))
        return cls(mean, middle, right.T @ (damped[:, None] * (left.T @ (rows - mean))))

    def __call__(self, Z: Floats) -> Floats:
        """Rebuild rows, (n, d)."""
        return self.mean + self.difference(Z - self.middle)

    def difference(self, steps: Floats) -> Floats:
        """Tell by how much rows differ whose coordinates differ by some steps, (n, d)."""
        return steps @ self.weights

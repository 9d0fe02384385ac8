"""Frequent Directions: a sum of squares Σ x xᵀ in few rows, with an error that is known (Liberty, 2013).

    BᵀB  ≤  Σ x xᵀ  ≤  BᵀB + dropped · I          dropped ≤ (mass - ‖B‖²) / (size + 1) ≤ mass / (size + 1)

Rows are collected until there are twice as many as the size. Then they are turned into orthogonal ones, and the squared
length of the first that is too many is taken off all. Each such step costs at least size + 1 times as much mass (the
sum of all squares) as it adds to the error; so the bound holds for any order of rows, and for sums of sketches
(Ghashami, Liberty, Phillips and Woodruff, 2016).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.blas import dsyrk

from undistract.arrays import Floats


@dataclass(frozen=True, eq=False)
class FrequentDirections:
    """A sum of squares of rows in at most 2 · size rows; sums of equal size join with ``+``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 40)) * 0.8 ** np.arange(40)
    >>> sketch = FrequentDirections.of([X], size=10, n_features=40)
    >>> error = np.linalg.eigvalsh(X.T @ X - sketch.rows.T @ sketch.rows)
    >>> bool(error[0] > -1e-9), bool(error[-1] <= sketch.dropped <= sketch.bound)
    (True, True)
    """

    size: int
    rows: Floats  # (at most 2 · size, d)
    dropped: float  # by so much at most any direction reads low
    mass: float  # Σ |x|², exact

    @classmethod
    def of(cls, blocks: Iterable[Floats], size: int, n_features: int) -> FrequentDirections:
        """Sum up blocks of rows, (n, d) each."""
        builder = Builder(size, n_features)
        for block in blocks:
            builder.add(block)
        return builder.done()

    @property
    def bound(self) -> float:
        """What `dropped` can be at most by theory, whatever the rows are."""
        return self.mass / (self.size + 1)

    @property
    def held(self) -> float:
        """The part of the mass that the rows still hold."""
        return float((self.rows**2).sum())

    def scaled(self, factor: float) -> FrequentDirections:
        """Return the sum of squares times a factor."""
        rows = self.rows * np.sqrt(factor)
        return FrequentDirections(self.size, rows, float(self.dropped * factor), float(self.mass * factor))

    def __add__(self, other: FrequentDirections) -> FrequentDirections:
        """Join two sums; the errors add up, and so do the bounds."""
        if not isinstance(other, FrequentDirections):
            return NotImplemented
        builder = Builder(self.size, self.rows.shape[1])
        builder.join(self)
        builder.join(other)
        return builder.done()


class Builder:
    """Sums up rows in place: one buffer of 2 · size rows, whatever comes."""

    def __init__(self, size: int, n_features: int) -> None:
        self.size, self.dropped, self.mass = size, 0.0, 0.0
        self._buffer = np.zeros((min(2 * size, 16), n_features))
        self._filled = 0

    def add(self, rows: Floats) -> None:
        """Add the squares of some rows."""
        self.mass += float(np.einsum("ij,ij->", rows, rows))
        self._append(rows)

    def join(self, other: FrequentDirections) -> None:
        """Add another sketch, with what it has dropped."""
        self.mass += other.mass
        self.dropped += other.dropped
        self._append(other.rows)

    def done(self) -> FrequentDirections:
        """Return the sum so far."""
        return FrequentDirections(self.size, self._buffer[: self._filled].copy(), self.dropped, self.mass)

    def _append(self, rows: Floats) -> None:
        start = 0
        while start < len(rows):
            if self._filled == 2 * self.size:
                self._shrink()
            stop = min(start + 2 * self.size - self._filled, len(rows))
            self._grow(self._filled + stop - start)
            self._buffer[self._filled : self._filled + stop - start] = rows[start:stop]
            self._filled += stop - start
            start = stop

    def _grow(self, needed: int) -> None:
        """Make room; a few rows of many features need no large buffer."""
        if needed > len(self._buffer):
            wider = np.zeros((min(max(needed, 2 * len(self._buffer)), 2 * self.size), self._buffer.shape[1]))
            wider[: self._filled] = self._buffer[: self._filled]
            self._buffer = wider

    def _shrink(self) -> None:
        """Turn the rows into at most `size` orthogonal ones, each shorter by what the first of the others had."""
        gram = dsyrk(1.0, self._buffer[: self._filled].T, trans=1)  # (2 size, 2 size), the upper triangle
        squares, turn = eigh(gram, lower=False, driver="evd", overwrite_a=True, check_finite=False)
        squares, turn = np.maximum(squares[::-1], 0.0), turn[:, ::-1]
        excess = float(squares[self.size])
        kept = int((squares > excess * (1 + 1e-12)).sum())
        # Where all rows lie in fewer directions, nothing is dropped but rounding.
        shorter = np.sqrt((squares[:kept] - excess) / squares[:kept])
        self._buffer[:kept] = (turn[:, :kept] * shorter).T @ self._buffer[: self._filled]
        self._filled, self.dropped = kept, self.dropped + excess

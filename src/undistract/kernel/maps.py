"""Maps: rows ─► coordinates whose plain products are those of a kernel.

    span       K = V S Vᵀ of some rows, z(x) = S^(-½) Vᵀ k(x): exact where these are all rows, else Nyström's
    Fourier    z(x) = [cos(xΩ), sin(xΩ)] / √D with Ω drawn at random: z(x)·z(y) is near exp(-γ|x - y|²)

A row's image may have a part outside of the span of those that were learned from: news, of length √(k(x,x) - |z|²), and
one more coordinate. It is zero for the rows that span.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from undistract.arrays import TINY, Floats
from undistract.errors import InputError
from undistract.kernel.kernels import PRECOMPUTED, Kernel

# Directions of the kernel matrix below this share of the largest are rounding, and so are lengths below it.
ROUNDING = 1e-10
NEGATIVE = 1e-6  # from this share on, a kernel is no product at all
BLOCK_VALUES = 2**22


@dataclass(frozen=True, eq=False)
class SpanMap:
    """Coordinates in the span of the images of some rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> kernel = Kernel.of(X, "rbf")
    >>> span = SpanMap.of(X, kernel)
    >>> bool(np.allclose(span(X) @ span(X).T, kernel(X, X)))
    True
    >>> span(X + 9)[:, -1].round(2).min()  # nothing like the rows it knows
    np.float64(1.0)
    """

    kernel: Kernel
    rows: Floats  # (m, d) that span; nothing to see (m, 0) with a precomputed kernel
    basis: Floats  # (m, r) V S^(-½)
    floor: float  # squared lengths below this are rounding
    news: bool

    @classmethod
    def of(cls, rows: Floats, kernel: Kernel, *, news: bool = True) -> SpanMap:
        """Let rows span; `rows` is the matrix itself with a precomputed kernel."""
        products = kernel(rows, rows)
        values, vectors = eigh((products + products.T) / 2, driver="evd", check_finite=False)
        largest = max(float(values[-1]), 0.0)
        if float(values[0]) < -NEGATIVE * max(largest, TINY):
            raise InputError(
                f"The kernel {kernel} is not positive semidefinite on these {len(products)} rows: its matrix has the "
                f"eigenvalue {values[0]:.3g} (the largest is {largest:.3g}). Such a kernel is no product in any space; "
                "choose another, such as 'rbf'."
            )
        known = values > max(ROUNDING * largest, 0.0)
        basis = vectors[:, known] / np.sqrt(values[known]) if known.any() else np.zeros((len(products), 1))
        computed = kernel.name == PRECOMPUTED
        kept = np.zeros((len(rows), 0)) if computed else rows
        # Of a precomputed kernel the products of new rows with themselves are not given.
        return cls(kernel, kept, np.ascontiguousarray(basis[:, ::-1]), ROUNDING * largest, news and not computed)

    @property
    def n_out(self) -> int:
        return int(self.basis.shape[1]) + self.news

    def __call__(self, X: Floats) -> Floats:
        coordinates = np.zeros((len(X), self.n_out))
        step = max(1, BLOCK_VALUES // len(self.basis))
        for start in range(0, len(X), step):
            block = X[start : start + step]
            inside = self.kernel(block, self.rows, n_before=start) @ self.basis
            coordinates[start : start + step, : inside.shape[1]] = inside
            if self.news:
                outside = self.kernel.own(block, n_before=start) - (inside**2).sum(axis=1) - self.floor
                coordinates[start : start + step, -1] = np.sqrt(np.maximum(outside, 0.0))
        return coordinates

    def __str__(self) -> str:
        return f"{len(self.basis)} rows span {self.basis.shape[1]} dimensions"


@dataclass(frozen=True, eq=False)
class FourierMap:
    """Waves at random frequencies, whose products are near those of the rbf kernel (Rahimi and Recht, 2007).

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> kernel = Kernel.of(X, "rbf")
    >>> waves = FourierMap.of(kernel, 3, 4000, np.random.default_rng(0))
    >>> bool(np.abs(waves(X) @ waves(X).T - kernel(X, X)).max() < 0.1)
    True
    """

    kernel: Kernel
    frequencies: Floats  # (d, D)

    @classmethod
    def of(cls, kernel: Kernel, n_features: int, n_waves: int, rng: Any) -> FourierMap:
        """Draw frequencies; each gives two coordinates, its cosine and its sine."""
        drawn = rng.normal(size=(n_features, n_waves)) * np.sqrt(2 * kernel.parameters["gamma"])
        return cls(kernel, drawn)

    @property
    def n_out(self) -> int:
        return 2 * int(self.frequencies.shape[1])

    def __call__(self, X: Floats) -> Floats:
        assert self.kernel.origin is not None
        phases = (X - self.kernel.origin) @ self.frequencies
        if not np.isfinite(phases).all():
            row = int(np.argmax(~np.isfinite(phases).all(axis=1)))
            raise InputError(f"Row {row} is so large that its waves cannot be told. Is it in the same units?")
        waves: Floats = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(self.frequencies.shape[1])
        return waves

    def __str__(self) -> str:
        return f"{self.frequencies.shape[1]} random frequencies"

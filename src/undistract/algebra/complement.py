"""Coordinates of what is orthogonal to a few given columns, without forming the large basis.

With V an orthonormal basis of the columns, r of the features P that they move most, and K all others:

    U = (I - VVᵀ) E_K made orthonormal symmetrically: of all orthonormal bases the nearest to the features K
    U_P = -O V_Kᵀ,   U_K = I - V_K (I + S)⁻¹ V_Kᵀ          V_P = O S, its polar decomposition

It depends on the span of the columns alone. Each coordinate belongs to one feature, less what the columns move in it: a
feature that no column touches passes unchanged. Few columns are taken out of blocks of rows that stay in the cache;
where they are many, one product with U is cheaper (`benchmarks/speed`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr, svd

from undistract.arrays import Floats, Ints, Rows, multiplying

# Features that the columns move equally are told apart by their place, not by rounding.
TIE = 1e-6
# With more columns than this share of the features, a product with the whole basis is cheaper.
MOST_COLUMNS = 0.3
BLOCK = 512


@dataclass(frozen=True, eq=False)
class Complement:
    """The orthogonal complement of some columns.

    Examples
    --------
    >>> import numpy as np
    >>> plane = Complement.of(np.array([[1.0], [1.0], [0.0]]))
    >>> plane.coordinates(np.array([[5.0, 5.0, 2.0], [1.0, -1.0, 0.0]])).round(3)
    array([[ 0.   ,  2.   ],
           [-1.414,  0.   ]])
    >>> plane.rows(plane.coordinates(np.array([[5.0, 3.0, 2.0]]))).round(3)
    array([[ 1., -1.,  2.]])
    """

    features: Ints  # (k,) the feature that each coordinate belongs to
    reading: Floats  # (d, r) what is read off a row: O at the features P, V_K (I + S)⁻¹ at the others
    spread: Floats  # (r, k) V_Kᵀ: how that goes out of the coordinates
    _made: dict[str, npt.NDArray[Any]] = field(init=False, default_factory=dict, repr=False)

    @classmethod
    def of(cls, columns: Floats) -> Complement:
        """Take linearly independent columns, (d, r)."""
        n_features, n_columns = columns.shape
        if n_columns in (0, n_features):
            features = np.arange(n_features if n_columns == 0 else 0)
            return cls(features, np.zeros((n_features, 0)), np.zeros((0, len(features))))
        basis = qr(columns / np.linalg.norm(columns, axis=0), mode="economic", check_finite=False)[0]  # V
        preference = 1 - TIE * np.arange(n_features)[:, None] / n_features
        pivots = qr((basis * preference).T, mode="r", pivoting=True, check_finite=False)[1][:n_columns]  # P
        features = np.setdiff1d(np.arange(n_features), pivots)  # K
        left, roots, right = svd(basis[pivots], check_finite=False)
        reading = np.empty_like(basis)
        reading[pivots] = left @ right
        reading[features] = basis[features] @ ((right.T / (1 + roots)) @ right)
        return cls(features, reading, basis[features].T)

    @property
    def basis(self) -> Floats:
        """Uᵀ, (k, d): orthonormal rows."""
        basis = -self.spread.T @ self.reading.T
        basis[np.arange(len(self.features)), self.features] += 1.0
        return basis

    @multiplying
    def coordinates(self, X: Rows) -> Rows:
        """Uᵀx for every row, (n, k)."""
        if not self._is_thin:
            coordinates: Rows = X @ self._wide(X.dtype).T
            return coordinates
        reading, spread = _as(X, self.reading), _as(X, self.spread)
        kept = np.empty((len(X), len(self.features)), dtype=X.dtype)
        for start in range(0, len(X), BLOCK):
            rows, here = X[start : start + BLOCK], kept[start : start + BLOCK]
            np.take(rows, self.features, axis=1, out=here, mode="clip")
            here -= (rows @ reading) @ spread
        return kept

    @multiplying
    def rows(self, Z: Rows) -> Rows:
        """U z for every row of coordinates, (n, d)."""
        if not self._is_thin:
            lifted: Rows = Z @ self._wide(Z.dtype)
            return lifted
        reading, spread = _as(Z, self.reading.T), _as(Z, self.spread.T)
        rows = np.zeros((len(Z), len(self.reading)), dtype=Z.dtype)
        for start in range(0, len(Z), BLOCK):
            kept, here = Z[start : start + BLOCK], rows[start : start + BLOCK]
            here[:, self.features] = kept
            here -= (kept @ spread) @ reading
        return rows

    @property
    def _is_thin(self) -> bool:
        n_features, n_columns = self.reading.shape
        return bool(n_columns <= MOST_COLUMNS * n_features)

    def _wide(self, dtype: Any) -> npt.NDArray[Any]:
        """Return the basis in one dtype; it is made once."""
        if str(dtype) not in self._made:
            self._made[str(dtype)] = self.basis.astype(dtype)
        return self._made[str(dtype)]


def _as(X: Rows, array: Floats) -> npt.NDArray[Any]:
    return array.astype(X.dtype, copy=False)

"""Coordinates of what is orthogonal to a few given columns, without forming the large basis.

    Q = H₁ … H_r = I - Y T Yᵀ          (Householder; Schreiber and Van Loan, 1989)

The first r columns of Q span the given columns, the others U are an orthonormal basis of their complement. Rows are
permuted first so that each kept coordinate belongs to one feature: a feature that no column touches passes unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dgeqrf

from undistract.arrays import Floats, Ints, Rows


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
    reflectors: Floats  # (d, r) Y
    spread: Floats  # (r, d) T Yᵀ

    @classmethod
    def of(cls, columns: Floats) -> Complement:
        """Take linearly independent columns, (d, r)."""
        n_features, n_columns = columns.shape
        if n_columns == 0:
            return cls(np.arange(n_features), columns, columns.T)
        unit = columns / np.linalg.norm(columns, axis=0)
        pivots = qr(unit.T, mode="r", pivoting=True)[1][:n_columns]  # the features that the columns move most
        features = np.setdiff1d(np.arange(n_features), pivots)
        packed, factors, _, _ = dgeqrf(unit[np.concatenate([pivots, features])])
        reflectors = np.tril(packed, -1)
        reflectors[np.diag_indices(n_columns)] = 1.0
        active = factors != 0  # LAPACK reflects nothing where a column already stands right
        reflectors, factors = reflectors[:, active], factors[active]
        inverse = np.triu(reflectors.T @ reflectors, 1) + np.diag(1 / factors)
        placed = np.empty_like(reflectors)
        placed[np.concatenate([pivots, features])] = reflectors
        return cls(features, placed, solve_triangular(inverse, placed.T))

    @property
    def basis(self) -> Floats:
        """Uᵀ, (k, d): orthonormal rows."""
        basis = -self.reflectors @ self.spread[:, self.features]  # (d, k)
        basis[self.features, np.arange(len(self.features))] += 1.0
        return basis.T

    def coordinates(self, X: Rows) -> Rows:
        """Uᵀx for every row, (n, k)."""
        reflectors, spread = (_as(X, array) for array in (self.reflectors, self.spread[:, self.features]))
        kept = X[:, self.features]
        if len(spread):
            kept = kept - (X @ reflectors) @ spread
        return kept

    def rows(self, Z: Rows) -> Rows:
        """U z for every row of coordinates, (n, d)."""
        rows = np.zeros((len(Z), len(self.reflectors)), dtype=Z.dtype)
        rows[:, self.features] = Z
        rows -= (Z @ _as(Z, self.spread[:, self.features].T)) @ _as(Z, self.reflectors.T)
        return rows


def _as(X: Rows, array: Floats) -> npt.NDArray[Any]:
    return array.astype(X.dtype, copy=False)

"""The dense eigenproblem on a device of another library; what it finds comes home.

within · w = λ · (total + ε I) · w
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.lapack import dpocon

from undistract.algebra.library import Library
from undistract.algebra.solvers import LEAST_CONDITION, Solution, dense, rank
from undistract.arrays import Floats


def dense_on(within: Floats, total: Floats, epsilon: float, library: Library) -> Solution:
    """Solve with matrices of d × d on a device, as `dense` does; features must not be constant.

    A metric that is singular to rounding is handed to `dense`, which whitens its range; so is everything where the
    device has no float64.

    Examples
    --------
    >>> import numpy as np
    >>> within, total = np.diag([1.0, 2.0, 3.0]), np.diag([4.0, 2.5, 3.0])
    >>> dense_on(within, total, 1.0, Library(np, "cpu", np.asarray)).distraction.round(3)
    array([0.75 , 0.571, 0.2  ])
    """
    if library.float64 is None:
        return dense(within, total, epsilon)
    xp, home = library.xp, library.to_numpy
    scale = np.sqrt(np.diag(total) + epsilon)  # (d,)
    metric = total / np.outer(scale, scale)
    metric[np.diag_indices_from(metric)] = 1.0
    inner = library.array(within / np.outer(scale, scale), library.float64)
    lower = _factor(metric, library)
    if lower is None:
        return dense(within, total, epsilon)
    half = _solve(xp, lower, inner, upper=False)
    whitened = _solve(xp, lower, half.T, upper=False)
    values, vectors = xp.linalg.eigh((whitened + whitened.T) / 2)
    # Rounding can leave -1e-17 or 1 + 1e-16 here; a share of variance is never outside 0 and 1.
    distraction = np.clip(home(values)[::-1], 0.0, 1.0)
    filters = np.ascontiguousarray(home(_solve(xp, lower.T, vectors, upper=True))[:, ::-1]) / scale[:, None]
    patterns = np.ascontiguousarray(home(lower @ vectors)[:, ::-1]) * scale[:, None]
    n_moving = len(scale) if _full_rank(within, library) else rank(within)
    distraction[n_moving:] = 0.0  # what is left there is rounding, magnified by a tiny cushion
    return Solution(distraction, filters, patterns, n_moving)


def _full_rank(matrix: Floats, library: Library) -> bool:
    """Tell whether a positive semidefinite matrix has full rank beyond doubt, by a factor on the device."""
    scale = np.sqrt(np.diag(matrix))
    return bool((scale > 0).all()) and _factor(matrix / np.outer(scale, scale), library) is not None


def _factor(matrix: Floats, library: Library) -> Any:
    """Return the Cholesky factor on the device, or None where the matrix is singular to rounding."""
    try:
        lower = library.xp.linalg.cholesky(library.array(matrix, library.float64))
    except (RuntimeError, ValueError, ArithmeticError, np.linalg.LinAlgError):  # each library has its own
        return None
    triangle = library.to_numpy(lower)
    # Some libraries answer with NaN where others raise.
    if not np.isfinite(np.diag(triangle)).all():
        return None
    condition, _ = dpocon(triangle, np.abs(matrix).sum(axis=0).max(), uplo="L")
    return lower if condition > LEAST_CONDITION else None


def _solve(xp: Any, triangle: Any, right: Any, *, upper: bool) -> Any:
    """Solve a triangular system; the standard itself knows only square ones."""
    if hasattr(xp.linalg, "solve_triangular"):
        return xp.linalg.solve_triangular(triangle, right, upper=upper)
    return xp.linalg.solve(triangle, right)

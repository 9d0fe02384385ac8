"""A kernel: how alike two rows are, k(x, y), as a product of their images in another space.

What scikit-learn calls a pairwise kernel, with its parameters settled on the rows that were learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS, pairwise_distances, pairwise_kernels

from undistract.arrays import Floats, check_range, quiet
from undistract.errors import InputError

PRECOMPUTED = "precomputed"
NAMES = (*sorted(PAIRWISE_KERNEL_FUNCTIONS), PRECOMPUTED)
# They see differences of rows alone, so that rows may be moved to where squares lose no digits.
SHIFTABLE = ("rbf", "laplacian")
N_MEASURED = 1000  # rows whose distances tell the scale
BLOCK = 32  # rows whose own products are found at once


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel with its parameters.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> kernel = Kernel.of(X, "rbf", gamma="auto")
    >>> kernel.parameters  # one over the median squared distance
    {'gamma': 0.04}
    >>> kernel(X, X).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    name: str | Callable[..., float]
    parameters: Mapping[str, Any]
    origin: Floats | None = field(default=None, repr=False)  # (d,) taken off rows first

    @classmethod
    def of(
        cls, X: Floats, name: Any, *, gamma: Any = "auto", degree: Any = 3, coef0: Any = 1, parameters: Any = None
    ) -> Kernel:
        """Settle the parameters on rows, and refuse rows whose products leave the range of numbers."""
        check_kernel(name, gamma, degree, coef0, parameters)
        if name == PRECOMPUTED:
            return cls(name, {})
        with quiet():
            variances = X.var(axis=0)
        check_range(variances, (X[:1] != X).any(axis=0))
        if callable(name):
            return cls(name, dict(parameters or {}))
        known = {"gamma": gamma, "degree": degree, "coef0": coef0}
        used = {key: float(value) for key, value in known.items() if key in KERNEL_PARAMS[name] and key != "gamma"}
        if "gamma" in KERNEL_PARAMS[name]:
            used["gamma"] = _scale(X, name) if isinstance(gamma, str) else float(gamma)
        return cls(name, used, X.mean(axis=0) if name in SHIFTABLE else None)

    def __call__(self, X: Floats, Y: Floats, *, n_before: int = 0) -> Floats:
        """Give k(x, y) of every two rows, (n, m); with a precomputed kernel, X holds them already.

        `n_before` rows came before these: a row that is refused is told by its place among all.
        """
        if self.name == PRECOMPUTED:
            return X
        if self.origin is not None:
            X, Y = X - self.origin, Y - self.origin
        with quiet():
            products: Floats = pairwise_kernels(X, Y, metric=self.name, **self.parameters)
        lost = ~np.isfinite(products).all(axis=1)
        if lost.any():
            raise InputError(
                f"Row {n_before + int(np.argmax(lost))} is so large that its kernel leaves the range of numbers. Is "
                "it in the same units as the others? Bring the features to a common scale first."
            )
        return products

    def own(self, X: Floats, *, n_before: int = 0) -> Floats:
        """Give k(x, x) of every row, (n,)."""
        blocks = [(start, X[start : start + BLOCK]) for start in range(0, len(X), BLOCK)]
        return np.concatenate([np.diag(self(block, block, n_before=n_before + start)) for start, block in blocks])

    def __str__(self) -> str:
        name = self.name if isinstance(self.name, str) else getattr(self.name, "__name__", "a kernel of your own")
        values = (f"{key}={value:.3g}" if isinstance(value, Real) else key for key, value in self.parameters.items())
        return f"{name}({', '.join(values)})"


def is_precomputed(kernel: Any) -> bool:
    """Tell a kernel whose products are given from one of rows; a function of two rows may not like to be compared."""
    return isinstance(kernel, str) and kernel == PRECOMPUTED


def check_kernel(name: Any, gamma: Any, degree: Any, coef0: Any, parameters: Any) -> None:
    """Refuse settings that make no kernel."""
    if not callable(name) and not (isinstance(name, str) and name in NAMES):
        raise InputError(
            f"kernel is {name!r}; expected one of {', '.join(map(repr, NAMES))}, or a function of two rows."
        )
    if not (isinstance(gamma, str) and gamma == "auto") and not _between(gamma, 1e-300, 1e300):
        raise InputError(f"gamma is {gamma!r}; expected 'auto' or a number above 0.")
    for word, value, low, high in (("degree", degree, 0, 100), ("coef0", coef0, -1e100, 1e100)):
        if not _between(value, low, high):
            raise InputError(f"{word} is {value!r}; expected a number from {low:g} to {high:g}.")
    if parameters is not None and not (isinstance(parameters, Mapping) and callable(name)):
        raise InputError(
            f"kernel_params is {parameters!r:.60}; expected a mapping, for a kernel that is a function. The others are "
            "set by gamma, degree and coef0."
        )


def _between(value: Any, low: float, high: float) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and low <= float(value) <= high


def _scale(X: Floats, name: str) -> float:
    """Return one over the median distance of rows: squared, or the sum of differences where the kernel takes that."""
    some = X[np.linspace(0, len(X) - 1, min(len(X), N_MEASURED)).astype(int)]
    some = some - some.mean(axis=0)  # squares lose no digits
    metric = "manhattan" if name == "laplacian" else "sqeuclidean"
    distances = pairwise_distances(some, metric=metric)[np.triu_indices(len(some), 1)]
    middle = float(np.median(distances[distances > 0])) if (distances > 0).any() else 1.0
    return float(np.clip(1 / middle, 1e-300, 1e300))

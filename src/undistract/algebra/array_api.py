"""Apply a fitted projection to arrays of another library (torch, cupy, jax, …), on the device of the rows.

    y = [x, 0]_K - ((x - μ) L) R + c          low rank: a column per feature, corrected by two thin products
    y = (x - μ) A + c                         dense: one matrix

Both are the same affine map; the cheaper form is used. Only the array API standard is needed, so that this works for
CPUs, GPUs and future libraries alike. `fit` copies rows to the host; transform, inverse_transform and denoise do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy.linalg import block_diag

from undistract._arrays import Floats, Ints
from undistract.algebra.projection import LowRankMap, Projection

# Gathering and subtracting one value takes as long as this many multiplications (benchmarks/array_api.py --crossover).
MOVE = 200


@dataclass(frozen=True, eq=False)
class Namespace:
    """A namespace of the array API standard, a device, and the conversion to numpy.

    Examples
    --------
    >>> import numpy as np
    >>> namespace = Namespace(np, "cpu", np.asarray)
    >>> namespace.dtypes, namespace.key
    ([dtype('float64'), dtype('float32')], ('numpy', 'cpu'))
    """

    xp: Any  # the namespace
    device: Any
    to_numpy: Callable[[Any], npt.NDArray[Any]]

    @property
    def key(self) -> tuple[str, str]:
        """Identify library and device."""
        return self.xp.__name__, str(self.device)

    @property
    def dtypes(self) -> list[Any]:
        """The dtypes that rows may have, the widest first."""
        dtypes = self._dtypes()
        return [dtypes[name] for name in ("float64", "float32") if name in dtypes]

    def array(self, values: npt.NDArray[Any], dtype: Any = None) -> Any:
        """Copy a numpy array to the device."""
        # Copy first: not every library accepts negative strides or read-only arrays.
        copy = np.array(values, order="C")
        if dtype is not None and dtype == self._dtypes()["float32"]:
            copy = copy.astype(np.float32)  # on the host: the device may not have float64
        return self.xp.asarray(copy, dtype=dtype, device=self.device)

    def _dtypes(self) -> dict[str, Any]:
        dtypes: dict[str, Any] = self.xp.__array_namespace_info__().dtypes(kind="real floating", device=self.device)
        return dtypes


@dataclass(frozen=True, eq=False)
class AffineMap:
    """An affine map with its matrices on a device."""

    xp: Any
    columns: Any | None  # (k,) K, indices into [x, 0]; None: all of x in order, or a dense map
    pads: bool  # True if K refers to the zero column
    origin: Any  # (d,) μ
    left: Any  # (d, r) L; or (d, k) A
    right: Any | None  # (r, k) R; None for a dense map
    constant: Any  # (k,) c

    @classmethod
    def of(
        cls, columns: Ints, origin: Floats, left: Floats, right: Floats, constant: Floats, space: Namespace, dtype: Any
    ) -> AffineMap:
        """Copy the cheaper form of the low-rank map to a device."""
        n_in, rank = left.shape
        n_out = len(columns)
        if not low_rank_is_cheaper(n_in, rank, n_out):
            taken = np.zeros((n_in + 1, n_out))
            taken[columns, np.arange(n_out)] = 1.0
            matrix = taken[:-1] - left @ right
            constant = constant + np.append(origin, 0.0)[columns]
            return cls(
                space.xp,
                None,
                False,
                space.array(origin, dtype),
                space.array(matrix, dtype),
                None,
                space.array(constant, dtype),
            )
        indices = None if np.array_equal(columns, np.arange(n_in)) else space.array(columns)
        pads = bool((columns == n_in).any())
        matrices = (space.array(values, dtype) for values in (origin, left, right, constant))
        return cls(space.xp, indices, pads, *matrices)

    def __call__(self, X: Any) -> Any:
        """Return the mapped rows, (n, k)."""
        # Subtract the mean first: it can be far larger than the deviations.
        products = (X - self.origin) @ self.left
        if self.right is None:
            return products + self.constant
        base = X
        if self.columns is not None:
            # The standard has no scatter operation: outputs without a feature are taken from a column of zeros.
            if self.pads:
                base = self.xp.concat([X, self.xp.zeros_like(X[:, :1])], axis=1)
            base = self.xp.take(base, self.columns, axis=1)
        return base - products @ self.right + self.constant


def low_rank_is_cheaper(n_in: int, rank: int, n_out: int) -> bool:
    """Compare the cost of both forms for one row. Rank 0 is always low rank: then rows pass unchanged, to the bit."""
    low_rank_cost = rank * (n_in + n_out) + MOVE * n_out
    return n_out > 0 and (rank == 0 or low_rank_cost < n_in * n_out)


@dataclass(frozen=True, eq=False)
class DeviceProjection:
    """A projection whose matrices are on the device of the rows."""

    forward: AffineMap
    backward: AffineMap
    keeps_features: bool  # projected rows have the original features

    def __call__(self, X: Any) -> Any:
        """Return the projected rows, (n, n_out)."""
        return self.forward(X)

    def inverse(self, Z: Any) -> Any:
        """Return projected rows in the original features, with removed directions at their mean, (n, d)."""
        return self.backward(Z)

    def denoise(self, X: Any) -> Any:
        """Return rows in the original features without the removed directions, (n, d)."""
        return self.forward(X) if self.keeps_features else self.backward(self.forward(X))


_on_device: WeakKeyDictionary[Projection, dict[tuple[str, str, str, bool], DeviceProjection]] = WeakKeyDictionary()


def to_device(projection: Projection, space: Namespace, dtype: Any) -> DeviceProjection:
    """Return the projection for rows of another library; its matrices are copied on first use.

    Parameters
    ----------
    projection : Projection
    space : Namespace
        Library and device of the rows.
    dtype : dtype of that library
        The dtype of the rows and of the result.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.algebra import Moments, Spectrum
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal([0, 1, -1], [2, 1, 3], size=(20, 50, 3)) + 5 * rng.normal(size=(20, 1, 3)) * [1, 0, 0]
    >>> projection = Projection.of(Spectrum.of(Moments.of(X)), 1)
    >>> on_device = to_device(projection, Namespace(np, "cpu", np.asarray), np.float64)
    >>> np.allclose(on_device(X[0]), projection(X[0]), rtol=1e-12)
    True
    >>> on_device is to_device(projection, Namespace(np, "cpu", np.asarray), np.float64)
    True
    """
    copies = _on_device.setdefault(projection, {})
    # Tensors created in PyTorch's inference mode cannot be used for gradients: keep a second copy for normal mode.
    inference = getattr(space.xp, "is_inference_mode_enabled", bool)()
    key = (*space.key, str(dtype), inference)
    if key not in copies:
        forward, backward = projection.low_rank(), projection.low_rank_inverse()
        if backward is not None:
            back = _forward(backward, space, dtype)
        else:
            back = _backward(projection, forward, space, dtype)
        copies[key] = DeviceProjection(_forward(forward, space, dtype), back, backward is not None)
    return copies[key]


def _forward(low_rank: LowRankMap, space: Namespace, dtype: Any) -> AffineMap:
    """Write [x F, x_K - ((x - μ) R) S] as one map: the first columns are 0 - (x F)(-I)."""
    filters, features, origin, reading, spread = low_rank
    n_features, n_filters = filters.shape
    columns = np.concatenate([np.full(n_filters, n_features), features])
    left = np.hstack([filters, reading])
    right = block_diag(-np.eye(n_filters), spread)
    return AffineMap.of(columns, origin, left, right, np.zeros(len(columns)), space, dtype)


def _backward(projection: Projection, low_rank: LowRankMap, space: Namespace, dtype: Any) -> AffineMap:
    """Write the way back from coordinates: scatter(z_K) - (z_K Sᵀ) Rᵀ + z_F Pᵀ + the mean of the removed part."""
    filters, features, _, reading, spread = low_rank
    n_features, n_filters = filters.shape
    n_out = n_filters + len(features)
    columns = np.full(n_features, n_out)
    columns[features] = n_filters + np.arange(len(features))
    patterns = getattr(projection, "kept_patterns", filters)  # (d, p); without filters both are empty
    left = block_diag(-np.eye(n_filters), spread.T)
    right = np.vstack([patterns.T, reading.T])
    mean = projection.origin[None, :]
    removed_mean = (mean - projection.embed(projection(mean)))[0]
    return AffineMap.of(columns, np.zeros(n_out), left, right, removed_mean, space, dtype)

"""Kernels and their feature maps: rows ─► coordinates whose inner products are the values of a kernel.

    span       K = V S Vᵀ of m rows, z(x) = S^(-½) Vᵀ k(x): exact for all rows, else Nyström's approximation
    Fourier    z(x) = [cos(xΩ), sin(xΩ)] / √D with random Ω: z(x)·z(y) ≈ exp(-γ|x - y|²)

The image of a row may have a part outside the span of the fitted rows, of length √(k(x,x) - |z|²). It is one more
coordinate, zero for the rows that span.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS, pairwise_distances, pairwise_kernels

from undistract._arrays import TINY, Floats, check_number, check_range, ignore_fp_warnings
from undistract._schema import Sizes, array, number, optional, require, saveable, string
from undistract.errors import InputError

PRECOMPUTED = "precomputed"
NAMES = (*sorted(PAIRWISE_KERNEL_FUNCTIONS), PRECOMPUTED)
# These depend only on differences of rows, so rows may be centred first, where squares lose no digits.
SHIFTABLE = ("rbf", "laplacian")
N_MEASURED = 1000  # number of rows whose distances determine gamma
BLOCK = 32  # number of rows per block in `own`, which computes a full block to get its diagonal
PRE_IMAGE_RIDGE = 1e-10  # relative to the largest variance of the coordinates


def _check_parameters(value: Any, where: str, sizes: Sizes) -> None:
    require(isinstance(value, dict), f"{where} is not a mapping")
    for item in value.values():
        number()(item, where, sizes)


def _validate_kernel(kernel: Kernel) -> None:
    expected: set[str] = set()
    if isinstance(kernel.name, str) and kernel.name != PRECOMPUTED:
        expected = set(KERNEL_PARAMS[kernel.name])
    require(set(kernel.parameters) == expected, f"{kernel.name} has the parameters {sorted(kernel.parameters)}")
    require((kernel.origin is not None) == (kernel.name in SHIFTABLE), f"the origin of {kernel.name} is invalid")


@saveable(
    {"name": string(*NAMES), "parameters": _check_parameters, "origin": optional(array("d"))},
    validate=_validate_kernel,
    public=False,
)
@dataclass(frozen=True, eq=False)
class Kernel:
    """A pairwise kernel of scikit-learn, k(x, y), with its parameters fixed on the fitted rows.

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
    origin: Floats | None = field(default=None, repr=False)  # (d,) subtracted from rows first

    @classmethod
    def of(
        cls, X: Floats, name: Any, *, gamma: Any = "auto", degree: Any = 3, coef0: Any = 1, parameters: Any = None
    ) -> Kernel:
        """Fix the parameters on rows; raise an InputError if their products overflow."""
        check_kernel(name, gamma, degree, coef0, parameters)
        if name == PRECOMPUTED:
            return cls(name, {})
        with ignore_fp_warnings():
            variances = X.var(axis=0)
        check_range(variances, (X[:1] != X).any(axis=0))
        if callable(name):
            return cls(name, dict(parameters or {}))
        used = {}
        for key, value in (("degree", degree), ("coef0", coef0)):
            if key in KERNEL_PARAMS[name]:
                used[key] = float(value)
        if "gamma" in KERNEL_PARAMS[name]:
            used["gamma"] = _scale(X, name) if isinstance(gamma, str) else float(gamma)
        origin = X.mean(axis=0) if name in SHIFTABLE else None
        return cls(name, used, origin)

    def __call__(self, X: Floats, Y: Floats, *, n_before: int = 0) -> Floats:
        """Return k(x, y) of every pair of rows, (n, m); with a precomputed kernel, that is X itself.

        `n_before` is the index of the first row, for error messages.
        """
        if self.name == PRECOMPUTED:
            return X
        if self.origin is not None:
            X = X - self.origin
            Y = Y - self.origin
        with ignore_fp_warnings():
            products: Floats = pairwise_kernels(X, Y, metric=self.name, **self.parameters)
        lost = ~np.isfinite(products).all(axis=1)
        if lost.any():
            raise InputError(
                f"Row {n_before + int(np.argmax(lost))} is so large that its kernel overflows. Check that it has the "
                "same units as the others, and scale the features first."
            )
        return products

    def own(self, X: Floats, *, n_before: int = 0) -> Floats:
        """Return k(x, x) of every row, (n,)."""
        blocks = [(start, X[start : start + BLOCK]) for start in range(0, len(X), BLOCK)]
        return np.concatenate([np.diag(self(block, block, n_before=n_before + start)) for start, block in blocks])

    def __str__(self) -> str:
        name = self.name if isinstance(self.name, str) else getattr(self.name, "__name__", "custom kernel")
        values = (f"{key}={value:.3g}" if isinstance(value, Real) else key for key, value in self.parameters.items())
        return f"{name}({', '.join(values)})"


def is_precomputed(kernel: Any) -> bool:
    """Return whether the kernel is "precomputed"; a callable may not support comparison, so test the type first."""
    return isinstance(kernel, str) and kernel == PRECOMPUTED


def check_kernel(name: Any, gamma: Any, degree: Any, coef0: Any, parameters: Any) -> None:
    """Raise an InputError for invalid kernel options."""
    if not callable(name) and not (isinstance(name, str) and name in NAMES):
        raise InputError(
            f"kernel must be one of {', '.join(map(repr, NAMES))}, or a function of two rows, got {name!r}."
        )
    if not (isinstance(gamma, str) and gamma == "auto"):
        check_number("gamma (if not 'auto')", gamma, least=1e-300, most=1e300, whole=False)
    check_number("degree", degree, least=0, most=100, whole=False)
    check_number("coef0", coef0, least=-1e100, most=1e100, whole=False)
    if parameters is not None and not (isinstance(parameters, Mapping) and callable(name)):
        raise InputError(
            f"kernel_params must be a mapping, and only for a kernel that is a function, got {parameters!r:.60}. For "
            "other kernels use gamma, degree and coef0."
        )


def _scale(X: Floats, name: str) -> float:
    """Return one over the median distance of rows: squared Euclidean, or Manhattan for "laplacian"."""
    sample = X[np.linspace(0, len(X) - 1, min(len(X), N_MEASURED)).astype(int)]
    sample = sample - sample.mean(axis=0)  # so that squares lose no digits
    metric = "manhattan" if name == "laplacian" else "sqeuclidean"
    distances = pairwise_distances(sample, metric=metric)[np.triu_indices(len(sample), 1)]
    positive = distances[distances > 0]
    if len(positive) == 0:
        return 1.0
    return float(np.clip(1 / float(np.median(positive)), 1e-300, 1e300))


# Eigenvalues of the kernel matrix below this share of the largest are rounding, and so are squared lengths.
ROUNDING = 1e-10
NEGATIVE = 1e-6  # if an eigenvalue is below minus this share, the kernel is not positive semidefinite
BLOCK_VALUES = 2**22


def _validate_span(span: NystroemMap) -> None:
    is_precomputed_kernel = span.kernel.name == PRECOMPUTED
    require((span.rows.shape[1] == 0) == is_precomputed_kernel, "its rows are not those of its kernel")
    require(not (is_precomputed_kernel and span.news), "a precomputed kernel has no residual")
    require(span.basis.size > 0, "its basis is empty")
    origin = span.kernel.origin
    require(origin is None or len(origin) == span.rows.shape[1], "its origin has other features")


@saveable(
    {"rows": array("m", "d"), "basis": array("m", "r"), "floor": number(0)}, validate=_validate_span, public=False
)
@dataclass(frozen=True, eq=False)
class NystroemMap:
    """Coordinates in the span of the images of the given rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> kernel = Kernel.of(X, "rbf")
    >>> span = NystroemMap.of(X, kernel)
    >>> bool(np.allclose(span(X) @ span(X).T, kernel(X, X)))
    True
    >>> span(X + 9)[:, -1].round(2).min()  # far from all fitted rows
    np.float64(1.0)
    """

    kernel: Kernel
    rows: Floats  # (m, d) that span; empty (m, 0) with a precomputed kernel
    basis: Floats  # (m, r) V S^(-½)
    floor: float  # squared lengths below this are rounding
    news: bool

    @classmethod
    def of(cls, rows: Floats, kernel: Kernel, *, news: bool = True) -> NystroemMap:
        """Make the map from the rows that span; with a precomputed kernel, `rows` is the kernel matrix."""
        products = kernel(rows, rows)
        values, vectors = eigh((products + products.T) / 2, driver="evd", check_finite=False)
        largest = max(float(values[-1]), 0.0)
        if float(values[0]) < -NEGATIVE * max(largest, TINY):
            raise InputError(
                f"The kernel {kernel} is not positive semidefinite on these {len(products)} rows: its matrix has the "
                f"eigenvalue {values[0]:.3g} (the largest is {largest:.3g}). Use another kernel, such as 'rbf'."
            )
        significant = values > max(ROUNDING * largest, 0.0)
        basis = np.zeros((len(products), 1))
        if significant.any():
            basis = vectors[:, significant] / np.sqrt(values[significant])
        if kernel.name == PRECOMPUTED:
            # The products of new rows with themselves are not available, so there is no residual coordinate.
            rows = np.zeros((len(rows), 0))
            news = False
        return cls(kernel, rows, np.ascontiguousarray(basis[:, ::-1]), ROUNDING * largest, news)

    @property
    def n_out(self) -> int:
        return int(self.basis.shape[1]) + self.news

    @cached_property
    def pre_image(self) -> PreImage:
        """The map back to rows; with thousands of rows its fit takes seconds, so it is cached."""
        return PreImage.of(self)

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


def _validate_fourier(fourier: FourierMap) -> None:
    require(fourier.kernel.name == "rbf" and fourier.frequencies.size > 0, "its frequencies are not those of a kernel")
    origin = fourier.kernel.origin
    require(origin is not None and len(origin) == len(fourier.frequencies), "its origin has other features")


@saveable({"frequencies": array("d", "w")}, validate=_validate_fourier, public=False)
@dataclass(frozen=True, eq=False)
class FourierMap:
    """Random Fourier features, whose inner products approximate the rbf kernel (Rahimi and Recht, 2007).

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
        """Draw frequencies; each has two coordinates, its cosine and its sine."""
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
            raise InputError(f"Row {row} is so large that its Fourier features overflow. Check its units.")
        waves: Floats = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(self.frequencies.shape[1])
        return waves

    def __str__(self) -> str:
        return f"{self.frequencies.shape[1]} random frequencies"


@dataclass(frozen=True, eq=False)
class PreImage:
    """A linear map from coordinates in the feature space back to rows.

        B = argmin |X - μ - (Z - ν) B|² + r |B|²        X the rows that span, Z their coordinates
        row ≈ μ + (z - ν) B

    Fitted by ridge regression, because few points of the feature space are the image of a row. For the linear kernel it
    is exact.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> span = NystroemMap.of(X, Kernel.of(X, "rbf"))
    >>> bool(np.abs(PreImage.of(span)(span(X)) - X).max() < 0.1)
    True
    """

    mean: Floats  # (d,) of the rows
    middle: Floats  # (r,) of their coordinates
    weights: Floats  # (r, d)

    @classmethod
    def of(cls, span: NystroemMap) -> PreImage:
        """Fit to the rows that span."""
        rows = span.rows
        coordinates = span(rows)
        mean = rows.mean(axis=0)
        middle = coordinates.mean(axis=0)
        # A singular value decomposition avoids the squared condition number of the normal equations.
        U, lengths, Vt = np.linalg.svd(coordinates - middle, full_matrices=False)
        damped = lengths / (lengths**2 + PRE_IMAGE_RIDGE * max(float(lengths[0]) ** 2, TINY))
        return cls(mean, middle, Vt.T @ (damped[:, None] * (U.T @ (rows - mean))))

    def __call__(self, Z: Floats) -> Floats:
        """Reconstruct rows, (n, d)."""
        return self.mean + self.difference(Z - self.middle)

    def difference(self, steps: Floats) -> Floats:
        """Return the difference of rows, (n, d), for a difference of coordinates, (n, r)."""
        return steps @ self.weights

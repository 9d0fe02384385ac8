"""Projections: rows without the removed directions. A new kind is one class here and one entry of `REMOVALS`.

    orthogonal (default)   z = Uᵀx, U an orthonormal basis of span(W_kept) = complement of the removed patterns
    eigen                  z = W_keptᵀ x, filters of unit length (literally as in the paper)
    oblique                x - A_r W_rᵀ(x - μ): the kept readings are unchanged, but noise can be amplified
    soft                   μ + (I + Σ s_i a_i a_iᵀ)^(-½)(x - μ), a_i removed patterns of length one: shrunk, not cut

It is never the Euclidean complement of the removed *filters*: that would leave the nuisance movement in the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr, svd

from undistract._arrays import Floats, Ints, Rows, ignore_blas_flags
from undistract.algebra.shrinkage import ShrinkageFilter, strengths
from undistract.algebra.spectrum import Directions, Spectrum
from undistract.errors import InputError

# Tie-break between features that the columns move equally: prefer the earlier one, so that rounding does not decide.
TIE = 1e-6
# With more columns than this share of the features, one product with the full basis is cheaper (benchmarks/speed).
MAX_THIN_SHARE = 0.3
# Rows per block: with 1000 features of float64 a block takes 4 MB, which caches still hold.
BLOCK = 512
SQRT_MAX = 1e150  # larger values overflow a double when they are squared
# Beyond this, double precision keeps nothing of the shrunk direction; its square must not overflow.
MAX_STRENGTH = 1e100


@dataclass(frozen=True, eq=False)
class Complement:
    """Orthonormal coordinates of the complement of a few columns, without forming the (d, d - r) basis.

    Let V be an orthonormal basis of the r columns, P the r features that they move most, and K all other features:

        U = (I - VVᵀ) E_K, orthonormalized symmetrically: the orthonormal basis nearest to the features K
        U_P = -O V_Kᵀ,   U_K = I - V_K (I + S)⁻¹ V_Kᵀ          V_P = O S is the polar decomposition

    U depends only on the span of the columns. Each coordinate belongs to one feature, minus the movement of the columns
    in it, so a feature that no column touches passes unchanged. With few columns, blocks of rows that stay in the cache
    are corrected by two thin products. With many columns, one product with U is cheaper.

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
    reading: Floats  # (d, r) reads a row: O at the features P, V_K (I + S)⁻¹ at the others
    spread: Floats  # (r, k) V_Kᵀ: subtracts these readings from the coordinates
    _bases: dict[str, npt.NDArray[Any]] = field(init=False, default_factory=dict, repr=False)

    @classmethod
    def of(cls, columns: Floats) -> Complement:
        """Compute the complement of linearly independent columns, (d, r)."""
        n_features, n_columns = columns.shape
        if n_columns in (0, n_features):
            n_kept = n_features - n_columns
            features = np.arange(n_kept)
            return cls(features, np.zeros((n_features, 0)), np.zeros((0, len(features))))
        # Columns of one length: the rank decision of QR must not depend on their units.
        basis = qr(columns / np.linalg.norm(columns, axis=0), mode="economic", check_finite=False)[0]  # V
        # Pivoted QR of Vᵀ chooses the r features on which V is best conditioned.
        preference = 1 - TIE * np.arange(n_features)[:, None] / n_features
        pivots = qr((basis * preference).T, mode="r", pivoting=True, check_finite=False)[1][:n_columns]  # P
        features = np.setdiff1d(np.arange(n_features), pivots)  # K
        # Polar decomposition V_P = O S by the SVD: O = left · right, S = rightᵀ · diag(roots) · right.
        left_vectors, roots, right_vectors = svd(basis[pivots], check_finite=False)
        reading = np.empty_like(basis)
        reading[pivots] = left_vectors @ right_vectors
        reading[features] = basis[features] @ ((right_vectors.T / (1 + roots)) @ right_vectors)
        return cls(features, reading, basis[features].T)

    @property
    def basis(self) -> Floats:
        """Uᵀ, (k, d): orthonormal rows."""
        basis = -self.spread.T @ self.reading.T
        basis[np.arange(len(self.features)), self.features] += 1.0
        return basis

    @ignore_blas_flags
    def coordinates(self, X: Rows) -> Rows:
        """Return Uᵀx for each row, (n, k)."""
        if not self._is_thin:
            product: Rows = X @ self._basis_as(X.dtype).T
            return product
        reading = self.reading.astype(X.dtype, copy=False)
        spread = self.spread.astype(X.dtype, copy=False)
        coordinates = np.empty((len(X), len(self.features)), dtype=X.dtype)
        for start in range(0, len(X), BLOCK):
            rows = X[start : start + BLOCK]
            block = coordinates[start : start + BLOCK]
            # mode="clip" writes into `block` directly; the default mode buffers.
            np.take(rows, self.features, axis=1, out=block, mode="clip")
            block -= (rows @ reading) @ spread
        return coordinates

    @ignore_blas_flags
    def rows(self, Z: Rows) -> Rows:
        """Return U z for each row of coordinates, (n, d)."""
        if not self._is_thin:
            product: Rows = Z @ self._basis_as(Z.dtype)
            return product
        reading = self.reading.T.astype(Z.dtype, copy=False)
        spread = self.spread.T.astype(Z.dtype, copy=False)
        rows = np.zeros((len(Z), len(self.reading)), dtype=Z.dtype)
        for start in range(0, len(Z), BLOCK):
            coordinates = Z[start : start + BLOCK]
            block = rows[start : start + BLOCK]
            block[:, self.features] = coordinates
            block -= (coordinates @ spread) @ reading
        return rows

    @property
    def _is_thin(self) -> bool:
        n_features, n_columns = self.reading.shape
        return bool(n_columns <= MAX_THIN_SHARE * n_features)

    def _basis_as(self, dtype: Any) -> npt.NDArray[Any]:
        """Return the basis in one dtype; computed once per dtype."""
        if str(dtype) not in self._bases:
            self._bases[str(dtype)] = self.basis.astype(dtype)
        return self._bases[str(dtype)]


class LowRankMap(NamedTuple):
    """A projection as thin products, z = [x F, x_K - ((x - μ) R) S], for other array libraries and for ONNX."""

    filters: Floats  # (d, p) F
    features: Ints  # (k,) K
    origin: Floats  # (d,) μ; 0 if the correction does not depend on the mean
    reading: Floats  # (d, r) R
    spread: Floats  # (r, k) S


@dataclass(frozen=True, eq=False)
class Projection(ABC):
    """A linear map that removes the most distracting directions; created by `Projection.of`.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.algebra import Moments, Spectrum
    >>> rng = np.random.default_rng(0)
    >>> groups = {m: rng.normal([3 * m, 1, -1], [2, 1, 0], size=(100, 3)) for m in range(1, 11)}
    >>> spectrum = Spectrum.of(Moments.of(groups), ridge=1e-8)
    >>> projection = Projection.of(spectrum, 1)
    >>> projection(groups[1]).shape  # the second feature is removed
    (100, 2)
    >>> projection.inverse(projection(groups[1])).std(axis=0).round(1)
    array([2.2, 0. , 0. ])
    >>> projection.distracting(groups[1]).std(axis=0).round(1)  # almost nothing of the first is removed
    array([0., 1., 0.])
    """

    removal: ClassVar[str]
    keeps_features: ClassVar[bool] = False  # True if projected rows have the original features
    needs_all_directions: ClassVar[bool] = False  # True if the kept directions are needed, not only the removed ones

    origin: Floats  # (d,) the mean of the data; removed readings are set to their value at the mean
    removed: Directions  # the r removed directions

    @staticmethod
    def of(
        spectrum: Spectrum, n_removed: int, removal: str = "orthogonal", strength: float | str = "auto"
    ) -> Projection:
        """Remove the first `n_removed` directions of a spectrum; `strength` applies to a soft removal."""
        check_removal(removal, strength)
        if not 0 <= n_removed <= spectrum.n_varying:
            raise InputError(
                f"{n_removed} directions cannot be removed: {spectrum.n_varying} of {spectrum.n_features} vary within "
                "groups, and constant ones are always kept, because any change along them is informative."
            )
        return REMOVALS[removal].from_spectrum(spectrum, n_removed, strength)

    @classmethod
    @abstractmethod
    def from_spectrum(cls, spectrum: Spectrum, n_removed: int, strength: float | str) -> Projection:
        """Create the projection; the arguments were checked."""

    def parts(self) -> dict[str, Any]:
        """Return what a file must store besides the origin and the removed directions."""
        return {}

    @classmethod
    def from_parts(cls, origin: Floats, removed: Directions, **parts: Any) -> Projection:
        """Create the projection from its parts, without computing anything again; raise InputError if they differ."""
        _require(not any(value is not None for value in parts.values()), f"{cls.removal} has no parts, got {[*parts]}")
        return cls(origin, removed)

    @property
    def filters(self) -> Floats:
        """Filters of the removed directions, (d, r)."""
        return self.removed.filters

    @property
    def patterns(self) -> Floats:
        """Patterns of the removed directions, (d, r)."""
        return self.removed.patterns

    @property
    @abstractmethod
    def n_out(self) -> int:
        """Number of columns of a projected row."""

    @abstractmethod
    def __call__(self, X: Rows) -> Rows:
        """Return g*(x), the rows without the removed directions, (n, n_out)."""

    @abstractmethod
    def embed(self, Z: Rows) -> Rows:
        """Map differences of projected rows to differences in the original features, (n, d)."""

    @abstractmethod
    def pullback(self, G: Rows) -> Rows:
        """Map filters on projected rows to filters on the original features: g·z = pullback(g)·embed(z), (n, d)."""

    @abstractmethod
    def low_rank(self) -> LowRankMap:
        """Return the map as thin products."""

    def low_rank_inverse(self) -> LowRankMap | None:
        """Return the way back as thin products, if projected rows have the original features."""
        return None

    def inverse(self, Z: Rows) -> Rows:
        """Map projected rows back to the original features, with removed readings at their mean, (n, d)."""
        origin = self.origin[None, :]
        removed_mean = origin - self.embed(self(origin))
        rows: Rows = self.embed(Z) + removed_mean.astype(Z.dtype, copy=False)
        return rows

    def denoise(self, X: Rows) -> Rows:
        """Return rows in their original features, without the removed directions, (n, d)."""
        return self.inverse(self(X))

    def distracting(self, X: Rows) -> Rows:
        """Return g(x), the part of each row that the projection removes, in the original features, (n, d)."""
        return X - self.denoise(X)

    def kept_part(self, deviations: Rows) -> Rows:
        """Return the part of each deviation that is orthogonal to the removed patterns, (n, d)."""
        return self.complement.rows(self.complement.coordinates(deviations))

    def ignored_share(self, deviations: Rows) -> Floats:
        """Return the share of each deviation's squared length in the span of the removed patterns, (n,), 0 to 1."""
        deviations = np.asarray(deviations, dtype=np.float64)  # squares of single precision overflow at 1e38
        largest = np.abs(deviations).max(axis=1, keepdims=True, initial=0.0)
        if largest.max(initial=0.0) > SQRT_MAX:
            deviations = deviations / np.where(largest > 0, largest, 1.0)  # a share has no unit
        kept_squares = (self.complement.coordinates(deviations) ** 2).sum(axis=1)
        squares = (deviations**2).sum(axis=1)
        share: Floats = np.clip(1.0 - kept_squares / np.where(squares > 0, squares, 1.0), 0.0, 1.0) * (squares > 0)
        return share

    @cached_property
    def complement(self) -> Complement:
        """The orthogonal complement of the removed patterns; computed on first use."""
        return Complement.of(self.patterns)

    @property
    def kept_basis(self) -> Floats:
        """Orthonormal basis of the kept span, (k, d); the same span for every kind of removal."""
        return self.complement.basis


@dataclass(frozen=True, eq=False)
class Orthogonal(Projection):
    """Orthonormal coordinates of the kept span; distances never increase."""

    removal = "orthogonal"

    @classmethod
    def from_spectrum(cls, spectrum: Spectrum, n_removed: int, strength: float | str) -> Orthogonal:
        return cls(spectrum.origin, spectrum.directions.first(n_removed))

    def parts(self) -> dict[str, Any]:
        return {"complement": self.complement}

    @classmethod
    def from_parts(cls, origin: Floats, removed: Directions, **parts: Any) -> Orthogonal:
        complement = _only(cls, parts, "complement")["complement"]
        _check_complement(complement, len(origin), len(origin) - removed.number)
        projection = cls(origin, removed)
        projection.__dict__["complement"] = complement  # fills the cached property
        return projection

    @property
    def n_out(self) -> int:
        return len(self.origin) - self.removed.number

    def __call__(self, X: Rows) -> Rows:
        return self.complement.coordinates(X)

    def embed(self, Z: Rows) -> Rows:
        return self.complement.rows(Z)

    def pullback(self, G: Rows) -> Rows:
        return self.complement.rows(G)

    def low_rank(self) -> LowRankMap:
        complement = self.complement
        n_features = len(self.origin)
        nothing = np.zeros((n_features, 0))
        return LowRankMap(nothing, complement.features, np.zeros(n_features), complement.reading, complement.spread)


@dataclass(frozen=True, eq=False)
class Eigen(Projection):
    """Readings of the kept filters, scaled to unit length, and of the directions that never varied."""

    removal = "eigen"
    needs_all_directions = True

    kept_filters: Floats  # (d, q - r), unit length
    kept_patterns: Floats  # (d, q - r), kept_filtersᵀ · kept_patterns = I
    rest: Complement  # the directions without a filter: nothing varied along them

    @classmethod
    def from_spectrum(cls, spectrum: Spectrum, n_removed: int, strength: float | str) -> Eigen:
        filters = spectrum.filters[:, n_removed:]
        lengths = np.linalg.norm(filters, axis=0)
        patterns = spectrum.patterns
        removed = spectrum.directions.first(n_removed)
        return cls(
            spectrum.origin, removed, filters / lengths, patterns[:, n_removed:] * lengths, Complement.of(patterns)
        )

    def parts(self) -> dict[str, Any]:
        return {"kept_filters": self.kept_filters, "kept_patterns": self.kept_patterns, "complement": self.rest}

    @classmethod
    def from_parts(cls, origin: Floats, removed: Directions, **parts: Any) -> Eigen:
        parts = _only(cls, parts, "kept_filters", "kept_patterns", "complement")
        filters, patterns, complement = parts["kept_filters"], parts["kept_patterns"], parts["complement"]
        _require(filters.shape == patterns.shape, "kept filters and patterns have different shapes")
        _require(len(filters) == len(origin), f"kept filters are not of {len(origin)} features")
        _check_complement(complement, len(origin), len(origin) - removed.number - filters.shape[1])
        return cls(origin, removed, filters, patterns, complement)

    @property
    def n_out(self) -> int:
        return int(self.kept_filters.shape[1]) + len(self.rest.features)

    @ignore_blas_flags
    def __call__(self, X: Rows) -> Rows:
        return np.hstack([X @ self.kept_filters.astype(X.dtype, copy=False), self.rest.coordinates(X)])

    def embed(self, Z: Rows) -> Rows:
        return self._spread(Z, self.kept_patterns)

    def pullback(self, G: Rows) -> Rows:
        return self._spread(G, self.kept_filters)

    def low_rank(self) -> LowRankMap:
        rest = self.rest
        return LowRankMap(self.kept_filters, rest.features, np.zeros(len(self.origin)), rest.reading, rest.spread)

    @ignore_blas_flags
    def _spread(self, Z: Rows, columns: Floats) -> Rows:
        n_read = columns.shape[1]
        spread: Rows = Z[:, :n_read] @ columns.T.astype(Z.dtype, copy=False) + self.rest.rows(Z[:, n_read:])
        return spread


@dataclass(frozen=True, eq=False)
class Oblique(Projection):
    """The original features, with each removed reading set to its mean along its own pattern."""

    removal = "oblique"
    keeps_features = True

    @classmethod
    def from_spectrum(cls, spectrum: Spectrum, n_removed: int, strength: float | str) -> Oblique:
        return cls(spectrum.origin, spectrum.directions.first(n_removed))

    @property
    def n_out(self) -> int:
        return len(self.origin)

    @ignore_blas_flags
    def __call__(self, X: Rows) -> Rows:
        origin, filters, patterns = (a.astype(X.dtype, copy=False) for a in (self.origin, self.filters, self.patterns))
        projected: Rows = X - ((X - origin) @ filters) @ patterns.T
        return projected

    def embed(self, Z: Rows) -> Rows:
        return Z

    def pullback(self, G: Rows) -> Rows:
        return G

    def low_rank(self) -> LowRankMap:
        return _around_mean(self.origin, self.filters, self.patterns)

    def low_rank_inverse(self) -> LowRankMap:
        nothing = np.zeros((len(self.origin), 0))
        return _around_mean(self.origin, nothing, nothing)


@dataclass(frozen=True, eq=False)
class Soft(Projection):
    """The original features, shrunk towards the mean along the removed patterns; the map is invertible.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.algebra import Moments, Spectrum
    >>> rng = np.random.default_rng(0)
    >>> groups = [rng.normal([3 * m, 0, 0], [2, 9, 1], size=(100, 3)) for m in range(10)]
    >>> soft = Projection.of(Spectrum.of(Moments.of(groups)), 1, "soft", strength=100)
    >>> soft(groups[0]).std(axis=0).round(1)
    array([2.2, 0.9, 1. ])
    >>> soft.inverse(soft(groups[0])).std(axis=0).round(1)
    array([2.2, 9. , 1. ])
    """

    removal = "soft"
    keeps_features = True

    filter: ShrinkageFilter
    strength: float | str  # the parameter, a number or "auto"

    @classmethod
    def from_spectrum(cls, spectrum: Spectrum, n_removed: int, strength: float | str) -> Soft:
        removed = spectrum.directions.first(n_removed)
        shrinkage = ShrinkageFilter.of(removed.patterns, strengths(spectrum, n_removed, strength))
        return cls(spectrum.origin, removed, shrinkage, strength)

    def parts(self) -> dict[str, Any]:
        return {"filter": self.filter, "strength": self.strength}

    @classmethod
    def from_parts(cls, origin: Floats, removed: Directions, **parts: Any) -> Soft:
        parts = _only(cls, parts, "filter", "strength")
        shape = (len(origin), removed.number)
        _require(parts["filter"].directions.shape == shape, f"the filter does not have the shape {shape}")
        check_strength(parts["strength"])
        return cls(origin, removed, **parts)

    @property
    def n_out(self) -> int:
        return len(self.origin)

    def __call__(self, X: Rows) -> Rows:
        return self._apply_centred(self.filter, X)

    def embed(self, Z: Rows) -> Rows:
        return self.filter.inverse(Z)

    def pullback(self, G: Rows) -> Rows:
        return self.filter(G)

    def low_rank(self) -> LowRankMap:
        axes = self.filter.directions
        return _around_mean(self.origin, axes * (1 - 1 / self.filter.gain), axes)

    def low_rank_inverse(self) -> LowRankMap:
        axes = self.filter.directions
        return _around_mean(self.origin, axes * (1 - self.filter.gain), axes)

    def inverse(self, Z: Rows) -> Rows:
        return self._apply_centred(self.filter.inverse, Z)

    def denoise(self, X: Rows) -> Rows:
        return self(X)

    def kept_part(self, deviations: Rows) -> Rows:
        return self.filter(deviations)

    def _apply_centred(self, change: Callable[[Rows], Rows], X: Rows) -> Rows:
        if self.removed.number == 0:
            return X.copy()
        origin = self.origin.astype(X.dtype, copy=False)
        return origin + change(X - origin)


# All kinds of removal: Focus, files, the array API, ONNX and the command line read them here.
REMOVALS: dict[str, type[Projection]] = {kind.removal: kind for kind in (Orthogonal, Eigen, Oblique, Soft)}


def check_removal(removal: Any, strength: Any) -> None:
    """Raise InputError for an unknown kind of removal or an invalid strength."""
    if not isinstance(removal, str) or removal not in REMOVALS:
        raise InputError(f"removal must be one of {', '.join(map(repr, REMOVALS))}, got {removal!r}.")
    check_strength(strength)


def check_strength(strength: Any) -> None:
    """Raise InputError if the strength is neither "auto" nor a non-negative number."""
    number = isinstance(strength, Real) and not isinstance(strength, bool) and 0 <= float(strength) <= MAX_STRENGTH
    if not number and not (isinstance(strength, str) and strength == "auto"):
        raise InputError(f"strength must be 'auto' or a non-negative number, got {strength!r}. Use 0 for none, or 100.")


def _around_mean(origin: Floats, reading: Floats, columns: Floats) -> LowRankMap:
    """Return x - ((x - μ) R) Cᵀ, for all features."""
    n_features = len(origin)
    return LowRankMap(np.zeros((n_features, 0)), np.arange(n_features), origin, reading, columns.T)


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise InputError(f"The projection is inconsistent: {problem}.")


def _only(kind: type[Projection], parts: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the named parts; raise InputError if one is missing or another one is present."""
    for name in names:
        _require(parts.get(name) is not None, f"{kind.removal} needs {name}")
    others = [name for name, value in parts.items() if name not in names and value is not None]
    _require(not others, f"{kind.removal} has no {', '.join(others)}")
    return {name: parts[name] for name in names}


def _check_complement(complement: Complement, n_features: int, n_out: int) -> None:
    _require(len(complement.reading) == n_features, f"the complement is not of {n_features} features")
    _require(len(complement.features) == n_out, f"the complement does not have {n_out} coordinates")

"""The same projection on arrays of another library, such as tensors on a graphics card.

    coordinates   z = [x F, x_K - (x R) S]        F filters, R and S of a complement; or one matrix, x [F, U]
    features      x - ((x - μ) F) Aᵀ              or one matrix, (x - μ)(I - F Aᵀ) + μ

Of few columns and one matrix the cheaper is taken. The matrices go to the device once for each library, device and
dtype.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from undistract.algebra.complement import Complement
from undistract.algebra.library import Library
from undistract.algebra.projection import Eigen, KeptSpan, Oblique, Projection, Soft
from undistract.algebra.spectrum import Spectrum
from undistract.arrays import Floats

# To gather and subtract one value takes as long as so many multiplications (benchmarks/array_api.py --crossover).
MOVE = 200


class Moved(Protocol):
    """A projection whose matrices are where the rows are."""

    def __call__(self, X: Any) -> Any:
        """g*(x): the rows without what distracts, (n, n_out)."""

    def back(self, Z: Any) -> Any:
        """Return projected rows to the original features, with what was removed at its mean, (n, d)."""

    def clean(self, X: Any) -> Any:
        """Return rows in their original features, without what distracts, (n, d)."""


_moved: WeakKeyDictionary[Projection, dict[tuple[str, str, str, bool], Moved]] = WeakKeyDictionary()
_denoising: WeakKeyDictionary[Spectrum, dict[tuple[int, str, str], Projection]] = WeakKeyDictionary()


def moved(projection: Projection, library: Library, dtype: Any) -> Moved:
    """Return the projection for rows of another library; its matrices are copied there the first time only.

    Parameters
    ----------
    projection : Projection
    library : Library
        Where the rows are.
    dtype : dtype of that library
        That the rows have, and the result will have.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.algebra import Moments
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal([0, 1, -1], [2, 1, 3], size=(20, 50, 3)) + 5 * rng.normal(size=(20, 1, 3)) * [1, 0, 0]
    >>> projection = Projection.of(Spectrum.of(Moments.of(X)), 1)
    >>> there = moved(projection, Library(np, "cpu", np.asarray), np.float64)
    >>> np.allclose(there(X[0]), projection(X[0]), rtol=1e-12)
    True
    >>> there is moved(projection, Library(np, "cpu", np.asarray), np.float64)
    True
    """
    copies = _moved.setdefault(projection, {})
    # Tensors that PyTorch makes in its inference mode can never serve a gradient: outside of it there is another copy.
    inference = getattr(library.xp, "is_inference_mode_enabled", bool)()
    key = (*library.key, str(dtype), inference)
    if key not in copies:
        copies[key] = _move(projection, library, dtype)
    return copies[key]


def denoising(spectrum: Spectrum, n_removed: int, removal: str, strength: float | str = "auto") -> Projection:
    """Return the projection that another kind of removal makes; the same one when asked again.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.algebra import Moments
    >>> spectrum = Spectrum.of(Moments.of(np.random.default_rng(0).normal(size=(5, 40, 3))))
    >>> denoising(spectrum, 1, "oblique") is denoising(spectrum, 1, "oblique")
    True
    """
    made = _denoising.setdefault(spectrum, {})
    key = (n_removed, repr(removal), repr(strength))  # what is no text at all is refused by Projection.of
    if key not in made:
        made[key] = Projection.of(spectrum, n_removed, removal, strength)
    return made[key]


@dataclass(frozen=True, eq=False)
class _Thin:
    """A complement whose columns are few."""

    xp: Any
    features: Any  # (k,) K
    places: Any  # (d,) the coordinate of each feature; k where it has none
    reading: Any  # (d, r) R
    spread: Any  # (r, k) S

    @classmethod
    def of(cls, complement: Complement, library: Library, dtype: Any) -> _Thin:
        n_features, n_out = len(complement.reading), len(complement.features)
        places = np.full(n_features, n_out)
        places[complement.features] = np.arange(n_out)
        return cls(
            library.xp,
            library.array(complement.features),
            library.array(places),
            library.array(complement.reading, dtype),
            library.array(complement.spread, dtype),
        )

    def coordinates(self, X: Any) -> Any:
        kept = self.xp.take(X, self.features, axis=1)
        kept -= (X @ self.reading) @ self.spread
        return kept

    def rows(self, Z: Any) -> Any:
        # The standard knows no scatter: features without a coordinate are taken from a column of zeros.
        rows = self.xp.take(self.xp.concat([Z, self.xp.zeros_like(Z[:, :1])], axis=1), self.places, axis=1)
        rows -= (Z @ self.spread.T) @ self.reading.T
        return rows


@dataclass(frozen=True, eq=False)
class _Coordinates:
    """Kept span and eigen: new coordinates."""

    xp: Any
    filters: Any  # (d, p) F, what is read first
    patterns: Any  # (p, d) how it goes back
    rest: _Thin | None  # what is read behind it
    removed_mean: Any  # (d,)

    def __call__(self, X: Any) -> Any:
        if self.rest is None:
            return X @ self.filters
        if self.filters.shape[1] == 0:
            return self.rest.coordinates(X)
        return self.xp.concat([X @ self.filters, self.rest.coordinates(X)], axis=1)

    def back(self, Z: Any) -> Any:
        n_read = self.filters.shape[1]
        if self.rest is None:
            return Z @ self.patterns + self.removed_mean
        rows = self.rest.rows(Z[:, n_read:])
        rows += self.removed_mean
        if n_read:
            rows += Z[:, :n_read] @ self.patterns
        return rows

    def clean(self, X: Any) -> Any:
        return self.back(self(X))


@dataclass(frozen=True, eq=False)
class _AroundTheMean:
    """A change of the deviations from the mean, along a few patterns."""

    origin: Any  # (d,) μ
    filters: Any  # (d, r) F; or (d, d) I - F Aᵀ
    patterns: Any  # (r, d) Aᵀ; or None

    @classmethod
    def of(cls, origin: Floats, filters: Floats, patterns: Floats, library: Library, dtype: Any) -> _AroundTheMean:
        n_features, n_columns = filters.shape
        there = library.array(origin, dtype)
        if _thin_is_cheaper(n_features, n_columns, n_features):
            return cls(there, library.array(filters, dtype), library.array(patterns.T, dtype))
        return cls(there, library.array(np.eye(n_features) - filters @ patterns.T, dtype), None)

    def __call__(self, X: Any) -> Any:
        deviations = X - self.origin  # first, because μ can be far larger than what varies
        if self.patterns is None:
            return deviations @ self.filters + self.origin
        return X - (deviations @ self.filters) @ self.patterns


@dataclass(frozen=True, eq=False)
class _Features:
    """Oblique and soft: the original features."""

    xp: Any
    change: _AroundTheMean
    undo: _AroundTheMean | None  # None: what is removed is gone

    def __call__(self, X: Any) -> Any:
        return self.change(X)

    def back(self, Z: Any) -> Any:
        return self.xp.asarray(Z, copy=True) if self.undo is None else self.undo(Z)

    def clean(self, X: Any) -> Any:
        return self.change(X)


@singledispatch
def _move(projection: Projection, library: Library, dtype: Any) -> Moved:
    raise NotImplementedError(f"{type(projection).__name__} has no form for other array libraries.")


@_move.register
def _(projection: KeptSpan, library: Library, dtype: Any) -> Moved:
    nothing = np.zeros((len(projection.origin), 0))
    return _coordinates(projection, nothing, nothing, projection.complement, library, dtype)


@_move.register
def _(projection: Eigen, library: Library, dtype: Any) -> Moved:
    return _coordinates(projection, projection.kept_filters, projection.kept_patterns, projection.rest, library, dtype)


@_move.register
def _(projection: Oblique, library: Library, dtype: Any) -> Moved:
    change = _AroundTheMean.of(projection.origin, projection.filters, projection.patterns, library, dtype)
    return _Features(library.xp, change, None)


@_move.register
def _(projection: Soft, library: Library, dtype: Any) -> Moved:
    axes, stretch = projection.filter.directions, projection.filter.stretch
    changes = (axes * (1 - 1 / stretch), axes * (1 - stretch))  # there, and back
    there, back = (_AroundTheMean.of(projection.origin, one, axes, library, dtype) for one in changes)
    return _Features(library.xp, there, back)


def _coordinates(
    projection: Projection, filters: Floats, patterns: Floats, rest: Complement, library: Library, dtype: Any
) -> _Coordinates:
    origin = projection.origin[None, :]
    removed_mean = library.array((origin - projection.lift(projection(origin)))[0], dtype)
    if _thin_is_cheaper(len(filters), rest.reading.shape[1], len(rest.features)):
        thin = _Thin.of(rest, library, dtype)
    else:
        thin, basis = None, rest.basis  # (k, d)
        filters, patterns = np.hstack([filters, basis.T]), np.hstack([patterns, basis.T])
    return _Coordinates(library.xp, library.array(filters, dtype), library.array(patterns.T, dtype), thin, removed_mean)


def _thin_is_cheaper(n_features: int, n_columns: int, n_out: int) -> bool:
    """Compare the cost of x_K - (x R) S with that of x U, for one row."""
    thin, thick = n_columns * (n_features + n_out) + MOVE * n_out, n_features * n_out
    return n_out > 0 and (n_columns == 0 or thin < thick)

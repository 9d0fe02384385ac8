"""The projection: rows without what distracts.

    kept span (default)   z = Uᵀx, U an orthonormal basis of span(W_kept) = complement of the removed patterns
    eigen                 z = W_keptᵀ x, every filter of length one (the paper's text to the letter)
    oblique               x - A_r W_rᵀ(x - μ): every kept reading unchanged, but noise can be amplified
    soft                  μ + (I + Σ s_i a_i a_iᵀ)^(-½)(x - μ), a_i removed patterns of length one: shrunk, not cut

Never the Euclidean complement of the removed *filters*: it leaves the distractor's movement in the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from undistract.algebra.complement import Complement
from undistract.algebra.directions import Directions
from undistract.algebra.soft_filter import SoftFilter
from undistract.algebra.spectrum import Spectrum
from undistract.algebra.strength import check_strength, strengths
from undistract.arrays import Floats, Rows, multiplying
from undistract.errors import InputError

SQUARABLE = 1e150  # what is longer leaves the range of doubles when it is squared


@dataclass(frozen=True, eq=False)
class Projection(ABC):
    """A linear map that removes the most distracting directions. Make one with `Projection.of`.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.algebra import Moments, Spectrum
    >>> rng = np.random.default_rng(0)
    >>> sets = {m: rng.normal([3 * m, 1, -1], [2, 1, 0], size=(100, 3)) for m in range(1, 11)}
    >>> spectrum = Spectrum.of(Moments.of(sets), cushion=1e-8)
    >>> projection = Projection.of(spectrum, 1)
    >>> projection(sets[1]).shape  # the second feature distracts
    (100, 2)
    >>> projection.back(projection(sets[1])).std(axis=0).round(1)
    array([2.2, 0. , 0. ])
    >>> projection.distracting(sets[1]).std(axis=0).round(1)  # almost nothing of the first goes with it
    array([0., 1., 0.])
    """

    removal: ClassVar[str]

    origin: Floats  # (d,) the mean of the data, where removed readings are set back to
    removed: Directions  # r of them

    @staticmethod
    def of(
        spectrum: Spectrum, n_removed: int, removal: str = "kept_span", strength: float | str = "auto"
    ) -> Projection:
        """Remove the first `n_removed` directions of a spectrum; `strength` is that of a soft removal."""
        check_removal(removal)
        check_strength(strength)
        if not 0 <= n_removed <= spectrum.n_moving:
            raise InputError(
                f"{n_removed} directions cannot be removed: {spectrum.n_moving} of {spectrum.n_features} vary inside "
                "sets, and constant ones are always kept, because a change there is news."
            )
        return REMOVALS[removal]._of(spectrum, n_removed, strength)

    def like(self, spectrum: Spectrum, n_removed: int) -> Projection:
        """Make the same kind of projection of another spectrum."""
        return Projection.of(spectrum, n_removed, self.removal)

    @classmethod
    @abstractmethod
    def _of(cls, spectrum: Spectrum, n_removed: int, strength: float | str) -> Projection: ...

    @property
    def filters(self) -> Floats:
        """What reads the removed directions, (d, r)."""
        return self.removed.filters

    @property
    def patterns(self) -> Floats:
        """How rows move along them, (d, r)."""
        return self.removed.patterns

    @property
    @abstractmethod
    def n_out(self) -> int:
        """How many coordinates a projected row has."""

    @abstractmethod
    def __call__(self, X: Rows) -> Rows:
        """g*(x): the rows without what distracts, (n, n_out)."""

    @abstractmethod
    def lift(self, Z: Rows) -> Rows:
        """Turn differences of projected rows into differences in the original features, (n, d)."""

    @abstractmethod
    def pull(self, G: Rows) -> Rows:
        """Turn filters on projected rows into filters on the original features: g·z = pull(g)·lift(z), (n, d)."""

    def back(self, Z: Rows) -> Rows:
        """Return projected rows to the original features, with what was removed at its mean, (n, d)."""
        origin = self.origin[None, :]
        removed_mean = origin - self.lift(self(origin))
        back: Rows = self.lift(Z) + removed_mean.astype(Z.dtype, copy=False)
        return back

    def clean(self, X: Rows) -> Rows:
        """Return rows in their original features, without what distracts, (n, d)."""
        return self.back(self(X))

    def distracting(self, X: Rows) -> Rows:
        """g(x): the part of each row that the projection removes, in the original features, (n, d)."""
        return X - self.clean(X)

    def visible(self, deviations: Rows) -> Rows:
        """Return the part of each deviation that is orthogonal to the removed patterns, (n, d)."""
        return self.complement.rows(self.complement.coordinates(deviations))

    def ignored_share(self, deviations: Rows) -> Floats:
        """How much of each deviation's squared length lies in the span of the removed patterns, (n,), 0 to 1."""
        deviations = np.asarray(deviations, dtype=np.float64)  # squares of single precision end at 1e38
        reach = np.abs(deviations).max(axis=1, keepdims=True, initial=0.0)
        if reach.max(initial=0.0) > SQUARABLE:
            deviations = deviations / np.where(reach > 0, reach, 1.0)  # a share has no unit
        kept = (self.complement.coordinates(deviations) ** 2).sum(axis=1)
        whole = (deviations**2).sum(axis=1)
        share: Floats = np.clip(1.0 - kept / np.where(whole > 0, whole, 1.0), 0.0, 1.0) * (whole > 0)
        return share

    @cached_property
    def complement(self) -> Complement:
        """What is orthogonal to the removed patterns; made when it is first needed."""
        return Complement.of(self.patterns)

    @property
    def kept_basis(self) -> Floats:
        """Orthonormal basis of what is kept, (k, d), the same span for every kind of removal."""
        return self.complement.basis


@dataclass(frozen=True, eq=False)
class KeptSpan(Projection):
    """Orthonormal coordinates of the kept span; distances never grow."""

    removal = "kept_span"

    @classmethod
    def _of(cls, spectrum: Spectrum, n_removed: int, strength: float | str) -> KeptSpan:
        return cls(spectrum.origin, spectrum.directions.first(n_removed))

    @classmethod
    def made(cls, origin: Floats, removed: Directions, complement: Complement) -> KeptSpan:
        """Put together what was made before."""
        projection = cls(origin, removed)
        projection.__dict__["complement"] = complement  # in place of finding it again
        return projection

    @property
    def n_out(self) -> int:
        return len(self.origin) - self.removed.number

    def __call__(self, X: Rows) -> Rows:
        return self.complement.coordinates(X)

    def lift(self, Z: Rows) -> Rows:
        return self.complement.rows(Z)

    def pull(self, G: Rows) -> Rows:
        return self.complement.rows(G)


@dataclass(frozen=True, eq=False)
class Eigen(Projection):
    """Readings of the kept filters, each of unit length, and of the directions that never varied."""

    removal = "eigen"

    kept_filters: Floats  # (d, q - r), unit length
    kept_patterns: Floats  # (d, q - r), kept_filtersᵀ · kept_patterns = I
    rest: Complement  # the directions without a filter, where nothing varied

    @classmethod
    def _of(cls, spectrum: Spectrum, n_removed: int, strength: float | str) -> Eigen:
        filters, patterns = spectrum.filters, spectrum.patterns
        lengths = np.linalg.norm(filters[:, n_removed:], axis=0)
        return cls(
            spectrum.origin,
            spectrum.directions.first(n_removed),
            filters[:, n_removed:] / lengths,
            patterns[:, n_removed:] * lengths,
            Complement.of(patterns),
        )

    @property
    def n_out(self) -> int:
        return int(self.kept_filters.shape[1]) + len(self.rest.features)

    @multiplying
    def __call__(self, X: Rows) -> Rows:
        return np.hstack([X @ self.kept_filters.astype(X.dtype, copy=False), self.rest.coordinates(X)])

    def lift(self, Z: Rows) -> Rows:
        return self._spread(Z, self.kept_patterns)

    def pull(self, G: Rows) -> Rows:
        return self._spread(G, self.kept_filters)

    @multiplying
    def _spread(self, Z: Rows, columns: Floats) -> Rows:
        n_read = columns.shape[1]
        spread: Rows = Z[:, :n_read] @ columns.T.astype(Z.dtype, copy=False) + self.rest.rows(Z[:, n_read:])
        return spread


@dataclass(frozen=True, eq=False)
class Oblique(Projection):
    """The original features, with each removed reading set back to its mean along its own pattern."""

    removal = "oblique"

    @classmethod
    def _of(cls, spectrum: Spectrum, n_removed: int, strength: float | str) -> Oblique:
        return cls(spectrum.origin, spectrum.directions.first(n_removed))

    @property
    def n_out(self) -> int:
        return len(self.origin)

    @multiplying
    def __call__(self, X: Rows) -> Rows:
        origin, filters, patterns = (a.astype(X.dtype, copy=False) for a in (self.origin, self.filters, self.patterns))
        projected: Rows = X - ((X - origin) @ filters) @ patterns.T
        return projected

    def lift(self, Z: Rows) -> Rows:
        return Z

    def pull(self, G: Rows) -> Rows:
        return G


@dataclass(frozen=True, eq=False)
class Soft(Projection):
    """The original features, shrunk towards the mean along the removed patterns; nothing is lost, so it can be undone.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract.algebra import Moments, Spectrum
    >>> rng = np.random.default_rng(0)
    >>> sets = [rng.normal([3 * m, 0, 0], [2, 9, 1], size=(100, 3)) for m in range(10)]
    >>> soft = Projection.of(Spectrum.of(Moments.of(sets)), 1, "soft", strength=100)
    >>> soft(sets[0]).std(axis=0).round(1)
    array([2.2, 0.9, 1. ])
    >>> soft.back(soft(sets[0])).std(axis=0).round(1)
    array([2.2, 9. , 1. ])
    """

    removal = "soft"

    filter: SoftFilter
    strength: float | str  # as it was asked for

    @classmethod
    def _of(cls, spectrum: Spectrum, n_removed: int, strength: float | str) -> Soft:
        removed = spectrum.directions.first(n_removed)
        soft = SoftFilter.of(removed.patterns, strengths(spectrum, n_removed, strength))
        return cls(spectrum.origin, removed, soft, strength)

    def like(self, spectrum: Spectrum, n_removed: int) -> Projection:
        return Projection.of(spectrum, n_removed, self.removal, self.strength)

    @property
    def n_out(self) -> int:
        return len(self.origin)

    def __call__(self, X: Rows) -> Rows:
        return self._around_the_mean(self.filter, X)

    def lift(self, Z: Rows) -> Rows:
        return self.filter.undo(Z)

    def pull(self, G: Rows) -> Rows:
        return self.filter(G)

    def back(self, Z: Rows) -> Rows:
        return self._around_the_mean(self.filter.undo, Z)

    def clean(self, X: Rows) -> Rows:
        return self(X)

    def visible(self, deviations: Rows) -> Rows:
        return self.filter(deviations)

    def _around_the_mean(self, change: Callable[[Rows], Rows], X: Rows) -> Rows:
        if self.removed.number == 0:
            return X.copy()
        origin = self.origin.astype(X.dtype, copy=False)
        return origin + change(X - origin)


REMOVALS: dict[str, type[Projection]] = {kind.removal: kind for kind in (KeptSpan, Eigen, Oblique, Soft)}


def check_removal(removal: Any) -> None:
    """Refuse a way of removal that there is not."""
    if not isinstance(removal, str) or removal not in REMOVALS:
        raise InputError(f"removal is {removal!r}; expected one of {', '.join(map(repr, REMOVALS))}.")

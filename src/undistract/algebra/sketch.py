"""Sketched moments: what FOCUS remembers where rows and features are both many, in O(size · d).

within  ≈ BᵀB,  between ≈ GᵀG          each a Frequent Directions sketch of at most 2 · size rows

The rows of a set enter as √(w/n) (x - μ_m), set means as √w (μ_m - μ). Exact all the same are the counts, the mean, the
variance of every feature inside sets and between them, and with at most 2 · size sets all of `between`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import groupby
from numbers import Integral
from typing import Any

import numpy as np

from undistract.algebra.frequent_directions import Builder, FrequentDirections
from undistract.algebra.moments import Moments
from undistract.algebra.named_sets import named_pieces, twice
from undistract.algebra.prior import Prior, Weights
from undistract.algebra.set_sketch import SetSketch
from undistract.algebra.weighted_sets import WeightedSets
from undistract.arrays import TINY, Floats, Ints, check_range, quiet, same_features
from undistract.errors import InputError

SIZE = 256


@dataclass(frozen=True, eq=False)
class SketchedMoments(WeightedSets):
    """Moments of many sets with many features, in few rows; they join with ``+`` and `Focus.fit_moments` takes them.

    Nothing of size d × d is formed: 100 000 features take 2 · 256 rows of them, where a matrix would take 80 GB. In
    return, `within` reads low by up to `dropped` in any direction. The law that holds for every distraction λ, with
    the means of all sets exact and ε the cushion, in odds λ/(1-λ):

        odds of the sketch  ≤  odds of all rows  ≤  odds of the sketch + dropped/ε

    Where a spectrum decays, that is little. Where it is flat, no sketch can do it: `Focus.describe` gives the number.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract import Focus, Moments
    >>> rng = np.random.default_rng(0)
    >>> scale = 0.95 ** np.arange(100)
    >>> sets = {m: (rng.normal(size=(25, 100)) + 2 * rng.normal(size=100)) * scale for m in range(120)}
    >>> sketch = SketchedMoments.of(sets, size=60)
    >>> sketch.n_sets, sketch.n_rows, sketch.rows_inside.shape[0] <= 120
    (120, 3000, True)
    >>> bool(sketch.dropped <= sketch.bound)
    True
    >>> one, two = (Focus(cushion=1).fit_moments(moments) for moments in (sketch, Moments.of(sets)))
    >>> bool(abs(one.distraction_[:9] - two.distraction_[:9]).max() < 0.01)
    True
    """

    names: tuple[Hashable, ...]
    counts: Ints  # (M,) rows in each set
    weights: Floats  # (M,) prior of each set, not yet divided by their sum
    prior: str  # "uniform", "by_size" or "given"
    origin: Floats  # (d,) a row of the data
    offset: Floats  # (d,) the mean, minus origin
    inside: FrequentDirections  # Σ w/n · S_m
    apart: FrequentDirections  # Σ w (μ_m - μ)(μ_m - μ)ᵀ
    traces: Floats  # (M,) trace of S_m
    variances_inside: Floats  # (d,) diagonal of Σ w/n · S_m, exact
    variances_apart: Floats  # (d,) diagonal of Σ w (μ_m - μ)(μ_m - μ)ᵀ, exact
    spread: Floats  # (d,) Σ w √(diag S_m / n)

    @classmethod
    def of(cls, sets: Any, prior: Weights = "uniform", *, size: int = SIZE) -> SketchedMoments:
        """Sum up sets one by one, in one pass and flat memory.

        Parameters
        ----------
        sets : mapping or iterable
            As in `Moments.of`, but rows alone: no SetMoments. A set may come in pieces, and none needs to know how many
            follow: it has a sketch of its own, which is weighted by its rows once they are counted.
        prior : {"uniform", "by_size"}, mapping or sequence
            How much each set counts.
        size : int, default=256
            More directions are more exact; time and memory grow with it.
        """
        check_size(size)
        rule, seen = Prior.of(prior), set[Hashable]()
        running: _Running | None = None
        for name, pieces in groupby(named_pieces(sets), key=lambda pair: pair[0]):
            if name in seen:
                raise twice(name)
            seen.add(name)
            one = SetSketch.of(name, (piece for _, piece in pieces), size)
            running = running or _Running(size, one)
            running.add(name, one, rule.weights((name,), np.array([one.count]), len(seen) - 1)[0])
        if running is None:
            raise InputError("There are no sets. Give at least two, each with the rows of one context.")
        rule.check_length(len(seen))
        return running.done(rule.kind)

    @property
    def size(self) -> int:
        """How many directions the sketch is sure to hold."""
        return self.inside.size

    @property
    def rows_inside(self) -> Floats:
        """B, with BᵀB ≤ within ≤ BᵀB + dropped · I."""
        rows: Floats = self.inside.rows / np.sqrt(self._weight)
        return rows

    @property
    def rows_apart(self) -> Floats:
        """G, with GᵀG ≤ between ≤ GᵀG + dropped_apart · I."""
        rows: Floats = self.apart.rows / np.sqrt(self._weight)
        return rows

    @property
    def dropped(self) -> float:
        """By so much at most `within` reads low in any direction."""
        return self.inside.dropped / self._weight

    @property
    def dropped_apart(self) -> float:
        """By so much at most `between` reads low in any direction; 0 for at most 2 · size sets."""
        return self.apart.dropped / self._weight

    @property
    def bound(self) -> float:
        """What `dropped` can be at most, by theory: trace(within) / (size + 1)."""
        return self.inside.bound / self._weight

    @property
    def held(self) -> float:
        """The share of the variation inside sets that the sketch holds."""
        return self.inside.held / self.inside.mass if self.inside.mass > 0 else 1.0

    @property
    def variances(self) -> Floats:
        """The diagonal of `total`, exact, (d,)."""
        variances: Floats = (self.variances_inside + self.variances_apart) / self._weight
        return variances

    def wander(self, filters: Floats, inside: Floats) -> tuple[Floats, Floats]:
        """How far the readings of set means wander by chance alone, as `Moments.wander`, for each filter (column).

        Exact where sets have one size and weight, or vary alike. Else each set counts with the variance of all its
        features together: a sketch does not know where each of them varies.
        """
        several = self.counts > 1
        shares, counts = self.shares[several], self.counts[several]
        parts = shares * self.traces[several] / counts
        whole = max(float(parts.sum()), TINY)
        first, second = float((parts / (counts - 1)).sum()), float((parts * shares / (counts - 1)).sum())
        return inside * (first / whole), inside * (second / whole)

    def _spread(self) -> Floats:
        return self.spread

    def _inside(self) -> Floats:
        return self.variances_inside

    def __add__(self, other: SketchedMoments) -> SketchedMoments:
        """Join sketches of different sets and one size; the error stays within the bound."""
        if not isinstance(other, SketchedMoments):
            return self.__radd__(other)
        same_features(self.n_features, other.n_features, f"Set {other.names[0]!r}")
        known = set(self.names)
        if again := [name for name in other.names if name in known]:
            raise twice(again[0])
        if (self.prior, self.size) != (other.prior, other.size):
            raise InputError(
                f"One side was sketched with prior {self.prior!r} and size {self.size}, the other with "
                f"{other.prior!r} and {other.size}. Use the same for both."
            )
        left, right = self._weight, other._weight
        with quiet():
            step = (other.origin - self.origin) + (other.offset - self.offset)
            shift = step * np.sqrt(left * right / (left + right))
            check_range(shift**2, np.zeros(len(shift), dtype=bool))
        return SketchedMoments(
            self.names + other.names,
            np.append(self.counts, other.counts),
            np.append(self.weights, other.weights),
            self.prior,
            self.origin,
            self.offset + step * (right / (left + right)),
            self.inside + other.inside,
            self.apart + FrequentDirections.of([shift[None, :]], self.size, len(shift)) + other.apart,
            np.append(self.traces, other.traces),
            self.variances_inside + other.variances_inside,
            self.variances_apart + other.variances_apart + shift**2,
            self.spread + other.spread,
        )

    def __radd__(self, other: Any) -> Any:
        """Say what to do about moments of another kind."""
        if not isinstance(other, Moments):
            return NotImplemented
        raise InputError(
            f"One side is a sketch, the other holds moments of all rows (set {other.names[0]!r}). Make a sketch of its "
            f"sets too: SketchedMoments.of(sets, size={self.size})."
        )


def check_size(size: Any) -> None:
    """Refuse a size that is no number of directions."""
    if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
        raise InputError(f"size is {size!r}; expected how many directions the sketch holds, such as {SIZE}.")


class _Running:
    """The sum over sets so far, in place."""

    def __init__(self, size: int, first: SetSketch) -> None:
        n_features = len(first.origin)
        self._origin, self._offset, self._weight = first.origin, first.offset, 0.0
        self._inside, self._apart = Builder(size, n_features), Builder(size, n_features)
        self._diagonals = np.zeros((3, n_features))  # variances inside, apart; spread
        self._told: list[tuple[Hashable, int, float, float]] = []

    def add(self, name: Hashable, one: SetSketch, weight: float) -> None:
        same_features(len(self._origin), len(one.origin), f"Set {name!r}")
        self._inside.join(one.scatter.scaled(weight / one.count))
        with quiet():
            step = (one.origin - self._origin) + (one.offset - self._offset)
            shift = step * np.sqrt(self._weight * weight / (self._weight + weight))
            check_range(shift**2, np.zeros(len(shift), dtype=bool))
        if self._told:
            self._apart.add(shift[None, :])
        self._weight += weight
        self._offset = self._offset + step * (weight / self._weight)
        self._diagonals += [one.squares * (weight / one.count), shift**2, weight * np.sqrt(one.squares / one.count)]
        self._told.append((name, one.count, weight, float(one.squares.sum())))

    def done(self, prior: str) -> SketchedMoments:
        names, counts, weights, traces = zip(*self._told, strict=True)
        return SketchedMoments(
            names,
            np.array(counts, dtype=np.int64),
            np.array(weights),
            prior,
            self._origin,
            self._offset,
            self._inside.done(),
            self._apart.done(),
            np.array(traces),
            *self._diagonals,
        )

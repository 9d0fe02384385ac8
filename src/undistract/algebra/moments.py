"""Moments: all that FOCUS remembers of the rows it has seen. They are sums, so they join with `+`.

within  = Σ P_m · 1/n_m · Σ_{x in m} (x - μ_m)(x - μ_m)ᵀ
between = Σ P_m (μ_m - μ)(μ_m - μ)ᵀ                          μ = Σ P_m μ_m
total   = within + between
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from undistract.algebra.named_sets import batches, twice
from undistract.algebra.prior import Prior, Weights
from undistract.algebra.set_labels import sort_sets
from undistract.algebra.set_moments import SetMoments
from undistract.algebra.store import KEPT_VALUES, Folded, KeptRows, balanced, energy_read, few, sum_sorted
from undistract.algebra.weighted_sets import WeightedSets
from undistract.arrays import Floats, Ints, Rows, as_rows, check_range, listed, quiet, same_features
from undistract.errors import InputError

# Of the sixteen digits of a sum, taking a set out again must leave about eight.
LEAST_LEFT = 1e-7


@dataclass(frozen=True, eq=False)
class Moments(WeightedSets):
    """Moments of many sets; a set counts once, by name. Moments of different sets join with ``+``.

    Make them with `Moments.of` (sets one by one), `Moments.of_labelled` (one array, one label per row), or ``a + b``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sets = {day: rng.normal(size=(20, 3)) + shift for shift, day in enumerate(["mon", "tue", "wed"])}
    >>> moments = Moments.of(sets)
    >>> moments.n_sets, moments.n_rows
    (3, 60)
    >>> np.allclose(moments.total, moments.within + moments.between)
    True
    >>> moments.without("tue").names
    ('mon', 'wed')
    >>> moments + Moments.of({"mon": sets["mon"]})
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Set 'mon' is already in these moments. Join its pieces as SetMoments first...
    """

    names: tuple[Hashable, ...]
    counts: Ints  # (M,) rows in each set
    weights: Floats  # (M,) prior of each set, not yet divided by their sum
    prior: str  # "uniform", "by_size" or "given"
    origin: Floats  # (d,) a row of the data
    offset: Floats  # (d,) the mean, minus origin
    store: KeptRows | Folded

    @classmethod
    def of(cls, sets: Any, prior: Weights = "uniform") -> Moments:
        """Sum up sets one by one, in flat memory.

        Parameters
        ----------
        sets : mapping or iterable
            A mapping from name to rows, or an iterable of (name, rows) pairs, of arrays (named 0, 1, …), or of objects
            with a ``name`` and ``chunks()``. In place of rows, `SetMoments` will do. Pieces of one set may follow
            one another; a name that comes back later is an error.
        prior : {"uniform", "by_size"}, mapping or sequence
            How much each set counts: all the same, as many rows as it has, or the weights given by name or in order.
        """
        rule = Prior.of(prior)
        parts: list[Moments] = []
        n_before = 0
        for batch in batches(sets):
            if isinstance(batch, list):
                names, arrays = zip(*batch, strict=True)
                counts = np.array([len(rows) for rows in arrays])
                weights = rule.weights(names, counts, n_before)
                part = cls(
                    names, counts, weights, rule.kind, *sum_sorted(np.concatenate(arrays), None, counts, weights)
                )
            else:
                name, piece = batch
                part = _of_piece(name, piece, rule.weights((name,), np.array([piece.count]), n_before)[0], rule.kind)
            n_before += part.n_sets
            parts.append(part)
            # Like joins with like: a name is then copied a few times, not once for every set that follows. Large
            # matrices do not wait for their like: memory stays flat.
            while len(parts) > 1 and (parts[-2].n_sets <= parts[-1].n_sets or _heavy(parts)):
                parts[-2:] = [parts[-2] + parts[-1]]
        if not parts:
            raise InputError("There are no sets. Give at least two, each with the rows of one context.")
        while len(parts) > 1:
            parts[-2:] = [parts[-2] + parts[-1]]
        rule.check_length(parts[0].n_sets)
        return parts[0]

    @classmethod
    def of_labelled(cls, X: Any, labels: Any, prior: Weights = "uniform") -> Moments:
        """Sum up one array of rows, each labelled with its set; no loop over sets or rows."""
        rows = as_rows(X, check_finite=False)
        try:
            return cls.of_checked(rows, labels, prior)
        except InputError:
            as_rows(X)  # whether numbers are missing shows in the sums; which ones, only here
            raise

    @classmethod
    def of_checked(cls, X: Rows, labels: Any, prior: Weights = "uniform") -> Moments:
        """Do the same for rows that were checked at another door: numbers of shape (n, d).

        Where they are not finite, it is an `InputError` about their range: sums show that something is wrong, not
        where.
        """
        names, counts, order = sort_sets(labels, len(X))
        rule = Prior.of(prior)
        rule.check_length(len(names))
        weights = rule.weights(names, counts)
        return cls(names, counts, weights, rule.kind, *sum_sorted(X, order, counts, weights))

    @property
    def within(self) -> Floats:
        """How rows vary inside sets, (d, d)."""
        return self._scatter(0) / self._weight

    @property
    def between(self) -> Floats:
        """How set means differ, (d, d), rank at most M - 1."""
        return self._between() / self._weight

    @property
    def total(self) -> Floats:
        """``within + between``, (d, d): the variation of all rows."""
        return self.within + self.between

    def __add__(self, other: Moments) -> Moments:
        """Join moments of different sets (Chan's formula once more, with the sets' weights)."""
        if not isinstance(other, Moments):
            return NotImplemented
        same_features(self.n_features, other.n_features, f"Set {other.names[0]!r}")
        known = set(self.names)
        for name in other.names:
            if name in known:
                raise twice(name)
        if self.prior != other.prior:
            raise InputError(
                f"One side was summed with prior {self.prior!r}, the other with {other.prior!r}. Use the same for both."
            )
        names = self.names + other.names
        counts, weights = np.append(self.counts, other.counts), np.append(self.weights, other.weights)
        left, right = self._weight, other._weight
        with quiet():
            step = (other.origin - self.origin) + (other.offset - self.offset)  # (d,)
            offset = self.offset + step * (right / (left + right))
            check_range(step**2, np.zeros(len(step), dtype=bool))
        store: KeptRows | Folded
        a, b = self.store, other.store
        if isinstance(a, KeptRows) and isinstance(b, KeptRows) and few(counts.sum(), self.n_features):
            store = a.joined(b)
        else:
            with quiet():
                shift = np.outer(step, step) * (left * right / (left + right))  # (d, d)
                sums = range(1 if balanced(counts, weights) else 3)
                within, *wander = (self._scatter(which) + other._scatter(which) for which in sums)
                between = self._between() + other._between() + shift
                spread = self._spread() + other._spread()
                check_range((np.diag(within) + np.diag(between)) / (left + right), step != 0)
            store = Folded(within, between, (wander[0], wander[1]) if wander else None, spread)
        return Moments(names, counts, weights, self.prior, self.origin, offset, store)

    def __radd__(self, other: object) -> Moments:
        """Let `sum` begin with its zero."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def without(self, name: Hashable, piece: SetMoments | None = None) -> Moments:
        """Take one set out again.

        Parameters
        ----------
        name : hashable
            The set to take out.
        piece : SetMoments, optional
            Its moments, needed once rows are so many that they were folded into matrices. A few digits are lost then
            if the set outweighs all that stay.
        """
        if name not in self.names:
            raise self._unknown(name)
        if self.n_sets == 1:
            raise InputError(f"Set {name!r} is the only one; moments of no sets do not exist.")
        position = self.names.index(name)
        stays = np.arange(self.n_sets) != position
        names = self.names[:position] + self.names[position + 1 :]
        counts, weights = self.counts[stays], self.weights[stays]
        if isinstance(self.store, KeptRows):
            kept = self.store.of_sets(stays, self.counts)
            offset = weights @ kept.means() / weights.sum()
            return Moments(names, counts, weights, self.prior, kept.anchors[0], offset, kept)
        if piece is None:
            raise InputError(
                f"Set {name!r} was folded into matrices together with {self.n_sets - 1} others ({self.n_rows} rows). "
                f"Hand its own moments too: without({name!r}, SetMoments.of(rows))."
            )
        if piece.count != self.counts[position]:
            raise InputError(f"Set {name!r} has {self.counts[position]} rows here, the piece given has {piece.count}.")
        gone = _of_piece(name, piece, self.weights[position], self.prior)
        # Chan's formula backwards: from the mean of all to the mean of the set that goes.
        step = (gone.origin - self.origin) + (gone.offset - self.offset)
        rest, leaving = weights.sum(), self.weights[position]
        between = self._between() - np.outer(step, step) * (leaving * (rest + leaving) / rest)
        within, *wander = (
            self._scatter(which) - gone._scatter(which) for which in range(1 if balanced(counts, weights) else 3)
        )
        # A difference keeps only as many digits as it has against the sums it was taken from.
        before, after = np.diag(self._between() + self._scatter(0)), np.diag(between + within)
        if (after < LEAST_LEFT * before).any():
            raise InputError(
                f"Set {name!r} holds nearly all variation of feature {int(np.argmax(after < LEAST_LEFT * before))}: "
                "what it leaves would be rounding. Sum up the other sets anew."
            )
        spread = np.maximum(self._spread() - gone._spread(), 0.0)
        store = Folded(within, between, (wander[0], wander[1]) if wander else None, spread)
        return Moments(names, counts, weights, self.prior, self.origin, self.offset - step * (leaving / rest), store)

    def without_rows(self) -> Moments:
        """Return the same moments as sums alone: no row of the data is among them, so they can leave the house.

        Of a set with a single row, its mean is that row: it is in the sums over set means, mixed with the others.

        Examples
        --------
        >>> import numpy as np
        >>> moments = Moments.of(np.random.default_rng(0).normal(size=(5, 4, 2)))
        >>> sums = moments.without_rows()
        >>> np.allclose(sums.total, moments.total), type(sums.store).__name__
        (True, 'Folded')
        """
        sums = range(1 if balanced(self.counts, self.weights) else 3)
        within, *wander = (self._scatter(which) for which in sums)
        store = Folded(within, self._between(), (wander[0], wander[1]) if wander else None, self._spread())
        # The origin is a row of the data otherwise.
        return Moments(self.names, self.counts, self.weights, self.prior, self.mean, np.zeros_like(self.offset), store)

    def piece(self, name: Hashable) -> SetMoments:
        """Return the moments of one set, so that more of its rows can be joined; its rows must still be kept."""
        if name not in self.names:
            raise self._unknown(name)
        position = self.names.index(name)
        count = int(self.counts[position])
        if isinstance(self.store, KeptRows):
            kept = self.store.of_sets(np.arange(self.n_sets) == position, self.counts)
            wide = 2 * count <= self.n_features
            folded = None if wide else kept.deviations.T @ kept.deviations
            return SetMoments(count, kept.anchors[0], kept.offsets[0], kept.deviations if wide else None, folded)
        if self.n_sets == 1:
            scatter = self.store.within * (count / self.weights[0])
            return SetMoments(count, self.origin, self.offset, None, scatter)
        raise InputError(
            f"Set {name!r} was folded into matrices together with {self.n_sets - 1} others ({self.n_rows} rows): "
            "it cannot grow any more. Where sets come in pieces, use partial_fit from the start."
        )

    def wander(self, filters: Floats, inside: Floats | None = None) -> tuple[Floats, Floats]:
        """How far the readings of set means wander by chance alone, for each filter (column).

        Parameters
        ----------
        filters : (d, q) array
        inside : (q,) array, optional
            wᵀ within w where it is known: with sets of one size and weight, the answer is a multiple of it.

        Returns
        -------
        noise, noise_squared : (q,) arrays
            Σ P_m/(n_m(n_m-1)) wᵀS_m w and Σ P_m²/(n_m(n_m-1)) wᵀS_m w, S_m the scatter of set m.
        """
        return self._wandering(
            lambda which: self.store.energy(which, self.counts, self.weights, filters), inside=inside
        )

    def wander_read(self, readings: Floats, inside: Floats) -> tuple[Floats, Floats]:
        """Return the same, given what the filters read off the deviations of all rows, (n, q)."""
        return self._wandering(lambda which: energy_read(which, self.counts, self.weights, readings), inside=inside)

    def _wandering(self, energy: Callable[[int], Floats], inside: Floats | None) -> tuple[Floats, Floats]:
        if inside is not None and balanced(self.counts, self.weights):
            noise = inside / max(int(self.counts[0]) - 1, 1)
            return noise, noise / self.n_sets
        return energy(1) / self._weight, energy(2) / self._weight**2

    def _between(self) -> Floats:
        return self.store.between(self.weights)

    def _spread(self) -> Floats:
        return self.store.spread(self.counts, self.weights)

    def _inside(self) -> Floats:
        return self.store.inside(self.counts, self.weights)

    def _scatter(self, which: int) -> Floats:
        return self.store.scatter(which, self.counts, self.weights)

    def _unknown(self, name: Hashable) -> InputError:
        return InputError(f"There is no set {name!r} in these moments; there are {listed(self.names)}.")


def _heavy(parts: list[Moments]) -> bool:
    """Tell whether the matrices of all parts together take more than rows may that are kept."""
    matrices = sum(isinstance(part.store, Folded) for part in parts)
    return 4 * matrices * parts[0].n_features ** 2 > KEPT_VALUES


def _of_piece(name: Hashable, piece: SetMoments, weight: float, prior: str) -> Moments:
    """Moments of a single set."""
    store: KeptRows | Folded
    if piece.deviations is not None:
        store = KeptRows(piece.origin[None, :], piece.offset[None, :], piece.deviations)
    else:
        within = piece.scatter * (weight / piece.count)
        spread = np.sqrt(weight * np.diag(within))  # w √v, where w v stands on the diagonal
        store = Folded(within, np.zeros_like(within), None, spread)
    return Moments((name,), np.array([piece.count]), np.array([weight]), prior, piece.origin, piece.offset, store)

"""A blend: sets that are still open, summed up together. Each needs a few rows of numbers, all of them a few matrices.

    sum k = Σ_m coefficient_k(m) · S_m          S_m: the scatter of what is there of set m, around its own mean

How much a set counts is known once all rows were counted, so scatters need not be kept apart until a set is complete.
When two blends meet, a set that is in both gets Chan's shift: one more row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from undistract.algebra import Moments
from undistract.algebra.gather import gather_sets, weighted_scatter
from undistract.algebra.store import Folded, balanced
from undistract.arrays import Floats, Ints, Rows, check_range, quiet


def n_sums(prior: str, counts: Ints, weights: Floats) -> int:
    """How many sums are needed: the others of those in `algebra.store` follow from them.

    Examples
    --------
    >>> n_sums("uniform", np.array([5, 5]), np.ones(2)), n_sums("uniform", np.array([5, 7]), np.ones(2))
    (1, 2)
    """
    if balanced(counts, weights):
        return 1
    return 3 if prior == "given" else 2


@dataclass(frozen=True, eq=False)
class Blend:
    """Open sets, by number.

    Parameters
    ----------
    numbers, seen, counts : (k,) arrays of int
        The sets, how many of their rows are here, and how many they have.
    weights : (k,) array
    anchors, offsets : (k, d) arrays
        A row of each set, and the mean of the rows that are here minus that.
    squares : (k, d) array
        The diagonal of the scatter of each set.
    sums : tuple of (d, d) arrays
        Of these sets, and of all that were closed before.
    """

    numbers: Ints
    seen: Ints
    counts: Ints
    weights: Floats
    anchors: Floats
    offsets: Floats
    squares: Floats
    sums: tuple[Floats, ...]

    @classmethod
    def of(cls, rows: Rows, codes: Ints, counts: Ints, weights: Floats, sums: int) -> Blend:
        """Sum up rows that are labelled with the number of their set; counts and weights of all sets by number."""
        order = np.argsort(codes, kind="stable")
        numbers, seen = np.unique(codes, return_counts=True)
        with quiet():
            found = gather_sets(rows, order, seen, _coefficients(counts[numbers], weights[numbers], sums))
        return cls(
            numbers,
            seen,
            counts[numbers],
            weights[numbers],
            found.anchors,
            found.offsets,
            found.squares,
            tuple(found.scatters),
        )

    def __add__(self, other: Blend) -> Blend:
        """Join with other rows of the same or other sets."""
        _, here, there = np.intersect1d(self.numbers, other.numbers, assume_unique=True, return_indices=True)
        new = np.setdiff1d(np.arange(len(other.numbers)), there)
        before, more = self.seen[here], other.seen[there]
        with quiet():
            steps = (other.anchors[there] - self.anchors[here]) + (other.offsets[there] - self.offsets[here])  # (s, d)
            shifts = steps * np.sqrt(before * more / (before + more))[:, None]
            offsets, squares, seen = self.offsets.copy(), self.squares.copy(), self.seen.copy()
            offsets[here] += steps * (more / (before + more))[:, None]
            squares[here] += other.squares[there] + shifts**2
            seen[here] += more
            factors = np.sqrt(_coefficients(self.counts[here], self.weights[here], len(self.sums)))
            scaled = (shifts * factor[:, None] for factor in factors)
            sums = tuple(
                one + two + rows.T @ rows for one, two, rows in zip(self.sums, other.sums, scaled, strict=True)
            )
        return Blend(
            np.append(self.numbers, other.numbers[new]),
            np.append(seen, other.seen[new]),
            np.append(self.counts, other.counts[new]),
            np.append(self.weights, other.weights[new]),
            np.vstack([self.anchors, other.anchors[new]]),
            np.vstack([offsets, other.offsets[new]]),
            np.vstack([squares, other.squares[new]]),
            sums,
        )

    def closed(self, prior: str) -> tuple[Blend, Moments | None]:
        """Take the sets out that are complete. Their moments hold how means differ; the scatter stays in the sums."""
        done = self.seen == self.counts
        if not done.any():
            return self, None
        counts, weights, anchors = self.counts[done], self.weights[done], self.anchors[done]
        with quiet():
            offset, between = weighted_scatter((anchors - anchors[0]) + self.offsets[done], weights)
            spread = weights @ np.sqrt(self.squares[done] / counts[:, None])
        nothing = np.zeros_like(between)
        wander = None if balanced(counts, weights) else (nothing, nothing)
        names = tuple(self.numbers[done].tolist())
        store = Folded(nothing, between, wander, spread)
        moments = Moments(names, counts, weights, prior, anchors[0], offset, store)
        fields = ("numbers", "seen", "counts", "weights", "anchors", "offsets", "squares")
        return replace(self, **{name: getattr(self, name)[~done] for name in fields}), moments

    def poured(self, moments: Moments) -> Moments:
        """Add the sums to moments that hold all sets."""
        store, counts, weights = moments.store, moments.counts, moments.weights
        within = store.scatter(0, counts, weights) + self.sums[0]
        between = store.between(weights)
        check_range((np.diag(within) + np.diag(between)) / weights.sum(), np.zeros(len(within), dtype=bool))
        wander = None
        if not balanced(counts, weights):
            first = store.scatter(1, counts, weights) + self.sums[1]
            second = self.sums[2] if len(self.sums) == 3 else self.sums[1]
            if len(self.sums) == 2 and moments.prior == "by_size":  # n²/(n(n-1)) = n/n + n/(n(n-1))
                second = self.sums[0] + self.sums[1]
            wander = (first, store.scatter(2, counts, weights) + second)
        return replace(moments, store=Folded(within, between, wander, store.spread(counts, weights)))


def _coefficients(counts: Ints, weights: Floats, sums: int) -> Floats:
    """Return the factors of S_m in each sum, (sums, k); a set of one row has no scatter."""
    pairs = np.where(counts > 1, counts * (counts - 1.0), np.inf)
    return np.stack([weights / counts, weights / pairs, weights**2 / pairs])[:sums]

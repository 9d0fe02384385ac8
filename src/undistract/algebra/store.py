"""What moments hold: a few rows as they are, many rows folded into matrices.

    sum 0   Σ w/n · S_m             within
    sum 1   Σ w/(n(n-1)) · S_m      how far set means wander by chance
    sum 2   Σ w²/(n(n-1)) · S_m     the same, by squared weight
    spread  Σ w · √(diag S_m / n)   how much each feature varies in a typical set

S_m is the scatter of set m, n its rows, w its weight (not yet divided by the sum of the weights).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from undistract.algebra.centre import piece_sums
from undistract.algebra.gather import gather, gather_rows, mirror, weighted_scatter
from undistract.arrays import SMALLEST, Bools, Floats, Ints, Rows, check_range, quiet

# Rows are kept while they are few: then a set can be taken out again without a trace.
KEPT_VALUES = 2**21


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Every row, while there are few."""

    anchors: Floats  # (M, d) a row of each set
    offsets: Floats  # (M, d) the mean of each set, minus its anchor
    deviations: Floats  # (n, d) rows minus the mean of their set, sets one after the other

    @classmethod
    def of(cls, X: Rows, order: Ints | None, counts: Ints) -> KeptRows:
        """Keep rows that `order` sorts by set."""
        anchors, offsets, deviations, squares = gather_rows(X, order, counts)
        kept = cls(anchors, offsets, deviations)
        kept.__dict__["_squares"] = squares  # found on the way, in place of another pass
        return kept

    def squares(self, counts: Ints) -> Floats:
        """Return the diagonal of each set's scatter, (M, d)."""
        if "_squares" not in self.__dict__:
            self.__dict__["_squares"] = piece_sums(self.deviations**2, np.cumsum(counts) - counts)
        squares: Floats = self.__dict__["_squares"]
        return squares

    def means(self) -> Floats:
        """Return the set means relative to the first anchor, (M, d)."""
        means: Floats = (self.anchors - self.anchors[0]) + self.offsets
        return means

    def between(self, weights: Floats) -> Floats:
        """Σ w (μ_m - μ)(μ_m - μ)ᵀ, (d, d)."""
        return weighted_scatter(self.means(), weights)[1]

    def scatter(self, which: int, counts: Ints, weights: Floats) -> Floats:
        """Return sum 0, 1 or 2, (d, d)."""
        factors = _coefficients(counts, weights)[which]
        even = bool((factors == factors[0]).all())  # sets of one size and weight need no scaling
        rows = self.deviations if even else self.deviations * np.sqrt(np.repeat(factors, counts))[:, None]
        scatter: Floats = dsyrk(float(factors[0]) if even else 1.0, rows.T)
        mirror(scatter)
        return scatter

    def energy(self, which: int, counts: Ints, weights: Floats, filters: Floats) -> Floats:
        """Return wᵀ(sum)w for each filter, (q,), without forming the sum."""
        return energy_read(which, counts, weights, self.deviations @ filters)

    def inside(self, counts: Ints, weights: Floats) -> Floats:
        """Return the diagonal of sum 0, (d,)."""
        inside: Floats = (weights / counts) @ self.squares(counts)
        return inside

    def spread(self, counts: Ints, weights: Floats) -> Floats:
        """Σ w √(diag S_m / n), (d,)."""
        spread: Floats = weights @ np.sqrt(self.squares(counts) / counts[:, None])
        return spread

    def of_sets(self, chosen: Bools, counts: Ints) -> KeptRows:
        """Keep only the sets chosen by a mask."""
        return KeptRows(self.anchors[chosen], self.offsets[chosen], self.deviations[np.repeat(chosen, counts)])

    def joined(self, other: KeptRows) -> KeptRows:
        """Put the sets of another behind these."""
        pairs = zip(
            (self.anchors, self.offsets, self.deviations), (other.anchors, other.offsets, other.deviations), strict=True
        )
        return KeptRows(*(np.vstack(pair) for pair in pairs))


@dataclass(frozen=True, eq=False)
class Folded:
    """Matrices, once rows are many."""

    within: Floats  # (d, d) sum 0
    between_means: Floats  # (d, d)
    wander: tuple[Floats, Floats] | None  # sums 1 and 2; None while all sets have one size and one weight
    spread_sum: Floats  # (d,)

    def between(self, weights: Floats) -> Floats:
        """Σ w (μ_m - μ)(μ_m - μ)ᵀ, (d, d)."""
        return self.between_means

    def scatter(self, which: int, counts: Ints, weights: Floats) -> Floats:
        """Return sum 0, 1 or 2, (d, d)."""
        if which == 0:
            return self.within
        if self.wander is not None:
            return self.wander[which - 1]
        factor = 1 / max(int(counts[0]) - 1, 1)  # balanced: multiples of within, which is zero where sets have one row
        return self.within * (factor if which == 1 else factor * float(weights[0]))

    def inside(self, counts: Ints, weights: Floats) -> Floats:
        """Return the diagonal of sum 0, (d,)."""
        return np.diag(self.within)

    def spread(self, counts: Ints, weights: Floats) -> Floats:
        """Σ w √(diag S_m / n), (d,)."""
        return self.spread_sum

    def energy(self, which: int, counts: Ints, weights: Floats, filters: Floats) -> Floats:
        """Return wᵀ(sum)w for each filter, (q,)."""
        energy: Floats = np.einsum("ij,ij->j", filters, self.scatter(which, counts, weights) @ filters)
        return energy


def sum_sorted(X: Rows, order: Ints | None, counts: Ints, weights: Floats) -> tuple[Floats, Floats, KeptRows | Folded]:
    """Sum up rows that `order` sorts by set: origin (d,), mean minus origin (d,), store."""
    with quiet():
        if few(*X.shape):
            kept = KeptRows.of(X, order, counts)
            means = kept.means()
            offset = weights @ means / weights.sum()
            variances = kept.squares(counts).sum(axis=0) / len(X) + ((means - offset) ** 2).mean(axis=0)
            # A constant feature deviates by exactly nothing, however large it is; only what seems to be one is asked.
            still = variances < SMALLEST
            still[still] = kept.deviations[:, still].any(axis=0) | means[:, still].any(axis=0)
            check_range(variances, still)
            return kept.anchors[0], offset, kept
        coefficients = _coefficients(counts, weights)
        wander = None
        if balanced(counts, weights):
            found = gather(X, order, counts, weights, coefficients[:1])
        else:
            # Sum 2 is a mixture of the others for the priors uniform and by_size; else it is summed as well.
            several = coefficients[:, counts > 1]
            mixture = np.linalg.lstsq(several[:2].T, several[2])[0]
            mixed = np.allclose(mixture @ several[:2], several[2], rtol=1e-12, atol=0)
            found = gather(X, order, counts, weights, coefficients[: 2 if mixed else 3])
            within, first = found.scatters[:2]
            wander = (first, mixture[0] * within + mixture[1] * first if mixed else found.scatters[2])
        within = found.scatters[0]
        variances = (np.diag(within) + np.diag(found.between)) / weights.sum()
        check_range(variances + 0 * found.spread, found.moved)  # NaN if any row is
    return found.origin, found.offset, Folded(within, found.between, wander, found.spread)


def energy_read(which: int, counts: Ints, weights: Floats, readings: Floats) -> Floats:
    """Return wᵀ(sum)w of filters, given what they read off the deviations, (n, q); sums as above."""
    energy: Floats = np.repeat(_coefficients(counts, weights)[which], counts) @ readings**2
    return energy


def few(n_rows: int, n_features: int) -> bool:
    """Tell whether rows are few enough to be kept."""
    return 2 * n_rows <= n_features or n_rows * n_features <= KEPT_VALUES


def balanced(counts: Ints, weights: Floats) -> bool:
    """Tell whether all sets have one size and one weight."""
    return bool((counts == counts[0]).all() and (weights == weights[0]).all())


def _coefficients(counts: Ints, weights: Floats) -> Floats:
    """Return the factors of S_m in the three sums, (3, M)."""
    pairs = np.where(counts > 1, counts * (counts - 1), np.inf)  # one row has no scatter
    return np.stack([weights / counts, weights / pairs, weights**2 / pairs])

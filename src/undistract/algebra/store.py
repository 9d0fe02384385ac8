"""What moments hold: a few rows as they are, many rows folded into matrices.

    sum 0   Σ w/n · S_m             within
    sum 1   Σ w/(n(n-1)) · S_m      how far set means wander by chance
    sum 2   Σ w²/(n(n-1)) · S_m     the same, by squared weight

S_m is the scatter of set m, n its rows, w its weight (not yet divided by the sum of the weights).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from undistract.algebra.gather import gather, gather_rows, weighted_scatter
from undistract.arrays import Floats, Ints, Rows, finite

# Rows are kept while they are few: then a set can be taken out again without a trace.
KEPT_VALUES = 2**21


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Every row, while there are few."""

    means: Floats  # (M, d) relative to the origin
    deviations: Floats  # (n, d) rows minus the mean of their set, sets one after the other

    def between(self, weights: Floats) -> Floats:
        """Σ w (μ_m - μ)(μ_m - μ)ᵀ, (d, d)."""
        return weighted_scatter(self.means, weights)[1]

    def scatter(self, which: int, counts: Ints, weights: Floats) -> Floats:
        """Return sum 0, 1 or 2, (d, d)."""
        scaled = self.deviations * np.sqrt(np.repeat(_coefficients(counts, weights)[which], counts))[:, None]
        return finite(scaled.T @ scaled)

    def energy(self, which: int, counts: Ints, weights: Floats, filters: Floats) -> Floats:
        """Return wᵀ(sum)w for each filter, (q,), without forming the sum."""
        readings = (self.deviations @ filters) ** 2  # (n, q)
        return np.repeat(_coefficients(counts, weights)[which], counts) @ readings

    def rows_of(self, chosen: Ints, counts: Ints) -> KeptRows:
        """Keep only the sets chosen by a mask."""
        return KeptRows(self.means[chosen], self.deviations[np.repeat(chosen, counts)])


@dataclass(frozen=True, eq=False)
class Folded:
    """Matrices, once rows are many."""

    within: Floats  # (d, d) sum 0
    between_means: Floats  # (d, d)
    wander: tuple[Floats, Floats] | None  # sums 1 and 2; None while all sets have one size and one weight

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

    def energy(self, which: int, counts: Ints, weights: Floats, filters: Floats) -> Floats:
        """Return wᵀ(sum)w for each filter, (q,)."""
        energy: Floats = np.einsum("ij,ij->j", filters, self.scatter(which, counts, weights) @ filters)
        return energy


def sum_sorted(X: Rows, order: Ints | None, counts: Ints, weights: Floats) -> tuple[Floats, Floats, KeptRows | Folded]:
    """Sum up rows that `order` sorts by set: origin (d,), mean minus origin (d,), store."""
    if few(*X.shape):
        origin, means, deviations = gather_rows(X, order, counts)
        return origin, finite(weights @ means / weights.sum()), KeptRows(means, finite(deviations))
    coefficients = _coefficients(counts, weights)
    wander = None
    if balanced(counts, weights):
        origin, means, (within,) = gather(X, order, counts, coefficients[:1])
    else:
        # Sum 2 is a mixture of the others for the priors uniform and by_size; else it is summed as well.
        several = coefficients[:, counts > 1]
        mixture = np.linalg.lstsq(several[:2].T, several[2])[0]
        mixed = np.allclose(mixture @ several[:2], several[2], rtol=1e-12, atol=0)
        origin, means, scatters = gather(X, order, counts, coefficients[: 2 if mixed else 3])
        within, first = scatters[:2]
        wander = (first, mixture[0] * within + mixture[1] * first if mixed else scatters[2])
    offset, between = weighted_scatter(means, weights)
    return origin, offset, Folded(finite(within), finite(between), wander)


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

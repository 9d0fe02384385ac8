"""What sums over sets have in common, whatever they hold besides: names, counts, weights and the mean."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from undistract.arrays import TINY, Floats, Ints


class WeightedSets:
    """Sets, each of which counts by its weight.

    Examples
    --------
    >>> class Counted(WeightedSets):
    ...     names, counts, weights = ("mon", "tue"), np.array([3, 5]), np.array([1.0, 3.0])
    >>> Counted().n_sets, Counted().n_rows, Counted().shares
    (2, 8, array([0.25, 0.75]))
    """

    names: tuple[Hashable, ...]
    counts: Ints  # (M,) rows in each set
    weights: Floats  # (M,) prior of each set, not yet divided by their sum
    origin: Floats  # (d,) a row of the data
    offset: Floats  # (d,) the mean, minus origin

    @property
    def n_sets(self) -> int:
        """How many sets, M."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """How many rows in all sets."""
        return int(self.counts.sum())

    @property
    def n_features(self) -> int:
        """How many features a row has, d."""
        return len(self.origin)

    @property
    def shares(self) -> Floats:
        """P_m, the prior of each set; they sum to one."""
        return self.weights / self._weight

    @property
    def mean(self) -> Floats:
        """Mean of the set means, weighted by the prior, (d,)."""
        return self.origin + self.offset

    def unevenness(self, patterns: Floats) -> Floats:
        """How unevenly sets vary where a pattern (column) lies, (q,): 0 where each varies as much as the others.

        Σ_f a_f² v_f / Σ_f a_f² s_f² - 1, where v is the mean over sets of a feature's variance, and s the mean over
        sets of its standard deviation. It is measured feature by feature: sums over sets hold no more.
        """
        variances, typical = self._evenness()
        shares = (patterns / np.maximum(np.linalg.norm(patterns, axis=0), TINY)) ** 2  # (d, q), of any scale
        uneven: Floats = (variances @ shares) / np.maximum(typical @ shares, TINY) - 1.0
        return np.maximum(uneven, 0.0)

    def unevenness_of_features(self) -> tuple[float, float]:
        """Return the least and the largest of any feature that varies inside sets; those of patterns lie between."""
        variances, typical = self._evenness()
        varies = typical > 0
        uneven = np.maximum(variances[varies] / typical[varies] - 1.0, 0.0)
        return float(uneven.min(initial=np.inf)), float(uneven.max(initial=0.0))

    def _evenness(self) -> tuple[Floats, Floats]:
        """Return v and s² of each feature, (d,)."""
        several = self.counts > 1  # a set of one row shows no variation of its own
        weight = float(self.weights[several].sum()) or 1.0  # where all have one row, nothing varies and all are even
        # The spread of n rows reads low by 1/(4(n-1)), to first order.
        low = float((self.weights / np.maximum(self.counts - 1, 1))[several].sum()) / weight / 4
        return self._inside() / weight, (self._spread() / weight * (1 + low)) ** 2

    @property
    def _weight(self) -> float:
        return float(self.weights.sum())

    def _spread(self) -> Floats:
        """Σ w √(diag S_m / n), (d,)."""
        raise NotImplementedError

    def _inside(self) -> Floats:
        """Σ w diag S_m / n, (d,)."""
        raise NotImplementedError

"""How much the sets can tell: what pure noise would read, and which directions no set speaks about.

E[λ] of a pure distractor = within/(within + wander) ≈ 1 - 1/n_m
all d of them together: λ± = (√(p(1-q)) ± √(q(1-p)))²,  p = (n-M)/(n-1),  q = d/(n-1)     (Wachter, 1980)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad

from undistract.algebra.weighted_sets import WeightedSets
from undistract.arrays import TINY


def speaks(n_sets: int, n_directions: int) -> bool:
    """Tell whether so many sets can tell apart half of the directions or more.

    Examples
    --------
    >>> speaks(n_sets=954, n_directions=784), speaks(n_sets=200, n_directions=2048)
    (True, False)
    """
    return n_directions <= 2 * (n_sets - 1)


@dataclass(frozen=True)
class Evidence:
    """What the number of sets, rows and features allows us to know.

    Examples
    --------
    The sizes of the paper's experiment: 954 sets of 100 images with 784 pixels.

    >>> evidence = Evidence(n_sets=954, n_rows=95400, n_directions=784, pure_distractor=0.99)
    >>> evidence.noise_edges
    (0.964..., 0.9999...)
    >>> round(evidence.noise_above(0.999))  # so many would pass the paper's cut-off by chance
    105
    """

    n_sets: int
    n_rows: int
    n_directions: int  # how many directions vary at all
    pure_distractor: float  # what a direction that tells nothing about sets is expected to read

    @classmethod
    def of(cls, sets: WeightedSets, n_directions: int) -> Evidence:
        """Read the sizes off sums over sets."""
        shares, counts = sets.shares, sets.counts
        within = (shares * (counts - 1) / counts).sum()
        wander = (shares * (1 - shares) / counts).sum()
        pure = within / (within + wander) if within > 0 else 0.0
        return cls(sets.n_sets, sets.n_rows, n_directions, float(pure))

    @property
    def n_silent(self) -> int:
        """Directions in which set means cannot differ, because there are too few sets to span them."""
        return max(0, self.n_directions - (self.n_sets - 1))

    @property
    def heard(self) -> float:
        """The share of the directions that the sets can tell apart, 0 to 1."""
        return min(1.0, (self.n_sets - 1) / max(self.n_directions, 1))

    @property
    def speaks(self) -> bool:
        """Whether the sets can tell apart half of the directions or more."""
        return speaks(self.n_sets, self.n_directions)

    @property
    def noise_edges(self) -> tuple[float, float]:
        """Between which values pure noise reads without a cushion (Wachter's law); (0, 1) when rows are too few."""
        p, q = self._ratios()
        if not 0 < q < 1:
            return 0.0, 1.0
        up, down = np.sqrt(p * (1 - q)), np.sqrt(q * (1 - p))
        return float((up - down) ** 2), float((up + down) ** 2)

    def noise_above(self, cutoff: float) -> float:
        """How many directions of pure noise would read at least `cutoff` without a cushion."""
        _, q = self._ratios()
        low, high = self.noise_edges
        start = max(low, cutoff)
        if not 0 < q < 1 or start >= high:
            return float(self.n_silent)

        # With x = high - (high - low)·sin²t the square-root edges become smooth.
        def density(t: float) -> float:
            x = high - (high - low) * np.sin(t) ** 2
            room = max(x * (1 - x), TINY)
            return float(((high - low) * np.sin(t) * np.cos(t)) ** 2 / (np.pi * q * room))

        end = np.arcsin(np.sqrt((high - start) / (high - low)))
        return float(self.n_directions * quad(density, 0.0, end)[0] + self.n_silent)

    def _ratios(self) -> tuple[float, float]:
        freedom = max(self.n_rows - 1, 1)
        return (self.n_rows - self.n_sets) / freedom, self.n_directions / freedom

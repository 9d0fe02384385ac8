"""Evidence: what the groups can show, the expected distraction of pure noise, and the constants of the automatic rule.

E[λ] of a pure distractor = within/(within + noise of the means) ≈ 1 - 1/n_m
edges for d pure distractors: λ± = (√(p(1-q)) ± √(q(1-p)))²,  p = (n-M)/(n-1),  q = d/(n-1)     (Wachter, 1980)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad

from undistract._arrays import TINY, Floats
from undistract.algebra.moments import WeightedGroups

# The automatic rule, all its constants. Chosen on other trials than the reported ones: benchmarks/cutoff_study.py,
# docs/evidence.md.
AUTOMATIC_CUTOFF = 0.95  # directions from this distraction on are removed
GAP_MIN_DISTRACTION = 0.9  # with enough groups also from here on, before a gap ...
GAP_RATIO = 1.5  # ... in which 1 - λ grows by at least this factor
MAX_HETEROGENEITY = 0.25  # with too few groups, directions along which groups vary more differently are kept
MOST_REMOVED = 0.9  # from this share of the directions on, a warning says that almost everything is removed
# A direction counts as removed by feedback if at least this share of its within-group variance comes from feedback.
MIN_FEEDBACK_SHARE = 0.5


def is_resolvable(n_groups: int, n_directions: int) -> bool:
    """Return True if `n_groups` groups can resolve at least half of `n_directions` directions.

    Examples
    --------
    >>> is_resolvable(n_groups=954, n_directions=784), is_resolvable(n_groups=200, n_directions=2048)
    (True, False)
    """
    return n_directions <= 2 * (n_groups - 1)


@dataclass(frozen=True)
class Evidence:
    """What the number of groups, rows and directions allows us to conclude.

    Examples
    --------
    The sizes of the paper's experiment: 954 groups of 100 images with 784 pixels.

    >>> evidence = Evidence(n_groups=954, n_rows=95400, n_directions=784, pure_distractor=0.99)
    >>> evidence.noise_edges
    (0.964..., 0.9999...)
    >>> round(evidence.noise_above(0.999))  # directions that would pass the paper's cut-off by chance
    105
    """

    n_groups: int
    n_rows: int
    n_directions: int  # number of directions with any variance
    pure_distractor: float  # expected λ of a direction along which groups do not differ

    @classmethod
    def of(cls, groups: WeightedGroups, n_directions: int) -> Evidence:
        """Compute the evidence from summed moments."""
        shares = groups.shares
        counts = groups.counts
        within = (shares * (counts - 1) / counts).sum()
        mean_noise = (shares * (1 - shares) / counts).sum()
        pure_distractor = float(within / (within + mean_noise)) if within > 0 else 0.0
        return cls(groups.n_groups, groups.n_rows, n_directions, pure_distractor)

    @property
    def n_unresolved(self) -> int:
        """Number of directions in which group means cannot differ, because M means span at most M - 1 dimensions."""
        return max(0, self.n_directions - (self.n_groups - 1))

    @property
    def resolvable_share(self) -> float:
        """Share of the directions that the groups can resolve, 0 to 1."""
        return min(1.0, (self.n_groups - 1) / max(self.n_directions, 1))

    @property
    def is_resolvable(self) -> bool:
        """True if the groups can resolve at least half of the directions."""
        return is_resolvable(self.n_groups, self.n_directions)

    @property
    def noise_edges(self) -> tuple[float, float]:
        """Range of λ for pure noise without a ridge (Wachter's law); (0, 1) if there are too few rows."""
        p, q = self._ratios()
        if not 0 < q < 1:
            return 0.0, 1.0
        mean_part = np.sqrt(p * (1 - q))
        width_part = np.sqrt(q * (1 - p))
        return float((mean_part - width_part) ** 2), float((mean_part + width_part) ** 2)

    def noise_above(self, cutoff: float) -> float:
        """Return how many directions of pure noise are expected to have λ of at least `cutoff` without a ridge."""
        _, q = self._ratios()
        low, high = self.noise_edges
        start = max(low, cutoff)
        if not 0 < q < 1 or start >= high:
            return float(self.n_unresolved)

        # Wachter's density has square-root edges. With x = high - (high - low)·sin²t they become smooth,
        # and the quadrature converges fast.
        def density(t: float) -> float:
            x = high - (high - low) * np.sin(t) ** 2
            denominator = np.pi * q * max(x * (1 - x), TINY)
            return float(((high - low) * np.sin(t) * np.cos(t)) ** 2 / denominator)

        end = np.arcsin(np.sqrt((high - start) / (high - low)))
        return float(self.n_directions * quad(density, 0.0, end)[0] + self.n_unresolved)

    def _ratios(self) -> tuple[float, float]:
        freedom = max(self.n_rows - 1, 1)
        return (self.n_rows - self.n_groups) / freedom, self.n_directions / freedom


def debiased_distraction(
    groups: WeightedGroups, distraction: Floats, ridged: Floats, noise: tuple[Floats, Floats]
) -> Floats:
    """Return one minus the intraclass correlation along each direction.

    Parameters
    ----------
    groups : Moments or SketchedMoments
    distraction : (q,) array
        λ, which is wᵀ within w, because wᵀ metric w = 1.
    ridged : (q,) array
        ε |w|², the share of the ridge in the metric.
    noise : (q,) arrays
        Sampling variance of the group means along each direction, by weight and by squared weight, as in
        `Moments.mean_noise`.

    Examples
    --------
    Ten groups of eleven rows: a pure distractor has λ = 100/109, and the de-biased value 1.

    >>> from undistract.algebra import Moments
    >>> ten = Moments.of(np.zeros((10, 11, 1)))
    >>> within = np.array([100 / 109, 0.5])
    >>> debiased_distraction(ten, within, np.zeros(2), (within / 10, within / 100)).round(2)
    array([1.  , 0.52])
    """
    between = 1.0 - distraction - ridged
    shares = groups.shares
    single = groups.counts == 1
    first, squared = noise
    # A group of one row has no within-group variance: use the average of the other groups for it.
    unbiased = (distraction + first) / float(1.0 - shares[single].sum())
    mean_noise = first - squared + unbiased * float((shares * (1 - shares))[single].sum())
    # If one group outweighs all others, 1 - ΣP² vanishes: bound it away from zero.
    denominator = max(float(1.0 - (shares**2).sum()), float(np.finfo(np.float64).eps))
    between_groups = np.maximum(between - mean_noise, 0.0) / denominator
    # For a direction that is constant within groups, rounding can leave -1e-14; a variance is never negative.
    unbiased = np.maximum(unbiased, 0.0)
    debiased: Floats = unbiased / np.maximum(unbiased + between_groups, TINY)
    return debiased


def assess(
    groups: WeightedGroups, distraction: Floats, ridged: Floats, noise: tuple[Floats, Floats], n_directions: int
) -> tuple[Floats, Evidence]:
    """Return the de-biased distraction and the evidence; arguments as for `debiased_distraction`."""
    return debiased_distraction(groups, distraction, ridged, noise), Evidence.of(groups, n_directions)

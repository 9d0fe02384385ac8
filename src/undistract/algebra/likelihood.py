"""The likelihood of a row, given one example of the set it may belong to.

Sets and rows are Gaussian: sets differ by between + cushion, rows inside a set by within + ridge. A reading wᵀx of
length one inside sets, with the distraction λ, is then expected of a set that showed the example y at

    (1 - λ) wᵀy,   give or take √(2 - λ)

What distracts (λ near 1) says nothing: it is expected at the mean, whatever the example shows. The cushion is what sets
that nobody taught may differ by in any direction; without it, this is PLDA (Ioffe 2006; Prince and Elder 2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from weakref import WeakKeyDictionary

import numpy as np
from scipy.linalg import eigh

from undistract.algebra.moments import Moments
from undistract.algebra.spectrum import Variances, check_cushion, check_learnable
from undistract.arrays import Floats, Rows
from undistract.errors import InputError

LEAST_RIDGE, MOST_RIDGE = 1e-9, 1e9


@dataclass(frozen=True, eq=False)
class Likelihood:
    """How likely rows are of the same sets as examples. Make one with `Likelihood.of`.

    In coordinates in which rows of one set vary by 1, sets vary by S = diag(granted) + apart·apartᵀ, and 1/(1 + S) is
    the distraction. No eigenvector of S is needed, only 1/(1 + S) and 1/(1 + 2S) of some rows (Woodbury).

    Examples
    --------
    The first feature tells sets apart, the second varies far more and tells nothing.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sets = [rng.normal([3 * m, 0], [1, 9], size=(50, 2)) for m in rng.normal(size=30)]
    >>> likelihood = Likelihood.of(Moments.of(sets), cushion=0.01, ridge=0.01)
    >>> likelihood([[3, 20]], [[-3, 20], [3, -20]]).round(1)
    array([[-8.4, -2.8]])
    """

    origin: Floats  # (d,) the mean of the data
    white: Floats  # (d, d) (x - origin) @ white are those coordinates
    granted: Floats  # (d,) what the cushion adds to the variance of sets
    apart: Floats  # (d, b) apart·apartᵀ is what sets were seen to differ by

    @classmethod
    def of(cls, moments: Moments, *, cushion: float, ridge: float) -> Likelihood:
        """Read both covariances off the moments.

        Parameters
        ----------
        moments : Moments
        cushion : float
            Between-set variance that every direction is granted, as a multiple of the mean variance of the features.
        ridge : float
            Variance inside sets that every direction is granted, in the same units.
        """
        check_learnable(moments)
        check_cushion(cushion)
        if not isinstance(ridge, Real) or isinstance(ridge, bool) or not LEAST_RIDGE <= float(ridge) <= MOST_RIDGE:
            raise InputError(
                f"ridge is {ridge!r}; expected a number from {LEAST_RIDGE:g} to {MOST_RIDGE:g}, such as 0.3."
            )
        solved = _SOLVED.get(moments) or _SOLVED.setdefault(moments, _Solved.of(moments))
        inside = solved.inside + ridge * solved.mean_variance
        white = solved.directions / np.sqrt(inside)
        return cls(moments.mean, white, cushion * solved.mean_variance / inside, white.T @ solved.apart)

    def __call__(self, X: Rows, examples: Rows) -> Floats:
        """Return the logarithm of the density of rows (n, d) for each of m examples, up to a constant, (n, m)."""
        rows = self._read(X)
        shown = rows if examples is X else self._read(examples)
        expected = shown - self._shrunk(shown, 1)  # S/(1 + S) = 1 - λ
        believed = self._weighted(expected)
        lengths = np.einsum("ij,ij->i", rows, self._weighted(rows))[:, None]
        density: Floats = rows @ believed.T - (lengths + np.einsum("ij,ij->i", expected, believed)) / 2
        return density

    def _read(self, X: Rows) -> Floats:
        read: Floats = (np.asarray(X, dtype=np.float64) - self.origin) @ self.white
        return read

    def _weighted(self, Y: Floats) -> Floats:
        """Y·(1 + S)/(1 + 2S) = Y/(2 - λ): divide by what a row may differ by from what is expected."""
        return (Y + self._shrunk(Y, 2)) / 2

    def _shrunk(self, Y: Floats, times: int) -> Floats:
        """Y/(1 + times · S), for the rows of Y."""
        share = 1 / (1 + times * self.granted)
        inner = np.eye(self.apart.shape[1]) + times * self.apart.T @ (share[:, None] * self.apart)
        few = np.linalg.solve(inner, self.apart.T @ (share * Y).T)  # (b, rows)
        return share * (Y - times * few.T @ self.apart.T)


@dataclass(frozen=True, eq=False)
class _Solved:
    """What depends on neither cushion nor ridge."""

    inside: Floats  # (d,) eigenvalues of within
    directions: Floats  # (d, d) their eigenvectors
    apart: Floats  # (d, b) apart·apartᵀ = between
    mean_variance: float

    @classmethod
    def of(cls, moments: Moments) -> _Solved:
        within, between = moments.within, moments.between
        mean_variance = Variances.of(np.diag(within) + np.diag(between), np.diag(within)).mean
        if mean_variance == 0:
            raise InputError("No feature varies, so nothing tells rows apart. Give rows that differ.")
        inside, directions = eigh(within, driver="evd", check_finite=False)
        seen, places = eigh(between, driver="evd", check_finite=False)
        real = seen > 10 * np.finfo(np.float64).eps * mean_variance * len(seen)
        # Rounding can leave -1e-17 here; a variance is never negative.
        return cls(np.maximum(inside, 0), directions, places[:, real] * np.sqrt(seen[real]), mean_variance)


# Cushion and ridge are chosen by trying several with the same moments.
_SOLVED: WeakKeyDictionary[Moments, _Solved] = WeakKeyDictionary()

"""The likelihood of a row, given one example of the set it may belong to.

Sets and rows are Gaussian: sets differ by between + cushion, rows inside a set by within + ridge. A reading wᵀx of
length one inside sets, with the distraction λ, is then expected of a set that showed the example y at

    (1 - λ) wᵀy,   give or take √(2 - λ)

What distracts (λ near 1) says nothing: it is expected at the mean, whatever the example shows. The cushion is what sets
that nobody taught may differ by in any direction; without it, this is PLDA (Ioffe 2006; Prince and Elder 2007).

Few rows show few of many directions. In all others rows of one set vary by the ridge alone and sets differ by the
cushion alone, so that only the length of what lies there counts, and nothing of size d × d is formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy.linalg import eigh, qr, svd

from undistract.algebra.cushion import Variances, check_cushion
from undistract.algebra.few_rows import few_rows_of, has_few_rows
from undistract.algebra.moments import Moments
from undistract.algebra.spectrum import check_learnable
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
    directions: Floats  # (d, q) orthonormal; q = d, or as many as few rows can show
    inside: Floats  # (q,) how much rows of one set vary along each
    apart: Floats  # (q, b) apart·apartᵀ is what sets were seen to differ by, along them
    cushion: float  # between-set variance that every direction is granted, in squared units of the features
    ridge: float  # the same inside sets

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
        unit = solved.mean_variance
        return cls(
            moments.mean, solved.directions, solved.inside, solved.apart, float(cushion) * unit, float(ridge) * unit
        )

    def __call__(self, X: Rows, examples: Rows) -> Floats:
        """Return the logarithm of the density of rows (n, d) for each of m examples, up to a constant, (n, m)."""
        rows = self._read(X)
        shown = rows if examples is X else self._read(examples)
        density = self._along(rows.along, shown.along)
        if rows.beside is not None and shown.beside is not None:
            density += self._beside(rows.beside, shown.beside)
        return density

    def _read(self, X: Rows) -> _Reading:
        centred = np.asarray(X, dtype=np.float64) - self.origin
        along = centred @ self.directions
        n_features, n_directions = self.directions.shape
        beside = centred - along @ self.directions.T if n_directions < n_features else None
        return _Reading(along / np.sqrt(self.inside + self.ridge), beside)

    def _along(self, rows: Floats, shown: Floats) -> Floats:
        expected = shown - self._shrunk(shown, 1)  # S/(1 + S) = 1 - λ
        believed = self._weighted(expected)
        lengths = np.einsum("ij,ij->i", rows, self._weighted(rows))[:, None]
        density: Floats = rows @ believed.T - (lengths + np.einsum("ij,ij->i", expected, believed)) / 2
        return density

    def _beside(self, rows: Floats, shown: Floats) -> Floats:
        """Return what the directions add that no row has shown: there λ is the same in all, and S one number."""
        granted = self.cushion / self.ridge
        belief = granted / (1 + granted)  # 1 - λ
        lengths = np.einsum("ij,ij->i", rows, rows)[:, None] + belief**2 * np.einsum("ij,ij->i", shown, shown)
        density: Floats = (belief * (rows @ shown.T) - lengths / 2) / ((2 - 1 / (1 + granted)) * self.ridge)
        return density

    def _weighted(self, Y: Floats) -> Floats:
        """Y·(1 + S)/(1 + 2S) = Y/(2 - λ): divide by what a row may differ by from what is expected."""
        return (Y + self._shrunk(Y, 2)) / 2

    def _shrunk(self, Y: Floats, times: int) -> Floats:
        """Y/(1 + times · S), for the rows of Y."""
        inside = self.inside + self.ridge
        apart = self.apart / np.sqrt(inside)[:, None]
        share = 1 / (1 + times * self.cushion / inside)
        inner = np.eye(apart.shape[1]) + times * apart.T @ (share[:, None] * apart)
        few = np.linalg.solve(inner, apart.T @ (share * Y).T)  # (b, rows)
        return share * (Y - times * few.T @ apart.T)


class _Reading(NamedTuple):
    along: Floats  # (n, q) coordinates in which rows of one set vary by 1
    beside: Floats | None  # (n, d) what lies in no such direction; None: they are all


@dataclass(frozen=True, eq=False)
class _Solved:
    """What depends on neither cushion nor ridge."""

    inside: Floats  # (q,) eigenvalues of within
    directions: Floats  # (d, q) their eigenvectors
    apart: Floats  # (q, b) directions · apart · apartᵀ · directionsᵀ = between
    mean_variance: float

    @classmethod
    def of(cls, moments: Moments) -> _Solved:
        return cls._of_rows(moments) if has_few_rows(moments) else cls._of_matrices(moments)

    @classmethod
    def _of_matrices(cls, moments: Moments) -> _Solved:
        within, between = moments.within, moments.between
        mean_variance = _positive(Variances.of(np.diag(within) + np.diag(between), np.diag(within)))
        inside, directions = eigh(within, driver="evd", check_finite=False)
        seen, places = eigh(between, driver="evd", check_finite=False)
        real = seen > 10 * np.finfo(np.float64).eps * mean_variance * len(seen)
        apart = directions.T @ (places[:, real] * np.sqrt(seen[real]))
        # Rounding can leave -1e-17 here; a variance is never negative.
        return cls(np.maximum(inside, 0), directions, apart, mean_variance)

    @classmethod
    def _of_rows(cls, moments: Moments) -> _Solved:
        """Solve in the span of the rows: with E and U as in `few_rows`, (Eᵀ, Uᵀ) = basis · triangle."""
        rows, *variances = few_rows_of(moments)
        mean_variance = _positive(Variances.of(*variances))
        deviations, means = rows.deviations * rows.row_roots[:, None], rows.means * np.sqrt(rows.shares)[:, None]
        basis, triangle = qr(np.vstack([deviations, means]).T, mode="economic", overwrite_a=True, check_finite=False)
        axes, lengths, _ = svd(triangle[:, : len(deviations)], check_finite=False)
        inside = np.zeros(len(axes))
        inside[: len(lengths)] = lengths**2
        return cls(inside, basis @ axes, axes.T @ triangle[:, len(deviations) :], mean_variance)


def _positive(variances: Variances) -> float:
    if variances.mean == 0:
        raise InputError("No feature varies, so nothing tells rows apart. Give rows that differ.")
    return variances.mean


# Cushion and ridge are chosen by trying several with the same moments.
_SOLVED: WeakKeyDictionary[Moments, _Solved] = WeakKeyDictionary()

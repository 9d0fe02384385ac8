"""The leading directions alone: block Lanczos on the whitened problem, far cheaper than all of them where they are few.

    K v = 1/(1-λ) v,   K = L⁻¹ (total + ε I) L⁻ᵀ,   between + ε I = L Lᵀ

1/(1-λ) sets apart what is close to 1: .99 and .9 become 100 and 10. With a healthy cushion a few steps then find the
most distracting directions to the last digits. With a tiny one they crowd: then it does not converge within its budget,
returns nothing, and all directions are solved for. How many there are shows soon: the share of a random block that lies
in eigenvectors above a bound is the share of eigenvalues there. Whether none was missed is for the caller to prove.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, qr

from undistract.arrays import Floats

# Below so many features all directions cost hardly more.
LEAST_FEATURES = 400
BLOCK = 6
# Steps are taken while the basis is smaller than this share of the features, and than this; every so many, it is
# looked whether they suffice.
LARGEST_SHARE, LARGEST_BASIS, STEPS = 0.4, 360, 3
# After so many steps it is estimated how many directions there are; more than half of the largest basis are too many.
STEPS_TO_COUNT = 6
# Of the residual, relative to the eigenvalue: what it leaves open of that is its square.
TOLERANCE = 1e-10
# Directions that read so nearly the same are not told apart when a number of them is wanted.
BARELY = 1e-9


class Wanted(NamedTuple):
    """Which directions must be known: those with at least this distraction, and the first so many."""

    least: float
    number: int = 0
    silent: float | None = None  # in place of `least` where sets are too few to tell half of the directions apart

    def given(self, speaks: bool) -> Wanted:
        """Say what is wanted, now that it is known whether the sets speak."""
        return self if speaks or self.silent is None else Wanted(self.silent, self.number)


def highest(values: Floats, wanted: Wanted) -> float:
    """Say what no other direction may read; with a number of directions, no more than the last of them."""
    return min(wanted.least, float(values[-1]) + BARELY) if wanted.number else wanted.least


class Leading(NamedTuple):
    """The largest eigenvalues and their vectors."""

    values: Floats  # (p,) 1/(1-λ), largest first
    vectors: Floats  # (d, p)

    @property
    def distraction(self) -> Floats:
        """λ, (p,)."""
        return 1.0 - 1.0 / self.values


def leading(operator: Callable[[Floats], Floats], size: int, wanted: Wanted) -> Leading | None:
    """Find the largest eigenvalues of a symmetric operator, or give up.

    Parameters
    ----------
    operator : callable
        Takes (size, b) columns to (size, b) columns; its eigenvalues are 1/(1-λ).
    size : int
    wanted : Wanted

    Returns
    -------
    Leading or None
        None where too many are wanted, or they lie too close to be told apart in time.

    Examples
    --------
    >>> values = 1 / (1 - np.append([0.99, 0.97], np.linspace(0.5, 0, 998)))
    >>> found = leading(lambda columns: values[:, None] * columns, 1000, Wanted(least=0.9))
    >>> found.distraction.round(6)
    array([0.99, 0.97])
    >>> leading(lambda columns: columns * 1e12, 1000, Wanted(least=0.9)) is None
    True
    """
    least = 1 / (1 - wanted.least) if wanted.least < 1 else np.inf
    most = min(int(LARGEST_SHARE * size), LARGEST_BASIS)
    rng = np.random.default_rng(0)  # the same bits for the same data
    basis, images = np.empty((size, most + BLOCK), order="F"), np.empty((size, most + BLOCK), order="F")
    block = qr(rng.standard_normal((size, BLOCK)), mode="economic")[0]
    known = 0
    while known + BLOCK <= most:
        here = slice(known, known + BLOCK)
        basis[:, here], images[:, here] = block, operator(block)
        known += BLOCK
        if known % (STEPS * BLOCK) == 0:
            small = basis[:, :known].T @ images[:, :known]
            values, inner = eigh((small + small.T) / 2)
            values, inner = values[::-1], inner[:, ::-1]
            n_high = max(int((values >= least).sum()), wanted.number)
            expected = size / BLOCK * float((inner[:BLOCK, values >= least] ** 2).sum())
            if max(n_high + 1, expected if known >= STEPS_TO_COUNT * BLOCK else 0) > most // 2:
                return None
            if n_high < known:
                first = slice(0, n_high + 1)
                ritz = basis[:, :known] @ inner[:, first]
                misses = np.linalg.norm(images[:, :known] @ inner[:, first] - ritz * values[first], axis=0)
                below = n_high == wanted.number or values[n_high] + misses[-1] < least
                if below and (misses[:-1] <= TOLERANCE * values[:n_high]).all():
                    return Leading(values[:n_high], ritz[:, :n_high])
        block = images[:, here]
        for _ in range(2):  # once more for the rounding of the first
            block = block - basis[:, :known] @ (basis[:, :known].T @ block)
        block, triangle = qr(block, mode="economic", check_finite=False)
        if np.abs(np.diag(triangle)).min() < np.finfo(np.float64).eps * np.abs(images[:, here]).max():
            return None  # the steps lead nowhere new: many eigenvalues are equal
    return None

"""The largest eigenvalues of a symmetric matrix whose eigenvalues are odds, ω = λ/(1-λ).

A few are found by steps (`leading`), and proved to be all; many by the tridiagonal form, and most by solving for all.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, eigh, eigh_tridiagonal
from scipy.linalg.blas import dsymm, dsyrk
from scipy.linalg.lapack import dormqr, dpotrf, dsytrd, dsytrd_lwork

from undistract.algebra.leading import LEAST_FEATURES, Wanted, highest, leading
from undistract.arrays import TINY, Floats

# From this size on vectors for a few cost far less than for all; and for no more than this share of all.
LEAST_SIZE, MOST_SHARE = 800, 0.25


def symmetric_leading(matrix: Floats, wanted: Wanted) -> tuple[Floats, Floats]:
    """Find the largest odds of a positive semidefinite matrix, and their vectors; its lower triangle is read.

    Parameters
    ----------
    matrix : (n, n) array in Fortran order
    wanted : Wanted
        In terms of λ.

    Returns
    -------
    odds : (q,) array, largest first
    vectors : (n, q) array

    Examples
    --------
    >>> odds, vectors = symmetric_leading(np.diag([1.0, 99.0, 3.0]), Wanted(least=0.75))
    >>> odds.round(9), np.abs(vectors.T).round(9)
    (array([99.,  3.]), array([[0., 1., 0.],
           [0., 0., 1.]]))
    """
    size = len(matrix)
    if size >= LEAST_FEATURES:
        found = _proved(matrix, wanted)
        if found is not None:
            return found
    least = wanted.least / (1.0 - wanted.least) if wanted.least < 1 else np.inf
    if size >= LEAST_SIZE and not wanted.number:
        found = _by_tridiagonal(matrix, least)
        if found is not None:
            return found
    odds, vectors = eigh(matrix, lower=True, driver="evd", check_finite=False)
    odds, vectors = np.maximum(odds[::-1], 0.0), vectors[:, ::-1]  # rounding can leave -1e-17
    number = max(int((odds >= least).sum()), wanted.number)
    return odds[:number], vectors[:, :number]


def _proved(matrix: Floats, wanted: Wanted) -> tuple[Floats, Floats] | None:
    """Take steps, and prove that none was missed: what is left of the matrix lies below what was asked for."""

    def shifted(columns: Floats) -> Floats:
        product: Floats = dsymm(1.0, matrix, columns, beta=1.0, c=columns, lower=1)  # 1 + ω = 1/(1-λ)
        return product

    found = leading(shifted, len(matrix), wanted)
    if found is None:
        return None
    odds = found.values - 1.0
    bound = highest(found.distraction, wanted)
    rest = np.asfortranarray(-matrix)
    rest[np.diag_indices_from(rest)] += bound / (1.0 - bound)
    if len(odds):
        dsyrk(1.0, found.vectors * np.sqrt(odds), beta=1.0, c=rest, overwrite_c=1, lower=1)
    return None if dpotrf(rest, lower=1, overwrite_a=1, clean=0)[1] else (odds, found.vectors)


def _by_tridiagonal(matrix: Floats, least: float) -> tuple[Floats, Floats] | None:
    """Find all from `least` on: the tridiagonal form is found once, and vectors for these alone, if they are few."""
    size = len(matrix)
    reduced, diagonal, beside, scales, _ = dsytrd(matrix, lower=1, lwork=int(dsytrd_lwork(size, lower=1)[0]))
    number = n_above(diagonal, beside, least)
    if not 0 < number <= MOST_SHARE * size:
        return None if number else (np.zeros(0), np.zeros((size, 0)))
    try:
        odds, vectors = eigh_tridiagonal(
            diagonal, beside, select="i", select_range=(size - number, size - 1), lapack_driver="stemr"
        )
    except LinAlgError:  # relatively robust representations are not always found
        return None
    # The reflections are stored as those of a QR decomposition of all rows but the first: one number further on.
    reflections = reduced.T.ravel()[1 : 1 + size * (size - 1)].reshape(size - 1, size).T
    lower = np.asfortranarray(vectors[1:])
    room = int(dormqr("L", "N", reflections, scales, lower, -1)[1][0])
    vectors[1:] = dormqr("L", "N", reflections, scales, lower, room, overwrite_c=1)[0]
    return odds[::-1], vectors[:, ::-1]


def n_above(diagonal: Floats, beside: Floats, least: float) -> int:
    """Count the eigenvalues of a tridiagonal matrix from `least` on, by the signs of its pivots (Sylvester's law).

    Examples
    --------
    >>> n_above(np.array([2.0, 2.0, 2.0]), np.array([1.0, 1.0]), least=1.0)  # they are 2 - √2, 2 and 2 + √2
    2
    """
    number, pivot = 0, np.inf
    for value, squared in zip(diagonal.tolist(), [0.0, *(beside**2).tolist()], strict=True):
        pivot = value - least - squared / pivot
        pivot = pivot if abs(pivot) > TINY else TINY  # what equals `least` counts
        number += pivot > 0
    return number

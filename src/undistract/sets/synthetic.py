"""Small sets with a known answer, for tests and docs.

The example that the paper works out by hand: x ~ N((3m, 1, -1), diag(4, 1, 0)) in set m. The first feature tells the
sets apart, the second only distracts, the third never varies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from undistract.errors import InputError
from undistract.sets.feature_set import FeatureSet


def analytic_example(n_sets: int = 10, n_rows: int = 100, seed: int | Sequence[int] = 0) -> list[FeatureSet]:
    """Draw the paper's analytic example: set m = 1, 2, … around (3m, 1, -1).

    Parameters
    ----------
    n_sets, n_rows : int
        How many sets, and how many rows in each.
    seed : int or sequence of int
        The same seed gives the same rows.

    Examples
    --------
    >>> sets = analytic_example()
    >>> len(sets), sets[4].name, sets[4].rows.shape
    (10, 'set 5', (100, 3))
    >>> sets[4].rows.mean(axis=0).round()
    array([15.,  1., -1.])
    """
    if n_sets < 1 or n_rows < 1:
        raise InputError(f"n_sets is {n_sets} and n_rows is {n_rows}; expected at least one of each.")
    rng = np.random.default_rng(seed)
    # The paper prints the 2 of the first feature as if it were a variance; its own numbers need a deviation.
    deviation = [2.0, 1.0, 0.0]
    return [
        FeatureSet(f"set {m}", rng.normal([3.0 * m, 1.0, -1.0], deviation, size=(n_rows, 3)), source="analytic example")
        for m in range(1, n_sets + 1)
    ]


def mixed(sets: Iterable[FeatureSet], matrix: Any) -> list[FeatureSet]:
    """Mix the features of every row, x → matrix · x, so that no answer lies along an axis any more.

    Parameters
    ----------
    sets : iterable of FeatureSet
    matrix : (d, d) array
        Invertible, so that the mixed sets tell all that the plain ones told.

    Examples
    --------
    >>> swapped = mixed(analytic_example(), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    >>> swapped[4].rows.mean(axis=0).round()
    array([ 1., 15., -1.])
    """
    mixing = np.asarray(matrix, dtype=np.float64)
    if mixing.ndim != 2 or mixing.shape[0] != mixing.shape[1]:
        raise InputError(f"The mixing matrix has shape {mixing.shape}; expected a square one.")
    rank = int(np.linalg.matrix_rank(mixing))
    if rank < len(mixing):
        raise InputError(
            f"The mixing matrix of size {len(mixing)} has rank {rank}, so it would lose "
            f"{len(mixing) - rank} of the directions. Give an invertible one."
        )
    return [_mixed(one, mixing) for one in sets]


def _mixed(one: FeatureSet, mixing: Any) -> FeatureSet:
    if one.n_features != len(mixing):
        raise InputError(
            f"Set {one.name!r} has {one.n_features} features, the mixing matrix {len(mixing)}. "
            "Give a matrix with one row and one column per feature."
        )
    rows, times = one.whole()
    return FeatureSet(one.name, rows @ mixing.T, times, one.source)

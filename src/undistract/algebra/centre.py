"""Centre pieces of a block of rows on their own means; without a loop in Python over short pieces.

Where numba is installed (the extra `fast`), one compiled pass does it; what numpy finds is the reference.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from undistract.arrays import Floats, Ints, Rows

# Pieces of at least so many rows on average are gone through one by one: numpy is at its best with those.
LONG = 32
# A compiled pass is worth its compilation for full blocks of narrow rows; with wide ones the product takes far longer.
COMPILED_VALUES, COMPILED_FEATURES = 2**18, 256


class Centred(NamedTuple):
    """What is found on the way."""

    means: Floats  # (pieces, d) minus the anchors
    squares: Floats  # (pieces, d) sums of squared deviations


def centre(source: Rows, rows: Floats, starts: Ints, anchors: Floats) -> Centred:
    """Write rows minus the mean of their piece.

    Parameters
    ----------
    source : (n, d) array of any real dtype
    rows : (n, d) array
        Where they go.
    starts : (pieces,) array of int
        Where each piece starts.
    anchors : (pieces, d) array
        A row near each piece: what is summed is small then.

    Examples
    --------
    >>> rows = np.empty((3, 1))
    >>> centre(np.array([[1.0], [3.0], [8.0]]), rows, np.array([0, 2]), np.array([[1.0], [8.0]])).means
    array([[1.],
           [0.]])
    >>> rows.T
    array([[-1.,  1.,  0.]])
    """
    bounds = np.append(starts, len(source))
    found = Centred(np.empty_like(anchors), np.empty_like(anchors))
    one_pass = compiled() if source.size >= COMPILED_VALUES and source.shape[1] <= COMPILED_FEATURES else None
    if one_pass is not None:
        one_pass(source, rows, bounds, anchors, *found)
    elif len(starts) * LONG > len(source):
        _short(source, rows, bounds, anchors, found)
    else:
        _long(source, rows, bounds, anchors, found)
    return found


def piece_sums(rows: Floats, starts: Ints) -> Floats:
    """Sum up each piece of rows, (pieces, d)."""
    sums: Floats = _members(np.append(starts, len(rows))) @ rows
    return sums


def _long(source: Rows, rows: Floats, bounds: Ints, anchors: Floats, found: Centred) -> None:
    for place, (first, last) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        piece, mean = rows[first:last], found.means[place]
        np.subtract(source[first:last], anchors[place], out=piece)
        np.matmul(np.full(last - first, 1.0 / (last - first)), piece, out=mean)
        piece -= mean
        np.einsum("ij,ij->j", piece, piece, out=found.squares[place])


def _short(source: Rows, rows: Floats, bounds: Ints, anchors: Floats, found: Centred) -> None:
    counts, members = np.diff(bounds), _members(bounds)
    near = np.repeat(anchors, counts, axis=0)
    np.subtract(source, near, out=rows)
    np.divide(members @ rows, counts[:, None], out=found.means)
    rows -= np.take(found.means, np.repeat(np.arange(len(counts)), counts), axis=0, out=near, mode="clip")
    found.squares[:] = members @ np.multiply(rows, rows, out=near)


def _members(bounds: Ints) -> csr_array:
    """Return the matrix that sums up pieces: row m has ones where piece m lies."""
    bounds = bounds.astype(np.int32)
    n_rows = int(bounds[-1])
    return csr_array((np.ones(n_rows), np.arange(n_rows, dtype=np.int32), bounds), shape=(len(bounds) - 1, n_rows))


@cache
def compiled() -> Callable[..., None] | None:
    """Return the compiled pass, or None where numba is not installed or UNDISTRACT_NUMBA=0."""
    if os.environ.get("UNDISTRACT_NUMBA") == "0" or find_spec("numba") is None:
        return None
    import numba

    # Sums may be taken in any order, as numpy does; NaN must stay NaN.
    compile_it = partial(numba.njit, fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
    try:
        made: Any = compile_it(cache=True)(_one_pass)
    except RuntimeError:  # there is no folder to keep the compiled pass in
        made = compile_it()(_one_pass)
    found: Callable[..., None] = made
    return found


def _one_pass(source: Rows, rows: Floats, bounds: Ints, anchors: Floats, means: Floats, squares: Floats) -> None:
    n_features = source.shape[1]
    for place in range(len(anchors)):
        first, last = bounds[place], bounds[place + 1]
        for feature in range(n_features):
            means[place, feature] = 0.0
            squares[place, feature] = 0.0
        for row in range(first, last):
            for feature in range(n_features):
                value = source[row, feature] - anchors[place, feature]
                rows[row, feature] = value
                means[place, feature] += value
        share = 1.0 / (last - first)
        for feature in range(n_features):
            means[place, feature] *= share
        for row in range(first, last):
            for feature in range(n_features):
                value = rows[row, feature] - means[place, feature]
                rows[row, feature] = value
                squares[place, feature] += value * value

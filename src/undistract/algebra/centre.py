"""Centre pieces of a block of rows on their own means; without a loop in Python over short pieces.

Where numba is installed (the extra `fast`), one compiled pass does it; what numpy finds is the reference.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from undistract.arrays import Floats, Ints, Rows

# Pieces of at least so many rows on average are gone through one by one: numpy is at its best with those.
LONG = 32
# A compiled pass is worth its compilation for full blocks of narrow rows; with wide ones the product takes far longer.
COMPILED_VALUES, COMPILED_FEATURES = 2**18, 256


class Pieces(NamedTuple):
    """Rows of a block, cut into pieces; each is read relative to its anchor, so that what is summed is small."""

    source: Rows  # (n, d) of any real dtype
    starts: Ints  # (pieces,) where each piece starts
    carried: Floats  # (1, d) the anchor of the first piece, if it began in another block; else (0, d)

    @property
    def bounds(self) -> Ints:
        """Where pieces start, and where the last ends, (pieces + 1,)."""
        return np.append(self.starts, len(self.source))

    def anchors(self) -> Floats:
        """Return the first row of each piece, or what was carried, (pieces, d)."""
        anchors = np.asarray(np.take(self.source, self.starts, axis=0), dtype=np.float64)
        anchors[: len(self.carried)] = self.carried
        return anchors

    def last_anchor(self) -> Floats:
        """Return that of the last piece, (1, d)."""
        if len(self.starts) == len(self.carried):
            return self.carried
        return np.array(self.source[self.starts[-1:]], dtype=np.float64)

    def is_long(self) -> bool:
        """Tell whether a compiled pass is worth while."""
        return self.source.size >= COMPILED_VALUES and self.source.shape[1] <= COMPILED_FEATURES


class Centred(NamedTuple):
    """What is found on the way."""

    means: Floats  # (pieces, d) minus the anchors
    squares: Floats  # (pieces, d) sums of squared deviations


def centre(pieces: Pieces, rows: Floats) -> Centred:
    """Write rows minus the mean of their piece to `rows`, (n, d).

    Examples
    --------
    >>> rows = np.empty((3, 1))
    >>> pieces = Pieces(np.array([[1.0], [3.0], [8.0]]), np.array([0, 2]), carried=np.empty((0, 1)))
    >>> centre(pieces, rows).means
    array([[1.],
           [0.]])
    >>> rows.T
    array([[-1.,  1.,  0.]])
    """
    source, starts, carried = pieces
    means = np.empty((len(starts), source.shape[1]))
    found = Centred(means, np.empty_like(means))
    passes = compiled() if pieces.is_long() else None
    if passes is not None:
        passes.centre(source, rows, pieces.bounds, carried, *found)
    else:
        way = _short if len(starts) * LONG > len(source) else _long
        way(source, rows, pieces.bounds, pieces.anchors(), found)
    return found


def sum_sets(pieces: Pieces, found: Centred, factors: Floats, origin: Floats, out: Floats) -> Floats:
    """Write the means of the first pieces, minus the origin, to `out`; return Σ factor · √squares, (d,).

    Of `found`, the squares are overwritten.

    Examples
    --------
    >>> pieces = Pieces(np.array([[1.0], [3.0], [8.0]]), np.array([0, 2]), carried=np.empty((0, 1)))
    >>> means = np.empty((2, 1))
    >>> sum_sets(pieces, centre(pieces, np.empty((3, 1))), np.ones(2), np.ones(1), means)
    array([1.41421356])
    >>> means.T
    array([[1., 7.]])
    """
    passes = compiled() if pieces.is_long() else None
    if passes is None:
        np.subtract(pieces.anchors()[: len(out)], origin, out=out)
        out += found.means
        spread: Floats = factors @ np.sqrt(found.squares, out=found.squares)
    else:
        spread = np.zeros(len(origin))
        passes.sum_sets(*pieces, *found, factors, origin, out, spread)
    return spread


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


class Compiled(NamedTuple):
    """Passes that numba compiled."""

    centre: Callable[..., None]
    sum_sets: Callable[..., None]


@cache
def compiled() -> Compiled | None:
    """Return the compiled passes, or None where numba is not installed or UNDISTRACT_NUMBA=0."""
    if os.environ.get("UNDISTRACT_NUMBA") == "0" or find_spec("numba") is None:
        return None
    import numba

    # Sums may be taken in any order, as numpy does; NaN must stay NaN.
    compile_it = partial(numba.njit, fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
    try:
        return Compiled(*(compile_it(cache=True)(one) for one in (_one_pass, _sum_pass)))
    except RuntimeError:  # there is no folder to keep the compiled passes in
        return Compiled(*(compile_it()(one) for one in (_one_pass, _sum_pass)))


def _one_pass(source: Rows, rows: Floats, bounds: Ints, carried: Floats, means: Floats, squares: Floats) -> None:
    n_features = source.shape[1]
    for place in range(len(means)):
        first, last = bounds[place], bounds[place + 1]
        anchors = squares  # whose place is free for now
        for feature in range(n_features):
            means[place, feature] = 0.0
            anchors[place, feature] = carried[place, feature] if place < len(carried) else source[first, feature]
        for row in range(first, last):
            for feature in range(n_features):
                value = source[row, feature] - anchors[place, feature]
                rows[row, feature] = value
                means[place, feature] += value
        share = 1.0 / (last - first)
        for feature in range(n_features):
            means[place, feature] *= share
            squares[place, feature] = 0.0
        for row in range(first, last):
            for feature in range(n_features):
                value = rows[row, feature] - means[place, feature]
                rows[row, feature] = value
                squares[place, feature] += value * value


def _sum_pass(
    source: Rows,
    starts: Ints,
    carried: Floats,
    means: Floats,
    squares: Floats,
    factors: Floats,
    origin: Floats,
    out: Floats,
    spread: Floats,
) -> None:
    for place in range(len(out)):
        first, factor = starts[place], factors[place]
        for feature in range(len(origin)):
            anchor = carried[place, feature] if place < len(carried) else source[first, feature]
            out[place, feature] = (anchor - origin[feature]) + means[place, feature]
            spread[feature] += factor * np.sqrt(squares[place, feature])

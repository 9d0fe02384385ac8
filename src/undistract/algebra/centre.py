"""Centre pieces of a block of rows on their own means; without a loop in Python over short pieces.

n rows minus their mean span n - 1 directions at most. A reflection that turns (1, …, 1)/√n to the first axis makes the
first of them nothing, and leaves all products as they were. It comes down to another centre, and the first row goes:

    x_i - c,   c = μ - (x_1 - μ)/(√n - 1),   i = 2 … n          Σ (x_i - c)(x_i - c)ᵀ = Σ (x_i - μ)(x_i - μ)ᵀ

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
# √n - 1 for two rows, or a little less: a single row leaves none behind, and its centre does not matter.
LEAST_STEP = 0.4


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

    def passes(self) -> Compiled | None:
        """Return the compiled passes, where there are any and they are worth while."""
        worth_while = self.source.size >= COMPILED_VALUES and self.source.shape[1] <= COMPILED_FEATURES
        # Half precision, long doubles and bytes in foreign order are for numpy alone.
        known = self.source.dtype.isnative and self.source.dtype.char not in "eg"
        return compiled() if worth_while and known else None

    @property
    def are_short(self) -> bool:
        """Whether numpy had better not go through them one by one."""
        return len(self.starts) * LONG > len(self.source)

    @property
    def spared(self) -> int:
        """How many rows each piece is best spared: with long ones it saves nothing, and numpy cannot do it quickly."""
        return int(self.are_short and self.passes() is not None)


class Centred(NamedTuple):
    """What is found on the way."""

    means: Floats  # (pieces, d) minus the anchors
    squares: Floats  # (pieces, d) sums of squared deviations


def centre(pieces: Pieces, rows: Floats, spared: int = 0) -> Centred:
    """Write rows minus the mean of their piece to `rows`, (n, d); or one less for each piece, with the same products.

    Parameters
    ----------
    pieces : Pieces
    rows : (n - spared · pieces, d) array
        To be written.
    spared : {0, 1}
        How many rows each piece is spared; 0, or what `Pieces.spared` says.

    Examples
    --------
    >>> pieces = Pieces(np.array([[1.0], [3.0], [8.0]]), np.array([0, 2]), carried=np.empty((0, 1)))
    >>> rows = np.empty((3, 1))
    >>> centre(pieces, rows).means
    array([[1.],
           [0.]])
    >>> rows.T
    array([[-1.,  1.,  0.]])
    """
    source, starts, carried = pieces
    means = np.empty((len(starts), source.shape[1]))
    found = Centred(means, np.empty_like(means))
    passes = pieces.passes()
    if passes is not None:
        passes.centre(source, rows, pieces.bounds, carried, *found, spared)
    else:
        way = _short if pieces.are_short else _long
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
    passes = pieces.passes()
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


def _one_pass(
    source: Rows, rows: Floats, bounds: Ints, carried: Floats, means: Floats, squares: Floats, spared: int
) -> None:
    n_features = source.shape[1]
    centre = np.empty(n_features)  # the anchor first
    alone = np.empty(n_features)  # the first row; kept apart, or sums in any order would lose its digits
    begin = 0  # where the piece is written
    for place in range(len(means)):
        first, last = bounds[place], bounds[place + 1]
        for feature in range(n_features):
            centre[feature] = carried[place, feature] if place < len(carried) else source[first, feature]
            alone[feature] = source[first, feature] - centre[feature]
            means[place, feature] = spared * alone[feature]
        shift = begin - first - spared
        for row in range(first + spared, last):
            for feature in range(n_features):
                value = source[row, feature] - centre[feature]
                rows[row + shift, feature] = value
                means[place, feature] += value
        share = 1.0 / (last - first)
        away = spared / max(np.sqrt(last - first) - 1.0, LEAST_STEP)
        for feature in range(n_features):
            means[place, feature] *= share
            centre[feature] = means[place, feature] - away * (alone[feature] - means[place, feature])
            squares[place, feature] = 0.0
        for row in range(begin, last + shift):
            for feature in range(n_features):
                value = rows[row, feature] - centre[feature]
                rows[row, feature] = value
                squares[place, feature] += value * value
        begin = last + shift


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

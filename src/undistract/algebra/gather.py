"""One pass over rows sorted by set: how rows vary inside sets, and how the means of sets differ.

    scatter_k = Σ_m weighting[k, m] · S_m          S_m = Σ_{x in m} (x - μ_m)(x - μ_m)ᵀ
    between   = Σ_m w_m (μ_m - μ)(μ_m - μ)ᵀ
    spread    = Σ_m w_m · √(diag S_m / n_m)

Nothing is lost to cancellation: every row is read relative to the first row of its own set, so all sums are of the size
of the variation inside a set, however far away from zero the set lies. Nothing is kept of a set once it is summed up:
memory does not grow with the number of sets. Rows are read in blocks that stay in the cache while they are shifted,
centred and multiplied. Short sets are spared a row each (`centre`): with their means, there are as many as there were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.blas import dsyrk

from undistract.algebra.centre import Centred, Pieces, centre, sum_sets
from undistract.arrays import Bools, Floats, Ints, Rows

# Values of a block: about 4 MB, which stay in the cache between one step and the next.
BLOCK = 2**19
LEAST_ROWS, MOST_ROWS = 1024, 2**15
# A product with fewer rows costs as much as reading the (d, d) sum that it goes to.
ENOUGH_SETS = 512


class Gathered(NamedTuple):
    """What one pass over the rows finds."""

    origin: Floats  # (d,) the first row
    offset: Floats  # (d,) the mean of the set means, minus the origin: small, so that it is exact
    between: Floats  # (d, d)
    spread: Floats  # (d,)
    moved: Bools  # (d,) which features varied: a constant one deviates by exactly nothing
    scatters: list[Floats]  # K of (d, d), one for each weighting


def gather(X: Rows, order: Ints | None, counts: Ints, weights: Floats, weightings: Floats) -> Gathered:
    """Read the rows once and sum up their sets.

    Parameters
    ----------
    X : (n, d) array of any real dtype
    order : (n,) array of int or None
        The order that puts rows of one set side by side; None when they already are.
    counts : (M,) array of int
        How many rows each set has, in that order.
    weights : (M,) array
        How much each set counts.
    weightings : (K, M) array
        One weighting of the sets per scatter.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [7.0, 1.0], [9.0, 1.0]])
    >>> found = gather(X, None, np.array([2, 2]), np.ones(2), np.ones((1, 2)))
    >>> found.scatters[0][0, 0].round(9), found.between[0, 0], found.moved
    (np.float64(4.0), np.float64(24.5), array([ True, False]))
    """
    means = _Means(_read(X, order, 0, 1)[0])

    def keep(pieces: Pieces, found: Centred, chosen: slice) -> None:
        means.add(pieces, found, counts[chosen], weights[chosen])

    scatters = _scatters(X, order, counts, weightings, keep)
    means.finish()
    return Gathered(means.origin, means.mean, means.scatter, means.spread, means.moved, scatters)


class GatheredSets(NamedTuple):
    """The same, with what belongs to each set apart."""

    anchors: Floats  # (M, d) the first row of each set
    offsets: Floats  # (M, d) the mean of each set, minus its anchor: small, so that it is exact
    squares: Floats  # (M, d) the diagonal of each set's scatter
    scatters: list[Floats]  # K of (d, d), one for each weighting


def gather_sets(X: Rows, order: Ints | None, counts: Ints, weightings: Floats) -> GatheredSets:
    """Read the rows once, and keep a few numbers of every set besides the sums over all; parameters as in `gather`.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [7.0, 1.0], [9.0, 1.0]])
    >>> gather_sets(X, None, np.array([2, 2]), np.ones((1, 2))).squares
    array([[2., 0.],
           [2., 0.]])
    """
    ends: list[tuple[Floats, Floats, Floats]] = []

    def keep(pieces: Pieces, found: Centred, chosen: slice) -> None:
        ends.append((pieces.anchors()[: len(found.means)], *found))

    scatters = _scatters(X, order, counts, weightings, keep)
    anchors, offsets, squares = (np.concatenate(parts) for parts in zip(*ends, strict=True))
    return GatheredSets(anchors, offsets, squares, scatters)


class Keep(Protocol):
    """Take what was found of the sets that end in a block: the first pieces of it."""

    def __call__(self, pieces: Pieces, found: Centred, chosen: slice) -> None: ...


def _scatters(X: Rows, order: Ints | None, counts: Ints, weightings: Floats, keep: Keep) -> list[Floats]:
    """Sum up the scatters, and hand over what is found of each set when it ends."""
    n_rows, n_features = X.shape
    bounds = np.concatenate([[0], np.cumsum(counts)])
    scatters = [np.zeros((n_features, n_features), order="F") for _ in weightings]
    even = weightings.size > 0 and bool((weightings == weightings[:, :1]).all())
    size = min(block_rows(n_features), n_rows)
    buffer = np.empty((size + 1, n_features))
    spare = buffer if even else np.empty_like(buffer)
    cut: _Cut | None = None  # the set that the last border cut
    for start, stop in _blocks(n_rows, size):
        source = _block(X, order, start, stop)
        first, last = np.searchsorted(bounds, [start, stop - 1], side="right") - 1
        starts = np.maximum(bounds[first : last + 1], start) - start
        pieces = Pieces(source, starts, np.empty((0, n_features)) if cut is None else cut.anchor)
        rows = buffer[: len(source) - pieces.spared * len(starts)]
        found = centre(pieces, rows, pieces.spared)
        if cut is not None:  # Chan's shift is one more row of the set that the border cut
            buffer[len(rows)] = cut.joined(found, int(pieces.bounds[1]))
            rows = buffer[: len(rows) + 1]
        whole = last + 1 - first if bounds[last + 1] <= stop else last - first  # sets that end in this block
        if whole:
            ended = Centred(found.means[:whole], found.squares[:whole])
            keep(pieces, ended, slice(first, first + whole))
        cut = None
        if whole < last + 1 - first:
            anchor = pieces.last_anchor()
            cut = _Cut(anchor, found.means[-1], found.squares[-1], stop - int(bounds[last]))
        if not len(rows):  # sets of a single row do not vary
            continue
        if even:  # sets of one size and weight need no scaling
            for scatter, weighting in zip(scatters, weightings, strict=True):
                dsyrk(weighting[0], rows.T, beta=1.0, c=scatter, overwrite_c=1)
        else:
            owners = np.repeat(np.arange(first, last + 1), np.diff(pieces.bounds) - pieces.spared)
            owners = np.append(owners, np.full(len(rows) - len(owners), first))
            for scatter, weighting in zip(scatters, weightings, strict=True):
                scaled = np.multiply(rows, np.sqrt(weighting[owners])[:, None], out=spare[: len(rows)])
                dsyrk(1.0, scaled.T, beta=1.0, c=scatter, overwrite_c=1)
    for scatter in scatters:
        mirror(scatter)
    return scatters


@dataclass
class _Cut:
    """The part of a set that lies before a border."""

    anchor: Floats  # (1, d) its first row
    mean: Floats  # (d,) minus the anchor
    squares: Floats  # (d,)
    count: int

    def joined(self, found: Centred, here: int) -> Floats:
        """Join the first piece of the next block with it, in place; return the shift between the two, as a row."""
        step = found.means[0] - self.mean
        whole = self.count + here
        found.means[0] = self.mean + step * (here / whole)
        shift: Floats = step * np.sqrt(self.count * here / whole)
        found.squares[0] += self.squares + shift**2
        return shift


@dataclass
class _Means:
    """Sums over the means of the sets so far; they wait until there are enough for a product."""

    origin: Floats
    weight: float = 0.0
    mean: Floats = field(init=False)  # (d,) minus the origin
    scatter: Floats = field(init=False)  # (d, d), the upper triangle
    spread: Floats = field(init=False)  # (d,)
    moved: Bools = field(init=False)  # (d,) which features varied
    waiting: Floats = field(init=False)  # (k, d) means minus the origin, room for more, and for one row besides
    waiting_weights: list[Floats] = field(default_factory=list)  # of those that wait, (k,) together
    n_waiting: int = 0

    def __post_init__(self) -> None:
        n_features = len(self.origin)
        self.mean, self.spread = np.zeros((2, n_features))
        self.moved = np.zeros(n_features, dtype=bool)
        self.scatter = np.zeros((n_features, n_features), order="F")
        self.waiting = np.empty((ENOUGH_SETS + 1, n_features))

    def add(self, pieces: Pieces, found: Centred, counts: Ints, weights: Floats) -> None:
        """Add the sets that end in a block."""
        first, last = self.n_waiting, self.n_waiting + len(found.means)
        if last >= len(self.waiting):
            self.waiting = np.concatenate([self.waiting[:first], np.empty((last + 1 - first, len(self.origin)))])
        means = self.waiting[first:last]
        spread = sum_sets(pieces, found, weights / np.sqrt(counts), self.origin, means)
        self.spread += spread
        # Squares of what is tiny vanish: where there are none, the numbers themselves tell whether a feature varied.
        still = ~self.moved & ~(spread > 0)
        self.moved |= spread > 0
        self.moved[still] |= means[:, still].any(axis=0) | found.means[:, still].any(axis=0)
        self.waiting_weights.append(weights)
        self.n_waiting = last
        if last >= ENOUGH_SETS:
            self._fold()

    def _fold(self) -> None:
        weights, means = np.concatenate(self.waiting_weights), self.waiting[: self.n_waiting]
        weight = float(weights.sum())
        centre = weights @ means / weight
        means -= centre
        even = bool((weights == weights[0]).all())
        factor = float(weights[0]) if even else 1.0
        if not even:
            means *= np.sqrt(weights)[:, None]
        step, both = centre - self.mean, self.weight + weight
        rows = self.waiting[: self.n_waiting + 1]
        rows[-1] = step * np.sqrt(self.weight * weight / both / factor)  # Chan's shift once more
        dsyrk(factor, rows.T, beta=1.0, c=self.scatter, overwrite_c=1)
        self.mean, self.weight = self.mean + step * (weight / both), both
        self.waiting_weights, self.n_waiting = [], 0

    def finish(self) -> None:
        """Sum up whatever waits."""
        if self.n_waiting:
            self._fold()
        mirror(self.scatter)


class GatheredRows(NamedTuple):
    """Rows that are kept, and what was found on the way."""

    anchors: Floats  # (M, d) the first row of each set
    offsets: Floats  # (M, d) the mean of each set, minus its anchor: small, so that it is exact
    deviations: Floats  # (n, d) rows minus the mean of their set, sets one after the other
    squares: Floats  # (M, d) the diagonal of each set's scatter


def gather_rows(X: Rows, order: Ints | None, counts: Ints) -> GatheredRows:
    """Read a few rows and keep them; parameters as in `gather`."""
    starts = np.cumsum(counts) - counts
    rows = _block(X, order, 0, len(X))
    pieces, deviations = Pieces(rows, starts, np.empty((0, X.shape[1]))), np.empty(X.shape)
    offsets, squares = centre(pieces, deviations)
    return GatheredRows(pieces.anchors(), offsets, deviations, squares)


def weighted_scatter(rows: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted mean (d,) of `rows` and their weighted scatter (d, d) around it."""
    mean = weights @ rows / weights.sum()
    scatter: Floats = dsyrk(1.0, ((rows - mean) * np.sqrt(weights)[:, None]).T)
    mirror(scatter)
    return mean, scatter


def mirror(matrix: Floats) -> None:
    """Copy the upper triangle of a square matrix into the lower one, in place and block by block."""
    size, width = len(matrix), 64  # both tiles stay in the cache
    for left in range(0, size, width):
        corner = matrix[left : left + width, left : left + width]
        corner[:] = np.triu(corner) + np.triu(corner, 1).T
        for top in range(left + width, size, width):
            matrix[top : top + width, left : left + width] = matrix[left : left + width, top : top + width].T


def block_rows(n_features: int) -> int:
    """How many rows are read at once."""
    return int(np.clip(BLOCK // n_features, LEAST_ROWS, MOST_ROWS))


def _blocks(n_rows: int, size: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n_rows, size):
        yield start, min(start + size, n_rows)


def _block(X: Rows, order: Ints | None, start: int, stop: int) -> Rows:
    block: Rows = X[start:stop] if order is None else X[order[start:stop]]
    return block


def _read(X: Rows, order: Ints | None, start: int, stop: int) -> Floats:
    return np.array(_block(X, order, start, stop), dtype=np.float64)

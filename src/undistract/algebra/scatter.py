"""Accumulate the within-group and between-group scatter in one pass over rows sorted by group.

    scatter_k = Σ_m weighting[k, m] · S_m          S_m = Σ_{x in m} (x - μ_m)(x - μ_m)ᵀ
    between   = Σ_m w_m (μ_m - μ)(μ_m - μ)ᵀ
    spread    = Σ_m w_m · √(diag S_m / n_m)

No digits are lost to cancellation: every row is read relative to the first row of its group (the anchor), so that all
sums have the size of the within-group variation, however far the group is from zero. Memory does not grow with the
number of groups. Rows are read in blocks that stay in the cache while they are shifted, centred and multiplied.

Short groups contribute one row less. n rows minus their mean span at most n - 1 directions. A Householder reflection
that maps (1, …, 1)/√n to the first axis turns the first row into zeros and keeps all products. This amounts to another
centre, and the first row is dropped:

    x_i - c,   c = μ - (x_1 - μ)/(√n - 1),   i = 2 … n          Σ (x_i - c)(x_i - c)ᵀ = Σ (x_i - μ)(x_i - μ)ᵀ

With numba installed (the extra `fast`), narrow blocks are centred by a compiled pass. The numpy version is the
reference.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.sparse import csr_array

from undistract._arrays import Bools, Floats, Ints, Rows

# Values per block: 4 MB of float64 stay in the cache between two steps.
BLOCK = 2**19
LEAST_ROWS, MOST_ROWS = 1024, 2**15
# Collect this many group means per product: with fewer rows, dsyrk is limited by reading the (d, d) sum.
MIN_MEANS = 512
# From this mean number of rows per group on, a loop over groups is faster than one sparse product for all of them.
LONG = 32
# The compiled pass pays off for full blocks of narrow rows. With wide rows the product (dsyrk) dominates anyway.
COMPILED_VALUES, COMPILED_FEATURES = 2**18, 256
# Slightly below √2 - 1, the value for two rows. It only avoids a division by zero for groups of one row, which leave
# no row behind and whose centre is therefore irrelevant.
LEAST_STEP = 0.4


def chan_factors(weight: Any, other: Any) -> tuple[Any, Any]:
    """Return `share` and `factor` of the formula that joins two means and scatters (Chan, Golub and LeVeque, 1983).

    With `step` from one mean to the other, the joint mean is ``mean + share · step``, and the joint scatter is the sum
    of both plus ``factor · step stepᵀ``. A negative weight removes a part again.

    Examples
    --------
    >>> chan_factors(1.0, 3.0)
    (0.75, 0.75)
    """
    return other / (weight + other), weight * other / (weight + other)


class GroupStatistics(NamedTuple):
    """Mean and variances of groups. Offsets are small, so that no digits are lost far from zero."""

    anchors: Floats  # (M, d) the first row of each group
    offsets: Floats  # (M, d) mean of each group, minus its anchor
    squares: Floats  # (M, d) diagonal of the scatter of each group


class GatheredGroups(NamedTuple):
    """Statistics of each group as in `GroupStatistics`, and sums over all groups."""

    anchors: Floats  # (M, d)
    offsets: Floats  # (M, d)
    squares: Floats  # (M, d)
    scatters: list[Floats]  # K of (d, d), one for each weighting


class ScatterSums(NamedTuple):
    """Result of one pass over the rows."""

    origin: Floats  # (d,) the first row
    offset: Floats  # (d,) mean of the group means, minus the origin
    between: Floats  # (d, d)
    spread: Floats  # (d,)
    varied: Bools  # (d,) True for features that varied: a constant feature deviates by exactly 0
    scatters: list[Floats]  # K of (d, d), one for each weighting


def accumulate_scatter(X: Rows, order: Ints | None, counts: Ints, weights: Floats, weightings: Floats) -> ScatterSums:
    """Accumulate the scatter of all groups in one pass.

    Parameters
    ----------
    X : (n, d) array of any real dtype
    order : (n,) array of int or None
        The permutation that sorts rows by group; None if they are already sorted.
    counts : (M,) array of int
        Number of rows per group, in that order.
    weights : (M,) array
        Prior weight of each group.
    weightings : (K, M) array
        For each scatter, the factor of each group; (K, 1) if it is the same for all groups.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [7.0, 1.0], [9.0, 1.0]])
    >>> sums = accumulate_scatter(X, None, np.array([2, 2]), np.ones(2), np.ones((1, 2)))
    >>> sums.scatters[0][0, 0].round(9), sums.between[0, 0], sums.varied
    (np.float64(4.0), np.float64(24.5), array([ True, False]))
    """
    means = _MeanAccumulator(_take_block(X, order, 0, 1)[0].astype(np.float64))

    def add_means(finished: GroupStatistics, groups: slice) -> None:
        means.add(finished, counts[groups], weights[groups])

    scatters = _accumulate(X, order, counts, weightings, add_means)
    means.finish()
    return ScatterSums(means.origin, means.mean, means.scatter, means.spread, means.varied, scatters)


def gather_groups(X: Rows, order: Ints | None, counts: Ints, weightings: Floats) -> GatheredGroups:
    """Return the statistics of each group and the scatters; parameters as in `accumulate_scatter`.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [7.0, 1.0], [9.0, 1.0]])
    >>> gather_groups(X, None, np.array([2, 2]), np.ones((1, 2))).squares
    array([[2., 0.],
           [2., 0.]])
    """
    blocks: list[GroupStatistics] = []
    scatters = _accumulate(X, order, counts, weightings, lambda finished, groups: blocks.append(finished))
    anchors, offsets, squares = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
    return GatheredGroups(anchors, offsets, squares, scatters)


def center_rows(X: Rows, order: Ints | None, counts: Ints) -> tuple[GroupStatistics, Floats]:
    """Return the statistics of each group and all rows minus the mean of their group, (n, d), sorted by group.

    Examples
    --------
    >>> statistics, deviations = center_rows(np.array([[1.0], [3.0], [8.0]]), None, np.array([2, 1]))
    >>> deviations.T
    array([[-1.,  1.,  0.]])
    >>> statistics.offsets.T
    array([[1., 0.]])
    """
    if order is not None:
        X = X[order]
    deviations = np.empty(X.shape)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    return center_groups(X, bounds, deviations), deviations


def _accumulate(
    X: Rows,
    order: Ints | None,
    counts: Ints,
    weightings: Floats,
    on_finished: Callable[[GroupStatistics, slice], None],
) -> list[Floats]:
    """Return the scatters, and pass the statistics of groups to `on_finished` when their last row was read."""
    n_rows, n_features = X.shape
    bounds = np.concatenate([[0], np.cumsum(counts)])
    scatters = [np.zeros((n_features, n_features), order="F") for _ in weightings]
    balanced = weightings.size > 0 and bool((weightings == weightings[:, :1]).all())
    size = min(block_rows(n_features), n_rows)
    buffer = np.empty((size + 1, n_features))  # one more row for Chan's shift
    scaled = buffer if balanced else np.empty_like(buffer)
    begun: GroupStatistics | None = None  # the group that continues from the previous block
    for start in range(0, n_rows, size):
        stop = min(start + size, n_rows)
        block = _take_block(X, order, start, stop)
        first, last = np.searchsorted(bounds, [start, stop - 1], side="right") - 1
        n_groups = int(last + 1 - first)
        # Bounds within the block; its first and last group may continue beyond it.
        inner = np.clip(bounds[first : last + 2] - start, 0, stop - start)
        skip = int(n_groups * LONG > len(block) and fast_center(block) is not None)
        rows = buffer[: len(block) - skip * n_groups]
        statistics = center_groups(block, inner, rows, begun, skip)
        if begun is not None:
            # Both parts of the group add up to its scatter plus Chan's shift, which acts as one more row.
            share, factor = chan_factors(start - bounds[first], inner[1])
            step = statistics.offsets[0] - begun.offsets[0]
            shift = step * np.sqrt(factor)
            statistics.offsets[0] = begun.offsets[0] + step * share
            statistics.squares[0] += begun.squares[0] + shift**2
            buffer[len(rows)] = shift
            rows = buffer[: len(rows) + 1]
        n_finished = n_groups - int(bounds[last + 1] > stop)
        begun = None
        if n_finished < n_groups:
            begun = GroupStatistics(*(array[-1:] for array in statistics))
        if n_finished:
            finished = GroupStatistics(*(array[:n_finished] for array in statistics))
            on_finished(finished, slice(first, first + n_finished))
        if not len(rows):  # groups of one row have no scatter
            continue
        if balanced:  # no scaling, and so no rounding of √weight
            for scatter, weighting in zip(scatters, weightings, strict=True):
                dsyrk(weighting[0], rows.T, beta=1.0, c=scatter, overwrite_c=1)
            continue
        groups = np.repeat(np.arange(first, last + 1), np.diff(inner) - skip)
        groups = np.append(groups, np.full(len(rows) - len(groups), first))  # the shift belongs to the first group
        for scatter, weighting in zip(scatters, weightings, strict=True):
            out = np.multiply(rows, np.sqrt(weighting[groups])[:, None], out=scaled[: len(rows)])
            dsyrk(1.0, out.T, beta=1.0, c=scatter, overwrite_c=1)
    for scatter in scatters:
        mirror(scatter)
    return scatters


@dataclass
class _MeanAccumulator:
    """Weighted scatter of the group means, accumulated in batches that are large enough for BLAS."""

    origin: Floats
    weight: float = 0.0
    mean: Floats = field(init=False)  # (d,) minus the origin
    scatter: Floats = field(init=False)  # (d, d), the upper triangle
    spread: Floats = field(init=False)  # (d,)
    varied: Bools = field(init=False)  # (d,) True for features that varied
    pending: Floats = field(init=False)  # (k, d) means minus the origin; the last row is for Chan's shift
    pending_weights: list[Floats] = field(default_factory=list)  # weights of the pending means, (k,) in total
    n_pending: int = 0

    def __post_init__(self) -> None:
        n_features = len(self.origin)
        self.mean = np.zeros(n_features)
        self.spread = np.zeros(n_features)
        self.varied = np.zeros(n_features, dtype=bool)
        self.scatter = np.zeros((n_features, n_features), order="F")
        self.pending = np.empty((MIN_MEANS + 1, n_features))

    def add(self, finished: GroupStatistics, counts: Ints, weights: Floats) -> None:
        """Add the groups that end in a block."""
        first = self.n_pending
        last = first + len(weights)
        if last >= len(self.pending):
            self.pending = np.concatenate([self.pending[:first], np.empty((last + 1 - first, len(self.origin)))])
        means = self.pending[first:last]
        np.subtract(finished.anchors, self.origin, out=means)
        means += finished.offsets
        # In place: blocks of tiny groups have large arrays, and new memory costs as much as the square roots.
        spread = (weights / np.sqrt(counts)) @ np.sqrt(finished.squares, out=finished.squares)
        self.spread += spread
        # The square of a tiny deviation underflows to 0. For such features look at the deviations themselves.
        unclear = ~self.varied & ~(spread > 0)
        self.varied |= spread > 0
        self.varied[unclear] |= means[:, unclear].any(axis=0) | finished.offsets[:, unclear].any(axis=0)
        self.pending_weights.append(weights)
        self.n_pending = last
        if last >= MIN_MEANS:
            self.flush()

    def flush(self) -> None:
        """Add the pending means to the scatter."""
        weights = np.concatenate(self.pending_weights)
        means = self.pending[: self.n_pending]
        weight = float(weights.sum())
        centre = weights @ means / weight
        means -= centre
        scale = 1.0
        if (weights == weights[0]).all():  # no root of the weights, no rounding
            scale = float(weights[0])
        else:
            means *= np.sqrt(weights)[:, None]
        step = centre - self.mean
        share, factor = chan_factors(self.weight, weight)
        rows = self.pending[: self.n_pending + 1]
        rows[-1] = step * np.sqrt(factor / scale)
        dsyrk(scale, rows.T, beta=1.0, c=self.scatter, overwrite_c=1)
        self.mean = self.mean + step * share
        self.weight += weight
        self.pending_weights = []
        self.n_pending = 0

    def finish(self) -> None:
        """Add the pending means and complete the matrix."""
        if self.n_pending:
            self.flush()
        mirror(self.scatter)


def center_groups(
    block: Rows, bounds: Ints, out: Floats, begun: GroupStatistics | None = None, skip: int = 0
) -> GroupStatistics:
    """Write rows minus the mean of their group to `out` and return the statistics of the groups.

    Parameters
    ----------
    block : (n, d) array
        Rows, sorted by group.
    bounds : (groups + 1,) array of int
        The first row of each group, and n.
    out : (n - skip · groups, d) array
    begun : GroupStatistics, optional
        Of the first group, if it started in another block: its anchor is used again.
    skip : {0, 1}
        Rows to drop per group without changing the products; 1 only for the compiled loop.
    """
    anchors, offsets, squares = np.empty((3, len(bounds) - 1, block.shape[1]))
    carried = np.empty((0, block.shape[1]))
    if begun is not None:
        carried = begun.anchors
    loop = fast_center(block)
    if loop is not None:
        loop(block, bounds, carried, out, anchors, offsets, squares, skip)
        return GroupStatistics(anchors, offsets, squares)
    anchors[:] = np.take(block, bounds[:-1], axis=0)
    anchors[: len(carried)] = carried
    if len(anchors) * LONG > len(block):
        _center_short(block, bounds, anchors, out, offsets, squares)
    else:
        _center_long(block, bounds, anchors, out, offsets, squares)
    return GroupStatistics(anchors, offsets, squares)


def _center_long(block: Rows, bounds: Ints, anchors: Floats, out: Floats, offsets: Floats, squares: Floats) -> None:
    limits = bounds.tolist()
    for group in range(len(anchors)):
        first, last = limits[group], limits[group + 1]
        rows = out[first:last]
        np.subtract(block[first:last], anchors[group], out=rows)
        # A product with a constant vector is faster than `mean(axis=0)`: BLAS reads the rows once, in order.
        np.matmul(np.full(last - first, 1.0 / (last - first)), rows, out=offsets[group])
        rows -= offsets[group]
        np.einsum("ij,ij->j", rows, rows, out=squares[group])


def _center_short(block: Rows, bounds: Ints, anchors: Floats, out: Floats, offsets: Floats, squares: Floats) -> None:
    counts = np.diff(bounds)
    members = group_indicator(bounds)
    scratch = np.repeat(anchors, counts, axis=0)
    np.subtract(block, scratch, out=out)
    np.divide(members @ out, counts[:, None], out=offsets)
    out -= np.take(offsets, np.repeat(np.arange(len(counts)), counts), axis=0, out=scratch, mode="clip")
    squares[:] = members @ np.multiply(out, out, out=scratch)


def group_indicator(bounds: Ints) -> csr_array:
    """Return the (M, n) matrix that sums rows by group: row m has ones in the columns of group m."""
    bounds = bounds.astype(np.int32)
    n_rows = int(bounds[-1])
    return csr_array((np.ones(n_rows), np.arange(n_rows, dtype=np.int32), bounds), shape=(len(bounds) - 1, n_rows))


def weighted_scatter(rows: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted mean (d,) of `rows` and their weighted scatter (d, d) around it."""
    mean = weights @ rows / weights.sum()
    scatter: Floats = dsyrk(1.0, ((rows - mean) * np.sqrt(weights)[:, None]).T)
    mirror(scatter)
    return mean, scatter


def mirror(matrix: Floats) -> None:
    """Copy the upper triangle of a square matrix into the lower one, in place and tile by tile."""
    size = len(matrix)
    width = 64  # two tiles stay in the cache
    for start in range(0, size, width):
        corner = matrix[start : start + width, start : start + width]
        corner[:] = np.triu(corner) + np.triu(corner, 1).T
        for top in range(start + width, size, width):
            matrix[top : top + width, start : start + width] = matrix[start : start + width, top : top + width].T


def block_rows(n_features: int) -> int:
    """Return the number of rows per block."""
    return int(np.clip(BLOCK // n_features, LEAST_ROWS, MOST_ROWS))


def _take_block(X: Rows, order: Ints | None, start: int, stop: int) -> Rows:
    if order is None:
        block: Rows = X[start:stop]
    else:
        block = X[order[start:stop]]
    return block


def fast_center(block: Rows) -> Callable[..., None] | None:
    """Return the compiled loop if it is available and pays off for this block."""
    if block.size < COMPILED_VALUES or block.shape[1] > COMPILED_FEATURES:
        return None
    # numba supports neither half precision, nor long doubles, nor foreign byte order.
    if not block.dtype.isnative or block.dtype.char in "eg":
        return None
    return compiled_loop()


@cache
def compiled_loop() -> Callable[..., None] | None:
    """Return the loop over rows compiled by numba, or None if numba is not installed or UNDISTRACT_NUMBA=0."""
    if os.environ.get("UNDISTRACT_NUMBA") == "0" or find_spec("numba") is None:
        return None
    import numba

    # Let the compiler reorder sums, as numpy does, but not assume that NaN is absent: NaN must stay NaN.
    compile_it = partial(numba.njit, fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
    try:
        loop: Callable[..., None] = compile_it(cache=True)(_center_loop)
    except RuntimeError:  # numba found no writable folder for its cache
        loop = compile_it()(_center_loop)
    return loop


def _center_loop(
    block: Rows,
    bounds: Ints,
    carried: Floats,
    out: Floats,
    anchors: Floats,
    offsets: Floats,
    squares: Floats,
    skip: int,
) -> None:
    n_features = block.shape[1]
    centre = np.empty(n_features)  # a local copy of the anchor first: the compiler cannot tell `anchors` from `out`
    # The first row has a separate variable: with `reassoc`, adding it to the sum could cancel its digits.
    first_row = np.empty(n_features)
    begin = 0  # the first output row of the group
    for group in range(len(offsets)):
        first, last = bounds[group], bounds[group + 1]
        for feature in range(n_features):
            centre[feature] = block[first, feature]
            if group < len(carried):
                centre[feature] = carried[group, feature]
            anchors[group, feature] = centre[feature]
            first_row[feature] = block[first, feature] - centre[feature]
            offsets[group, feature] = skip * first_row[feature]
        shift = begin - first - skip
        for row in range(first + skip, last):
            for feature in range(n_features):
                value = block[row, feature] - centre[feature]
                out[row + shift, feature] = value
                offsets[group, feature] += value
        share = 1.0 / (last - first)
        # The reflection of the module docstring: c = μ - (x_1 - μ)/(√n - 1).
        step = skip / max(np.sqrt(last - first) - 1.0, LEAST_STEP)
        for feature in range(n_features):
            offsets[group, feature] *= share
            mean = offsets[group, feature]
            centre[feature] = mean - step * (first_row[feature] - mean)
            squares[group, feature] = 0.0
        for row in range(begin, last + shift):
            for feature in range(n_features):
                value = out[row, feature] - centre[feature]
                out[row, feature] = value
                squares[group, feature] += value * value
        begin = last + shift

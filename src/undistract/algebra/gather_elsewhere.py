"""Moments of rows that live in another library, summed up on their own device.

    scatter_k = Σ_m weighting[k, m] · Σ_{x in m} (x - μ_m)(x - μ_m)ᵀ

As in `gather`, every row is read relative to the first row of its own set, so that nothing is lost to cancellation.
What belongs together is summed by one product with zeros and ones for each block: no loop over sets, and the same bits
again on the same device. Only the sums leave it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from undistract.algebra.library import Library
from undistract.algebra.moments import Moments
from undistract.algebra.prior import Prior, Weights
from undistract.algebra.set_labels import number_sets
from undistract.algebra.set_moments import SetMoments
from undistract.algebra.store import Folded, balanced, few
from undistract.arrays import Floats, Ints, check_range, quiet

# A block touches at most so many sets: the product that sums them up stays cheap beside the scatter.
SETS_IN_A_BLOCK = 64
# Blocks of about 8 MB keep a device busy, and leave room for the copies that are made of each.
VALUES_IN_A_BLOCK, LEAST_ROWS, MOST_ROWS = 2**20, 1024, 2**16


def moments_on(X: Any, labels: Any, prior: Weights, library: Library) -> Moments:
    """Sum up rows of another library, each labelled with its set.

    Rows so few that moments keep them come home, and so do the rows of a device without float64: both are summed up
    by numpy. Otherwise the sums are made where the rows are.

    Parameters
    ----------
    X : (n, d) array of that library
        Finite numbers.
    labels : (n,) sequence of hashables, or None
        In numpy or Python; None where nothing is known about sets.
    prior : as in `Moments.of_labelled`
    library : Library

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, labels = rng.normal(size=(70_000, 32)), np.arange(70_000) % 7
    >>> there = moments_on(X, labels, "uniform", Library(np, "cpu", np.asarray))
    >>> here = Moments.of_labelled(X, labels)
    >>> np.allclose(there.within, here.within, rtol=1e-12, atol=1e-12)
    True
    """
    X = X.detach() if hasattr(X, "detach") else X  # sums need no gradient, and its record would keep every block
    n_rows = int(X.shape[0])
    if few(n_rows, int(X.shape[1])) or library.float64 is None:
        rows = library.to_numpy(X)
        if labels is None:
            return Moments.of([(None, SetMoments.of(rows))])
        return Moments.of_checked(rows, labels, prior)
    names, codes = ((None,), np.zeros(n_rows, np.int64)) if labels is None else number_sets(labels, n_rows)
    counts = np.bincount(codes, minlength=len(names))
    rule = Prior.of("uniform" if labels is None else prior)
    rule.check_length(len(names))
    weights = rule.weights(names, counts)
    order = None if (np.diff(codes) >= 0).all() else np.argsort(codes, kind="stable")
    with quiet():
        origin, offset, folded = _fold(X, order, counts, weights, library)
    return Moments(names, counts, weights, rule.kind, origin, offset, folded)


def _fold(X: Any, order: Ints | None, counts: Ints, weights: Floats, library: Library) -> tuple[Floats, Floats, Folded]:
    xp, home = library.xp, library.to_numpy
    pairs = np.where(counts > 1, counts * (counts - 1), np.inf)  # one row has no scatter
    coefficients = np.stack([weights / counts, weights / pairs, weights**2 / pairs])
    even = balanced(counts, weights)
    gathered = _gather(X, order, counts, np.ones((1, len(counts))) if even else coefficients, library)
    within, *wander = (_symmetric(home(scatter)) for scatter in gathered.scatters)
    if even:
        within = within * coefficients[0, 0]
    means = (gathered.anchors - gathered.anchors[:1, :]) + gathered.offsets  # (M, d)
    shares = library.array(weights / weights.sum(), library.float64)[:, None]
    offset = xp.sum(means * shares, axis=0)
    centred = (means - offset) * xp.sqrt(shares)
    between = _symmetric(home(centred.T @ centred)) * weights.sum()
    sizes = library.array(counts.astype(np.float64), library.float64)[:, None]
    spread = home(xp.sum(shares * xp.sqrt(gathered.squares / sizes), axis=0)) * weights.sum()
    moved = xp.any(means != 0, axis=0) | xp.any(gathered.offsets != 0, axis=0)
    check_range((np.diag(within) + np.diag(between)) / weights.sum(), home(moved))
    folded = Folded(within, between, None if even else (wander[0], wander[1]), np.array(spread))
    return np.array(home(gathered.anchors[0, :])), np.array(home(offset)), folded


class _Gathered(NamedTuple):
    anchors: Any  # (M, d) the first row of each set
    offsets: Any  # (M, d) the mean of each set, minus its anchor
    squares: Any  # (M, d) the diagonal of each set's scatter
    scatters: list[Any]  # K of (d, d), one for each weighting


def _gather(X: Any, order: Ints | None, counts: Ints, weightings: Floats, library: Library) -> _Gathered:
    xp, wide = library.xp, library.float64
    bounds = np.concatenate([[0], np.cumsum(counts)])
    first_rows = library.array(bounds[:-1] if order is None else order[bounds[:-1]])
    anchors = xp.astype(xp.take(X, first_rows, axis=0), wide)
    set_of_row = library.array(np.repeat(np.arange(len(counts)), counts))
    places = None if order is None else library.array(order)
    roots = [None if (one == 1).all() else library.array(np.sqrt(one), wide) for one in weightings]
    scatters = [xp.zeros((X.shape[1], X.shape[1]), dtype=wide, device=library.device) for _ in weightings]
    offsets, squares = [], []
    carried: tuple[Any, Any] | None = None  # mean and squares so far of the set that the last border cut
    for start, stop, first, last in _blocks(bounds, int(X.shape[1])):
        sets = set_of_row[start:stop]
        rows = X[start:stop, :] if places is None else xp.take(X, places[start:stop], axis=0)
        rows = xp.astype(rows, wide) - xp.take(anchors, sets, axis=0)
        inside = sets - first
        members = xp.astype(
            xp.arange(last - first + 1, device=library.device)[:, None] == inside[None, :], wide
        )  # (p, b) of zeros and ones
        piece_counts = np.minimum(bounds[first + 1 : last + 2], stop) - np.maximum(bounds[first : last + 1], start)
        means = (members @ rows) / library.array(piece_counts.astype(np.float64), wide)[:, None]
        rows -= xp.take(means, inside, axis=0)
        sums = members @ rows**2
        if carried is not None:
            before, here = float(start - bounds[first]), float(piece_counts[0])
            step = means[:1, :] - carried[0]
            # Chan's shift is one more row of the set that the border cut.
            shift = step * float(np.sqrt(before * here / (before + here)))
            means = xp.concat([carried[0] + step * (here / (before + here)), means[1:, :]], axis=0)
            sums = xp.concat([sums[:1, :] + carried[1] + shift**2, sums[1:, :]], axis=0)
            rows, sets = xp.concat([rows, shift], axis=0), xp.concat([sets, sets[:1]], axis=0)
        for place, root in enumerate(roots):
            scaled = rows if root is None else rows * xp.take(root, sets, axis=0)[:, None]
            scatters[place] += scaled.T @ scaled
        if bounds[last + 1] > stop:
            carried = means[-1:, :], sums[-1:, :]
            means, sums = means[:-1, :], sums[:-1, :]
        else:
            carried = None
        offsets.append(means)
        squares.append(sums)
    return _Gathered(anchors, xp.concat(offsets, axis=0), xp.concat(squares, axis=0), scatters)


def _blocks(bounds: Ints, n_features: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut the rows into blocks: first row, row behind the last, first set, last set."""
    size = int(np.clip(VALUES_IN_A_BLOCK // n_features, LEAST_ROWS, MOST_ROWS))
    start, n_rows = 0, int(bounds[-1])
    while start < n_rows:
        first = int(np.searchsorted(bounds, start, side="right")) - 1
        stop = min(start + size, int(bounds[min(first + SETS_IN_A_BLOCK, len(bounds) - 1)]))
        yield start, stop, first, int(np.searchsorted(bounds, stop - 1, side="right")) - 1
        start = stop


def _symmetric(matrix: Any) -> Floats:
    """Take out the rounding that a general product leaves between the two triangles."""
    symmetric: Floats = (matrix + matrix.T) / 2
    return symmetric

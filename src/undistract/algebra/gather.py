"""One pass over rows sorted by set: the mean of each set and weighted sums of its scatter.

    scatter_k = Σ_m weighting[k, m] · Σ_{x in m} (x - μ_m)(x - μ_m)ᵀ

Nothing is lost to cancellation: every row is read relative to the first row of its own set, so all sums are of the
size of the variation inside a set, however far away from zero the set lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk

from undistract.arrays import Floats, Ints, Rows


class Gathered(NamedTuple):
    """What one pass over the rows finds."""

    anchors: Floats  # (M, d) the first row of each set
    offsets: Floats  # (M, d) the mean of each set, minus its anchor: small, so that it is exact
    squares: Floats  # (M, d) the diagonal of each set's scatter
    scatters: list[Floats]  # K of (d, d), one for each weighting


def gather(X: Rows, order: Ints | None, counts: Ints, weightings: Floats) -> Gathered:
    """Read the rows once and sum up their sets.

    Parameters
    ----------
    X : (n, d) array of any real dtype
    order : (n,) array of int or None
        The order that puts rows of one set side by side; None when they already are.
    counts : (M,) array of int
        How many rows each set has, in that order.
    weightings : (K, M) array
        One weighting of the sets per scatter.
    """
    bounds = np.concatenate([[0], np.cumsum(counts)])
    all_anchors = _pick(X, order, bounds[:-1])
    offsets, squares = np.empty_like(all_anchors), np.zeros_like(all_anchors)
    scatters = [np.zeros((X.shape[1], X.shape[1]), order="F") for _ in weightings]
    carried: Floats | None = None  # mean so far of the set that the last border cut, relative to its own first row
    for start, stop in _blocks(*X.shape):
        rows = _read(X, order, start, stop)
        first, last = np.searchsorted(bounds, [start, stop - 1], side="right") - 1
        inside = np.arange(first, last + 1)  # the sets that this block touches
        piece_starts = np.maximum(bounds[inside], start) - start
        piece_counts = np.diff(np.append(piece_starts, stop - start))
        piece_means = _centre(rows, piece_starts, piece_counts, all_anchors[inside])
        squares[inside] += squared_sums(rows, piece_starts)
        if carried is not None and bounds[first] < start:
            before, here = start - bounds[first], piece_counts[0]
            step = piece_means[0] - carried
            piece_means[0] = carried + step * (here / (before + here))
            # Chan's shift is one more row of the set that the border cut.
            shift = step * np.sqrt(before * here / (before + here))
            rows = np.vstack([rows, shift])
            squares[first] += shift**2
            piece_of_row = np.append(np.repeat(inside, piece_counts), first)
        else:
            piece_of_row = np.repeat(inside, piece_counts)
        offsets[inside] = piece_means
        carried = piece_means[-1] if bounds[last + 1] > stop else None
        _add_scatter(scatters, rows, weightings[:, piece_of_row])
    for scatter in scatters:
        mirror(scatter)
    return Gathered(all_anchors, offsets, squares, scatters)


def gather_rows(X: Rows, order: Ints | None, counts: Ints) -> tuple[Floats, Floats, Floats]:
    """Read a few rows and keep them: anchors (M, d), offsets (M, d) as above, deviations (n, d) set by set."""
    starts = np.cumsum(counts) - counts
    anchors = _pick(X, order, starts)
    deviations = _read(X, order, 0, len(X))
    return anchors, _centre(deviations, starts, counts, anchors), deviations


def _centre(rows: Floats, starts: Ints, counts: Ints, anchors: Floats) -> Floats:
    """Subtract from each piece its own mean, in place; return the means relative to the anchors."""
    rows -= np.repeat(anchors, counts, axis=0)
    means: Floats = np.add.reduceat(rows, starts, axis=0) / counts[:, None]
    rows -= np.repeat(means, counts, axis=0)
    return means


def squared_sums(rows: Floats, starts: Ints) -> Floats:
    """Sum the squares of each piece of rows, feature by feature, (pieces, d)."""
    sums: Floats = np.add.reduceat(rows**2, starts, axis=0)
    return sums


def weighted_scatter(rows: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted mean (d,) of `rows` and their weighted scatter (d, d) around it."""
    mean = weights @ rows / weights.sum()
    scatter = np.zeros((rows.shape[1], rows.shape[1]), order="F")
    _add_scatter([scatter], rows - mean, weights[None, :])
    mirror(scatter)
    return mean, scatter


def mirror(matrix: Floats) -> None:
    """Copy the upper triangle of a square matrix into the lower one, in place and block by block."""
    width = 512
    for left in range(0, len(matrix), width):
        right = min(left + width, len(matrix))
        corner = matrix[left:right, left:right]
        corner[:] = np.triu(corner) + np.triu(corner, 1).T
        matrix[right:, left:right] = matrix[left:right, right:].T


def _add_scatter(scatters: list[Floats], rows: Floats, weights: Floats) -> None:
    """Add Σ weights[k, i] · row_i row_iᵀ to the upper triangle of each scatter."""
    for scatter, weight in zip(scatters, weights, strict=True):
        if (weight == weight[0]).all():  # sets of one size and weight need no copy
            dsyrk(weight[0], rows.T, beta=1.0, c=scatter, overwrite_c=1)
        else:
            dsyrk(1.0, (rows * np.sqrt(weight)[:, None]).T, beta=1.0, c=scatter, overwrite_c=1)


def _blocks(n_rows: int, n_features: int) -> Iterator[tuple[int, int]]:
    # Blocks of about 2 MB stay in the cache between one pass over them and the next.
    size = int(np.clip(2**18 // n_features, 1024, 2**16))
    for start in range(0, n_rows, size):
        yield start, min(start + size, n_rows)


def _read(X: Rows, order: Ints | None, start: int, stop: int) -> Floats:
    block = X[start:stop] if order is None else X[order[start:stop]]
    return np.array(block, dtype=np.float64, order="C")


def _pick(X: Rows, order: Ints | None, positions: Ints) -> Floats:
    return np.asarray(X[positions if order is None else order[positions]], dtype=np.float64)

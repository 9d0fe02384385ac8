"""Synthetic data with a known answer, for tests and docs: the paper's analytic example, and drawn clips.

The example that the paper solves by hand: x ~ N((3m, 1, -1), diag(4, 1, 0)) in group m. The first feature separates the
groups, the second is nuisance variation, the third is constant. The clips show moving dots under changing illumination,
optionally with an anomalous object.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from undistract.errors import InputError
from undistract.sources.source import Source


def analytic_example(n_groups: int = 10, n_rows: int = 100, seed: int | Sequence[int] = 0) -> list[Source]:
    """Return random groups of the paper's analytic example, group m = 1, 2, … around (3m, 1, -1).

    Parameters
    ----------
    n_groups, n_rows : int
        Number of groups, and of rows in each.
    seed : int or sequence of int
        The same seed returns the same rows.

    Examples
    --------
    >>> groups = analytic_example()
    >>> len(groups), groups[4].name, groups[4].rows.shape
    (10, 'set 5', (100, 3))
    >>> groups[4].rows.mean(axis=0).round()
    array([15.,  1., -1.])
    """
    if n_groups < 1 or n_rows < 1:
        raise InputError(f"n_groups and n_rows must be at least 1, got {n_groups} and {n_rows}.")
    rng = np.random.default_rng(seed)
    # The paper prints the 2 of the first feature as a variance, but its own numbers need a standard deviation of 2.
    deviation = [2.0, 1.0, 0.0]
    return [
        Source(f"set {m}", rng.normal([3.0 * m, 1.0, -1.0], deviation, size=(n_rows, 3)), origin="analytic example")
        for m in range(1, n_groups + 1)
    ]


def mix_features(groups: Iterable[Source], matrix: Any) -> list[Source]:
    """Return sources with mixed features, x → matrix · x, so that no direction of interest is parallel to an axis.

    Parameters
    ----------
    groups : iterable of Source
    matrix : (d, d) array
        Invertible, so that no information is lost.

    Examples
    --------
    >>> swapped = mix_features(analytic_example(), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    >>> swapped[4].rows.mean(axis=0).round()
    array([ 1., 15., -1.])
    """
    mixing = np.asarray(matrix, dtype=np.float64)
    if mixing.ndim != 2 or mixing.shape[0] != mixing.shape[1]:
        raise InputError(f"matrix must be square, got shape {mixing.shape}.")
    rank = int(np.linalg.matrix_rank(mixing))
    if rank < len(mixing):
        raise InputError(
            f"matrix must be invertible, got rank {rank} for size {len(mixing)}: "
            f"{len(mixing) - rank} directions would be lost."
        )
    return [_mixed(source, mixing) for source in groups]


def _mixed(source: Source, mixing: Any) -> Source:
    if source.n_features != len(mixing):
        raise InputError(
            f"matrix must have one row and one column per feature: source {source.name!r} has {source.n_features} "
            f"features, got {len(mixing)}."
        )
    rows, times = source.load()
    return Source(source.name, rows @ mixing.T, times, source.origin)


Frames = npt.NDArray[np.uint8]  # (n, height, width, 3)

WIDTH, HEIGHT, N_DOTS, RADIUS, LIGHT = 96, 64, 14, 5, 24


def make_illuminated_clip(n_frames: int = 150, *, seed: int = 0, stranger: bool = False) -> Frames:
    """Return frames of moving dots under changing illumination; with `stranger`, a larger object crosses in mid-clip.

    The illumination is a gradient of brightness that turns and fades, as with clouds. Dots bounce off the borders.

    Examples
    --------
    >>> calm, odd = make_illuminated_clip(30), make_illuminated_clip(30, stranger=True)
    >>> calm.shape, bool((calm[0] == odd[0]).all()), bool((calm[15] == odd[15]).all())
    ((30, 64, 96, 3), True, False)
    """
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    positions = rng.uniform([0, 0], [WIDTH, HEIGHT], size=(N_DOTS, 2))
    speeds = rng.normal(scale=1.5, size=(N_DOTS, 2))
    light = rng.normal(size=(-(-n_frames // 5) + 1, 3))  # new values every fifth frame, interpolated between
    frames = np.empty((n_frames, HEIGHT, WIDTH, 3), dtype=np.uint8)
    first, last = 2 * n_frames // 5, 3 * n_frames // 5
    for number in range(n_frames):
        grey = np.full((HEIGHT, WIDTH), 110.0)
        for free_column, free_row in positions + speeds * number:
            column = _reflect(free_column, WIDTH)
            row = _reflect(free_row, HEIGHT)
            grey[(x - column) ** 2 + (y - row) ** 2 < RADIUS**2] = 140
        if stranger and first <= number < last:
            column = WIDTH * (number - first + 0.5) / (last - first)
            grey[(abs(x - column) < 9) & (abs(y - HEIGHT / 2) < 9)] = 60
        # Linear interpolation between the two nearest sets of illumination values.
        step, share = divmod(number / 5, 1)
        offset, across, down = (1 - share) * light[int(step)] + share * light[int(step) + 1]
        grey += LIGHT * (offset + across * (2 * x / WIDTH - 1) + down * (2 * y / HEIGHT - 1))
        frames[number] = np.clip(grey, 0, 255)[..., None]
    return frames


def _reflect(position: float, size: int) -> float:
    """Fold a position on a line back into [0, size], as if it bounced off both ends."""
    return size - abs(position % (2 * size) - size)

"""One set of a sketch: its rows may come in pieces, and nobody needs to know how many follow."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np

from undistract.algebra.frequent_directions import Builder, FrequentDirections
from undistract.algebra.set_moments import SetMoments
from undistract.arrays import Floats, Rows, check_range, quiet, same_features
from undistract.errors import InputError

# Rows are widened to float64 and centred block by block.
BLOCK_VALUES = 2**22


@dataclass(frozen=True, eq=False)
class SetSketch:
    """Count and mean of one set, exact, and a sketch of its scatter.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(30, 5))
    >>> one = SetSketch.of("mon", iter([rows[:10], rows[10:]]), size=8)
    >>> one.count, bool(np.allclose(one.squares, 30 * rows.var(axis=0)))
    (30, True)
    """

    count: int
    origin: Floats
    offset: Floats
    scatter: FrequentDirections
    squares: Floats  # (d,) diagonal of the scatter, exact

    @classmethod
    def of(cls, name: Hashable, pieces: Iterator[Rows | SetMoments], size: int) -> SetSketch:
        """Sum up the pieces of one set, each relative to the first row of all."""
        builder: Builder | None = None
        count, origin, offset, squares = 0, np.zeros(0), np.zeros(0), np.zeros(0)
        with quiet():
            for block in _blocks(name, pieces):
                if builder is None:
                    origin = block[0].astype(np.float64)
                    builder, offset, squares = Builder(size, len(origin)), np.zeros(len(origin)), np.zeros(len(origin))
                same_features(len(origin), block.shape[1], f"Set {name!r}")
                rows = block - origin  # float64, a copy
                mean = rows.mean(axis=0)
                rows -= mean
                step, here = mean - offset, len(rows)
                # Chan's shift is one more row.
                shift = step * np.sqrt(count * here / (count + here))
                offset = offset + step * (here / (count + here))
                squares += np.einsum("ij,ij->j", rows, rows) + shift**2
                check_range(squares / (count + here), offset != 0)  # before the sketch: it has no use for infinity
                builder.add(rows)
                if count:
                    builder.add(shift[None, :])
                count += here
        assert builder is not None  # named_pieces yields no empty set
        return cls(count, origin, offset, builder.done(), squares)


def _blocks(name: Hashable, pieces: Iterator[Rows | SetMoments]) -> Iterator[Rows]:
    for piece in pieces:
        if isinstance(piece, SetMoments):
            raise InputError(f"Set {name!r} came as SetMoments; a sketch is made of rows. Give its rows.")
        size = max(BLOCK_VALUES // piece.shape[1], 1)
        for start in range(0, len(piece), size):
            yield piece[start : start + size]

"""The plan: pieces become leaves, leaves become branches. It depends on what is given alone, never on the workers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from undistract.algebra.prior import Prior
from undistract.parallel.leaf import Leaf, Piece
from undistract.version import __version__

# To ship one (d, d) sum costs as much as to sum up some 640 rows, at any d. With ten times as many it hardly counts.
LEAF_ROWS = 6400
# A task should also last longer than the cluster needs to hand it out: narrow rows are taken by the 64 MB.
LEAF_VALUES = 2**23
# Where rows are so wide that a leaf would hold more values than these (256 MB), it has fewer rows.
MOST_VALUES = 2**25


def leaf_rows(n_features: int | None = None) -> int:
    """How many rows a leaf has at least, where there are as many.

    Examples
    --------
    >>> leaf_rows(100), leaf_rows(2048), leaf_rows(100_000)
    (83886, 6400, 335)
    """
    if n_features is None:
        return LEAF_ROWS
    return max(1, min(max(LEAF_ROWS, LEAF_VALUES // n_features), MOST_VALUES // n_features))


@dataclass(frozen=True, eq=False)
class Branch:
    """Leaves side by side that are joined on the workers; one sum comes back."""

    leaves: tuple[tuple[Leaf, tuple[Any, ...]], ...]  # a leaf, and what Dask makes before for each of its pieces
    marks: tuple[Callable[[], str | None], ...]  # of all pieces; to tell rows by what they hold reads all of them

    @property
    def key(self) -> str | None:
        """The sum of all that its result depends on; None where nobody can tell."""
        marks = [mark() for mark in self.marks]
        if None in marks:
            return None
        words = [(repr(leaf.names), leaf.numbers, leaf.pieces, leaf.prior, leaf.weights) for leaf, _ in self.leaves]
        return hashlib.sha256(json.dumps([__version__, words, marks]).encode()).hexdigest()

    def describe(self) -> str:
        """Name the first and the last set, for messages."""
        first, last = self.leaves[0][0].names[0][0], self.leaves[-1][0].names[-1][-1]
        return f"set {first!r}" if first == last else f"sets {first!r} to {last!r}"


def branches(pieces: Iterable[Piece], prior: Prior, split_every: int) -> Iterator[Branch]:
    """Cut a stream of pieces into branches of `split_every` leaves; a leaf ends once it is large enough."""
    grouped = _grouped(pieces)
    while some := list(islice(grouped, split_every)):
        marks = tuple(piece.mark for group in some for piece in group)
        leaves = tuple((_leaf(group, prior), tuple(piece.made for piece in group)) for group in some)
        yield Branch(leaves, marks)


def _grouped(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    group: list[Piece] = []
    n_rows = 0
    for piece in pieces:
        group.append(piece)
        n_rows += piece.n_rows
        if n_rows >= leaf_rows(piece.n_features):
            yield group
            group, n_rows = [], 0
    if group:
        yield group


def _leaf(group: list[Piece], prior: Prior) -> Leaf:
    weights = None
    if prior.kind == "given":
        weights = tuple(
            tuple(
                float(prior.weights((name,), np.zeros(1, dtype=np.int64), number)[0])
                for name, number in zip(piece.names, piece.numbers, strict=True)
            )
            for piece in group
        )
    return Leaf(
        tuple(piece.source for piece in group),
        tuple(tuple(piece.names) for piece in group),
        tuple(tuple(piece.numbers) for piece in group),
        tuple(tuple(piece.pieces) for piece in group),
        prior.kind,
        weights,
        None if group[0].blended is None else tuple(piece.blended for piece in group if piece.blended is not None),
    )

"""Sliding windows over shuffled rows, each told from the rows before it.

    shuffled rows   0 ........ end - w | ....... end        end = 2w, 2w + stride, ... ≤ n
                    negatives          | w positives

With a buffer, only its last rows count among the negatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from undistract.detect.logistic import descend, first_step, gram, span, unspan, with_one
from undistract.detect.rows import Rows
from undistract.errors import InputError

Order = NDArray[np.intp]
Span = tuple[int, int]


@dataclass(frozen=True)
class Windows:
    """Where windows lie and how each is fitted; the names are those of `DiscriminativeDetector`."""

    size: int
    stride: int
    buffer: int | None
    ridge: float
    exact: bool

    def spans(self, n_rows: int) -> list[Span]:
        """List the first row and the end of every window, negatives included."""
        return [self.span(end) for end in range(2 * self.size, n_rows + 1, self.stride)]

    def span(self, end: int) -> Span:
        """Give the first row and the end of the window that ends here."""
        return (0 if self.buffer is None else max(0, end - self.buffer)), end

    def fits(self, rows: Rows, spans: list[Span]) -> Iterator[Rows]:
        """Fit each window of the ordered rows (n, q): its coefficients (q,)."""
        n_features = rows.shape[1] - 1
        basis, turned, seen = None, rows, 0
        running: Rows | None = None
        if spans[0][0] == 0 and spans[0][1] < n_features:
            # Windows with fewer rows than features come first: turned so, they need as many columns as rows.
            basis = span(rows[:n_features, 1:])
            turned = with_one(rows[:, 1:] @ basis)
        for start, end in spans:
            split = end - self.size
            if start == 0:
                # The negatives only grow, so their Gram matrix runs along.
                running = gram(turned[seen:split], onto=running)
                window, negative, seen = turned[:end, : end + 1], running[: end + 1, : end + 1], split
            else:
                # A buffer also forgets and is summed afresh: taking rows away again would leave the rounding
                # of the largest ones behind.
                window = rows[start:end]
                basis = span(window[:, 1:]) if end - start < n_features else None
                window = window if basis is None else with_one(window[:, 1:] @ basis)
                negative = gram(window[: -self.size])
            positive = gram(window[-self.size :])
            if self.exact:
                v = descend(window, self.size, self.ridge, negative, positive)
            else:
                v = first_step(negative, positive, split - start, self.size, self.ridge)
            yield v if basis is None else unspan(v, basis)


@dataclass(frozen=True, eq=False)
class Tally:
    """What windows said of their positive rows: each (n,), summed; tallies of the same rows add up."""

    count: NDArray[np.int64]
    probability: Rows
    complement: Rows
    margin: Rows

    @classmethod
    def of(cls, rows: Rows, order: Order, windows: Windows, spans: list[Span]) -> tuple[Self, Rows]:
        """Tally some windows of the rows Z (n, q) in this order; also the coefficients of the last one."""
        n_rows = len(order)
        # Columns lie together: the solvers' products with rows and with columns are then equally quick.
        ordered = np.asfortranarray(rows[order])
        tally = cls(np.zeros(n_rows, dtype=np.int64), *np.zeros((3, n_rows)))
        coefficients = np.zeros(rows.shape[1])
        for (_, end), coefficients in zip(spans, windows.fits(ordered, spans), strict=True):
            positive = order[end - windows.size : end]
            margin = ordered[end - windows.size : end] @ coefficients
            tally.count[positive] += 1
            tally.probability[positive] += expit(margin)
            # Summed on its own: 1 - p has no digits left where p is nearly 1.
            tally.complement[positive] += expit(-margin)
            tally.margin[positive] += margin
        return tally, coefficients

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.count + other.count,
            self.probability + other.probability,
            self.complement + other.complement,
            self.margin + other.margin,
        )

    def only(self, keep: NDArray[np.bool_]) -> Tally:
        """Keep the tally of some rows, nothing of the others."""
        return Tally(self.count * keep, self.probability * keep, self.complement * keep, self.margin * keep)


def shuffles(
    n_rows: int, *, n_shuffles: int, block: int, permutations: Any, random: np.random.RandomState
) -> list[Order]:
    """Order the rows (n,) several times: as given, or at random.

    Blocks of `block` consecutive rows stay together; the last may be shorter.

    Examples
    --------
    >>> orders = shuffles(5, n_shuffles=1, block=2, permutations=None, random=np.random.RandomState(0))
    >>> orders[0]
    array([4, 2, 3, 0, 1])
    """
    if permutations is None:
        blocks = np.split(np.arange(n_rows), range(block, n_rows, block))
        return [np.concatenate([blocks[i] for i in random.permutation(len(blocks))]) for _ in range(n_shuffles)]
    try:
        orders = np.atleast_2d(np.asarray(permutations, dtype=np.intp))
    except (TypeError, ValueError) as error:
        raise InputError(f"permutations cannot be read as row numbers ({error}).") from error
    if (
        orders.ndim != 2
        or orders.shape[0] == 0
        or orders.shape[1] != n_rows
        or (np.sort(orders, axis=1) != np.arange(n_rows)).any()
    ):
        raise InputError(
            f"permutations of shape {orders.shape} were given, expected (shuffles, {n_rows}), "
            f"each row holding 0 to {n_rows - 1} once."
        )
    return list(orders)

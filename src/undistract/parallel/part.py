"""A part: what is known of some leaves of the tree, side by side. Parts join to the moments of all sets.

    part = moments of the sets that are complete + what is there of those of which pieces are still missing

Inside of the tree a set goes by its number: names may be long, and of any kind.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from undistract.algebra import Moments, SetMoments
from undistract.algebra.store import KeptRows
from undistract.arrays import same_features
from undistract.errors import InputError
from undistract.extras import MissingExtraError
from undistract.parallel.blend import Blend
from undistract.parallel.threads import one_thread


@dataclass(frozen=True, eq=False)
class Opened:
    """A set of which not all pieces are there yet."""

    moments: SetMoments
    seen: int  # pieces that are in these moments
    pieces: int  # pieces of the whole set
    weight: float | None = None  # where the prior gives one

    def __add__(self, other: Opened) -> Opened:
        return replace(self, moments=self.moments + other.moments, seen=self.seen + other.seen)


@dataclass(frozen=True, eq=False)
class Part:
    """What leaves side by side amount to.

    Parameters
    ----------
    moments : Moments or None
        Of the sets that are complete, by number.
    opened : dict of int to Opened
        Of the others, each by itself.
    blend : Blend or None
        Of the others, together; where rows of many sets lie mixed.
    prior : str
        "uniform", "by_size" or "given".
    first : hashable
        The name of a set in it, for messages.
    noted : dict of int to array
        What was noted of a set while it was read, such as a sample of its rows.
    """

    moments: Moments | None
    opened: dict[int, Opened]
    prior: str
    first: Hashable
    noted: dict[int, Any] = field(default_factory=dict)
    blend: Blend | None = None

    @property
    def n_features(self) -> int:
        """How many features a row has, d."""
        if self.moments is not None:
            return self.moments.n_features
        if self.blend is not None:
            return len(self.blend.sums[0])
        return len(next(iter(self.opened.values())).moments.origin)


@dataclass(frozen=True)
class Refused:
    """An input that cannot be used. It travels as a value: to try it again would not help."""

    error: Exception


def refusing(do: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; what it refuses comes back as a value.

    Examples
    --------
    >>> from undistract.arrays import as_rows
    >>> refusing(as_rows, [1.0])
    Refused(error=InputError('X has shape (1,), expected (rows, features)...
    """
    try:
        with one_thread():
            return do(*arguments)
    except (InputError, MissingExtraError) as error:
        return Refused(error)


def join(parts: Sequence[Part | Refused]) -> Part | Refused:
    """Join parts that lie side by side, in their order; a set is closed where its last piece comes in.

    Examples
    --------
    >>> def piece(rows):
    ...     return Part(None, {0: Opened(SetMoments.of(rows), 1, 2)}, "uniform", "monday")
    >>> whole = join([piece([[1.0, 2.0]]), piece([[3.0, 2.0], [2.0, 5.0]])])
    >>> whole.opened, whole.moments.counts
    ({}, array([3]))
    """
    for part in parts:
        if isinstance(part, Refused):
            return part
    return refusing(_joined, parts)  # type: ignore[no-any-return]


def _joined(parts: Sequence[Part]) -> Part:
    head = parts[0]
    opened: dict[int, Opened] = {}
    for part in parts:
        same_features(head.n_features, part.n_features, f"Set {part.first!r}")
        for number, piece in part.opened.items():
            opened[number] = opened[number] + piece if number in opened else piece
    complete = {number: one for number, one in opened.items() if one.seen == one.pieces}
    moments = [part.moments for part in parts if part.moments is not None]
    if complete:
        moments.append(_closed(complete, head.prior))
    blends = [part.blend for part in parts if part.blend is not None]
    blend = reduce(add, blends) if blends else None
    if blend is not None:
        blend, more = blend.closed(head.prior)
        moments += [] if more is None else [more]
    return Part(
        reduce(add, moments) if moments else None,
        {number: one for number, one in opened.items() if number not in complete},
        head.prior,
        head.first,
        {number: note for part in parts for number, note in part.noted.items()},
        blend,
    )


def _closed(complete: Mapping[int, Opened], prior: str) -> Moments:
    weights: Any = {number: one.weight for number, one in complete.items()} if prior == "given" else prior
    return Moments.of({number: one.moments for number, one in complete.items()}, weights)


def renamed(moments: Moments, names: Any) -> Moments:
    """Call the sets by other names: ``names[name]`` instead of ``name``.

    Examples
    --------
    >>> renamed(Moments.of([[[1.0], [2.0]]]), ["monday"]).names
    ('monday',)
    """
    return replace(moments, names=tuple(names[name] for name in moments.names))


def in_order(moments: Moments) -> Moments:
    """Put sets in the order of their numbers: a set that was cut is closed after those that follow it.

    Examples
    --------
    >>> in_order(Moments.of({1: [[1.0], [2.0]], 0: [[5.0]]})).names
    (0, 1)
    """
    numbers = np.array(moments.names)
    if (np.diff(numbers) > 0).all():
        return moments
    order = np.argsort(numbers)
    store, counts = moments.store, moments.counts
    if isinstance(store, KeptRows):
        starts = np.cumsum(counts) - counts
        rows = np.concatenate([np.arange(starts[place], starts[place] + counts[place]) for place in order])
        store = KeptRows(store.anchors[order], store.offsets[order], store.deviations[rows])
        # The means of kept rows are told relative to the first anchor.
        means = store.means()
        weights = moments.weights[order]
        return Moments(
            tuple(numbers[order].tolist()),
            counts[order],
            weights,
            moments.prior,
            store.anchors[0],
            weights @ means / weights.sum(),
            store,
        )
    names = tuple(numbers[order].tolist())
    return replace(moments, names=names, counts=counts[order], weights=moments.weights[order])


def folded(parts: Iterable[Part]) -> Part | None:
    """Join a stream of parts in flat memory, always in the same order.

    Like joins with like, so that many small parts are not copied again and again; parts of large matrices join at once.
    """
    waiting: list[tuple[int, Part]] = []  # how many parts are in it, and what they amount to
    for part in parts:
        waiting.append((1, part))
        while len(waiting) > 1 and (waiting[-2][0] <= waiting[-1][0] or part.n_features > LARGE):
            waiting[-2:] = [_both(*waiting[-2:])]
    while len(waiting) > 1:
        waiting[-2:] = [_both(*waiting[-2:])]
    return waiting[0][1] if waiting else None


# From so many features on, a part of many sets is some ten megabytes.
LARGE = 512


def _both(left: tuple[int, Part], right: tuple[int, Part]) -> tuple[int, Part]:
    part = join([left[1], right[1]])
    if isinstance(part, Refused):
        raise part.error
    return left[0] + right[0], part

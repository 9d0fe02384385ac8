"""Sets that may still grow, each with sums of its own, beside those that are closed and summed up together.

more rows ─► opened (d × d for each set) ─► close ─► closed (a few d × d for all of them)
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from undistract.algebra.moments import Moments
from undistract.algebra.prior import Prior, Weights
from undistract.algebra.set_moments import SetMoments
from undistract.arrays import Ints, Rows, check_range, listed, quiet
from undistract.errors import InputError


@dataclass(frozen=True, eq=False)
class Growing:
    """What a stream has brought so far. A key names one delivery of rows, so that none counts twice.

    Examples
    --------
    >>> rows, codes = np.arange(12.0).reshape(6, 2), np.array([0, 0, 1, 1, 1, 0])
    >>> stream = Growing().grown(rows, ("mon", "tue"), codes, "uniform").grown(rows, ("mon", "tue"), codes, "uniform")
    >>> stream.moments("uniform").counts
    array([6, 6])
    >>> stream.with_closed(["mon"], "uniform").names
    ('mon', 'tue')
    """

    opened: Mapping[Hashable, SetMoments] = field(default_factory=dict)
    closed: Moments | None = None
    keys: Mapping[Hashable, int] = field(default_factory=dict)  # deliveries that were counted, and how many rows

    @property
    def names(self) -> tuple[Hashable, ...]:
        """Every set, in the order of `moments`."""
        return (() if self.closed is None else self.closed.names) + tuple(self.opened)

    def has(self, key: Hashable, n_rows: int) -> bool:
        """Tell whether a delivery was counted before; refuse one that comes with other rows under an old key."""
        try:
            before = self.keys.get(key)
        except TypeError as error:
            raise InputError(f"key is {key!r:.60}; expected something hashable, such as a text or a date.") from error
        if before not in (None, n_rows):
            raise InputError(
                f"Key {key!r} was counted before with {before} rows and comes with {n_rows} now. Give every delivery a "
                "key of its own, and send the same rows when it is sent again."
            )
        return before is not None

    def grown(
        self, X: Rows, names: Sequence[Hashable], codes: Ints, prior: Weights, key: Hashable | None = None
    ) -> Growing:
        """Add rows (n, d) to their sets: row i belongs to ``names[codes[i]]``."""
        rule = Prior.of(prior)
        if self.closed is not None and self.closed.prior != rule.kind:
            raise InputError(
                f"Sets were closed with prior {self.closed.prior!r}, now it is {rule.kind!r}. Use the same for all."
            )
        opened, closed = dict(self.opened), self.closed
        shut = set() if closed is None else set(closed.names)
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(1, len(names)))
        for name, places in zip(names, np.split(order, bounds), strict=True):
            if closed is not None and name in shut:
                opened[name] = _reopened(closed, name)
                closed = closed.without(name) if closed.n_sets > 1 else None
            piece = SetMoments.of(X[places])
            opened[name] = opened[name] + piece if name in opened else piece
        # What sums would refuse later is refused now, while it can still be told whose fault it is.
        rule.weights(names, np.ones(len(names), dtype=np.int64))
        _check_distance(next(iter(opened.values())) if closed is None else closed, [opened[name] for name in names])
        keys = self.keys if key is None else {**self.keys, key: len(X)}
        return Growing(opened, closed, keys)

    def with_closed(self, names: Collection[Hashable] | None, prior: Weights) -> Growing:
        """Sum up open sets, all or those named, together with the closed ones: they take no memory of their own."""
        chosen = list(self.opened) if names is None else list(dict.fromkeys(names))
        shut = () if self.closed is None else self.closed.names
        unknown = [name for name in chosen if name not in self.opened and name not in shut]
        if unknown:
            raise InputError(f"There is no set {listed(unknown)} to close; open are {listed(list(self.opened))}.")
        leaving = {name: self.opened[name] for name in chosen if name in self.opened}
        if not leaving:
            return self
        sums = Moments.of(leaving, prior)
        staying = {name: piece for name, piece in self.opened.items() if name not in leaving}
        return replace(self, opened=staying, closed=sums if self.closed is None else self.closed + sums)

    def moments(self, prior: Weights) -> Moments:
        """Sum up all sets."""
        if not self.opened:
            assert self.closed is not None
            return self.closed
        sums = Moments.of(self.opened, prior)
        return sums if self.closed is None else self.closed + sums


def _reopened(closed: Moments, name: Hashable) -> SetMoments:
    try:
        return closed.piece(name)
    except InputError as error:
        raise InputError(f"{error} To let a set grow, do not close it before its last row (close_sets).") from error


def _check_distance(one: SetMoments | Moments, others: Sequence[SetMoments]) -> None:
    """Refuse sets so far apart that the square of their distance overflows."""
    with quiet():
        for other in others:
            step = (other.origin - one.origin) + (other.offset - one.offset)
            check_range(step**2, np.zeros(len(step), dtype=bool))

"""Moments of rows that arrive in batches: open groups with moments per group, and closed groups with joint moments.

more rows ─► opened (d × d per group) ─► close ─► closed (a few d × d for all groups)
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from undistract._arrays import Ints, Rows, check_range, ignore_fp_warnings
from undistract._text import format_names
from undistract.algebra.groups import Prior, Weights
from undistract.algebra.moments import GroupMoments, Moments
from undistract.errors import InputError


@dataclass(frozen=True, eq=False)
class StreamingMoments:
    """Moments of a stream so far. A batch id identifies a batch of rows, so that no batch counts twice.

    Examples
    --------
    >>> rows, codes = np.arange(12.0).reshape(6, 2), np.array([0, 0, 1, 1, 1, 0])
    >>> stream = StreamingMoments().update(rows, ("mon", "tue"), codes, "uniform")
    >>> stream = stream.update(rows, ("mon", "tue"), codes, "uniform")
    >>> stream.moments("uniform").counts
    array([6, 6])
    >>> stream.close(["mon"], "uniform").names
    ('mon', 'tue')
    """

    open_groups: Mapping[Hashable, GroupMoments] = field(default_factory=dict)
    closed: Moments | None = None
    batch_ids: Mapping[Hashable, int] = field(
        default_factory=dict
    )  # batches that were counted, with their number of rows

    @property
    def names(self) -> tuple[Hashable, ...]:
        """All groups, in the order of `moments`."""
        return self._closed_names() + tuple(self.open_groups)

    def _closed_names(self) -> tuple[Hashable, ...]:
        if self.closed is None:
            return ()
        return self.closed.names

    def has_batch(self, batch_id: Hashable, n_rows: int) -> bool:
        """Return True if a batch was counted before; raise if it had another number of rows then."""
        try:
            before = self.batch_ids.get(batch_id)
        except TypeError as error:
            raise InputError(f"batch_id must be hashable, such as a string or a date, got {batch_id!r:.60}.") from error
        if before not in (None, n_rows):
            raise InputError(
                f"batch_id {batch_id!r} was counted before with {before} rows, got {n_rows} rows now. Give every batch "
                "its own id, and pass the same rows if you pass it again."
            )
        return before is not None

    def update(
        self, X: Rows, names: Sequence[Hashable], codes: Ints, prior: Weights, batch_id: Hashable | None = None
    ) -> StreamingMoments:
        """Return the state with more rows (n, d): row i belongs to group ``names[codes[i]]``."""
        rule = Prior.of(prior)
        if self.closed is not None and self.closed.prior != rule.kind:
            raise InputError(
                f"Groups were closed with prior {self.closed.prior!r}, now it is {rule.kind!r}. Use the same for all."
            )
        open_groups = dict(self.open_groups)
        closed = self.closed
        closed_names = set(self._closed_names())
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(1, len(names)))
        for name, row_numbers in zip(names, np.split(order, bounds), strict=True):
            if closed is not None and name in closed_names:
                open_groups[name] = _reopened(closed, name)
                remaining = closed.without(name) if closed.n_groups > 1 else None
                closed = remaining
            added = GroupMoments.of(X[row_numbers])
            if name in open_groups:
                added = open_groups[name] + added
            open_groups[name] = added
        # Check weights and distances now, while the offending group is known; `moments` would fail much later.
        rule.weights(names, np.ones(len(names), dtype=np.int64))
        reference = closed or next(iter(open_groups.values()))
        with ignore_fp_warnings():
            for name in names:
                group = open_groups[name]
                step = (group.origin - reference.origin) + (group.offset - reference.offset)
                check_range(step**2, np.zeros(len(step), dtype=bool))
        batch_ids = dict(self.batch_ids)
        if batch_id is not None:
            batch_ids[batch_id] = len(X)
        return StreamingMoments(open_groups, closed, batch_ids)

    def close(self, names: Collection[Hashable] | None, prior: Weights) -> StreamingMoments:
        """Close open groups, all or the named ones: they share matrices from then on and take no extra memory."""
        if names is None:
            names = list(self.open_groups)
        known_names = set(self.names)
        unknown = [name for name in names if name not in known_names]
        if unknown:
            raise InputError(
                f"There is no group {format_names(unknown)} to close. Open are {format_names(list(self.open_groups))}."
            )
        closing = {name: self.open_groups[name] for name in names if name in self.open_groups}
        if not closing:
            return self
        staying = {name: group for name, group in self.open_groups.items() if name not in closing}
        return replace(self, open_groups=staying, closed=self._with_closed(Moments.of(closing, prior)))

    def moments(self, prior: Weights) -> Moments:
        """Return the moments of all groups."""
        if not self.open_groups:
            assert self.closed is not None
            return self.closed
        return self._with_closed(Moments.of(self.open_groups, prior))

    def _with_closed(self, moments: Moments) -> Moments:
        return moments if self.closed is None else self.closed + moments


def _reopened(closed: Moments, name: Hashable) -> GroupMoments:
    try:
        return closed.group(name)
    except InputError as error:
        raise InputError(f"{error} Call close_groups only after the last row of a group.") from error

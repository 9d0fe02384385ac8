"""Tasks for workers: read pieces of groups, sum them, and join the sums.

    pieces ─► Leaf.compute ─► Partial ─► join ─► Partial ─► … ─► Moments
              └──────── on the workers ────────┘ └── in this process, in order

The plan depends only on the input, never on the workers, so the result has the same bits for any number of workers.
Inside the plan a group is identified by its number, because names may be long and of any type.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from undistract._arrays import Ints, Rows, as_rows, check_same_n_features
from undistract._schema import instance_of, integer, saveable
from undistract.algebra import GroupMoments, Moments
from undistract.algebra.groups import Prior, number_groups
from undistract.algebra.moments import RowStore
from undistract.detect.reservoir import ReservoirSample
from undistract.errors import InputError
from undistract.parallel.runners import InputFailure, catch_input_errors
from undistract.sources.arrow_tables import open_parquet
from undistract.sources.source import Source
from undistract.version import __version__

# Sending one (d, d) sum costs as much as summing about 640 rows, for any d. With ten times as many it is negligible.
LEAF_ROWS = 6400
# A task should also take longer than its scheduling: narrow rows are grouped into 64 MB.
LEAF_VALUES = 2**23
# Wide rows are limited to this many values per task (256 MB).
MAX_VALUES = 2**25


def leaf_rows(n_features: int | None = None) -> int:
    """Return the minimum number of rows per task.

    Examples
    --------
    >>> leaf_rows(100), leaf_rows(2048), leaf_rows(100_000)
    (83886, 6400, 335)
    """
    if n_features is None:
        return LEAF_ROWS
    return max(1, min(max(LEAF_ROWS, LEAF_VALUES // n_features), MAX_VALUES // n_features))


@dataclass(frozen=True, eq=False)
class GroupRows:
    """Rows of one group: sent with the task, read by it, or computed by Dask before it (None)."""

    source: Source | None = None
    sampler: ReservoirSample | None = None

    def chunks(self, name: Hashable, computed: Any) -> Iterator[Rows]:
        """Yield the rows in chunks."""
        if self.source is None:
            yield as_rows(computed, f"Group {name!r}", check_finite=False)
            return
        source = self.source if self.sampler is None else self.sampler.watch(self.source)
        yield from source.chunks()


Labelled = tuple[Rows, tuple[Hashable, ...], Ints]  # rows (n, d), group names, and the index of each row's group


@dataclass(frozen=True)
class LabelledRows:
    """Rows of many groups from Dask: a pair of arrays, rows and labels."""

    def read(self, computed: Any) -> Labelled:
        rows = as_rows(computed[0], "X", check_finite=False)
        return rows, *number_groups(computed[1], len(rows))

    def names(self, labels: Any) -> tuple[Hashable, ...]:
        return number_groups(labels, len(labels))[0]


@dataclass(frozen=True)
class PairedRows:
    """Rows of many groups from Dask: a list of (name, rows)."""

    def read(self, computed: Any) -> Labelled:
        pairs = [_pair(item) for item in computed]
        names, codes = number_groups([name for name, _ in pairs], len(pairs))
        arrays = [as_rows(rows, f"Group {name!r}", check_finite=False) for name, rows in pairs]
        for (name, _), rows in zip(pairs, arrays, strict=True):
            check_same_n_features(arrays[0].shape[1], rows.shape[1], f"Group {name!r}")
        return np.concatenate(arrays), names, np.repeat(codes, [len(rows) for rows in arrays])

    def names(self, computed: Any) -> tuple[Hashable, ...]:
        if not len(computed):  # a partition of a bag may be empty
            return ()
        return self.read(computed)[1]


@dataclass(frozen=True)
class TableRows:
    """Rows of many groups in a few row groups of a .parquet file with a group column."""

    path: Any
    row_groups: tuple[int, ...]
    columns: tuple[str, ...]
    group: str

    def read(self, computed: Any) -> Labelled:
        table = open_parquet(self.path, row_groups=self.row_groups)
        batches = list(table.read(self.columns, group=self.group))
        rows = np.concatenate([rows for rows, _, _ in batches])
        labels = np.concatenate([groups for _, _, groups in batches if groups is not None])
        return rows, *number_groups(labels, len(rows))

    def names(self, computed: Any = None) -> tuple[Hashable, ...]:
        return replace(self, columns=()).read(None)[1]


MixedRows = LabelledRows | PairedRows | TableRows


def _pair(item: Any) -> tuple[Hashable, Any]:
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise InputError(f"The bag holds {type(item).__name__} {item!r:.60}; expected pairs (group name, rows).")
    return item[0], item[1]


class Group(NamedTuple):
    """A group that has rows in a piece."""

    number: int
    name: Hashable
    n_pieces: int  # in total
    weight: float | None = None  # if the prior is given


@dataclass(frozen=True, eq=False)
class Piece:
    """A unit of input for a task.

    Parameters
    ----------
    rows : GroupRows or MixedRows
    groups : tuple of Group
        The groups with rows in it, in order of appearance.
    n_rows, n_features : int or None
        If known, approximately.
    fingerprint : callable
        Returns a text that identifies the rows, or None if that is not possible; lazy, because it may read all rows.
    delayed, labels : Dask collections, optional
        Computed first: the rows, and the labels for the first pass over mixed rows.
    """

    rows: GroupRows | MixedRows
    groups: tuple[Group, ...] = ()
    n_rows: int | None = None
    n_features: int | None = None
    fingerprint: Callable[[], str | None] = lambda: None
    delayed: Any = None
    labels: tuple[Any, ...] = ()


@saveable({"n_read": integer(1), "n_pieces": integer(1)}, public=False)
@dataclass(frozen=True, eq=False)
class OpenGroup:
    """A group with missing pieces."""

    moments: GroupMoments
    n_read: int
    n_pieces: int
    weight: float | None = None

    def __add__(self, other: OpenGroup) -> OpenGroup:
        return replace(self, moments=self.moments + other.moments, n_read=self.n_read + other.n_read)


@saveable({"open_groups": instance_of(dict), "samples": instance_of(dict)}, public=False)
@dataclass(frozen=True, eq=False)
class Partial:
    """The sums of adjacent tasks.

    Parameters
    ----------
    moments : Moments or None
        Of the complete groups, by number.
    open_groups : dict of int to OpenGroup
        The others.
    prior : str
        "uniform", "by_size" or "given".
    label : str
        The name of a group in it, for messages.
    samples : dict of int to array
        Rows collected from each group.
    """

    moments: Moments | None
    open_groups: dict[int, OpenGroup]
    prior: str
    label: str
    samples: dict[int, Any] = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        if self.moments is not None:
            return self.moments.n_features
        return len(next(iter(self.open_groups.values())).moments.origin)


@dataclass(frozen=True, eq=False)
class Leaf:
    """The pieces of one task."""

    pieces: tuple[Piece, ...]
    prior: str

    @property
    def call(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function to call on a worker, and the Dask inputs that are computed before."""
        pieces = tuple(Piece(piece.rows, piece.groups) for piece in self.pieces)
        return Leaf(pieces, self.prior).compute, tuple(piece.delayed for piece in self.pieces)

    def compute(self, *computed: Any) -> Partial | InputFailure:
        """Read and sum all rows with one BLAS thread."""
        return catch_input_errors(self._compute, computed)  # type: ignore[no-any-return]

    def _compute(self, computed: Sequence[Any]) -> Partial:
        groups = {group.number: group for piece in self.pieces for group in piece.groups}
        n_read = Counter(group.number for piece in self.pieces for group in piece.groups)
        complete = {number for number, group in groups.items() if n_read[number] == group.n_pieces}
        samples: dict[int, Rows] = {}
        if isinstance(self.pieces[0].rows, GroupRows):
            moments, parts = self._sum_groups(computed, groups, complete, samples)
        else:
            moments, parts = self._sum_mixed(computed, groups, complete)
        open_groups = {
            number: OpenGroup(part, n_read[number], groups[number].n_pieces, groups[number].weight)
            for number, part in parts.items()
        }
        label = f"Group {self.pieces[0].groups[0].name!r}"
        return Partial(moments, open_groups, self.prior, label, samples)

    def _sum_groups(
        self, computed: Sequence[Any], groups: dict[int, Group], complete: set[int], samples: dict[int, Rows]
    ) -> tuple[Moments | None, dict[int, GroupMoments]]:
        parts: dict[int, GroupMoments] = {}
        width: int | None = None

        def complete_chunks() -> Iterator[tuple[Hashable, Rows]]:
            """Yield the rows of complete groups and sum those of the others separately."""
            nonlocal width
            for piece, result in zip(self.pieces, computed, strict=True):
                assert isinstance(piece.rows, GroupRows)
                (group,) = piece.groups
                for chunk in piece.rows.chunks(group.name, result):
                    width = width or chunk.shape[1]
                    check_same_n_features(width, chunk.shape[1], f"Group {group.name!r}")
                    if group.number in complete:
                        yield group.name, chunk
                    else:
                        _add_to(parts, group.number, GroupMoments.of(as_rows(chunk, f"Group {group.name!r}")))
                if piece.rows.sampler is not None:
                    samples[group.number] = piece.rows.sampler.rows

        if not complete:
            for _ in complete_chunks():
                pass
            return None, parts
        # By name, for error messages.
        numbers = {group.name: group.number for group in groups.values()}
        prior: Any = self.prior
        if prior == "given":
            prior = {group.name: group.weight for group in groups.values()}
        moments = Moments.of(complete_chunks(), prior)
        return rename(moments, numbers), parts

    def _sum_mixed(
        self, computed: Sequence[Any], groups: dict[int, Group], complete: set[int]
    ) -> tuple[Moments | None, dict[int, GroupMoments]]:
        read = [_numbered(piece, result) for piece, result in zip(self.pieces, computed, strict=True)]
        rows = np.concatenate([rows for rows, _ in read])
        numbers = np.concatenate([numbers for _, numbers in read])
        _check_finite(rows, numbers, groups)
        moments = None
        is_complete = np.isin(numbers, sorted(complete))
        if is_complete.any():
            prior: Any = self.prior
            if prior == "given":
                prior = {number: groups[number].weight for number in complete}
            moments = Moments.from_labels(rows[is_complete], numbers[is_complete], prior, validated=True)
        parts = {}
        for number in np.unique(numbers[~is_complete]).tolist():
            parts[number] = GroupMoments.of(rows[numbers == number])
        return moments, parts


def _add_to(parts: dict[int, Any], number: int, part: Any) -> None:
    parts[number] = parts[number] + part if number in parts else part


def _numbered(piece: Piece, computed: Any) -> tuple[Rows, Ints]:
    assert not isinstance(piece.rows, GroupRows)
    rows, names, codes = piece.rows.read(computed)
    if len(names) != len(piece.groups):
        raise InputError(
            f"Found {len(names)} groups, {len(piece.groups)} in the first pass. Run again if the data changed."
        )
    return rows, np.array([group.number for group in piece.groups])[codes]


def _check_finite(rows: Rows, numbers: Ints, groups: dict[int, Group]) -> None:
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        row, feature = np.argwhere(~np.isfinite(rows))[0]
        number = int(numbers[row])
        position = int((numbers[:row] == number).sum())
        raise InputError(
            f"Group {groups[number].name!r} holds {rows[row, feature]} at feature {feature}, in row {position} of its "
            "rows in this task. Drop such rows or impute them first."
        )


def find_groups(rows: Any, *computed: Any) -> tuple[Hashable, ...] | InputFailure:
    """Return the names of the groups in a piece, in order of appearance."""
    return catch_input_errors(rows.names, *computed)  # type: ignore[no-any-return]


def plan(pieces: Iterable[Piece], prior: Prior) -> Iterator[Leaf]:
    """Combine pieces into tasks that are large enough."""
    waiting: list[Piece] = []
    n_rows = 0
    for piece in pieces:
        if prior.kind == "given":
            groups = []
            for group in piece.groups:
                (weight,) = prior.weights((group.name,), np.zeros(1, dtype=np.int64), group.number)
                groups.append(group._replace(weight=float(weight)))
            piece = replace(piece, groups=tuple(groups))
        waiting.append(piece)
        n_rows += piece.n_rows or leaf_rows(piece.n_features)
        if n_rows >= leaf_rows(piece.n_features):
            yield Leaf(tuple(waiting), prior.kind)
            waiting = []
            n_rows = 0
    if waiting:
        yield Leaf(tuple(waiting), prior.kind)


def key_of(leaves: Sequence[Leaf]) -> str | None:
    """Return a hash of everything that the sum of the leaves depends on; None if that is unknown."""
    text = [__version__]
    for leaf in leaves:
        for piece in leaf.pieces:
            fingerprint = piece.fingerprint()
            if fingerprint is None:
                return None
            text += [repr(piece.groups), leaf.prior, fingerprint]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()


def describe(leaves: Sequence[Leaf]) -> str:
    """Name the first and the last group, for messages."""
    first = leaves[0].pieces[0].groups[0].name
    last = leaves[-1].pieces[-1].groups[-1].name
    return f"group {first!r}" if first == last else f"groups {first!r} to {last!r}"


def join(partials: Sequence[Partial | InputFailure]) -> Partial | InputFailure:
    """Join adjacent partial sums in order; close a group after its last piece."""
    for partial in partials:
        if isinstance(partial, InputFailure):
            return partial
    return catch_input_errors(add_partials, partials)  # type: ignore[no-any-return]


def add_partials(partials: Sequence[Partial]) -> Partial:
    """Add adjacent partial sums in order."""
    first = partials[0]
    open_groups: dict[int, OpenGroup] = {}
    samples: dict[int, Rows] = {}
    for partial in partials:
        check_same_n_features(first.n_features, partial.n_features, partial.label)
        samples |= partial.samples
        for number, group in partial.open_groups.items():
            _add_to(open_groups, number, group)
    moments = [partial.moments for partial in partials if partial.moments is not None]
    complete = {number: group for number, group in open_groups.items() if group.n_read == group.n_pieces}
    if complete:
        weights: Any = first.prior
        if weights == "given":
            weights = {number: group.weight for number, group in complete.items()}
        moments.append(Moments.of({number: open_groups.pop(number).moments for number in complete}, weights))
    total = reduce(add, moments) if moments else None
    return Partial(total, open_groups, first.prior, first.label, samples)


def rename(moments: Moments, names: Any) -> Moments:
    """Rename the groups: ``names[name]`` instead of ``name``."""
    return replace(moments, names=tuple(names[name] for name in moments.names))


def sort_groups(moments: Moments) -> Moments:
    """Sort groups by number, because a split group is closed after the groups that follow it."""
    numbers = np.array(moments.names)
    if (np.diff(numbers) > 0).all():
        return moments
    order = np.argsort(numbers)
    names = tuple(numbers[order].tolist())
    counts = moments.counts[order]
    weights = moments.weights[order]
    store = moments.store
    if not isinstance(store, RowStore):
        return replace(moments, names=names, counts=counts, weights=weights)
    starts = np.cumsum(moments.counts) - moments.counts
    rows = np.concatenate([np.arange(starts[i], starts[i] + moments.counts[i]) for i in order])
    store = RowStore(store.anchors[order], store.offsets[order], store.deviations[rows])
    # The means of kept rows are relative to the first anchor.
    offset = weights @ store.means() / weights.sum()
    return Moments(names, counts, weights, moments.prior, store.anchors[0], offset, store)

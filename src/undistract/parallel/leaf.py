"""A leaf: some pieces of sets that one task reads and sums up. Only sums come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from undistract.algebra import Moments, SetMoments
from undistract.algebra.set_labels import number_sets
from undistract.arrays import Ints, Rows, as_rows, same_features
from undistract.errors import InputError
from undistract.parallel.blend import Blend
from undistract.parallel.part import Opened, Part, Refused, refusing, renamed
from undistract.sets.arrow_tables import open_parquet
from undistract.sets.feature_set import FeatureSet


class Watcher(Protocol):
    """Notes something of a set while it is read, such as a sample of its rows."""

    def watch(self, one: FeatureSet) -> FeatureSet: ...

    @property
    def rows(self) -> Rows: ...


@dataclass(frozen=True, eq=False)
class OneSet:
    """A piece of one set: rows that come with the task, are read by it, or are made by Dask before it (None here)."""

    rows: FeatureSet | None = None
    watcher: Watcher | None = None

    def read(self, name: Hashable, made: Any) -> Iterator[Rows]:
        if self.rows is None:
            yield as_rows(made, f"Set {name!r}", check_finite=False)
            return
        empty = True
        for chunk in (self.rows if self.watcher is None else self.watcher.watch(self.rows)).chunks():
            yield chunk
            empty = False
        if empty:
            raise InputError(f"Set {name!r} is empty: it gave no rows. Leave it out, or give it rows.")


@dataclass(frozen=True)
class LabelledRows:
    """Rows of many sets that Dask makes: a pair of arrays, rows and labels."""

    def read(self, made: Any) -> tuple[Rows, tuple[Hashable, ...], Ints]:
        """Return rows (n, d), the names of the sets among them, and for each row which of these it belongs to."""
        rows = as_rows(made[0], "X", check_finite=False)
        return rows, *number_sets(made[1], len(rows))


@dataclass(frozen=True)
class PairedRows:
    """Rows of many sets that Dask makes: a list of (name, rows)."""

    def read(self, made: Any) -> tuple[Rows, tuple[Hashable, ...], Ints]:
        pairs = [_pair(item) for item in made]
        names, codes = number_sets([name for name, _ in pairs], len(pairs))
        arrays = [as_rows(rows, f"Set {name!r}", check_finite=False) for name, rows in pairs]
        for (name, _), rows in zip(pairs, arrays, strict=True):
            same_features(arrays[0].shape[1], rows.shape[1], f"Set {name!r}")
        return np.concatenate(arrays), names, np.repeat(codes, [len(rows) for rows in arrays])


def _pair(item: Any) -> tuple[Hashable, Any]:
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise InputError(f"The bag holds {type(item).__name__} {item!r:.60}; expected pairs (name of the set, rows).")
    return item[0], item[1]


@dataclass(frozen=True)
class TableRows:
    """Rows of many sets in some row groups of a .parquet file; a column names the set."""

    path: Any
    row_groups: tuple[int, ...]
    columns: tuple[str, ...]
    group: str

    def read(self, made: Any) -> tuple[Rows, tuple[Hashable, ...], Ints]:
        table = open_parquet(self.path, self.row_groups)
        batches = list(table.read(self.columns, group=self.group))
        rows = np.concatenate([rows for rows, _, _ in batches])
        labels = np.concatenate([groups for _, _, groups in batches if groups is not None])
        return rows, *number_sets(labels, len(rows))


Mixed = LabelledRows | PairedRows | TableRows


@dataclass(frozen=True, eq=False)
class Piece:
    """What a leaf reads at a time.

    Parameters
    ----------
    source : OneSet or one of the mixed sources
    numbers, pieces : (k,) sequences of int
        The sets that have rows in it, in order of appearance, and in how many pieces each of them lies.
    n_rows : int
        About how many.
    n_features : int or None
        How wide they are, where that is known.
    made : Delayed, optional
        What Dask makes before.
    blended : Blended, optional
        What is known of its sets where those that stay open are summed up together.
    mark : callable
        Returns words that are different where the rows are; None where nobody can tell.
    """

    source: OneSet | Mixed
    names: Sequence[Hashable]
    numbers: Sequence[int]
    pieces: Sequence[int]
    n_rows: int
    n_features: int | None
    mark: Callable[[], str | None]
    made: Any = None
    blended: Blended | None = None


@dataclass(frozen=True)
class Blended:
    """How many rows the sets of a piece have in all, how much they count, and how many sums are needed."""

    counts: tuple[int, ...]
    weights: tuple[float, ...]
    n_sums: int


@dataclass(frozen=True, eq=False)
class Leaf:
    """The pieces of one task; `weights` belong to the sets of each piece where the prior gives them."""

    sources: tuple[OneSet | Mixed, ...]
    names: tuple[tuple[Hashable, ...], ...]
    numbers: tuple[tuple[int, ...], ...]
    pieces: tuple[tuple[int, ...], ...]
    prior: str
    weights: tuple[tuple[float, ...], ...] | None = None
    blended: tuple[Blended, ...] | None = None

    def sum_up(self, *made: Any) -> Part | Refused:
        """Read all rows and sum them up, with one BLAS thread."""
        return refusing(self._sums, made)  # type: ignore[no-any-return]

    def _sums(self, made: Sequence[Any]) -> Part:
        numbers = [number for some in self.numbers for number in some]
        names = dict(zip(numbers, (name for some in self.names for name in some), strict=True))
        of = dict(zip(numbers, (count for some in self.pieces for count in some), strict=True))
        seen = Counter(numbers)
        given = None
        if self.weights is not None:
            given = dict(zip(numbers, (weight for some in self.weights for weight in some), strict=True))
        whole = {number for number in names if seen[number] == of[number]}
        prior: Any = self.prior if given is None else given
        blend = None
        noted: dict[int, Rows] = {}
        if isinstance(self.sources[0], OneSet):
            moments, rest, noted = self._one_by_one(made, names, whole, prior)
        else:
            moments, rest, blend = self._mixed(made, names, whole, prior)
        opened = {
            number: Opened(piece, seen[number], of[number], None if given is None else given[number])
            for number, piece in rest.items()
        }
        return Part(moments, opened, self.prior, names[numbers[0]], noted, blend)

    def _one_by_one(
        self, made: Sequence[Any], names: dict[int, Hashable], whole: set[int], prior: Any
    ) -> tuple[Moments | None, dict[int, SetMoments], dict[int, Rows]]:
        rest: dict[int, SetMoments] = {}
        noted: dict[int, Rows] = {}
        width: int | None = None

        def complete() -> Iterator[tuple[Hashable, Rows]]:
            """Hand on the rows of whole sets, and put those of the others aside."""
            nonlocal width
            for source, (number,), rows_made in zip(self.sources, self.numbers, made, strict=True):
                assert isinstance(source, OneSet)
                name = names[number]
                for chunk in source.read(name, rows_made):
                    width = width or chunk.shape[1]
                    same_features(width, chunk.shape[1], f"Set {name!r}")
                    if number in whole:
                        yield name, chunk
                    else:
                        piece = SetMoments.of(as_rows(chunk, f"Set {name!r}"))
                        rest[number] = rest[number] + piece if number in rest else piece
                if source.watcher is not None:
                    noted[number] = source.watcher.rows

        if not whole:
            for _ in complete():
                pass
            return None, rest, noted
        # By name, so that an error tells it.
        by_name = {name: number for number, name in names.items()}
        weights = {names[number]: weight for number, weight in prior.items()} if isinstance(prior, dict) else prior
        return renamed(Moments.of(complete(), weights), by_name), rest, noted

    def _mixed(
        self, made: Sequence[Any], names: dict[int, Hashable], whole: set[int], prior: Any
    ) -> tuple[Moments | None, dict[int, SetMoments], Blend | None]:
        read = [
            _numbered(source, some_made, numbers)
            for source, some_made, numbers in zip(self.sources, made, self.numbers, strict=True)
        ]
        rows, codes = np.concatenate([rows for rows, _ in read]), np.concatenate([codes for _, codes in read])
        _check_finite(rows, codes, names)
        inside = np.isin(codes, sorted(whole))
        moments = None
        if inside.all():
            moments = Moments.of_checked(rows, codes, prior)
        elif inside.any():
            moments = Moments.of_checked(rows[inside], codes[inside], prior)
        if inside.all():
            return moments, {}, None
        open_rows, open_codes = rows[~inside], codes[~inside]
        if self.blended is not None:
            return moments, {}, self._blend(open_rows, open_codes, self.blended)
        order = np.argsort(open_codes, kind="stable")
        found, starts = np.unique(open_codes[order], return_index=True)
        each = zip(found.tolist(), np.split(order, starts[1:]), strict=True)
        return moments, {number: SetMoments.of(open_rows[places]) for number, places in each}, None

    def _blend(self, rows: Rows, codes: Ints, blended: Sequence[Blended]) -> Blend:
        # Numbers of sets within this leaf: counts and weights are looked up there.
        numbers, first = np.unique(np.concatenate(self.numbers), return_index=True)
        counts = np.concatenate([one.counts for one in blended])[first]
        weights = np.concatenate([one.weights for one in blended])[first]
        blend = Blend.of(rows, np.searchsorted(numbers, codes), counts, weights, blended[0].n_sums)
        return replace(blend, numbers=numbers[blend.numbers])


def _numbered(source: OneSet | Mixed, made: Any, numbers: Sequence[int]) -> tuple[Rows, Ints]:
    assert not isinstance(source, OneSet)
    rows, found, codes = source.read(made)
    if len(found) != len(numbers):
        raise InputError(
            f"{len(found)} sets came where {len(numbers)} were counted before. Were the data changed? Start anew."
        )
    return rows, np.asarray(numbers)[codes]


def _check_finite(rows: Rows, codes: Ints, names: dict[int, Hashable]) -> None:
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        row, feature = np.argwhere(~np.isfinite(rows))[0]
        name = names[int(codes[row])]
        place = int((codes[:row] == codes[row]).sum())
        raise InputError(
            f"Set {name!r} holds {rows[row, feature]} at feature {feature}, in row {place} of those that this task has "
            "read of it. Drop such rows or impute them first."
        )


Counted = tuple[tuple[Hashable, ...], Ints, int | None]


def sets_in(source: Mixed, *made: Any) -> Counted | Refused:
    """Name the sets in a piece in order of appearance, with their rows, and say how wide rows are if that is seen."""
    return refusing(_sets_in, source, made)  # type: ignore[no-any-return]


def _sets_in(source: Mixed, made: Sequence[Any]) -> Counted:
    if isinstance(source, PairedRows):
        if not len(made[0]):  # a partition of a bag may be empty
            return (), np.zeros(0, dtype=np.int64), None
        rows, names, codes = source.read(made[0])
        return names, np.bincount(codes), rows.shape[1]
    if isinstance(source, TableRows):
        _, names, codes = replace(source, columns=()).read(None)
        return names, np.bincount(codes), len(source.columns)
    names, codes = number_sets(made[0], len(made[0]))
    return names, np.bincount(codes), None

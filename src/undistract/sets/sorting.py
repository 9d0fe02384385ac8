"""Rows that come mixed are put in order on disk, so that each set can be read by itself in flat memory.

first reading    how many rows each set has
second reading   every row to its place in a file that has no name and goes when its sets do
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from tempfile import TemporaryFile
from threading import Lock
from weakref import finalize

import numpy as np

from undistract.arrays import Rows
from undistract.errors import InputError
from undistract.sets.feature_set import FeatureSet
from undistract.sets.row_stream import Piece

Labelled = tuple[Rows, Rows | None, Rows]  # rows (n, d), times (n,) or None, the set of each row (n,)
PIECE_BYTES = 2**23


def sorted_sets(
    counts: Mapping[str, int],
    read: Callable[[], Iterable[Labelled]],
    *,
    source: str | None = None,
    feature_names: Sequence[str] | None = None,
    row_names: Mapping[str, Sequence[str]] | None = None,
) -> list[FeatureSet]:
    """Make sets of rows that come with the name of their set, in any order.

    Nothing is read until the first row of any set is asked for; then all are read once, onto disk.

    Parameters
    ----------
    counts : mapping of str to int
        How many rows each set has.
    read : callable
        Returns a fresh iterator of (rows, times or None, names).
    source, feature_names, row_names
        As in `FeatureSet`; row names by set.

    Examples
    --------
    >>> rows, names = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    >>> a, b = sorted_sets({"a": 2, "b": 1}, lambda: [(rows, None, names)])
    >>> a.rows.tolist(), b.rows.tolist()
    ([[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0]])
    """
    disk = _Disk(counts, read)

    def one(name: str) -> FeatureSet:
        return FeatureSet.reading(
            name,
            lambda: disk.pieces(name),
            source=source,
            n_rows=counts[name],
            feature_names=feature_names,
            row_names=None if row_names is None else row_names[name],
        )

    return [one(name) for name in counts]


class _Disk:
    """A file of records, each a row and its time; those of one set lie together."""

    def __init__(self, counts: Mapping[str, int], read: Callable[[], Iterable[Labelled]]) -> None:
        self._counts = counts
        self._read = read
        self._starts = dict(zip(counts, np.cumsum([0, *counts.values()]).tolist(), strict=False))
        self._record: np.dtype[np.void] | None = None  # None until all is written
        self._lock = Lock()

    def __reduce__(self) -> str:
        # Elsewhere every set would sort all rows once more. Whoever wants to send them reads them here.
        raise TypeError("Rows that were sorted on this machine's disk cannot be sent to another process.")

    def pieces(self, name: str) -> Iterator[Piece]:
        with self._lock:
            record = self._record or self._fill()
        start, stop = self._starts[name], self._starts[name] + self._counts[name]
        step = max(1, PIECE_BYTES // record.itemsize)
        for first in range(start, stop, step):
            with self._lock:  # another set may be read in between, or at the same time
                self._file.seek(first * record.itemsize)
                held = self._file.read(min(step, stop - first) * record.itemsize)
            records = np.frombuffer(held, record)
            yield records["row"], records["time"] if record.names and "time" in record.names else None

    def _fill(self) -> np.dtype[np.void]:
        self._file = TemporaryFile()  # noqa: SIM115 (it lives as long as the sets do)
        finalize(self, self._file.close)
        record = self._write(None)
        if self._record is None:  # some rows or times are of a wider type than the first
            self._write(record)
        return record

    def _write(self, record: np.dtype[np.void] | None) -> np.dtype[np.void]:
        """Write every row to its place, and return the type of record that holds them all."""
        next_place = dict(self._starts)
        wide = record
        for rows, times, names in self._read():
            wide = _record_of(rows, times, wide)
            record = record or wide
            if wide != record:
                continue  # what is written so would be cut off; only types are looked at from here on
            records = np.empty(len(rows), record)
            records["row"] = rows
            if times is not None:
                records["time"] = times
            found, codes = np.unique(names, return_inverse=True)
            order = np.argsort(codes, kind="stable")
            cuts = np.searchsorted(codes[order], np.arange(1, len(found)))
            for name, places in zip(found.tolist(), np.split(order, cuts), strict=True):
                if name not in next_place:
                    raise _changed()
                self._file.seek(next_place[name] * record.itemsize)
                self._file.write(records[places].tobytes())
                next_place[name] += len(places)
        if wide is None:
            raise _changed()
        if wide == record:
            if next_place != {name: start + self._counts[name] for name, start in self._starts.items()}:
                raise _changed()
            self._record = record
        return wide


def _record_of(rows: Rows, times: Rows | None, before: np.dtype[np.void] | None) -> np.dtype[np.void]:
    """Return the type of a record that holds such a row and its time, and those before."""
    kinds = {"row": rows.dtype} if times is None else {"row": rows.dtype, "time": times.dtype}
    if before is not None:
        kinds = {name: np.promote_types(kind, before[name].base) for name, kind in kinds.items()}
    return np.dtype([(name, kind, rows.shape[1:] if name == "row" else ()) for name, kind in kinds.items()])


def _changed() -> InputError:
    return InputError("The rows are not the same as when they were counted. Was a file changed? Find them anew.")


def cut_every(one: FeatureSet, n_rows: int) -> list[FeatureSet]:
    """Cut one long recording into sets of `n_rows` rows each; what is left over goes with the last.

    Examples
    --------
    >>> days = cut_every(FeatureSet("year", np.arange(14.0).reshape(7, 2)), 3)
    >>> [(day.name, len(day)) for day in days]
    [('year[0:3]', 3), ('year[3:7]', 4)]
    """
    spans = {f"{one.name}[{start}:{stop}]": slice(start, stop) for start, stop in cut_spans(len(one), n_rows)}
    counts = {name: span.stop - span.start for name, span in spans.items()}

    def read() -> Iterator[Labelled]:
        first = 0
        labels = np.repeat(np.array(list(counts), dtype=np.object_), list(counts.values()))
        for rows, times in one.timed_chunks():
            yield rows, times, labels[first : first + len(rows)]
            first += len(rows)

    known = one.row_names
    row_names = None if known is None else {name: known[span] for name, span in spans.items()}
    return sorted_sets(counts, read, source=one.source, feature_names=one.feature_names, row_names=row_names)


def cut_spans(length: int, n_rows: int) -> list[tuple[int, int]]:
    """Return from where to where each set goes when `length` rows are cut every `n_rows`."""
    if n_rows < 1:
        raise InputError(f"A recording cannot be cut every {n_rows} rows; expected at least 1 (--split-every).")
    starts = [n_rows * number for number in range(max(1, length // n_rows))]
    return list(zip(starts, [*starts[1:], length], strict=True))

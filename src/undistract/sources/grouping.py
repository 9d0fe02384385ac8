"""Group interleaved rows on disk, so that each group can be read separately in flat memory.

first pass     counts the rows of each group
second pass    writes each row to its position in an unnamed file, which is deleted with its sources
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from tempfile import TemporaryFile
from threading import Lock
from typing import Any
from weakref import finalize

import numpy as np

from undistract._arrays import Rows
from undistract.errors import InputError
from undistract.sources.source import Source, TimedRows

Labelled = tuple[Rows, Rows | None, Rows]  # rows (n, d), times (n,) or None, the group of each row (n,)
BLOCK_BYTES = 2**23


def group_rows(
    counts: Mapping[str, int],
    read: Callable[[], Iterable[Labelled]],
    *,
    origin: str | None = None,
    feature_names: Sequence[str] | None = None,
    row_names: Mapping[str, Sequence[str]] | None = None,
) -> list[Source]:
    """Return one source per group, from rows that are labelled with their group and come in any order.

    Nothing is read until a row of any group is needed; then all rows are read once and written to disk.

    Parameters
    ----------
    counts : mapping of str to int
        Number of rows of each group.
    read : callable
        Returns a new iterator of (rows, times or None, group names).
    origin, feature_names, row_names
        As in `Source`; row names by group.

    Examples
    --------
    >>> rows, names = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    >>> a, b = group_rows({"a": 2, "b": 1}, lambda: [(rows, None, names)])
    >>> a.rows.tolist(), b.rows.tolist()
    ([[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0]])
    """
    spill = _SpillFile(counts, read)
    row_names = row_names or {}
    return [
        Source.from_reader(
            name,
            partial(spill.chunks, name),
            origin=origin,
            n_rows=counts[name],
            feature_names=feature_names,
            row_names=row_names.get(name),
        )
        for name in counts
    ]


class _SpillFile:
    """A temporary file of records, each a row and its time; the records of one group are contiguous."""

    def __init__(self, counts: Mapping[str, int], read: Callable[[], Iterable[Labelled]]) -> None:
        self._counts = counts
        self._read = read
        self._starts = dict(zip(counts, np.cumsum([0, *counts.values()]).tolist(), strict=False))
        self._record: np.dtype[np.void] | None = None  # None until all rows are written
        self._lock = Lock()

    def __reduce__(self) -> str:
        # In another process each source would group all rows again, so the caller has to read the rows here.
        raise TypeError("Rows that were grouped on this machine's disk cannot be sent to another process.")

    def chunks(self, name: str) -> Iterator[TimedRows]:
        with self._lock:
            record = self._record or self._fill()
        start = self._starts[name]
        stop = start + self._counts[name]
        step = max(1, BLOCK_BYTES // record.itemsize)
        for first in range(start, stop, step):
            with self._lock:  # another group may be read in another thread
                self._file.seek(first * record.itemsize)
                content = self._file.read(min(step, stop - first) * record.itemsize)
            records = np.frombuffer(content, record)
            times = records["time"] if record.names and "time" in record.names else None
            yield records["row"], times

    def _fill(self) -> np.dtype[np.void]:
        self._file = TemporaryFile()  # noqa: SIM115 (it lives as long as the sources)
        finalize(self, self._file.close)
        record = self._write(None)
        if self._record is None:  # later rows or times need a wider type than the first: write again
            self._write(record)
        return record

    def _write(self, record: np.dtype[np.void] | None) -> np.dtype[np.void]:
        """Write each row to its position, and return the record type that fits all rows."""
        position = dict(self._starts)
        wide = record
        for rows, times, names in self._read():
            wide = _record_of(rows, times, wide)
            record = record or wide
            if wide != record:
                continue  # values would be truncated: only collect types from here on
            records = np.empty(len(rows), record)
            records["row"] = rows
            if times is not None:
                records["time"] = times
            # One write per group and chunk: a stable sort keeps the order of rows within a group.
            groups, codes = np.unique(names, return_inverse=True)
            order = np.argsort(codes, kind="stable")
            cuts = np.searchsorted(codes[order], np.arange(1, len(groups)))
            for name, members in zip(groups.tolist(), np.split(order, cuts), strict=True):
                if name not in position:
                    raise _changed()
                self._file.seek(position[name] * record.itemsize)
                self._file.write(records[members].tobytes())
                position[name] += len(members)
        if wide is None:
            raise _changed()
        if wide == record:
            if position != {name: start + self._counts[name] for name, start in self._starts.items()}:
                raise _changed()
            self._record = record
        return wide


def _record_of(rows: Rows, times: Rows | None, before: np.dtype[np.void] | None) -> np.dtype[np.void]:
    """Return the record type that fits these rows and times and those before."""
    row_type: Any = rows.dtype
    if before is not None:
        row_type = np.promote_types(row_type, before["row"].base)
    fields: list[Any] = [("row", row_type, rows.shape[1:])]
    if times is not None:
        time_type: Any = times.dtype
        if before is not None:
            time_type = np.promote_types(time_type, before["time"].base)
        fields.append(("time", time_type))
    return np.dtype(fields)


def _changed() -> InputError:
    return InputError(
        "The rows are not the same as when they were counted. Did a file change? Discover the files again."
    )


def split_source(source: Source, n_rows: int) -> list[Source]:
    """Split one long recording into sources of `n_rows` rows each; the last one also gets the remainder.

    Examples
    --------
    >>> days = split_source(Source("year", np.arange(14.0).reshape(7, 2)), 3)
    >>> [(day.name, len(day)) for day in days]
    [('year[0:3]', 3), ('year[3:7]', 4)]
    """
    spans = {f"{source.name}[{start}:{stop}]": slice(start, stop) for start, stop in split_spans(len(source), n_rows)}
    counts = {name: span.stop - span.start for name, span in spans.items()}

    def read() -> Iterator[Labelled]:
        first = 0
        labels = np.repeat(np.array(list(counts), dtype=np.object_), list(counts.values()))
        for rows, times in source.timed_chunks(check_finite=False):
            yield rows, times, labels[first : first + len(rows)]
            first += len(rows)

    row_names = None
    if source.row_names is not None:
        row_names = {name: source.row_names[span] for name, span in spans.items()}
    return group_rows(counts, read, origin=source.origin, feature_names=source.feature_names, row_names=row_names)


def split_spans(length: int, n_rows: int) -> list[tuple[int, int]]:
    """Return the start and stop of each part when `length` rows are split every `n_rows`."""
    if n_rows < 1:
        raise InputError(f"split_every (--split-every) must be at least 1 row, got {n_rows}.")
    starts = [n_rows * number for number in range(max(1, length // n_rows))]
    return list(zip(starts, [*starts[1:], length], strict=True))

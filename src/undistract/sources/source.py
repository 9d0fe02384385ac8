"""A source: a name, and rows that can be read again in chunks."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from undistract._arrays import Floats, Rows, as_rows, check_same_n_features
from undistract.algebra.groups import iter_groups
from undistract.errors import InputError

TimedRows = tuple[Rows, Rows | None]  # rows (n, d), and times (n,) or None
# Default size of a chunk: CHUNK_ROWS rows, or fewer if rows are wide: at most CHUNK_VALUES values (64 MB).
CHUNK_ROWS, CHUNK_VALUES = 4096, 2**23
MAPPED_BYTES = 2**23  # read at a time from a memory-mapped array


@dataclass
class _Facts:
    """What is known about the rows of a source; the sizes are filled in by the first read."""

    n_rows: int | None
    n_features: int | None
    is_finite: bool = False


@dataclass(frozen=True, eq=False, init=False)
class Source:
    """Rows that belong together: a video, a machine, a person, a day.

    The rows are an array, or come from a reader (`Source.from_reader`) that is called for each read. Rows cannot be
    written to: reading twice returns the same rows. Each chunk is checked for finite values when it is read.

    Parameters
    ----------
    name : hashable
        Identifies the source; a name counts once.
    rows : (n, d) array
        One row per observation, one column per feature. A memory-mapped array is not copied.
    times : (n,) array, optional
        Time of each row, in any unit that can be compared.
    origin : str, optional
        Where the rows come from, such as a path.
    feature_names : sequence of d str, optional
    row_names : sequence of n str, optional
        Name of each row, such as an image file.

    Examples
    --------
    >>> monday = Source("monday", [[0.5, 20.0], [0.7, 21.0], [0.6, 20.5]], times=[8, 9, 10])
    >>> len(monday), monday.n_features
    (3, 2)
    >>> [len(chunk) for chunk in monday.chunks(size=2)]
    [2, 1]
    >>> Source("tuesday", [0.5, 0.7])
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Source 'tuesday' has shape (2,), expected (rows, features)...
    """

    name: Hashable
    origin: str | None
    feature_names: tuple[str, ...] | None = field(repr=False)
    row_names: tuple[str, ...] | None = field(repr=False)
    _data: TimedRows | None = field(repr=False)  # None if the rows come from a reader
    _read: Callable[[], Iterable[Any]] = field(repr=False)
    _facts: _Facts = field(repr=False)

    def __init__(
        self,
        name: Hashable,
        rows: Any,
        times: Any = None,
        origin: str | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> None:
        # Finiteness is checked when the rows are read.
        array = read_only(as_rows(rows, f"Source {name!r}", check_finite=False))
        if times is not None:
            times = _as_times(times, len(array), name)
        data = (array, times)
        read = partial(_array_chunks, array, times)
        self._init(name, origin, feature_names, row_names, data, read, _Facts(*array.shape))

    @classmethod
    def from_reader(
        cls,
        name: Hashable,
        read: Callable[[], Iterable[Any]],
        *,
        origin: str | None = None,
        n_features: int | None = None,
        n_rows: int | None = None,
        feature_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
        is_finite: bool = False,
    ) -> Self:
        """Return a source whose rows come from a reader, chunk by chunk, on each read.

        Parameters
        ----------
        read : callable
            Returns a new iterator of chunks: rows (n, d), or pairs (rows, times).
        n_features, n_rows : int, optional
            Width and number of rows, if known; else they are taken from the first chunk and the first complete read.
        is_finite : bool
            Whether the values are known to be finite, because they come from another source.

        Examples
        --------
        >>> import numpy as np
        >>> night = Source.from_reader("night", lambda: (np.full((5, 2), hour) for hour in range(3)))
        >>> len(night), night.n_features, [len(chunk) for chunk in night.chunks(size=6)]
        (15, 2, [6, 6, 3])
        """
        if feature_names is not None and n_features is None:
            n_features = len(feature_names)
        new = cls.__new__(cls)
        new._init(name, origin, feature_names, row_names, None, read, _Facts(n_rows, n_features, is_finite))
        return new

    def _init(
        self,
        name: Hashable,
        origin: str | None,
        feature_names: Sequence[str] | None,
        row_names: Sequence[str] | None,
        data: TimedRows | None,
        read: Callable[[], Iterable[Any]],
        facts: _Facts,
    ) -> None:
        # Frozen dataclass: assign through `object.__setattr__`.
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "origin", origin)
        object.__setattr__(self, "feature_names", _checked_names(name, "feature", feature_names, facts.n_features))
        object.__setattr__(self, "row_names", _checked_names(name, "row", row_names, facts.n_rows))
        object.__setattr__(self, "_data", data)
        object.__setattr__(self, "_read", read)
        object.__setattr__(self, "_facts", facts)

    def chunks(self, size: int | None = None) -> Iterator[Rows]:
        """Yield the rows in order, at most `size` at a time; raise an error if a value is not finite."""
        return map(itemgetter(0), self.timed_chunks(size))

    def timed_chunks(self, size: int | None = None, *, check_finite: bool = True) -> Iterator[TimedRows]:
        """Yield pairs of rows and times (None if there are none) in order, at most `size` rows at a time."""
        if size is not None and size < 1:
            raise InputError(f"size must be at least 1 row per chunk, got {size}.")
        return self._iterate(size, check_finite and not self._facts.is_finite)

    def _iterate(self, size: int | None, check_finite: bool) -> Iterator[TimedRows]:
        """Read once from start to end: check the chunks of the reader, and cut them to `size` rows."""
        n_rows = 0
        has_times: bool | None = None
        cutter: _Cutter | None = None
        for chunk in self._read():
            rows, times = chunk, None
            if isinstance(chunk, tuple):
                rows, times = chunk
            # A filter may drop all rows of a chunk: an empty one is no error.
            if len(rows) == 0:
                continue
            rows = as_rows(rows, f"Source {self.name!r}", check_finite=check_finite, n_before=n_rows)
            self._check_chunk(rows, times, has_times, n_rows)
            has_times = times is not None
            if times is not None:
                times = _as_times(times, len(rows), self.name)
            n_rows += len(rows)
            # The default size depends on the width, which is known only now.
            if cutter is None:
                cutter = _Cutter(size or max(1, min(CHUNK_ROWS, CHUNK_VALUES // rows.shape[1])))
            yield from cutter.add(read_only(rows), times)
        if cutter is not None and cutter.pending:
            yield concat_chunks(cutter.pending)
        # A reader that returns the same exhausted iterator twice, or a file that changed, shows here.
        if self._facts.n_rows not in (None, n_rows):
            raise InputError(
                f"Source {self.name!r} had {self._facts.n_rows} rows before and has {n_rows} now. "
                "Its reader must return a new iterator on each call, and its files must not change."
            )
        self._facts.n_rows = n_rows
        if not n_rows:
            raise self._has_no_rows()

    def _check_chunk(self, rows: Rows, times: Any, has_times: bool | None, n_before: int) -> None:
        if self._facts.n_features not in (None, rows.shape[1]):
            raise InputError(
                f"Source {self.name!r} has {self._facts.n_features} features, but from row {n_before} on "
                f"{rows.shape[1]}. Every row of a source needs the same features."
            )
        self._facts.n_features = rows.shape[1]
        if has_times not in (None, times is not None):
            raise InputError(
                f"Source {self.name!r} has times for some rows and none for others, from row {n_before} on. "
                "Pass times for all rows, or for none."
            )

    def load(self) -> TimedRows:
        """Return all rows (n, d) and their times (n,) or None in one read; `rows` and `times` would read twice.

        An array is returned as it is; rows from a reader are checked for finite values.
        """
        if self._data is not None:
            return self._data
        return concat_chunks(list(self.timed_chunks()))

    @property
    def rows(self) -> Rows:
        """All rows (n, d). Rows from a reader are read on each access and not kept."""
        return self.load()[0]

    @property
    def times(self) -> Rows | None:
        """Time of each row (n,), or None."""
        return self.load()[1]

    @property
    def array(self) -> Rows | None:
        """The rows (n, d) if they are an array; None if they come from a reader."""
        return None if self._data is None else self._data[0]

    def __len__(self) -> int:
        if self._facts.n_rows is None:
            for _ in self._iterate(None, check_finite=False):
                pass
        assert self._facts.n_rows is not None
        return self._facts.n_rows

    @property
    def known_length(self) -> int | None:
        """Number of rows, or None if they were not counted yet."""
        return self._facts.n_rows

    @property
    def known_width(self) -> int | None:
        """Number of features, or None if no row was read yet."""
        return self._facts.n_features

    @property
    def n_features(self) -> int:
        """Number of features, d; reads the first chunk if it is not known."""
        if self._facts.n_features is None:
            # Not through `timed_chunks`, which would read on until a chunk is full.
            for chunk in self._read():
                rows = chunk[0] if isinstance(chunk, tuple) else chunk
                if len(rows):
                    self._facts.n_features = int(np.shape(rows)[-1])
                    break
        if self._facts.n_features is None:
            raise self._has_no_rows()
        return self._facts.n_features

    def _has_no_rows(self) -> InputError:
        return InputError(f"Source {self.name!r} has no rows. Leave it out, or add rows.")


class _Cutter:
    """Cuts chunks of any size to chunks of `size` rows; only rows on both sides of a boundary are copied."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.pending: list[TimedRows] = []
        self._n_pending = 0

    def add(self, rows: Rows, times: Rows | None) -> list[TimedRows]:
        """Return the chunks that are complete now."""
        complete = []
        cuts = [0, *range(self.size - self._n_pending, len(rows), self.size), len(rows)]
        for start, stop in pairwise(cuts):
            self.pending.append((rows[start:stop], times_at(times, slice(start, stop))))
            self._n_pending += stop - start
            if self._n_pending == self.size:
                complete.append(concat_chunks(self.pending))
                self.pending = []
                self._n_pending = 0
        return complete


def concat_chunks(chunks: list[TimedRows]) -> TimedRows:
    """Concatenate chunks; a single chunk is not copied."""
    if len(chunks) == 1:
        return chunks[0]
    rows = read_only(np.concatenate([rows for rows, _ in chunks]))
    all_times = [times for _, times in chunks if times is not None]
    if not all_times:
        return rows, None
    return rows, read_only(np.concatenate(all_times))


def times_at(times: Rows | None, index: Any) -> Rows | None:
    """Return the selected times; None if there are no times."""
    if times is None:
        return None
    selected: Rows = times[index]
    return selected


def read_only(array: Rows) -> Rows:
    """Return a view that cannot be written to; the original array stays writeable."""
    view = array.view()
    view.flags.writeable = False
    return view


def _as_times(times: Any, n_rows: int, name: Hashable) -> Rows:
    array = np.asarray(times)
    if array.shape != (n_rows,):
        raise InputError(f"Source {name!r} has {n_rows} rows but times of shape {array.shape}. Pass one time per row.")
    return read_only(array)


def _checked_names(
    source_name: Hashable, kind: str, names: Sequence[str] | None, length: int | None
) -> tuple[str, ...] | None:
    if names is None:
        return None
    if length is not None and len(names) != length:
        raise InputError(
            f"Source {source_name!r} has {len(names)} {kind}_names for {length} {kind}s. Pass one name for each."
        )
    return tuple(names)


def _array_chunks(rows: Rows, times: Rows | None) -> Iterator[TimedRows]:
    """Yield an array at once; one that is memory-mapped in blocks, and release the pages of each before the next.

    A page of a mapped file stays in memory once it was read, until the system needs the space. Releasing it earlier
    loses nothing: the next access reads it from the file again.
    """
    mapped = find_memmap(rows)
    if mapped is None:
        yield rows, times
        return
    step = max(1, MAPPED_BYTES // max(1, rows.itemsize * rows.shape[1]))
    for start in range(0, len(rows), step):
        yield rows[start : start + step], times_at(times, slice(start, start + step))
        release_pages(mapped)


def find_memmap(array: Any) -> mmap.mmap | None:
    """Return the mapped file that an array is a view of; None if there is none, or if the mapping is copy-on-write.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile() as file:
    ...     rows = np.memmap(file.name, mode="w+", shape=(4, 2))
    ...     private = np.memmap(file.name, mode="c", shape=(4, 2))
    ...     [find_memmap(array) is not None for array in (np.asarray(rows[1:]), private, np.ones(3))]
    [True, False, False]
    """
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            mapped = getattr(array, "_mmap", None)
            # Mode "c" is excluded: its changes are in no file, and releasing its pages would lose them.
            if isinstance(mapped, mmap.mmap) and array.mode in ("r", "r+", "w+"):
                return mapped
            return None
        array = array.base
    return None


def release_pages(mapped: mmap.mmap) -> None:
    """Release the pages that were read, if the system supports it."""
    if hasattr(mapped, "madvise"):
        with suppress(OSError, ValueError):  # the map is closed, or the system declined
            mapped.madvise(mmap.MADV_DONTNEED)


def chunk_memmaps(groups: Any) -> Iterator[tuple[Hashable, Any]]:
    """Yield (name, content) of each group, with memory-mapped arrays as sources that are read in chunks.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile() as file:
    ...     rows = np.memmap(file.name, mode="w+", shape=(4, 2))
    ...     [type(content).__name__ for _, content in chunk_memmaps([rows, np.ones((3, 2))])]
    ['Source', 'ndarray']
    """
    for name, content in iter_groups(groups):
        if find_memmap(content) is not None:
            content = Source(name, content)
        yield name, content


def as_source_list(groups: Any) -> list[Source]:
    """Return sources as a list; raise an error if the argument contains anything else.

    Examples
    --------
    >>> [source.name for source in as_source_list(Source(day, [[1.0, 2.0]]) for day in ("mon", "tue"))]
    ['mon', 'tue']
    >>> as_source_list({"mon": [[1.0, 2.0]]})
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Expected a list of Sources, got a dict of str. Make each with Source(name...
    """
    sources: list[Any] = []
    is_list = isinstance(groups, Iterable) and not isinstance(groups, str)
    if is_list:
        sources = list(groups)
    if is_list and all(hasattr(source, "chunks") and hasattr(source, "name") for source in sources):
        return sources
    content = f" of {type(sources[0]).__name__}" if sources else ""
    raise InputError(
        f"Expected a list of Sources, got a {type(groups).__name__}{content}. Make each with "
        "Source(name, rows), or find them with read_sources(paths)."
    )


def concatenate_groups(groups: Any) -> tuple[Floats, list[Hashable]]:
    """Return the rows of all groups as one array, and the group name of each row; unnamed groups are numbered.

    Examples
    --------
    >>> X, names = concatenate_groups({"mon": [[1.0, 2.0]], "tue": [[3.0, 4.0], [5.0, 6.0]]})
    >>> X.shape, names
    ((3, 2), ['mon', 'tue', 'tue'])
    """
    blocks: list[Floats] = []
    names: list[Hashable] = []
    for name, rows in iter_groups(groups):
        if isinstance(rows, Source):
            rows = rows.rows
        block = as_rows(rows, f"Group {name!r}").astype(np.float64)
        if blocks:
            check_same_n_features(blocks[0].shape[1], block.shape[1], f"Group {name!r}")
        blocks.append(block)
        names += [name] * len(block)
    if not blocks:
        raise InputError("There are no groups. Pass at least two, such as a list of arrays.")
    return np.concatenate(blocks), names


class FeatureNames:
    """Collects the column names of groups while they are read; all groups must have the same columns in the same order.

    Examples
    --------
    >>> import pandas as pd
    >>> names = FeatureNames()
    >>> groups = {day: pd.DataFrame({"load": [1.0, 2.0], "heat": [3.0, 4.0]}) for day in ("mon", "tue")}
    >>> [name for name, rows in names.watch(groups)]
    ['mon', 'tue']
    >>> names.found
    array(['load', 'heat'], dtype=object)
    """

    def __init__(self) -> None:
        self.found: npt.NDArray[Any] | None = None

    def watch(self, groups: Any) -> Iterator[tuple[Hashable, Any]]:
        """Yield (name, content) of each group, to be read once."""
        for number, (name, content) in enumerate(iter_groups(groups)):
            names = _column_names(content)
            if number == 0:
                self.found = names
            elif names is not None and self.found is not None and list(names) != list(self.found):
                raise InputError(
                    f"Group number {number} has the columns {list(names)}, the first has {list(self.found)}. "
                    "Pass the same columns in the same order for every group."
                )
            yield name, content


def _column_names(rows: Any) -> npt.NDArray[Any] | None:
    columns = getattr(rows, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None  # numbered columns are not names, as in scikit-learn
    return np.array(list(columns), dtype=np.object_)

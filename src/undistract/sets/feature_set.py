"""A feature set: a name, and rows of one context that can be read again and again, in chunks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

import numpy as np

from undistract.arrays import Rows, as_rows
from undistract.errors import InputError
from undistract.sets.mapped import mapped_pieces, mapping_of
from undistract.sets.row_stream import Piece, RowStream, as_times, joined, read_only, recut

# A chunk has so many rows, and fewer where rows are so wide that it would hold more values than these (64 MB).
CHUNK_ROWS, CHUNK_VALUES = 4096, 2**23


@dataclass(frozen=True, eq=False, init=False)
class FeatureSet:
    """Rows that belong together: a video, a machine, a person, a day.

    The rows are given as an array, or come from a reader (`FeatureSet.reading`), which is asked anew each time.
    What is read cannot be written to: reading twice gives the same rows.

    Parameters
    ----------
    name : hashable
        What the set is called; a set counts once, by name.
    rows : (n, d) array
        One row per moment or thing, one column per feature. A memory-mapped array stays one.
    times : (n,) array, optional
        When each row was seen, in any unit that can be compared.
    source : str, optional
        Where the rows came from, for people to read.
    feature_names : sequence of d str, optional
    row_names : sequence of n str, optional
        What each row is, such as the name of an image file.

    Examples
    --------
    >>> monday = FeatureSet("monday", [[0.5, 20.0], [0.7, 21.0], [0.6, 20.5]], times=[8, 9, 10])
    >>> len(monday), monday.n_features
    (3, 2)
    >>> [len(chunk) for chunk in monday.chunks(size=2)]
    [2, 1]
    >>> FeatureSet("tuesday", [0.5, 0.7])
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Set 'tuesday' has shape (2,), expected (rows, features)...
    """

    name: Hashable
    source: str | None
    feature_names: tuple[str, ...] | None = field(repr=False)
    row_names: tuple[str, ...] | None = field(repr=False)
    _held: Piece | RowStream = field(repr=False)

    def __init__(
        self,
        name: Hashable,
        rows: Any,
        times: Any = None,
        source: str | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> None:
        # Whether the numbers are finite is asked by whoever reads them.
        array = read_only(as_rows(rows, f"Set {name!r}", check_finite=False))
        held = array, None if times is None else as_times(times, len(array), name)
        self._keep(name, source, feature_names, row_names, held)

    @classmethod
    def reading(
        cls,
        name: Hashable,
        read: Callable[[], Iterable[Any]],
        *,
        source: str | None = None,
        n_features: int | None = None,
        n_rows: int | None = None,
        feature_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> Self:
        """Make a set whose rows come from a reader, chunk by chunk, whenever they are asked for.

        Parameters
        ----------
        read : callable
            Returns a fresh iterator of chunks: rows (n, d), or pairs (rows, times).
        n_features, n_rows : int, optional
            How wide and how many rows are, where that is known; else the first chunk, and the first reading, tells it.

        Examples
        --------
        >>> import numpy as np
        >>> night = FeatureSet.reading("night", lambda: (np.full((5, 2), hour) for hour in range(3)))
        >>> len(night), night.n_features, [len(chunk) for chunk in night.chunks(size=6)]
        (15, 2, [6, 6, 3])
        """
        made = cls.__new__(cls)
        if feature_names is not None and n_features is None:
            n_features = len(feature_names)
        made._keep(name, source, feature_names, row_names, RowStream(name, read, n_features, n_rows))
        return made

    def chunks(self, size: int | None = None) -> Iterator[Rows]:
        """Read the rows in order, at most `size` at a time."""
        return (rows for rows, _ in self.timed_chunks(size))

    def timed_chunks(self, size: int | None = None) -> Iterator[Piece]:
        """Read the rows in order with their times (None where there are none), at most `size` at a time."""
        if size is None:
            return self._fitting_chunks()
        if size < 1:
            raise InputError(f"size is {size}; expected at least one row per chunk.")
        return recut(self._pieces(), size)

    def whole(self) -> Piece:
        """Return all rows (n, d) and their times (n,) or None; both asked for one by one would be read twice."""
        if not isinstance(self._held, RowStream):
            return self._held
        pieces = list(self._held.pieces())
        if not pieces:
            raise InputError(f"Set {self.name!r} is empty: it gave no rows. Leave it out, or give it rows.")
        return joined(pieces)

    @property
    def rows(self) -> Rows:
        """All rows (n, d). Where they come from a reader they are read now, and not kept."""
        return self.whole()[0]

    @property
    def times(self) -> Rows | None:
        """When each row was seen (n,), or None."""
        return self.whole()[1]

    def __len__(self) -> int:
        return len(self._held if isinstance(self._held, RowStream) else self._held[0])

    @property
    def known_length(self) -> int | None:
        """How many rows there are, or None where nobody has counted them yet."""
        return self._held.n_rows if isinstance(self._held, RowStream) else len(self)

    @property
    def array(self) -> Rows | None:
        """The rows (n, d), where they were given as an array; None where a reader brings them."""
        return None if isinstance(self._held, RowStream) else self._held[0]

    @property
    def known_width(self) -> int | None:
        """How many features a row has, or None where nobody has read one yet."""
        return self._held.known_width if isinstance(self._held, RowStream) else self.n_features

    @property
    def n_features(self) -> int:
        """How many features a row has, d."""
        return self._held.n_features if isinstance(self._held, RowStream) else int(self._held[0].shape[1])

    def _pieces(self) -> Iterable[Piece]:
        if isinstance(self._held, RowStream):
            return self._held.pieces()
        rows, times = self._held
        mapped = mapping_of(rows)
        if mapped is None:
            return (self._held,)
        return _with_times(mapped_pieces(rows, mapped), times)

    def _fitting_chunks(self) -> Iterator[Piece]:
        # The first piece tells how wide rows are; to ask for that beforehand would read it twice.
        pieces = iter(self._pieces())
        first = next(pieces, None)
        width = self.n_features if first is None else int(first[0].shape[1])
        if first is not None:
            yield from recut(chain([first], pieces), max(1, min(CHUNK_ROWS, CHUNK_VALUES // width)))

    def _keep(
        self,
        name: Hashable,
        source: str | None,
        feature_names: Sequence[str] | None,
        row_names: Sequence[str] | None,
        held: Piece | RowStream,
    ) -> None:
        lengths = (held.known_width, held.n_rows) if isinstance(held, RowStream) else held[0].shape[::-1]
        for what, given, length in zip(("feature", "row"), (feature_names, row_names), lengths, strict=True):
            if given is not None and length is not None and len(given) != length:
                raise InputError(
                    f"Set {name!r} has {len(given)} {what}_names for {length} {what}s. Give one name for each."
                )
        # A frozen dataclass lets nobody assign, not even itself.
        for field_name, value in {
            "name": name,
            "source": source,
            "feature_names": None if feature_names is None else tuple(feature_names),
            "row_names": None if row_names is None else tuple(row_names),
            "_held": held,
        }.items():
            object.__setattr__(self, field_name, value)


def _with_times(pieces: Iterator[Rows], times: Rows | None) -> Iterator[Piece]:
    n_before = 0
    for rows in pieces:
        yield rows, None if times is None else times[n_before : n_before + len(rows)]
        n_before += len(rows)


def in_chunks(sets: Any) -> Any:
    """Return the same sets, where those that are mapped files are read in chunks instead of at once.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> import numpy as np
    >>> with NamedTemporaryFile() as file:
    ...     rows = np.memmap(file.name, mode="w+", shape=(4, 2))
    ...     [type(one).__name__ for one in in_chunks([rows, np.ones((3, 2))])]
    ['FeatureSet', 'ndarray']
    """
    one_thing = isinstance(sets, np.ndarray | str) or hasattr(sets, "columns") or hasattr(sets, "toarray")
    if one_thing or not hasattr(sets, "__iter__"):
        return sets  # no collection of sets: its reader says so
    return _in_chunks(sets.items() if hasattr(sets, "items") else sets)


def _in_chunks(items: Any) -> Iterator[Any]:
    for number, item in enumerate(items):
        pair = isinstance(item, tuple) and len(item) == 2
        name, rows = item if pair else (number, item)
        yield item if mapping_of(rows) is None else FeatureSet(name, rows)


def listed_sets(sets: Any) -> list[FeatureSet]:
    """Return sets as a list; what holds none is refused, with how to make them.

    Examples
    --------
    >>> [one.name for one in listed_sets(FeatureSet(day, [[1.0, 2.0]]) for day in ("mon", "tue"))]
    ['mon', 'tue']
    >>> listed_sets({"mon": [[1.0, 2.0]]})
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Sets came as a dict of str; expected FeatureSets. Make each with FeatureSet(name...
    """
    every = list(sets) if isinstance(sets, Iterable) and not isinstance(sets, str) else None
    if every is None or not all(hasattr(one, "chunks") and hasattr(one, "name") for one in every):
        inside = "" if not every else f" of {type(every[0]).__name__}"
        raise InputError(
            f"Sets came as a {type(sets).__name__}{inside}; expected FeatureSets. Make each with "
            "FeatureSet(name, rows), or find them with read_sets(paths)."
        )
    return every

"""A feature set: a name, and rows of one context that can be read again and again, in chunks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from undistract.arrays import Rows, as_rows
from undistract.errors import InputError

CHUNK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class FeatureSet:
    """Rows that belong together: a video, a machine, a person, a day.

    The rows are held as a view that cannot be written to, so that reading twice gives the same rows.

    Parameters
    ----------
    name : hashable
        What the set is called; a set counts once, by name.
    rows : (n, d) array
        One row per moment or thing, one column per feature.
    times : (n,) array, optional
        When each row was seen, in any unit that can be compared.
    source : str, optional
        Where the rows came from, for people to read.

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
    rows: Rows = field(repr=False)
    times: Rows | None = field(default=None, repr=False)
    source: str | None = None

    def __post_init__(self) -> None:
        # A frozen dataclass lets nobody assign, not even itself.
        # Whether the numbers are finite is asked by whoever reads them.
        rows = as_rows(self.rows, f"Set {self.name!r}", check_finite=False).view()
        rows.flags.writeable = False
        object.__setattr__(self, "rows", rows)
        if self.times is not None:
            object.__setattr__(self, "times", _as_times(self.times, len(self.rows), self.name))

    def chunks(self, size: int = CHUNK_ROWS) -> Iterator[Rows]:
        """Read the rows in order, at most `size` at a time."""
        if size < 1:
            raise InputError(f"size is {size}; expected at least one row per chunk.")
        return (self.rows[start : start + size] for start in range(0, len(self), size))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """How many features a row has, d."""
        return int(self.rows.shape[1])


def _as_times(times: Any, n_rows: int, name: Hashable) -> Rows:
    array = np.asarray(times).view()
    if array.shape != (n_rows,):
        raise InputError(f"Set {name!r} has {n_rows} rows but times of shape {array.shape}. Give one time per row.")
    array.flags.writeable = False
    return array

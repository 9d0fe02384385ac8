"""Tables in files: columns with names, read batch by batch through pyarrow (extra `tables`).

.csv .tsv           see `text_tables.py`
.parquet            batch by batch, through small buffers
.arrow .feather     piece by piece, mapped into memory
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from undistract.arrays import Rows, listed
from undistract.errors import InputError
from undistract.extras import need
from undistract.sets.explained import explained

Kind = Literal["number", "time", "text"]


@dataclass(frozen=True)
class Table:
    """A table in a file that can be read again and again.

    Parameters
    ----------
    path : Path
    kinds : dict of str to str
        Every column in the order of the file: "number", "time" or "text".
    batches : callable
        Takes names of columns, and the one to be read as text; returns a fresh iterator of record batches.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from undistract.sets.text_tables import open_text
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "servers.csv"
    ...     _ = path.write_text(chr(10).join(["machine,load,heat", "a,0.5,20", "b,0.7,21"]))
    ...     table = open_text(path)
    ...     table.kinds, next(table.read(["load", "heat"]))[0].tolist()
    ({'machine': 'text', 'load': 'number', 'heat': 'number'}, [[0.5, 20.0], [0.7, 21.0]])
    """

    path: Path
    kinds: dict[str, Kind]
    batches: Callable[[Sequence[str], str | None], Iterator[Any]]

    def read(
        self, columns: Sequence[str], *, time: str | None = None, group: str | None = None
    ) -> Iterator[tuple[Rows, Rows | None, Rows | None]]:
        """Yield rows (n, d) as float64 with NaN where nothing is, their times (n,) and their groups (n,) of str."""
        wanted = list(dict.fromkeys([*columns, *(name for name in (time, group) if name is not None)]))
        n_before = 0
        with explained(self.path.name, f"a {self.path.suffix} table"):
            for batch in self.batches(wanted, group):
                if len(batch):
                    rows = np.column_stack([_numbers(batch.column(name)) for name in columns]) if columns else None
                    yield (
                        np.empty((len(batch), 0)) if rows is None else rows,
                        None if time is None else self._times(batch.column(time), time, n_before),
                        None if group is None else self._groups(batch.column(group), group, n_before),
                    )
                    n_before += len(batch)
        if not n_before:
            raise InputError(f"{self.path.name} has a line of names and no rows. Leave it out, or give it rows.")

    def _times(self, column: Any, name: str, n_before: int) -> Rows:
        self._whole(column, name, n_before)
        if self.kinds[name] == "number":
            return _numbers(column)
        times: Rows = column.to_numpy(zero_copy_only=False)
        return times

    def _groups(self, column: Any, name: str, n_before: int) -> Rows:
        self._whole(column, name, n_before)
        return np.array([str(value) for value in column.to_pylist()], dtype=np.object_)

    def _whole(self, column: Any, name: str, n_before: int) -> None:
        if column.null_count:
            row = n_before + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise InputError(
                f"{self.path.name} lacks a value in column {name!r} at row {row}, counted from 0; every row needs one "
                "there. Fill it in, or use another column."
            )


def kinds_of(path: Path, schema: Any) -> dict[str, Kind]:
    """Say what every column holds; a name that comes twice is refused."""
    check_names(path, schema.names)
    return {field.name: _kind(field.type) for field in schema}


def check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse columns that cannot be told apart by name."""
    double = [name for name, count in Counter(names).items() if count > 1]
    if double:
        raise InputError(
            f"{path.name} has {len(names)} columns, but more than one is called {listed(double)}. Rename them."
        )


def _kind(kind: Any) -> Kind:
    types = need("pyarrow", extra="tables", to="Reading tables").types
    if any(test(kind) for test in (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)):
        return "number"
    if types.is_null(kind):  # nothing was there to tell: a column of gaps
        return "number"
    return "time" if types.is_timestamp(kind) or types.is_date(kind) else "text"


def _numbers(column: Any) -> Rows:
    numbers: Rows = column.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    return numbers

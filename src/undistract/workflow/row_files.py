"""Rows of any number, written chunk by chunk into one array or one table, whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from undistract.arrays import Rows, as_rows
from undistract.errors import InputError
from undistract.extras import need
from undistract.files import WholeFile, write_whole
from undistract.sets.feature_set import FeatureSet
from undistract.workflow.reading import Reading

HEADER_BYTES = 128  # of a .npy file; there is room for any number of rows
DTYPES = ("float32", "float64")
TEXT = (".csv", ".tsv")


class Chunk(NamedTuple):
    """Some rows of a set, on their way into a file."""

    one: FeatureSet
    rows: Rows
    times: Rows | None = None


@dataclass
class OneDtype:
    """The dtype of what is written is that of the first rows, or the one asked for; all others follow it.

    Examples
    --------
    >>> OneDtype().checked("mon", [[1, 2]]).dtype
    dtype('float64')
    """

    asked: npt.DTypeLike | None = None
    found: np.dtype[Any] | None = None
    n_rows: int = 0

    def __post_init__(self) -> None:
        if self.asked is not None and np.dtype(self.asked).name not in DTYPES:
            raise InputError(f"dtype is {self.asked!r}; expected one of {', '.join(DTYPES)}.")

    def checked(self, name: Any, rows: Any) -> Rows:
        """Return rows that are finite, as float32 where they are that, else as float64."""
        checked = as_rows(rows, f"Set {name!r}, from row {self.n_rows} of all on,")
        own = np.dtype(np.float32 if checked.dtype == np.float32 else np.float64)
        self.found = self.found or (own if self.asked is None else np.dtype(self.asked))
        if self.asked is None and own != self.found:
            raise InputError(f"Set {name!r} is {own}, what came before is {self.found}. Say which to write: dtype=.")
        self.n_rows += len(checked)
        return checked.astype(own, copy=False)


def write_array(path: Path, chunks: Iterable[Chunk], dtype: OneDtype, n_columns: int) -> Path:
    """Write a .npy file; how many rows there are need not be known before.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> monday = FeatureSet("mon", [[1.0, 2.0], [3.0, 4.0]])
    >>> dtype = OneDtype("float32")
    >>> with TemporaryDirectory() as folder:
    ...     chunks = (Chunk(monday, dtype.checked("mon", rows)) for rows in monday.chunks(1))
    ...     np.load(write_array(Path(folder, "mon.npy"), chunks, dtype, 2))
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    n_rows = 0
    with WholeFile(path) as file:
        file.write(bytes(HEADER_BYTES))
        for chunk in chunks:
            file.write(np.ascontiguousarray(chunk.rows.astype(dtype.found, copy=False)))
            n_rows += len(chunk.rows)
        # How many rows there were is known now.
        assert dtype.found is not None
        words = f"{{'descr': {dtype.found.str!r}, 'fortran_order': False, 'shape': {(n_rows, n_columns)}, }}"
        start = b"\x93NUMPY\x01\x00" + (HEADER_BYTES - 10).to_bytes(2, "little")
        file.write(start + words.encode().ljust(HEADER_BYTES - 11) + b"\n", at=0)
    return path


def write_table(path: Path, chunks: Iterable[Chunk], names: Sequence[str], reading: Reading, *, which: bool) -> Path:
    """Write a .csv, .tsv or .parquet table that can be read as the reading says.

    Parameters
    ----------
    path : path
    chunks : iterable of Chunk
    names : sequence of str
        One per column of the rows.
    reading : Reading
        Its `time` names a column, if the rows have times; its `group` the one that says which set a row belongs to.
    which : bool
        Whether a column says which set a row belongs to.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> monday = FeatureSet("mon", [[0.5, 20.0], [0.7, 21.0]])
    >>> with TemporaryDirectory() as folder:
    ...     print(write_table(
    ...         Path(folder, "all.csv"), [Chunk(monday, monday.rows)], ["load", "heat"], Reading(), which=True
    ...     ).read_text().strip())
    set,load,heat
    mon,0.5,20.0
    mon,0.7,21.0
    """
    group = (reading.group or _free("set", names)) if which else None
    columns = (_columns(chunk, names, group, reading.time) for chunk in chunks)
    if path.suffix.lower() in TEXT:
        with WholeFile(path) as file:
            for text in _text(path, columns, reading):
                file.write(text.encode())
        return path
    arrow = need("pyarrow", extra="tables", to="Writing .parquet")
    parquet = need("pyarrow.parquet", extra="tables", to="Writing .parquet")

    def write(place: Path) -> None:
        writer = None
        try:
            for some in columns:
                table = arrow.table(some)
                writer = writer or parquet.ParquetWriter(place, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()

    return write_whole(path, write)


def _columns(chunk: Chunk, names: Sequence[str], group: str | None, time: str | None) -> dict[str, Any]:
    first: dict[str, Any] = {} if group is None else {group: [str(chunk.one.name)] * len(chunk.rows)}
    if chunk.times is not None:
        first[time or _free("time", names)] = chunk.times
    return first | {name: chunk.rows[:, number] for number, name in enumerate(names)}


def _free(name: str, taken: Sequence[str]) -> str:
    """Give a column a name that no feature has."""
    while name in taken:
        name += "_"
    return name


def _text(path: Path, tables: Iterable[dict[str, Any]], reading: Reading) -> Iterator[str]:
    usual = "\t" if path.suffix.lower() == ".tsv" else ";" if reading.decimal == "," else ","
    for number, columns in enumerate(tables):
        text = io.StringIO()
        writer = csv.writer(text, delimiter=reading.delimiter or usual, lineterminator="\n")
        if reading.header and not number:
            writer.writerow(columns)
        writer.writerows(zip(*(_cells(values, reading.decimal) for values in columns.values()), strict=True))
        yield text.getvalue()


def _cells(values: Any, decimal: str) -> list[Any]:
    if isinstance(values, list):
        return values
    if values.dtype.kind == "M":
        return list(np.datetime_as_string(values).tolist())
    plain = values.tolist()
    return plain if decimal == "." else [str(value).replace(".", decimal) for value in plain]

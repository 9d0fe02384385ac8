"""Tables written as text: .csv and .tsv, with a line of names first.

What stands between columns is seen from the first line. What a column holds is seen from the first megabyte; from then
on it must hold the same, or the error names the place.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from undistract.arrays import listed
from undistract.errors import InputError
from undistract.extras import need
from undistract.sets.explained import explained
from undistract.sets.tables import Kind, Table, check_names, kinds_of

DELIMITERS = ",;\t|"
LONGEST_LINE = 2**24
MOST_COLUMNS = 2**17
_NO_NUMBER = re.compile(r"column #(\d+): Row #(\d+): CSV conversion error to double: invalid value '(.*)'")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


def open_text(path: Path, *, delimiter: str | None = None, decimal: str = ".", header: bool = True) -> Table:
    """Open a table that is written as text (UTF-8).

    Parameters
    ----------
    path : Path
    delimiter : str, optional
        What stands between columns; else that of comma, semicolon, tab and bar which the first line has most of.
    decimal : str
        "." or ",".
    header : bool
        Whether the first line names the columns; else they are called f0, f1 and so on.
    """
    arrow_csv: Any = need("pyarrow.csv", extra="tables", to=f"Reading {path.suffix} files")
    arrow: Any = need("pyarrow", extra="tables", to=f"Reading {path.suffix} files")
    names, delimiter = _first_line(path, delimiter, header)

    def reader(columns: Sequence[str], types: dict[str, Any]) -> Any:
        return arrow_csv.open_csv(
            path,
            # One thread: errors then know their row, and chunks come in order.
            arrow_csv.ReadOptions(use_threads=False, column_names=names, skip_rows=int(header)),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(decimal_point=decimal, include_columns=columns, column_types=types),
        )

    with explained(path.name, f"a {path.suffix} table"):
        first = reader(names, {})
        kinds = kinds_of(path, first.schema)
        _look_for_decimal_comma(path, first, kinds)
    # Whole numbers may be followed by others later on. The type of times is left as it was seen.
    numbers = {
        name: arrow.float64()
        for name, kind in kinds.items()
        if kind == "number" and not arrow.types.is_boolean(first.schema.field(name).type)
    }

    def batches(columns: Sequence[str], as_text: str | None) -> Iterator[Any]:
        types = {name: kind for name, kind in numbers.items() if name in columns}
        if as_text is not None:
            types[as_text] = arrow.string()  # 007 stays 007
        try:
            yield from reader(columns, types)
        except arrow.ArrowInvalid as error:
            raise _no_number(path, names, str(error)) or error from error

    return Table(path, kinds, batches)


def _first_line(path: Path, delimiter: str | None, header: bool) -> tuple[list[str], str]:
    """Return the names of the columns, and what stands between them."""
    with path.open("rb") as file:
        raw = file.readline(LONGEST_LINE)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in raw:
        raise InputError(f"{path.name} is not UTF-8 text (UTF-16, or no text at all). Save it as UTF-8.")
    try:
        line = raw.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name} is not UTF-8 text (byte {error.start} of it). Save it as UTF-8.") from error
    bare = re.sub(r'"[^"]*"', "", line)
    used = delimiter or max(DELIMITERS, key=bare.count)
    if bare.count(used) >= MOST_COLUMNS:
        raise InputError(
            f"{path.name} has {bare.count(used) + 1} columns in its first line; expected {MOST_COLUMNS} at most. "
            "Save rows as wide as that as .npy, or say what stands between columns: delimiter= (--delimiter)."
        )
    try:
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=used), [])]
    except csv.Error as error:  # a lone carriage return, or a name without end
        raise InputError(
            f"{path.name} has a first line that cannot be read ({error}). Save it as UTF-8 with line ends of Unix or "
            "Windows."
        ) from error
    if len(cells) < 2 and delimiter is None:
        raise InputError(
            f"{path.name} has one column, {line[:40]!r}; expected several, with one of comma, semicolon, tab or bar "
            "between them. If another sign stands there, or if one column is right, say so: delimiter=',' "
            "(--delimiter ,)."
        )
    if not header:
        return [f"f{number}" for number in range(len(cells))], used
    if cells and all(_is_number(cell) for cell in cells):
        raise InputError(
            f"{path.name} starts with numbers, {listed(cells)}; expected the names of {len(cells)} columns there. "
            "Add a line of names, or say that there is none: header=False (--no-header)."
        )
    if "" in cells:
        # The nameless first column is an index that somebody's program has written along.
        cells = [cell or f"unnamed {number}" for number, cell in enumerate(cells)]
    check_names(path, cells)
    return cells, used


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _no_number(path: Path, names: list[str], words: str) -> InputError | None:
    found = _NO_NUMBER.search(words)
    if found is None:
        return None
    return InputError(
        f"{path.name} holds {found[3]!r} in column {names[int(found[1])]!r}, line {found[2]}, where numbers stood "
        "before. Correct or remove it, or choose other columns (--columns)."
    )


def _look_for_decimal_comma(path: Path, reader: Any, kinds: dict[str, Kind]) -> None:
    batch = next(iter(reader), None)
    for name, kind in kinds.items():
        if kind == "text" and batch is not None and len(batch):
            value = str(batch.column(name)[0].as_py())
            if _DECIMAL_COMMA.fullmatch(value):
                raise InputError(
                    f"{path.name} writes numbers with a comma, such as {value!r} in column {name!r}. "
                    "Say so: decimal=',' (--decimal ,)."
                )

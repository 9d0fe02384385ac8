"""Tables in files: named columns, read in batches. Text tables (.csv, .tsv) are read here, others in `arrow_tables.py`.

The delimiter of a text table is detected in the first line, the type of each column in the first batch of rows. Later
rows must have the same types, or the error names the line.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np

from undistract._arrays import Floats, Rows
from undistract._text import format_names
from undistract.errors import InputError
from undistract.sources.checks import reading_errors
from undistract.sources.grouping import Labelled, group_rows
from undistract.sources.options import DEFAULTS, ReadOptions
from undistract.sources.source import Source, TimedRows

Kind = Literal["number", "time", "text"]
Batch = tuple[Rows, Rows | None, Rows | None]  # rows (n, d), times (n,) or None, groups (n,) of str or None
BATCH_ROWS = 2**14


DELIMITERS = ",;\t|"
LONGEST_LINE = 2**24
MOST_COLUMNS = 2**17
BATCH_CELLS = 2**18  # a cell takes about 60 bytes while a batch is parsed
# The spellings that pandas and Arrow recognise too.
_SPELLINGS = "#N/A,#N/A N/A,#NA,-1.#IND,-1.#QNAN,-NaN,-nan,1.#IND,1.#QNAN,N/A,NA,NULL,NaN,n/a,nan,null"
MISSING = frozenset(["", *_SPELLINGS.split(",")])
BOOLEANS = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_COMMA_TO_POINT = str.maketrans(",.", ".!")  # a point is invalid in a number with a decimal comma
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?P<time>[T ]\d\d(:\d\d(:\d\d(?P<fraction>\.\d{1,9})?)?)?(?P<zone>Z|[+-]\d\d:?\d\d)?)?"
)

Cells = Sequence[str]  # the values of one column in one batch
Parser = Callable[[Cells], Rows]  # raises ValueError for a cell of another type


@dataclass(frozen=True)
class Table:
    """A table in a file that can be read any number of times.

    Parameters
    ----------
    path : Path
    kinds : dict of str to str
        Type of each column in file order: "number", "time" or "text".
    batches : callable
        ``batches(columns, time, group)`` returns a new iterator of batches; missing values are NaN, NaT or None.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "servers.csv"
    ...     _ = path.write_text(chr(10).join(["machine,load,heat", "a,0.5,20", "b,0.7,21"]))
    ...     table = open_text(path)
    ...     table.kinds, next(table.read(["load", "heat"]))[0].tolist()
    ({'machine': 'text', 'load': 'number', 'heat': 'number'}, [[0.5, 20.0], [0.7, 21.0]])
    """

    path: Path
    kinds: dict[str, Kind]
    batches: Callable[[Sequence[str], str | None, str | None], Iterator[Batch]]

    def read(self, columns: Sequence[str], *, time: str | None = None, group: str | None = None) -> Iterator[Batch]:
        """Yield rows (n, d) as float64 with NaN for missing values, their times (n,) and their groups (n,) of str."""
        n_before = 0
        with reading_errors(self.path.name, f"a {self.path.suffix} table"):
            for rows, times, groups in self.batches(columns, time, group):
                if times is not None:
                    self._check_complete(times != times, time, n_before)  # NaN and NaT differ from themselves
                if groups is not None:
                    self._check_complete(groups == None, group, n_before)  # noqa: E711 (element by element)
                yield rows, times, groups
                n_before += len(rows)
        if not n_before:
            raise InputError(f"{self.path.name} has column names but no rows. Leave it out, or add rows.")

    def _check_complete(self, is_missing: Rows, name: str | None, n_before: int) -> None:
        if is_missing.any():
            row = n_before + int(np.argmax(is_missing))
            raise InputError(
                f"{self.path.name} has a missing value in column {name!r} at row {row}, counted from 0; this column "
                "must be complete. Fill it in, or use another column."
            )


def check_names(path: Path, names: Sequence[str]) -> None:
    """Raise an error if two columns have the same name."""
    double = [name for name, count in Counter(names).items() if count > 1]
    if double:
        raise InputError(
            f"{path.name} has {len(names)} columns, and more than one is called {format_names(double)}. Rename them."
        )


def open_text(path: Path, options: ReadOptions = DEFAULTS) -> Table:
    """Open a text table (UTF-8).

    Without `options.delimiter` it is the most frequent of comma, semicolon, tab and bar in the first line. Without a
    header the columns are called f0, f1 and so on.
    """
    names, delimiter = _first_line(path, options.delimiter, options.header)
    read_blocks = partial(_read_blocks, path, delimiter, options.header, names)
    first: dict[str, Cells] = dict.fromkeys(names, ())
    with reading_errors(path.name, f"a {path.suffix} table"):
        for _, block in islice(read_blocks(), 1):
            first = block
    parsers = {name: _detect_parser(cells, options.decimal) for name, cells in first.items()}
    kinds = {name: _kind(parser) for name, parser in parsers.items()}
    _check_decimal_comma(path, first, kinds)

    def batches(columns: Sequence[str], time: str | None, group: str | None) -> Iterator[Batch]:
        for first_line, block in read_blocks():
            parsed = [_parse(path, name, block[name], parsers[name], first_line) for name in columns]
            times = groups = None
            if time is not None:
                times = _parse(path, time, block[time], parsers[time], first_line)
            if group is not None:
                groups = np.array(block[group], dtype=np.object_)  # as text: 007 stays 007
            n_rows = len(block[names[0]])
            yield np.column_stack([np.empty((n_rows, 0)), *parsed]), times, groups

    return Table(path, kinds, batches)


def _read_blocks(
    path: Path, delimiter: str, header: bool, names: Sequence[str]
) -> Iterator[tuple[int, dict[str, Cells]]]:
    """Yield the number of the first line, and the cells of each column, for one block of rows after the other."""
    size = max(1, min(BATCH_ROWS, BATCH_CELLS // max(1, len(names))))
    with path.open(encoding="utf-8-sig", newline="") as file:
        # newline="" above: the csv module must see line ends inside of quotes.
        reader = csv.reader(file, delimiter=delimiter)
        first_line = 1
        if header:
            next(reader, None)
            first_line = 2
        while lines := list(islice(reader, size)):
            for number, cells in enumerate(lines, first_line):
                if cells and len(cells) != len(names):
                    raise InputError(
                        f"{path.name} has {len(cells)} columns in line {number}, expected {len(names)}. Correct the "
                        "line, or set delimiter= (--delimiter)."
                    )
            rows = [cells for cells in lines if cells]  # without empty lines
            if rows:
                yield first_line, dict(zip(names, zip(*rows, strict=True), strict=True))
            first_line += len(lines)


def _parse(path: Path, name: str, cells: Cells, parser: Parser, first_line: int) -> Rows:
    try:
        return parser(cells)
    except ValueError:
        pass
    # Only after a failure: parse cell by cell to find the line. Values with line ends inside make it a lower bound.
    for line, cell in enumerate(cells, first_line):
        try:
            parser([cell])
        except ValueError:
            raise InputError(
                f"{path.name} has {cell[:80]!r} in column {name!r}, line {line}, which was {_CONTENT[_kind(parser)]} "
                "before. Correct or remove it, or choose other columns (--columns)."
            ) from None
    raise InputError(f"{path.name} mixes times with and without a zone in column {name!r}. Use the same format.")


def _detect_parser(cells: Cells, decimal: str) -> Parser:
    """Return the first parser that accepts all cells."""
    # In the order of Arrow's inference: a column of 0 and 1 is numeric, not boolean.
    for parser in (partial(_parse_numbers, decimal=decimal), _parse_booleans, _parse_times):
        try:
            parser(cells)
        except ValueError:
            continue
        return parser
    return _parse_text


def _parse_numbers(cells: Cells, decimal: str) -> Floats:
    text = "".join(cells)
    # float() also accepts 1_000 and digits of other scripts; those are text here.
    if decimal == "." and "_" not in text and text.isascii():
        try:
            return np.array(list(map(float, cells)))
        except ValueError:
            pass  # missing values, or text
    return np.array([_parse_number(cell.strip(), decimal) for cell in cells])


def _parse_number(cell: str, decimal: str) -> float:
    if cell in MISSING:
        return np.nan
    if "_" in cell or not cell.isascii():
        raise ValueError(cell)
    if decimal == ",":
        cell = cell.translate(_COMMA_TO_POINT)
    return float(cell)


def _parse_booleans(cells: Cells) -> Floats:
    values = []
    for cell in cells:
        value = BOOLEANS.get(cell.strip().lower())
        if value is None and cell.strip() not in MISSING:
            raise ValueError(cell)
        values.append(value)
    return np.array(values, dtype=np.float64)  # None becomes NaN


def _parse_times(cells: Cells) -> Rows:
    """Return dates as datetime64[D], times as datetime64[s] or, with fractions, datetime64[ns]; zones become UTC."""
    unit = "D"
    texts = []
    zones = set()
    for cell in map(str.strip, cells):
        if cell in MISSING:
            texts.append("NaT")
            continue
        match = _TIME.fullmatch(cell)
        if match is None:
            raise ValueError(cell)
        if match["fraction"]:
            unit = "ns"
        elif match["time"] and unit == "D":
            unit = "s"
        zones.add(match["zone"] is not None)
        if match["zone"]:
            cell = datetime.fromisoformat(cell).astimezone(UTC).replace(tzinfo=None).isoformat()
        texts.append(cell)
    # Local times and UTC have no common order.
    if len(zones) > 1:
        raise ValueError("times with and without a zone")
    return np.array(texts, dtype=f"datetime64[{unit}]")


def _parse_text(cells: Cells) -> Rows:
    return np.array(cells, dtype=np.object_)


_CONTENT = {"number": "numeric", "time": "a time", "text": "text"}


def _kind(parser: Parser) -> Kind:
    kinds: dict[Parser, Kind] = {_parse_times: "time", _parse_text: "text"}
    return kinds.get(parser, "number")


def _first_line(path: Path, delimiter: str | None, header: bool) -> tuple[list[str], str]:
    """Return the names of the columns, and the delimiter."""
    with path.open("rb") as file:
        raw = file.readline(LONGEST_LINE)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in raw:
        raise InputError(f"{path.name} is not UTF-8 text (UTF-16 or binary). Save it as UTF-8.")
    try:
        line = raw.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name} is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error
    # Delimiters inside of quotes do not count.
    bare = re.sub(r'"[^"]*"', "", line)
    used = delimiter or max(DELIMITERS, key=bare.count)
    if bare.count(used) >= MOST_COLUMNS:
        raise InputError(
            f"{path.name} has {bare.count(used) + 1} columns in its first line; expected {MOST_COLUMNS} at most. "
            "Save such wide rows as .npy, or set delimiter= (--delimiter)."
        )
    try:
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=used), [])]
    except csv.Error as error:  # a single carriage return, or an unclosed quote
        raise InputError(
            f"The first line of {path.name} cannot be read ({error}). Save the file as UTF-8 with Unix or Windows line "
            "ends."
        ) from error
    if len(cells) < 2 and delimiter is None:
        raise InputError(
            f"{path.name} has one column, {line[:40]!r}; expected several, separated by comma, semicolon, tab or bar. "
            "If the delimiter is another character, or if one column is right, set delimiter=',' (--delimiter ,)."
        )
    if not header:
        return [f"f{number}" for number in range(len(cells))], used
    if cells and all(_is_number(cell) for cell in cells):
        raise InputError(
            f"{path.name} starts with numbers, {format_names(cells)}; expected the names of {len(cells)} columns. "
            "Add a header line, or set header=False (--no-header)."
        )
    if "" in cells:
        # A nameless first column is usually an index that pandas wrote.
        cells = [cell or f"unnamed {number}" for number, cell in enumerate(cells)]
    check_names(path, cells)
    return cells, used


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _check_decimal_comma(path: Path, block: dict[str, Cells], kinds: dict[str, Kind]) -> None:
    for name, cells in block.items():
        if kinds[name] == "text" and _DECIMAL_COMMA.fullmatch(cells[0]):
            raise InputError(
                f"{path.name} uses a decimal comma, such as {cells[0]!r} in column {name!r}. "
                "Set decimal=',' (--decimal ,)."
            )


NUMERIC = "numeric"


def choose_columns(
    tables: Sequence[Table],
    columns: Sequence[str] | str | None = None,
    *,
    group: str | None = None,
    time: str | None = None,
) -> list[str]:
    """Return the names of the features, in the order of the first table; they must be numeric in every table.

    Parameters
    ----------
    tables : sequence of Table
    columns : sequence of str, or "numeric", optional
        Names of the features, or all numeric columns. By default every column is a feature, and a column that is not
        numeric is an error.
    group, time : str, optional
        Columns that are not features.
    """
    first = tables[0]
    for table in tables:
        if group is not None and group not in table.kinds:
            raise _unknown(table, group, "group")
        if time is not None and time not in table.kinds:
            raise _unknown(table, time, "time")
        if time is not None and table.kinds[time] == "text":
            raise InputError(
                f"Column {time!r} of {table.path.name} contains text; time= needs numbers, dates or times such as "
                "2024-05-01 12:30:00."
            )
    if columns is None or columns == NUMERIC:
        names = [name for name in first.kinds if name not in (group, time)]
        if columns == NUMERIC:
            names = [name for name in names if first.kinds[name] == "number"]
    else:
        if isinstance(columns, str):
            columns = [columns]
        names = list(dict.fromkeys(columns))
    for table in tables:
        _check(table, names, group, time, exactly=columns is None)
    if not names:
        raise InputError(
            f"{first.path.name} has no column left for features; it has {format_names(list(first.kinds))}. "
            "Choose some with columns= (--columns)."
        )
    return names


def _check(table: Table, names: Sequence[str], group: str | None, time: str | None, *, exactly: bool) -> None:
    for name in names:
        if name not in table.kinds:
            raise _unknown(table, name, "columns")
    more = [name for name in table.kinds if name not in (*names, group, time)]
    if exactly and more:
        raise InputError(
            f"{table.path.name} has columns that the first table lacks: {format_names(more)}. "
            "Choose the features with columns= (--columns)."
        )
    text = [name for name in names if table.kinds[name] != "number"]
    if text:
        numbers = ",".join(name for name in table.kinds if table.kinds[name] == "number" and name not in (group, time))
        content, option = "times", "time= (--time)"
        if table.kinds[text[0]] == "text":
            content, option = "text", "group= (--group)"
        raise InputError(
            f"Column {text[0]!r} of {table.path.name} contains {content} (from row 0 on); features must be numeric. "
            f"Choose them with columns= (--columns {numbers or 'a,b'}, or --columns numeric for all numeric columns), "
            f"or use it as {option}."
        )


def _unknown(table: Table, name: str, role: str) -> InputError:
    return InputError(
        f"{table.path.name} has no column {name!r}, which {role}= (--{role}) needs; it has "
        f"{format_names(list(table.kinds))}."
    )


def table_source(table: Table, name: str, columns: Sequence[str], time: str | None = None) -> Source:
    """Return a table as one source, with NaN for missing values."""

    def read() -> Iterator[TimedRows]:
        return ((rows, times) for rows, times, _ in table.read(columns, time=time))

    return Source.from_reader(name, read, origin=str(table.path), feature_names=columns)


def grouped_sources(
    tables: Sequence[Table], group: str, columns: Sequence[str], time: str | None = None
) -> list[Source]:
    """Return one source per value of the column `group`; its rows may be anywhere in any of the tables."""
    if time is not None:
        _check_times(tables, time)
    counts: Counter[str] = Counter()
    for table in tables:
        for _, _, groups in table.read([], group=group):
            assert groups is not None
            counts.update(groups.tolist())

    def read() -> Iterator[Labelled]:
        for table in tables:
            for rows, times, groups in table.read(columns, time=time, group=group):
                assert groups is not None
                yield rows, times, groups

    origin = ", ".join(str(table.path) for table in tables)
    return group_rows(counts, read, origin=origin, feature_names=columns)


def _check_times(tables: Sequence[Table], time: str) -> None:
    """Raise an error if the times of two tables cannot be compared."""
    files = {table.kinds[time]: table.path.name for table in reversed(tables)}
    if len(files) > 1:
        raise InputError(
            f"Column {time!r} has numbers in {files['number']} and times in {files['time']}; the rows of one group "
            "may be in both files. Use the same format in every file."
        )

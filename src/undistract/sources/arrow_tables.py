"""Read tables written by Arrow (extra `tables`): .parquet through small buffers, .arrow and .feather memory-mapped.

    message ─► record batch ─► positions of its buffers ─► each starts with its decompressed length (8 bytes)

Arrow decompresses a batch at once, and a ratio of 1000 to 1 is easy to make: 30 kB would become 30 MB. The lengths are
in the file, but pyarrow has no function that returns them, so this module reads them from the FlatBuffers tables.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from undistract._arrays import Floats
from undistract._optional import import_optional
from undistract.sources.checks import check_compression_ratio, reading_errors
from undistract.sources.options import DEFAULTS, ReadOptions
from undistract.sources.source import release_pages
from undistract.sources.tables import BATCH_ROWS, Batch, Kind, Table, check_names

HEADER, BUFFERS, COMPRESSION, DICTIONARY = 2, 2, 3, 1  # field numbers in Arrow's tables (Message.fbs)


def open_parquet(path: Path, options: ReadOptions = DEFAULTS, row_groups: Sequence[int] | None = None) -> Table:
    """Open a .parquet file, or only the row groups with the numbers in `row_groups`."""
    parquet = import_optional("pyarrow.parquet", extra="tables", to="Reading .parquet files")
    groups: list[int] | None = list(row_groups) if row_groups is not None else None

    def batches(columns: Sequence[str], time: str | None, group: str | None) -> Iterator[Batch]:
        # Column by column through small buffers: neither a mapped file nor a large row group fills the memory.
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**16) as file:
            names = _unique(columns, time, group)
            for batch in file.iter_batches(BATCH_ROWS, groups, columns=names, use_threads=False):
                yield _convert(batch, columns, time, group)

    with reading_errors(path.name, f"a {path.suffix} table"), parquet.ParquetFile(path, memory_map=True) as file:
        metadata = file.metadata
        checked: Sequence[int] = range(metadata.num_row_groups)
        if groups is not None:
            checked = groups
        for number in checked:
            group = metadata.row_group(number)
            for column in map(group.column, range(group.num_columns)):
                label = f"column {column.path_in_schema!r:.80}"
                check_compression_ratio(path.name, label, column.total_uncompressed_size, column.total_compressed_size)
        return Table(path, _kinds(path, file.schema_arrow), batches)


def open_arrow(path: Path, options: ReadOptions = DEFAULTS) -> Table:
    """Open a file in the Arrow IPC format, which Feather uses too."""
    arrow = import_optional("pyarrow", extra="tables", to=f"Reading {path.suffix} files")

    def opened(source: Any) -> Any:
        # An Arrow file is a stream between two magic words. Read it as a stream, so that the messages whose sizes
        # were checked are the ones that are decompressed.
        start = 8 if source.read(6) == b"ARROW1" else 0
        source.seek(start)
        # Reads only the metadata and the first bytes of each buffer.
        for message in arrow.ipc.MessageReader.open_stream(source):
            check_compression_ratio(path.name, "a batch", uncompressed_size(message), message.body.size)
        source.seek(start)
        return arrow.ipc.open_stream(source)

    def batches(columns: Sequence[str], time: str | None, group: str | None) -> Iterator[Batch]:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            for batch in opened(arrow.BufferReader(arrow.py_buffer(mapped))):
                chosen = batch.select(_unique(columns, time, group))
                for start in range(0, len(batch), BATCH_ROWS):
                    block = chosen.slice(start, BATCH_ROWS)
                    block.validate(full=True)  # offsets in a damaged file may point outside the file
                    yield _convert(block, columns, time, group)
                    release_pages(mapped)

    with reading_errors(path.name, f"a {path.suffix} table"), arrow.memory_map(str(path)) as source:
        return Table(path, _kinds(path, opened(source).schema), batches)


def _unique(columns: Sequence[str], time: str | None, group: str | None) -> list[str]:
    return list(dict.fromkeys([*columns, *(name for name in (time, group) if name is not None)]))


def _convert(batch: Any, columns: Sequence[str], time: str | None, group: str | None) -> Batch:
    rows = np.column_stack([np.empty((len(batch), 0)), *(_numbers(batch.column(name)) for name in columns)])
    times = groups = None
    if time is not None:
        column = batch.column(time)
        times = _numbers(column) if _kind(column.type) == "number" else column.to_numpy(zero_copy_only=False)
    if group is not None:
        column = batch.column(group)
        groups = np.array([str(value) for value in column.to_pylist()], dtype=np.object_)
        groups[column.is_null().to_numpy(zero_copy_only=False)] = None
    return rows, times, groups


def _numbers(column: Any) -> Floats:
    numbers: Floats = column.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _kinds(path: Path, schema: Any) -> dict[str, Kind]:
    """Return the type of each column; raise an error if a name occurs twice."""
    check_names(path, schema.names)
    return {field.name: _kind(field.type) for field in schema}


def _kind(arrow_type: Any) -> Kind:
    types = import_optional("pyarrow", extra="tables", to="Reading tables").types
    is_number = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    if any(test(arrow_type) for test in is_number):  # a column of nulls counts as numbers
        return "number"
    if types.is_timestamp(arrow_type) or types.is_date(arrow_type):
        return "time"
    return "text"


def uncompressed_size(message: Any) -> int:
    """Return the decompressed size of the buffers of a message in bytes; 0 if nothing is compressed.

    Examples
    --------
    >>> import pyarrow as arrow
    >>> sink, batch = arrow.BufferOutputStream(), arrow.record_batch({"a": [0.0] * 1000})
    >>> with arrow.ipc.new_stream(sink, batch.schema, options=arrow.ipc.IpcWriteOptions(compression="zstd")) as stream:
    ...     stream.write_batch(batch)
    >>> [uncompressed_size(message) for message in arrow.ipc.MessageReader.open_stream(sink.getvalue())]
    [0, 8000]
    """
    if message.type not in ("record batch", "dictionary"):
        return 0
    tables = memoryview(message.metadata)
    body = memoryview(message.body)
    batch = _field(tables, _number(tables, 0), HEADER)
    if batch is not None and message.type == "dictionary":
        batch = _field(tables, batch, DICTIONARY)
    if batch is None or _field(tables, batch, COMPRESSION) is None:
        return 0
    buffers = _field(tables, batch, BUFFERS)
    if buffers is None:
        return 0
    total = 0
    for number in range(_number(tables, buffers)):
        start, length = struct.unpack_from("<qq", tables, buffers + 4 + 16 * number)
        if length >= 8:
            # A length of -1 marks a buffer that is not compressed.
            total += max(struct.unpack_from("<q", body, start)[0], 0)
    return total


def _number(tables: memoryview, position: int) -> int:
    return int(struct.unpack_from("<I", tables, position)[0])


def _field(tables: memoryview, table: int, number: int) -> int | None:
    """Return the position of the table or vector in a field, or None if the field is absent."""
    # A FlatBuffers table starts with the distance back to its directory (vtable) of 16-bit field offsets.
    directory = table - int(struct.unpack_from("<i", tables, table)[0])
    position = 4 + 2 * number
    if position >= struct.unpack_from("<H", tables, directory)[0]:
        return None
    offset = int(struct.unpack_from("<H", tables, directory + position)[0])
    if not offset:
        return None
    return table + offset + _number(tables, table + offset)

"""Tables that Arrow wrote: .parquet, read through small buffers, and .arrow or .feather, mapped piece by piece."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from undistract.extras import need
from undistract.sets.arrow_sizes import unpacked_bytes
from undistract.sets.explained import explained
from undistract.sets.mapped import give_back
from undistract.sets.packed import refuse_packed
from undistract.sets.tables import Table, kinds_of

BATCH_ROWS = 2**14


def open_parquet(path: Path, row_groups: Sequence[int] | None = None) -> Table:
    """Open a .parquet file, or some of its row groups."""
    parquet = need("pyarrow.parquet", extra="tables", to="Reading .parquet files")

    def batches(columns: Sequence[str], _: str | None) -> Iterator[Any]:
        groups = None if row_groups is None else list(row_groups)
        # Column by column through small buffers: neither a mapped file nor a large row group fills the memory.
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**16) as file:
            yield from file.iter_batches(BATCH_ROWS, groups, columns=columns, use_threads=False)

    with explained(path.name, f"a {path.suffix} table"), parquet.ParquetFile(path, memory_map=True) as file:
        about = file.metadata
        for number in range(about.num_row_groups) if row_groups is None else row_groups:
            group = about.row_group(number)
            for column in map(group.column, range(group.num_columns)):
                packed = f"column {column.path_in_schema!r:.80}"
                refuse_packed(path.name, packed, column.total_uncompressed_size, column.total_compressed_size)
        return Table(path, kinds_of(path, file.schema_arrow), batches)


def open_arrow(path: Path) -> Table:
    """Open a file in the form of Arrow, which is also that of Feather."""
    arrow = need("pyarrow", extra="tables", to=f"Reading {path.suffix} files")

    def opened(source: Any) -> Any:
        # A file is a stream between two words; read so, what was looked at is what is unpacked.
        start = 8 if source.read(6) == b"ARROW1" else 0
        source.seek(start)
        for message in arrow.ipc.MessageReader.open_stream(source):
            refuse_packed(path.name, "a batch", unpacked_bytes(message), message.body.size)
        source.seek(start)
        return arrow.ipc.open_stream(source)

    def batches(columns: Sequence[str], _: str | None) -> Iterator[Any]:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            for batch in opened(arrow.BufferReader(arrow.py_buffer(mapped))):
                chosen = batch.select(columns)
                for start in range(0, len(batch), BATCH_ROWS):
                    piece = chosen.slice(start, BATCH_ROWS)
                    piece.validate(full=True)  # a damaged file may point outside of itself
                    yield piece
                    give_back(mapped)

    with explained(path.name, f"a {path.suffix} table"), arrow.memory_map(str(path)) as source:
        return Table(path, kinds_of(path, opened(source).schema), batches)

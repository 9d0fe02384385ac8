"""Tables that Arrow wrote: .parquet, read through small buffers, and .arrow or .feather, mapped piece by piece."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from undistract.extras import need
from undistract.sets.explained import explained
from undistract.sets.mapped import give_back
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
        return Table(path, kinds_of(path, file.schema_arrow), batches)


def open_arrow(path: Path) -> Table:
    """Open a file in the form of Arrow, which is also that of Feather."""
    arrow = need("pyarrow", extra="tables", to=f"Reading {path.suffix} files")

    def opened(source: Any) -> Any:
        try:
            return arrow.ipc.open_file(source)
        except arrow.ArrowInvalid:  # the other of the two forms that share this ending
            source.seek(0)
            return arrow.ipc.open_stream(source)

    def batches(columns: Sequence[str], _: str | None) -> Iterator[Any]:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            reader = opened(arrow.BufferReader(arrow.py_buffer(mapped)))
            numbers = range(reader.num_record_batches) if hasattr(reader, "num_record_batches") else None
            whole = reader if numbers is None else (reader.get_batch(number) for number in numbers)
            for batch in whole:
                chosen = batch.select(columns)
                for start in range(0, len(batch), BATCH_ROWS):
                    piece = chosen.slice(start, BATCH_ROWS)
                    piece.validate(full=True)  # a damaged file may point outside of itself
                    yield piece
                    give_back(mapped)

    with explained(path.name, f"a {path.suffix} table"), arrow.memory_map(str(path)) as source:
        return Table(path, kinds_of(path, opened(source).schema), batches)

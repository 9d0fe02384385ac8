"""Tables that Arrow wrote: .parquet, and .arrow or .feather. Both are mapped into memory and read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from undistract.extras import need
from undistract.sets.explained import explained
from undistract.sets.tables import Table, kinds_of

BATCH_ROWS = 2**14


def open_parquet(path: Path) -> Table:
    """Open a .parquet file."""
    parquet = need("pyarrow.parquet", extra="tables", to="Reading .parquet files")

    def batches(columns: Sequence[str], _: str | None) -> Iterator[Any]:
        with parquet.ParquetFile(path, memory_map=True) as file:
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=columns, use_threads=False)

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
        with arrow.memory_map(str(path)) as source:
            reader = opened(source)
            numbers = range(reader.num_record_batches) if hasattr(reader, "num_record_batches") else None
            whole = reader if numbers is None else (reader.get_batch(number) for number in numbers)
            for batch in whole:
                batch.validate(full=True)  # a damaged file may point outside of itself
                for start in range(0, len(batch), BATCH_ROWS):
                    yield batch.select(columns).slice(start, BATCH_ROWS)

    with explained(path.name, f"a {path.suffix} table"), arrow.memory_map(str(path)) as source:
        return Table(path, kinds_of(path, opened(source).schema), batches)

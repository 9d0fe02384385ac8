"""How large a message of an Arrow file is once it is unpacked, seen before anything is.

    message ─► record batch ─► where its buffers lie ─► each begins with its unpacked length (8 bytes)

Arrow unpacks a batch as a whole, and a thousand to one is easy: 30 kB would become a gigabyte. The lengths stand in the
file; pyarrow does not tell them, so they are read out of its tables (FlatBuffers) here.
"""

from __future__ import annotations

import struct
from typing import Any

HEADER, BUFFERS, COMPRESSION, DICTIONARY = 2, 2, 3, 1  # places of fields in Arrow's tables


def unpacked_bytes(message: Any) -> int:
    """Return how many bytes the buffers of a message take once they are unpacked; 0 where nothing is packed.

    Examples
    --------
    >>> import pyarrow as arrow
    >>> sink, batch = arrow.BufferOutputStream(), arrow.record_batch({"a": [0.0] * 1000})
    >>> with arrow.ipc.new_stream(sink, batch.schema, options=arrow.ipc.IpcWriteOptions(compression="zstd")) as stream:
    ...     stream.write_batch(batch)
    >>> [unpacked_bytes(message) for message in arrow.ipc.MessageReader.open_stream(sink.getvalue())]
    [0, 8000]
    """
    if message.type not in ("record batch", "dictionary"):
        return 0
    tables, body = memoryview(message.metadata), memoryview(message.body)
    batch = _field(tables, _number(tables, 0), HEADER)
    if batch is not None and message.type == "dictionary":
        batch = _field(tables, batch, DICTIONARY)
    if batch is None or _field(tables, batch, COMPRESSION) is None:
        return 0
    places = _field(tables, batch, BUFFERS)
    total = 0
    for number in range(0 if places is None else _number(tables, places)):
        start, length = struct.unpack_from("<qq", tables, (places or 0) + 4 + 16 * number)
        if length >= 8:
            total += max(struct.unpack_from("<q", body, start)[0], 0)  # -1: this one is not packed
    return total


def _number(tables: memoryview, place: int) -> int:
    return int(struct.unpack_from("<I", tables, place)[0])


def _field(tables: memoryview, table: int, number: int) -> int | None:
    """Return where a field's own table or vector begins."""
    directory = table - int(struct.unpack_from("<i", tables, table)[0])
    place = 4 + 2 * number
    if place >= struct.unpack_from("<H", tables, directory)[0]:
        return None
    offset = int(struct.unpack_from("<H", tables, directory + place)[0])
    return table + offset + _number(tables, table + offset) if offset else None

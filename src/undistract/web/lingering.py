"""A close that does not lose the answer: who still talks is heard out for a while, and none of that is kept.

To close over unread bytes is to reset the connection, and a reset may overtake the answer (RFC 9112, section 9.6).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

PATIENCE = 2.0  # seconds from the answer to the end, whatever still comes


class LingeringTransport:
    """A connection that, closed in the middle of a request, first ends its own side and then hears the other out.

    Parameters
    ----------
    transport : asyncio.Transport
        What is closed; all else is passed on to it.
    mid_request : callable
        Says whether the other side may still be sending what nobody will read.
    most : int
        After so many bytes nobody is listened to any longer.

    Attributes
    ----------
    lingers : bool
        Whether what arrives is only to be thrown away; whoever receives it calls `discard`.
    """

    def __init__(self, transport: asyncio.Transport, *, mid_request: Callable[[], bool], most: int) -> None:
        self.lingers = False
        self._transport = transport
        self._mid_request = mid_request
        self._room = most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        """Close, at once or after lingering; to close again changes nothing."""
        if self.is_closing():
            return
        if not self._mid_request():
            return self._transport.close()
        self.lingers = True
        with suppress(OSError):  # the other side may have gone meanwhile
            self._transport.write_eof()
        self._transport.resume_reading()
        asyncio.get_running_loop().call_later(PATIENCE, self._transport.close)

    def is_closing(self) -> bool:
        """Say whether it is closed, or lingers."""
        return self.lingers or self._transport.is_closing()

    def discard(self, size: int) -> None:
        """Throw away what arrived."""
        self._room -= size
        if self._room < 0:
            self._transport.close()

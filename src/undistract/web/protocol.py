"""HTTP that does not wait forever: who sends half a request, or keeps a server from ending, is cut off."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from undistract.web.guard import HEADERS
from undistract.web.limits import Limits
from undistract.web.lingering import LingeringTransport

GRACE = 2.0  # seconds for answers under way when the server ends; streams that never end are cut then


class PatientProtocol(H11Protocol):
    """uvicorn's own protocol, which by itself waits for the rest of a head as long as it takes.

    Parameters
    ----------
    limits : Limits
    others : as uvicorn gives them
    """

    def __init__(self, *, limits: Limits, **others: Any) -> None:
        super().__init__(**others)
        self._limits = limits
        self._end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        lingering = LingeringTransport(transport, mid_request=self._mid_request, most=self._limits.body_bytes)
        super().connection_made(lingering)  # type: ignore[arg-type]
        self._expect_a_request()

    def data_received(self, data: bytes) -> None:
        if self.transport.lingers:  # type: ignore[attr-defined]
            self.transport.discard(len(data))  # type: ignore[attr-defined]
        else:
            super().data_received(data)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect_a_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        super().shutdown()
        self.loop.call_later(GRACE, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        body = b'{"error":"This is no HTTP request, or its address and headers are too long."}'
        length = str(len(body)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length), (b"connection", b"close")]
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return self.transport.abort()
        for event in (
            h11.Response(status_code=400, headers=[*headers, *HEADERS], reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None:  # whoever still waits for a body is told that the caller has gone
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._expect_a_request()
        self.transport.close()

    def _mid_request(self) -> bool:
        return self.conn.their_state in (h11.SEND_BODY, h11.ERROR)

    def _expect_a_request(self) -> None:
        # Single bytes now and then do not move the end: it is set once for each head.
        self._forget()
        self._end = self.loop.call_later(self._limits.seconds, self._give_up)

    def _give_up(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()

    def _forget(self) -> None:
        if self._end is not None:
            self._end.cancel()

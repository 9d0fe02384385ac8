"""How much a caller may send, and how long that may take: what is too large or too slow is refused while it arrives."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from undistract.web.problems import header, problem


@dataclass(frozen=True)
class Limits:
    """What one request may cost.

    Parameters
    ----------
    body_bytes : int
        The largest body.
    head_bytes : int
        The most that the address and all headers may take together.
    seconds : float
        How long a head, and after it a body, may take to arrive.
    rows : int
        The most rows that one call scores.
    lists : int
        The most lists and objects in a body: an empty one is 3 bytes to send and 64 to hold.

    Examples
    --------
    >>> Limits().rows, Limits(seconds=2.0).body_bytes
    (2000, 32000000)
    """

    body_bytes: int = 32_000_000
    head_bytes: int = 32_768
    seconds: float = 30.0
    rows: int = 2000
    lists: int = 5000


class LimitedBody:
    """Refuse a body that is too large or too nested (413), or too slow (408), also where nothing announced it.

    Parameters
    ----------
    app : ASGI application
    limits : Limits

    Examples
    --------
    >>> from undistract.web.limits import LimitedBody
    >>> LimitedBody(None, limits=Limits(body_bytes=1000)).limits.body_bytes
    1000
    """

    def __init__(self, app: ASGIApp, *, limits: Limits) -> None:
        self.app = app
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, counting what arrives."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        announced = header(scope, "content-length")
        if refusal := self._excess(int(announced) if announced.isdecimal() else 0, 0):
            return await refusal(scope, receive, send)

        until = asyncio.get_running_loop().time() + self.limits.seconds
        arrived, opened, complete, started, refused = 0, 0, False, False, False

        async def counted() -> Message:
            nonlocal arrived, opened, complete, refused
            message: Message = {}
            try:
                async with asyncio.timeout_at(None if complete else until):
                    message = await receive()
            except TimeoutError:
                refusal = self._late()
            else:
                body = message.get("body", b"")
                arrived, opened = arrived + len(body), opened + body.count(b"[") + body.count(b"{")
                refusal = self._excess(arrived, opened)
            complete = not message.get("more_body", False)
            if refusal is None:
                return message
            # Answered here and now; whoever reads the body is told that the caller has gone.
            refused = True
            if not started:
                await refusal(scope, receive, send)
            return {"type": "http.disconnect"}

        async def answering(message: Message) -> None:
            nonlocal started
            if not refused:
                started = True
                await send(message)

        try:
            await self.app(scope, counted, answering)
        except Exception:
            if not refused:
                raise

    def _excess(self, arrived: int, opened: int) -> Response | None:
        most, lists = self.limits.body_bytes, self.limits.lists
        if arrived > most:
            return problem(413, f"The body is larger than {most / 1e6:g} MB, the most that is taken. Send it in parts.")
        if opened > lists:
            return problem(413, f"The body holds more than {lists} lists, the most that are taken. Send it in parts.")
        return None

    def _late(self) -> Response | None:
        return problem(408, f"The body did not arrive within {self.limits.seconds:g} seconds. Send less at once.")

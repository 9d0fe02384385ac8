"""How much a caller may send, and how long that may take: what is too large or too slow is refused while it arrives."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

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

    Examples
    --------
    >>> Limits().rows, Limits(seconds=2.0).body_bytes
    (2000, 32000000)
    """

    body_bytes: int = 32_000_000
    head_bytes: int = 32_768
    seconds: float = 30.0
    rows: int = 2000


class LimitedBody:
    """Refuse a body that is too large (413) or too slow (408), also where its length was not announced.

    Parameters
    ----------
    app : ASGI application
    limits : Limits
    """

    def __init__(self, app: ASGIApp, *, limits: Limits) -> None:
        self.app = app
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, counting what arrives."""
        most, seconds = self.limits.body_bytes, self.limits.seconds
        large = problem(413, f"The body is larger than {most / 1e6:g} MB, the most that is taken. Send it in parts.")
        late = problem(408, f"The body did not arrive within {seconds:g} seconds. Send less at once.")
        announced = header(scope, "content-length")
        if scope["type"] != "http" or (announced.isdecimal() and int(announced) > most):
            return await (self.app if scope["type"] != "http" else large)(scope, receive, send)

        clock = asyncio.get_running_loop()
        until = clock.time() + seconds
        arrived, complete, started, refused = 0, False, False, False

        async def counted() -> Message:
            nonlocal arrived, complete, refused
            try:
                async with asyncio.timeout_at(None if complete else until):
                    message = await receive()
                arrived += len(message.get("body", b""))
                complete = not message.get("more_body", False)
                refusal = large if arrived > most else None
            except TimeoutError:
                refusal = late
            if refusal is None:
                return message
            # Answered here and now; whoever reads the body is told that the caller has gone.
            refused = complete = True
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

"""Size and time limits for requests. A body that is too large or too slow is rejected while it arrives."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from undistract.web.errors import error_response, header


@dataclass(frozen=True)
class Limits:
    """Limits of one request."""

    body_bytes: int = 32_000_000
    head_bytes: int = 32_768  # of the URL and all headers together
    seconds: float = 30.0  # for the headers, and again for the body
    rows: int = 2000  # in a scoring request
    # Lists and objects in a body: an empty list takes 3 bytes to send but 64 bytes in memory.
    lists: int = 5000


class BodyLimitMiddleware:
    """Reject a body that is too large or has too many lists (413), or is too slow (408)."""

    def __init__(self, app: ASGIApp, *, limits: Limits) -> None:
        self.app = app
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and count the bytes and lists of its body."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        content_length = header(scope, "content-length")
        if content_length.isdecimal():
            rejection = self._reject(int(content_length), 0)
            if rejection is not None:
                return await rejection(scope, receive, send)

        # Content-Length may be missing or wrong, so the size is counted while the body arrives.
        deadline = asyncio.get_running_loop().time() + self.limits.seconds
        n_bytes = 0
        n_lists = 0
        is_complete = False
        is_started = False
        is_rejected = False

        async def receive_counted() -> Message:
            nonlocal n_bytes, n_lists, is_complete, is_rejected
            message: Message = {}
            try:
                # The body is complete: the app may wait for a disconnect as long as it wants.
                async with asyncio.timeout_at(None if is_complete else deadline):
                    message = await receive()
            except TimeoutError:
                rejection: Response | None = error_response(
                    408, f"The body did not arrive within {self.limits.seconds:g} seconds. Send less at once."
                )
            else:
                body = message.get("body", b"")
                n_bytes += len(body)
                n_lists += body.count(b"[") + body.count(b"{")
                rejection = self._reject(n_bytes, n_lists)
            is_complete = not message.get("more_body", False)
            if rejection is None:
                return message
            # Send the response here; the code that reads the body sees a client that disconnected.
            is_rejected = True
            if not is_started:
                await rejection(scope, receive, send)
            return {"type": "http.disconnect"}

        async def send_unless_rejected(message: Message) -> None:
            nonlocal is_started
            if not is_rejected:
                is_started = True
                await send(message)

        try:
            await self.app(scope, receive_counted, send_unless_rejected)
        except Exception:
            if not is_rejected:
                raise

    def _reject(self, n_bytes: int, n_lists: int) -> Response | None:
        if n_bytes > self.limits.body_bytes:
            megabytes = self.limits.body_bytes / 1e6
            return error_response(413, f"The body is larger than the limit of {megabytes:g} MB. Split it.")
        if n_lists > self.limits.lists:
            return error_response(413, f"The body has more lists than the limit of {self.limits.lists}. Split it.")
        return None

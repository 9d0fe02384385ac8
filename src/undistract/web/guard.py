"""The guard in front of every route: who may come in. What it does not know it refuses.

head not too long ─► Host is ours ─► no other site sent it ─► token ─► the app

It reads `scope["path"]`, never an address put together from what the caller sent.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from hmac import compare_digest
from urllib.parse import parse_qs

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from undistract.web.limits import Limits
from undistract.web.problems import header, problem

# Names that no page of the web can have: the browser itself says that they are this machine.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
COOKIE = "undistract"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = tuple(
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": _POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }.items()
)


class Guard:
    """Let in who knows the token, came to one of our names, and was not sent by another site.

    Parameters
    ----------
    app : ASGI application
    token : str
        In the cookie, or as ``Authorization: Bearer``. ``GET /?token=`` sets the cookie.
    hosts : iterable of str
        Names beside those of this machine; without a port, the one that the server listens on is meant.
    limits : Limits

    Examples
    --------
    >>> import asyncio
    >>> async def told(scope):
    ...     sent = []
    ...     async def send(message): sent.append(message)
    ...     await Guard(None, token="secret", hosts=(), limits=Limits())(scope, None, send)
    ...     return sent[0]["status"]
    >>> call = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "server": ("127.0.0.1", 8765)}
    >>> asyncio.run(told({**call, "headers": [(b"host", b"rebound.example:8765")]}))
    421
    >>> asyncio.run(told({**call, "headers": [(b"host", b"localhost:8765")]}))
    401
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: Iterable[str], limits: Limits) -> None:
        self.app = app
        self.token = token
        self.hosts = tuple(name.lower() for name in (*LOOPBACK, *hosts))
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on; every answer carries the headers that keep a browser in bounds."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        started = False

        async def sealed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                ours = {name for name, _ in HEADERS}
                others = [pair for pair in message.get("headers", ()) if pair[0].lower() not in ours]
                message = {**message, "headers": [*others, *HEADERS]}
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            return await refusal(scope, receive, sealed)
        try:
            await self.app(scope, receive, sealed)
        except Exception:
            logging.getLogger("undistract.web").exception("%s %r failed", scope["method"], scope["path"])
            if started:
                raise  # half an answer must not look like a whole one
            await problem(500, "Something went wrong here; the server's own output says what.")(scope, receive, sealed)

    def _refusal(self, scope: Scope) -> Response | None:
        size = sum(len(name) + len(value) for name, value in scope["headers"]) + len(scope["query_string"])
        if size + len(scope["path"]) > self.limits.head_bytes:
            return problem(431, f"The address and headers are longer than {self.limits.head_bytes} bytes. Send less.")
        host = header(scope, "host").lower()
        if not host or "," in host:
            return problem(400, "The request names no host, or several. Send one Host header.")
        if not self._knows(host, scope):
            return problem(
                421, f"{host!r} is no name of this server. Open it as 127.0.0.1, or start with --allow-host."
            )
        origin, site = header(scope, "origin"), header(scope, "sec-fetch-site")
        if origin and origin.lower() not in (f"http://{host}", f"https://{host}"):
            return problem(403, f"Another site, {origin!r}, sent this. Open this server's own page.")
        if site not in ("", "none", "same-origin"):
            return problem(403, f"Another site sent this ({site!r}). Type the address into the browser, or paste it.")
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["path"] == "/" and scope["method"] == "GET" and any(map(self._is_token, given)):
            return self._welcome(scope)
        if not any(map(self._is_token, _tokens(scope))):
            return problem(
                401,
                "The token is missing or wrong. Open the address that the server printed when it started, "
                "or send 'Authorization: Bearer TOKEN'.",
                {"WWW-Authenticate": "Bearer"},
            )
        return None

    def _knows(self, host: str, scope: Scope) -> bool:
        port = _port(scope)
        ours = {name if _has_port(name) else f"{name}:{port}" for name in self.hosts}
        return bool(ours & ({host} if _has_port(host) else {f"{host}:80", f"{host}:443"}))

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode(), self.token.encode())

    def _welcome(self, scope: Scope) -> Response:
        # Browsers share cookies between ports: with the port in its name, two servers do not log each other out.
        cookie = f"{COOKIE}-{_port(scope)}={self.token}; HttpOnly; SameSite=Strict; Path=/"
        return Response(status_code=303, headers={"Location": "/", "Set-Cookie": cookie})


def names_for(host: str, others: Iterable[str] = ()) -> list[str]:
    """Return the names that callers may use: the address that is listened on, and others, which a proxy may have.

    Examples
    --------
    >>> names_for("192.168.1.5", ["scores.example"])
    ['192.168.1.5', 'scores.example', 'scores.example:80', 'scores.example:443']
    >>> names_for("0.0.0.0")
    []
    """
    own = [] if host in ("0.0.0.0", "::") else [f"[{host}]" if ":" in host else host]
    usual = ("", ":80", ":443")
    return own + [f"{name}{port}" for name in others for port in (("",) if _has_port(name) else usual)]


def _tokens(scope: Scope) -> list[str]:
    """Collect whatever the caller offers as a token."""
    kind, _, given = header(scope, "authorization").partition(" ")
    offered = [given.strip()] if kind.lower() == "bearer" else []
    for pair in header(scope, "cookie").replace(",", ";").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE or name.startswith(f"{COOKIE}-"):
            offered.append(value)
    return offered


def _port(scope: Scope) -> int:
    return (scope.get("server") or ("", None))[1] or 80


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]

"""Authentication and origin checks in front of every route. Anything that is not allowed explicitly is rejected.

header size ─► Host is allowed ─► same origin ─► token ─► the app

The checks read `scope["path"]`, never a URL built from headers of the client.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from hmac import compare_digest
from urllib.parse import parse_qs

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from undistract.web.errors import error_response, header
from undistract.web.limits import Limits

# Against DNS rebinding: a browser resolves these names to this machine itself, so no web page can use them.
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


class AuthMiddleware:
    """Pass on requests that contain the token, use an allowed host name, and do not come from another site.

    The token is in the cookie, which ``GET /?token=`` sets, or in ``Authorization: Bearer``. `hosts` are allowed in
    addition to the loopback names; without a port, the port of the server is used.
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: Iterable[str], limits: Limits) -> None:
        self.app = app
        self.token = token
        self.hosts = tuple(name.lower() for name in (*LOOPBACK, *hosts))
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject a request or pass it on. Every response gets the security headers."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                security_names = {name for name, _ in HEADERS}
                others = [pair for pair in message.get("headers", ()) if pair[0].lower() not in security_names]
                message = {**message, "headers": [*others, *HEADERS]}
            await send(message)

        rejection = self._reject(scope)
        if rejection is not None:
            return await rejection(scope, receive, send_with_headers)
        try:
            await self.app(scope, receive, send_with_headers)
        except Exception:
            logging.getLogger("undistract.web").exception("%s %r failed", scope["method"], scope["path"])
            if started:
                raise  # an incomplete response must not look like a complete one
            response = error_response(500, "Internal error. The output of the server has the details.")
            await response(scope, receive, send_with_headers)

    def _reject(self, scope: Scope) -> Response | None:
        """Return the response that rejects a request, or None if it is allowed."""
        size = sum(len(name) + len(value) for name, value in scope["headers"]) + len(scope["query_string"])
        if size + len(scope["path"]) > self.limits.head_bytes:
            limit = self.limits.head_bytes
            return error_response(431, f"The URL and headers are longer than {limit} bytes. Send shorter ones.")
        host = header(scope, "host").lower()
        if not host or "," in host:
            return error_response(400, "The request must have exactly one Host header.")
        if not self._is_allowed_host(host, scope):
            return error_response(
                421,
                f"{host!r} is not a name of this server. Open it as 127.0.0.1, or start the server with --allow-host.",
            )
        origin = header(scope, "origin")
        if origin and origin.lower() not in (f"http://{host}", f"https://{host}"):
            message = f"The request comes from another site, {origin!r}. Open the page of this server."
            return error_response(403, message)
        site = header(scope, "sec-fetch-site")
        if site not in ("", "none", "same-origin"):
            message = f"The request comes from another site ({site!r}). Type or paste the address into the browser."
            return error_response(403, message)
        query_tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["path"] == "/" and scope["method"] == "GET" and any(map(self._is_token, query_tokens)):
            return self._set_cookie(scope)
        if not any(map(self._is_token, _tokens(scope))):
            return error_response(
                401,
                "The token is missing or wrong. Open the address that the server printed at the start, "
                "or send 'Authorization: Bearer TOKEN'.",
                {"WWW-Authenticate": "Bearer"},
            )
        return None

    def _is_allowed_host(self, host: str, scope: Scope) -> bool:
        port = _port(scope)
        allowed = {name if _has_port(name) else f"{name}:{port}" for name in self.hosts}
        if _has_port(host):
            return host in allowed
        # Browsers leave the default port of the scheme out.
        return f"{host}:80" in allowed or f"{host}:443" in allowed

    def _is_token(self, candidate: str) -> bool:
        return compare_digest(candidate.encode(), self.token.encode())  # in constant time

    def _set_cookie(self, scope: Scope) -> Response:
        # Browsers share cookies between ports. With the port in the name, two servers do not log each other out.
        cookie = f"{COOKIE}-{_port(scope)}={self.token}; HttpOnly; SameSite=Strict; Path=/"
        return Response(status_code=303, headers={"Location": "/", "Set-Cookie": cookie})


def names_for(host: str, others: Iterable[str] = ()) -> list[str]:
    """Return the host names that clients may use: the address of the server, and others, such as those of a proxy.

    Examples
    --------
    >>> names_for("192.168.1.5", ["scores.example"])
    ['192.168.1.5', 'scores.example', 'scores.example:80', 'scores.example:443']
    >>> names_for("0.0.0.0")
    []
    """
    names = []
    if ":" in host and host != "::":
        names.append(f"[{host}]")
    elif host not in ("0.0.0.0", "::"):
        names.append(host)
    for name in others:
        names.append(name)
        if not _has_port(name):
            names += [f"{name}:80", f"{name}:443"]
    return names


def _tokens(scope: Scope) -> list[str]:
    """Return the tokens in the Authorization header and in the cookies."""
    tokens = []
    scheme, _, credentials = header(scope, "authorization").partition(" ")
    if scheme.lower() == "bearer":
        tokens.append(credentials.strip())
    for pair in header(scope, "cookie").replace(",", ";").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE or name.startswith(f"{COOKIE}-"):
            tokens.append(value)
    return tokens


def _port(scope: Scope) -> int:
    return (scope.get("server") or ("", None))[1] or 80


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]

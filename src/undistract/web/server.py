"""Run the app with uvicorn: listen, report the address, and stop cleanly on a signal."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from ipaddress import ip_address
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from undistract.errors import InputError
from undistract.web.limits import Limits
from undistract.web.security import HEADERS

GRACE = 2.0  # seconds for open responses at shutdown; endless streams are cut off after it


class TimeoutProtocol(H11Protocol):
    """uvicorn's protocol with a timeout for headers. uvicorn itself would wait for them forever."""

    def __init__(self, *, limits: Limits, **others: Any) -> None:
        super().__init__(**others)
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        super().shutdown()
        self.loop.call_later(GRACE, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        body = b'{"error":"This is not an HTTP request, or its URL and headers are too long."}'
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
        if self.cycle is not None:  # wake up code that still waits for the body
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._start_timer()
        self.transport.close()

    def _start_timer(self) -> None:
        # The deadline is set once per request, so that single bytes now and then do not extend it.
        self._stop_timer()
        self._timer = self.loop.call_later(self._limits.seconds, self._abort_if_waiting)

    def _abort_if_waiting(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def serve(app: Any, *, host: str, port: int, ready: Callable[[str], None], limits: Limits | None = None) -> None:
    """Serve an app until Ctrl-C or SIGTERM.

    Parameters
    ----------
    app : ASGI application
        From `make_app`.
    host : str
        The address to listen on. With 127.0.0.1 and ::1, other machines cannot connect.
    port : int
        0 for any free port.
    ready : callable
        Called once with the URL of the server, such as ``http://127.0.0.1:8765/``, when it listens. It must return
        quickly.
    limits : Limits, optional

    Examples
    --------
    >>> with socket.create_server(("127.0.0.1", 0)) as other:
    ...     serve(None, host="127.0.0.1", port=other.getsockname()[1], ready=print)
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Port ... of 127.0.0.1 is already in use...
    """
    limits = limits or Limits()
    with _listening(host, port) as server_socket:
        config = uvicorn.Config(
            app,
            http=partial(TimeoutProtocol, limits=limits),  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=5,
            h11_max_incomplete_event_size=limits.head_bytes,
        )
        server = _Server(config, partial(ready, _url(host, server_socket.getsockname()[1])))
        with _stop_on_signals(server):
            server.run(sockets=[server_socket])


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to an address.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "192.168.1.5")]
    [True, True, True, False, False]
    """
    addresses = [str(entry[4][0]).partition("%")[0] for entry in _resolve(host, 0)]  # without the scope of IPv6
    return all(ip_address(address).is_loopback for address in addresses)


class _Server(uvicorn.Server):
    """A uvicorn server that calls back when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._ready()


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family, _, _, _, address = _resolve(host, port)[0]
    with socket.socket(family, socket.SOCK_STREAM) as server_socket:
        if os.name == "posix":  # on Windows, this option would let two servers share a port
            server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server_socket.bind(address)
            server_socket.listen(1024)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                advice = "Stop the other program, or choose another port; 0 for any free port."
                raise InputError(f"Port {port} of {host} is already in use. {advice}") from error
            message = f"Cannot listen on port {port} of {host}: {error.strerror}. Choose another port."
            raise InputError(message) from error
        yield server_socket


@contextmanager
def _stop_on_signals(server: uvicorn.Server) -> Iterator[None]:
    """Let SIGINT and SIGTERM stop the server only. uvicorn raises the signal again after it has stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.signal(number, server.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _resolve(host: str, port: int) -> list[Any]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise InputError(f"{host!r} is not an address of this machine. Use one such as 127.0.0.1.") from error


def _url(host: str, port: int) -> str:
    # Browsers cannot open the wildcard addresses.
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"

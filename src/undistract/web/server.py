"""The server: one process that listens, says so, and ends cleanly when it is told to."""

from __future__ import annotations

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

import uvicorn

from undistract.errors import InputError
from undistract.web.limits import Limits
from undistract.web.protocol import PatientProtocol


def serve(app: Any, *, host: str, port: int, ready: Callable[[str], None], limits: Limits | None = None) -> None:
    """Serve an app until Ctrl-C or SIGTERM.

    Parameters
    ----------
    app : ASGI application
        Such as `make_app` makes.
    host : str
        The address to listen on; only 127.0.0.1 and ::1 keep it to this machine.
    port : int
        0 takes any free one.
    ready : callable
        Called once with the server's address, such as ``http://127.0.0.1:8765/``, when it listens. It must return soon.
    limits : Limits, optional

    Examples
    --------
    >>> with socket.create_server(("127.0.0.1", 0)) as other:
    ...     serve(None, host="127.0.0.1", port=other.getsockname()[1], ready=print)
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: Port ... of 127.0.0.1 is taken...
    """
    limits = limits or Limits()
    with _listening(host, port) as door:
        config = uvicorn.Config(
            app,
            http=partial(PatientProtocol, limits=limits),  # type: ignore[arg-type]
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
        server = _Server(config, partial(ready, _address(host, door.getsockname()[1])))
        with _ending(server):
            server.run(sockets=[door])


def is_loopback(host: str) -> bool:
    """Tell whether an address is of this machine alone.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "192.168.1.5")]
    [True, True, True, False, False]
    """
    return all(ip_address(str(found[4][0]).partition("%")[0]).is_loopback for found in _resolved(host, 0))


class _Server(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._ready()


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family, _, _, _, place = _resolved(host, port)[0]
    with socket.socket(family, socket.SOCK_STREAM) as door:
        if os.name == "posix":  # elsewhere this would let two servers share a port
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind(place)
            door.listen(1024)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise InputError(
                    f"Port {port} of {host} is taken. End what listens there, or choose another; 0 takes any free one."
                ) from error
            raise InputError(f"Cannot listen on port {port} of {host}: {error.strerror}. Choose another.") from error
        yield door


@contextmanager
def _ending(server: uvicorn.Server) -> Iterator[None]:
    """Let signals end the server and nothing else: it raises them again when it has ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {sign: signal.signal(sign, server.handle_exit) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


def _resolved(host: str, port: int) -> list[Any]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise InputError(f"There is no address {host!r} here. Give one of this machine, such as 127.0.0.1.") from error


def _address(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"

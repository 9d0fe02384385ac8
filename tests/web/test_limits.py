"""Requests that are too large or too slow are rejected while they arrive; others are not affected."""

import json
import socket
import time
from contextlib import ExitStack, suppress
from select import select

import pytest

pytest.importorskip("fastapi", reason='needs FastAPI: pip install "undistract[web]"')
pytest.importorskip("httpx")

import httpx

from tests.web.asking import OURS, TOKEN, ask
from tests.web.running import serving
from undistract.web.app import make_app
from undistract.web.limits import Limits

BEARER = {"Authorization": f"Bearer {TOKEN}"}
JSON = BEARER | {"Content-Type": "application/json"}
MB = b"0" * 1_000_000
SECONDS = 3.0
PATIENCE = 8.0  # seconds until a client that keeps sending must be disconnected


@pytest.fixture(scope="module")
def impatient(model_file):
    """Run a server with a time limit of three seconds."""
    with serving(model_file, seconds=SECONDS) as running:
        yield running


def head(server, more, *, method="POST", target="/score", length=None):
    lines = [f"{method} {target} HTTP/1.1", f"Host: {server.place[0]}:{server.place[1]}", *more]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return "\r\n".join(lines).encode()


def closed_after(line, since):
    """Read until the server closes the connection; return the data and the duration."""
    line.settimeout(20)
    data = b""
    try:
        while chunk := line.recv(65536):
            data += chunk
    except ConnectionResetError:
        pass
    return data, time.monotonic() - since


@pytest.mark.parametrize(("token", "length", "status"), [(TOKEN, 32_000_001, b"413"), ("wrong", 1000, b"401")])
def test_rejected_body_is_not_read(server, token, length, status):
    with socket.create_connection(server.place) as line:
        line.sendall(head(server, [f"Authorization: Bearer {token}"], length=length) + b"\r\n\r\n")
        line.settimeout(10)
        data = b""
        while not data.endswith(b"}"):
            data += line.recv(65536)
    assert data.split(b" ")[1] == status
    assert b'{"error":' in data


def test_chunked_body_is_rejected_when_it_is_too_large(server):
    with httpx.Client(timeout=60) as client:
        reply = client.post(f"{server.url}score", headers=JSON, content=(MB for _ in range(64)))
        assert (reply.status_code, list(reply.json())) == (413, ["error"])
        # The server still works, and a body within the limit is read completely.
        assert client.post(f"{server.url}score", headers=JSON, content=MB * 32).status_code == 422


@pytest.mark.parametrize("n_chunks", [1, 5])
def test_size_is_counted_over_all_chunks(model, n_chunks):
    rows = json.dumps({"rows": [[0.0] * 8] * 20}).encode()
    size = -(-len(rows) // n_chunks)
    chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
    for limit, status in ((len(rows), 200), (len(rows) - 1, 413)):
        app = make_app(token=TOKEN, model=model, limits=Limits(body_bytes=limit))
        assert ask(app, "POST", "/score", {**OURS, "content-type": "application/json"}, chunks).status == status


@pytest.mark.parametrize(
    "lines",
    [
        ["X-Long: " + "x" * 40_000],
        ["X-Long: " + "x" * 2_000_000],
        [f"X-{number}: {'x' * 100}" for number in range(1000)],
        ["Cookie: " + "a=b; " * 10_000],
    ],
)
def test_long_headers_are_rejected(server, lines):
    with socket.create_connection(server.place) as line:
        line.sendall(head(server, [*lines, f"Authorization: Bearer {TOKEN}", "Connection: close"]) + b"\r\n\r\n")
        data, _ = closed_after(line, time.monotonic())
    assert data.split(b" ")[1] in (b"400", b"431")
    assert b'{"error":' in data


@pytest.mark.parametrize("data", [b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"x\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"])
def test_invalid_http_gives_a_json_error(server, data):
    with socket.create_connection(server.place) as line:
        line.sendall(data)
        answer, _ = closed_after(line, time.monotonic())
    top, _, body = answer.partition(b"\r\n\r\n")
    assert top.startswith(b"HTTP/1.1 400 ")
    assert b"content-security-policy: default-src 'none'" in top
    assert list(json.loads(body)) == ["error"]


@pytest.mark.parametrize(("chunk", "pause"), [(b"x", 0.05), (MB, 0.0)])
def test_client_that_never_stops_sending_is_disconnected(server, chunk, pause):
    with socket.create_connection(server.place) as line:
        line.sendall(b"no http\r\n\r\n")
        assert select([line], [], [], 10)[0]
        line.settimeout(20)
        since, sent = time.monotonic(), 0
        with suppress(ConnectionError):
            while time.monotonic() - since < PATIENCE:
                sent += line.send(chunk)
                time.sleep(pause)
    assert time.monotonic() - since < PATIENCE
    assert sent < 2 * Limits().body_bytes  # plus the buffers of both sides


def test_two_hundred_slow_clients_do_not_block_others(impatient):
    assert client_can_still_score(impatient)  # load everything before measuring times
    request = head(impatient, [f"Authorization: Bearer {TOKEN}", "Content-Type: application/json"], length=1000)
    with ExitStack() as stack:
        since = time.monotonic()
        lines = []
        for number in range(200):
            line = stack.enter_context(socket.create_connection(impatient.place))
            # One third sends nothing, one third half of the headers, one third headers and half of a body.
            line.sendall((b"", request[:40], request + b"\r\n\r\n{")[number % 3])
            lines.append(line)
        with httpx.Client(timeout=10) as client:
            began = time.monotonic()
            assert client.get(f"{impatient.url}health", headers=BEARER).status_code == 200
            row = {"rows": [[0.0] * 8]}
            assert client.post(f"{impatient.url}score", headers=BEARER, json=row).status_code == 200
            answered = time.monotonic() - began
        # Far below the time limit, so no client waited for a slow one.
        assert answered < SECONDS / 2
        ends = []
        for number, line in enumerate(lines):
            if number % 3 == 1:
                with suppress(ConnectionError):
                    line.sendall(b"X-Drip: 1\r\n")  # single lines do not extend the time limit
            data, after = closed_after(line, since)
            ends.append(after)
            if number % 3 == 2:
                assert data.startswith(b"HTTP/1.1 408 ")
            else:
                assert data == b""
        assert max(ends) < 4 * SECONDS  # slow bodies: the response 408, then the same time limit again
        assert client_can_still_score(impatient)


def client_can_still_score(server):
    with httpx.Client(timeout=10) as client:
        return client.post(f"{server.url}score", headers=BEARER, json={"rows": [[1.0] * 8]}).status_code == 200


def test_kept_connection_can_outlast_the_time_limit(impatient):
    began = time.monotonic()
    with httpx.Client(timeout=10, limits=httpx.Limits(max_connections=1)) as client:
        while time.monotonic() - began < SECONDS + 1:
            assert client.get(f"{impatient.url}health", headers=BEARER).status_code == 200
            time.sleep(0.2)

"""What is too large or too slow is refused while it arrives, and others are answered meanwhile."""

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
from undistract.web.lingering import PATIENCE

BEARER = {"Authorization": f"Bearer {TOKEN}"}
JSON = BEARER | {"Content-Type": "application/json"}
MB = b"0" * 1_000_000
SECONDS = 3.0


@pytest.fixture(scope="module")
def impatient(model_file):
    """A server whose patience ends after three seconds."""
    with serving(model_file, seconds=SECONDS) as running:
        yield running


def head(server, more, *, method="POST", target="/score", length=None):
    lines = [f"{method} {target} HTTP/1.1", f"Host: {server.place[0]}:{server.place[1]}", *more]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return "\r\n".join(lines).encode()


def closed_after(line, since):
    """Read until the server hangs up; say what it said and after how long."""
    line.settimeout(20)
    said = b""
    try:
        while piece := line.recv(65536):
            said += piece
    except ConnectionResetError:
        pass
    return said, time.monotonic() - since


@pytest.mark.parametrize(("token", "length", "status"), [(TOKEN, 32_000_001, b"413"), ("wrong", 1000, b"401")])
def test_a_body_that_is_refused_is_not_even_read(server, token, length, status):
    with socket.create_connection(server.place) as line:
        line.sendall(head(server, [f"Authorization: Bearer {token}"], length=length) + b"\r\n\r\n")
        line.settimeout(10)
        said = b""
        while not said.endswith(b"}"):
            said += line.recv(65536)
    assert said.split(b" ")[1] == status
    assert b'{"error":' in said


def test_a_body_that_was_not_announced_is_refused_as_soon_as_it_is_too_large(server):
    with httpx.Client(timeout=60) as client:
        reply = client.post(f"{server.url}score", headers=JSON, content=(MB for _ in range(64)))
        assert (reply.status_code, list(reply.json())) == (413, ["error"])
        # The same server still answers, and a body just within the limit is read to its end.
        assert client.post(f"{server.url}score", headers=JSON, content=MB * 32).status_code == 422


@pytest.mark.parametrize("n_chunks", [1, 5])
def test_the_largest_body_is_counted_over_all_its_pieces(model, n_chunks):
    rows = json.dumps({"rows": [[0.0] * 8] * 20}).encode()
    size = -(-len(rows) // n_chunks)
    pieces = [rows[start : start + size] for start in range(0, len(rows), size)]
    for limit, status in ((len(rows), 200), (len(rows) - 1, 413)):
        app = make_app(token=TOKEN, model=model, limits=Limits(body_bytes=limit))
        assert ask(app, "POST", "/score", {**OURS, "content-type": "application/json"}, pieces).status == status


@pytest.mark.parametrize(
    "lines",
    [
        ["X-Long: " + "x" * 40_000],
        ["X-Long: " + "x" * 2_000_000],
        [f"X-{number}: {'x' * 100}" for number in range(1000)],
        ["Cookie: " + "a=b; " * 10_000],
    ],
)
def test_heads_without_end_are_refused_in_words(server, lines):
    with socket.create_connection(server.place) as line:
        line.sendall(head(server, [*lines, f"Authorization: Bearer {TOKEN}", "Connection: close"]) + b"\r\n\r\n")
        said, _ = closed_after(line, time.monotonic())
    assert said.split(b" ")[1] in (b"400", b"431")
    assert b'{"error":' in said


@pytest.mark.parametrize("said", [b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"x\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"])
def test_what_is_no_http_is_told_so_in_json_with_the_usual_headers(server, said):
    with socket.create_connection(server.place) as line:
        line.sendall(said)
        answer, _ = closed_after(line, time.monotonic())
    top, _, body = answer.partition(b"\r\n\r\n")
    assert top.startswith(b"HTTP/1.1 400 ")
    assert b"content-security-policy: default-src 'none'" in top
    assert list(json.loads(body)) == ["error"]


def raw(server, token, *more):
    lines = [f"Authorization: Bearer {token}", "Content-Type: application/json", "Connection: close", *more]
    return head(server, lines) + b"\r\n\r\n"


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (lambda server: b"no http\r\n\r\n", b"400"),
        (lambda server: head(server, ["X-Long: " + "x" * 40_000]), b"400"),
        (lambda server: raw(server, "wrong", "Content-Length: 9000000"), b"401"),
        (lambda server: raw(server, TOKEN, "Content-Length: 33000000"), b"413"),
        (lambda server: raw(server, TOKEN, "Content-Length: 9000000") + b"[" * 6000, b"413"),
        (lambda server: raw(server, TOKEN, "Transfer-Encoding: chunked") + b"no number\r\n", b"400"),
    ],
)
def test_who_talks_on_after_a_refusal_still_hears_all_of_it(server, said, status):
    # Closed over unread bytes, the connection was reset, and once the reset overtook the words of the answer.
    with socket.create_connection(server.place) as line:
        line.sendall(said(server))
        assert select([line], [], [], 10)[0]
        for _ in range(8):
            line.sendall(MB)
        line.shutdown(socket.SHUT_WR)
        top, _, body = b"".join(iter(lambda: line.recv(65536), b"")).partition(b"\r\n\r\n")
    assert top.split(b" ")[1] == status
    assert list(json.loads(body)) == ["error"]


@pytest.mark.parametrize(("piece", "pause"), [(b"x", 0.05), (MB, 0.0)])
def test_who_never_stops_talking_after_a_refusal_is_dropped(server, piece, pause):
    with socket.create_connection(server.place) as line:
        line.sendall(b"no http\r\n\r\n")
        assert select([line], [], [], 10)[0]
        line.settimeout(20)
        since, sent = time.monotonic(), 0
        with suppress(ConnectionError):
            while time.monotonic() - since < 4 * PATIENCE:
                sent += line.send(piece)
                time.sleep(pause)
    assert time.monotonic() - since < 4 * PATIENCE
    assert sent < 2 * Limits().body_bytes  # and what lay in between, in the buffers of both sides


def test_two_hundred_slow_callers_keep_nobody_waiting_and_are_dropped(impatient):
    assert client_can_still_score(impatient)  # what is loaded once is not what is timed
    whole = head(impatient, [f"Authorization: Bearer {TOKEN}", "Content-Type: application/json"], length=1000)
    with ExitStack() as stack:
        since = time.monotonic()
        lines = []
        for number in range(200):
            line = stack.enter_context(socket.create_connection(impatient.place))
            # A third says nothing, a third half a head, a third a whole head and half a body.
            line.sendall((b"", whole[:40], whole + b"\r\n\r\n{")[number % 3])
            lines.append(line)
        with httpx.Client(timeout=10) as client:
            began = time.monotonic()
            assert client.get(f"{impatient.url}health", headers=BEARER).status_code == 200
            row = {"rows": [[0.0] * 8]}
            assert client.post(f"{impatient.url}score", headers=BEARER, json=row).status_code == 200
            answered = time.monotonic() - began
        # Far below the patience of the server, so nobody waited for a slow one to be dropped.
        assert answered < SECONDS / 2
        ends = []
        for number, line in enumerate(lines):
            if number % 3 == 1:
                with suppress(ConnectionError):
                    line.sendall(b"X-Drip: 1\r\n")  # a little now and then does not help
            said, after = closed_after(line, since)
            ends.append(after)
            assert said.startswith(b"HTTP/1.1 408 ") if number % 3 == 2 else said == b""
        assert max(ends) < 4 * SECONDS  # slow bodies: the answer 408, then the same patience again
        assert client_can_still_score(impatient)


def client_can_still_score(server):
    with httpx.Client(timeout=10) as client:
        return client.post(f"{server.url}score", headers=BEARER, json={"rows": [[1.0] * 8]}).status_code == 200


def test_a_kept_connection_serves_many_requests_longer_than_the_patience(impatient):
    began = time.monotonic()
    with httpx.Client(timeout=10, limits=httpx.Limits(max_connections=1)) as client:
        while time.monotonic() - began < SECONDS + 1:
            assert client.get(f"{impatient.url}health", headers=BEARER).status_code == 200
            time.sleep(0.2)

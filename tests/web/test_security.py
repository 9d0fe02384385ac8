"""Requests without the token, with another host name, or from another site are rejected."""

import asyncio
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason='needs FastAPI: pip install "undistract[web]"')

from tests.web.asking import HOST, OURS, PORT, TOKEN, ask, post, routes_of
from undistract.errors import FileError
from undistract.web.app import make_app
from undistract.web.security import HEADERS, names_for

WITHOUT = {"host": f"{HOST}:{PORT}"}
REFUSED = {
    "no token": (401, WITHOUT),
    "empty token": (401, WITHOUT | {"authorization": "Bearer "}),
    "wrong token": (401, WITHOUT | {"authorization": f"Bearer {TOKEN}x"}),
    "another scheme": (401, WITHOUT | {"authorization": f"Basic {TOKEN}"}),
    "wrong cookie": (401, WITHOUT | {"cookie": f"undistract={TOKEN[:-1]}"}),
    "another cookie": (401, WITHOUT | {"cookie": f"other={TOKEN}"}),
    "token not in ASCII": (401, WITHOUT | {"authorization": "Bearer \xe9\xff"}),
    "another host": (421, OURS | {"host": "evil.example"}),
    "rebound host": (421, OURS | {"host": f"evil.example:{PORT}"}),
    "our name in another": (421, OURS | {"host": f"127.0.0.1.evil.example:{PORT}"}),
    "our name with a dot": (421, OURS | {"host": f"localhost.:{PORT}"}),
    "our name behind a user": (421, OURS | {"host": f"{HOST}:{PORT}@evil.example"}),
    "another port": (421, OURS | {"host": "localhost:80"}),
    "no port": (421, OURS | {"host": "localhost"}),
    "any address": (421, OURS | {"host": f"0.0.0.0:{PORT}"}),
    "forwarded host": (421, OURS | {"host": "evil.example", "x-forwarded-host": f"{HOST}:{PORT}"}),
    "no host": (400, {"authorization": OURS["authorization"]}),
    "two hosts": (400, [*OURS.items(), ("host", "evil.example")]),
    "foreign origin": (403, OURS | {"origin": "https://evil.example"}),
    "null origin": (403, OURS | {"origin": "null"}),
    "origin on another port": (403, OURS | {"origin": f"http://{HOST}:9999"}),
    "origin by another name": (403, OURS | {"origin": f"http://localhost:{PORT}"}),
    "two origins": (403, [*OURS.items(), ("origin", f"http://{HOST}:{PORT}"), ("origin", "https://evil.example")]),
    "sent by another site": (403, OURS | {"sec-fetch-site": "cross-site"}),
    "sent by a subdomain": (403, OURS | {"sec-fetch-site": "same-site"}),
    "unknown value of the header": (403, OURS | {"sec-fetch-site": "new-word"}),
    "a long header": (431, OURS | {"x-long": "x" * 40_000}),
    "many headers": (431, [*OURS.items(), *((f"x-{number}", "x" * 100) for number in range(400))]),
}


@pytest.fixture(scope="module", params=["service", "review"])
def app(request, model):
    if request.param == "service":
        return make_app(token=TOKEN, model=model)
    pytest.importorskip("undistract.web.review_api", reason="the review API is not available")
    # A rejected request never reaches the session.
    return make_app(token=TOKEN, model=model, session=object())


@pytest.mark.parametrize("case", list(REFUSED))
def test_every_route_rejects(app, case):
    status, headers = REFUSED[case]
    routes = sorted(set(routes_of(app.routes)))
    assert {("POST", "/score"), ("GET", "/openapi.json"), ("GET", "/static/1"), ("GET", "/health")} <= set(routes)
    for method, path in [*routes, ("GET", "/"), ("GET", "/no-such-route"), ("OPTIONS", "/score"), ("PUT", "/health")]:
        reply = ask(app, method, path, headers)
        assert reply.status == status, (method, path)
        assert list(reply.json()) == ["error"]
        assert_security_headers(reply)


def assert_security_headers(reply):
    for name, value in HEADERS:
        assert reply.headers[name.decode()] == value.decode()
    assert reply.headers.get("access-control-allow-origin") is None


@pytest.mark.parametrize("path", ["/health", "/model", "/metrics", "/openapi.json"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"host": f"LocalHost:{PORT}"},
        {"host": f"[::1]:{PORT}"},
        {"origin": f"http://{HOST}:{PORT}", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
        {"authorization": "none", "cookie": f"theme=dark; undistract={TOKEN}"},
        {"authorization": "none", "cookie": f"undistract-9999=of-another-server; undistract-{PORT}={TOKEN}"},
    ],
)
def test_requests_with_the_token_are_allowed(model, path, more):
    reply = ask(make_app(token=TOKEN, model=model), "GET", path, OURS | more)
    assert reply.status == 200
    assert_security_headers(reply)


def test_token_in_the_url_groups_a_cookie_and_redirects():
    app = make_app(token=TOKEN)
    reply = ask(app, "GET", f"/?token={TOKEN}", WITHOUT | {"sec-fetch-site": "none"})
    assert (reply.status, reply.headers["location"]) == (303, "/")
    name, *attributes = reply.headers["set-cookie"].split("; ")
    assert set(attributes) == {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert_security_headers(reply)
    assert ask(app, "GET", "/health", WITHOUT | {"cookie": name}).status == 200


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        ("GET", "/?token=wrong", {}),
        ("GET", "/?token=", {}),
        ("GET", f"/?Token={TOKEN}", {}),
        ("POST", f"/?token={TOKEN}", {}),
        ("GET", f"/health?token={TOKEN}", {}),
        ("GET", f"//?token={TOKEN}", {}),
        ("GET", f"/?token={TOKEN}", {"sec-fetch-site": "cross-site"}),
        ("GET", f"/?token={TOKEN}", {"host": f"evil.example:{PORT}"}),
    ],
)
def test_token_in_other_urls_is_rejected(method, target, headers):
    reply = ask(make_app(token=TOKEN), method, target, WITHOUT | headers)
    assert reply.status in (401, 403, 421)
    assert "set-cookie" not in reply.headers


def test_allowed_host_names_are_bound_to_their_ports():
    app = make_app(token=TOKEN, hosts=[f"scores.example:{PORT}", *names_for("fd00::5", ["proxy.example"])])
    statuses = {
        host: ask(app, "GET", "/health", OURS | {"host": host}).status
        for host in (
            f"scores.example:{PORT}",
            f"proxy.example:{PORT}",
            "proxy.example",
            f"[fd00::5]:{PORT}",
            "scores.example",
            "proxy.example:99",
            "[fd00::5]",
        )
    }
    assert list(statuses.values()) == [200, 200, 200, 200, 421, 421, 421]
    behind = OURS | {"host": "proxy.example", "origin": "https://proxy.example"}
    assert ask(app, "GET", "/health", behind).status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "X"])
def test_other_methods_are_not_allowed(app, method):
    for route_method, path in routes_of(app.routes):
        assert route_method in ("GET", "HEAD", "POST")
        reply = ask(app, method, path)
        assert (reply.status, list(reply.json())) == (405, ["error"])
        assert_security_headers(reply)


def test_web_sockets_are_rejected(model):
    sent = []

    async def send(message):
        sent.append(message)

    headers = [(name.encode(), value.encode()) for name, value in OURS.items()]
    scope = {"type": "websocket", "path": "/score", "headers": headers, "query_string": b"", "server": (HOST, PORT)}
    asyncio.run(make_app(token=TOKEN, model=model)(scope, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_internal_error_does_not_leak_details(caplog):
    app = make_app(token=TOKEN)

    @app.get("/fails")
    def fail():
        raise RuntimeError("a secret detail")

    reply = ask(app, "GET", "/fails")
    assert (reply.status, list(reply.json())) == (500, ["error"])
    assert "secret" not in reply.body.decode()
    assert "a secret detail" in caplog.text
    assert_security_headers(reply)


def test_full_disk_gives_a_status_that_the_page_retries():
    routes = pytest.importorskip("undistract.web.review_api", reason="the review API is not available")

    class FullDisk:
        def record(self, verdict):
            raise FileError("days.review cannot be written: no space is left.")

    key, item = "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "0-1-2"
    reply = post(
        make_app(token=TOKEN, session=FullDisk()), "/api/verdicts", {"key": key, "item": item, "answer": "unsure"}
    )
    assert (reply.status, reply.json()) == (507, {"error": "days.review cannot be written: no space is left."})
    outbox = (Path(routes.__file__).parent / "static" / "outbox.js").read_text(encoding="utf-8")
    assert (
        "507" not in re.search(r"FINAL = new Set\(\[(.*?)\]", outbox)[1]
    )  # the page does not repeat requests with these


def test_documentation_pages_are_off(model):
    app = make_app(token=TOKEN, model=model)
    assert {ask(app, "GET", path).status for path in ("/docs", "/redoc", "/docs/oauth2-redirect")} == {404}


def test_error_is_json_and_never_html(model):
    app = make_app(token=TOKEN, model=model)
    reply = ask(app, "GET", "/<script>alert(1)</script>")
    assert (reply.status, reply.headers["content-type"]) == (404, "application/json")
    assert json.loads(reply.body)["error"].startswith("There is nothing at '/<script>")

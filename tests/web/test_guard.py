"""Nobody comes in without the token, by another name, or sent by another site."""

import asyncio
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason='needs FastAPI: pip install "undistract[web]"')

from tests.web.asking import HOST, OURS, PORT, TOKEN, ask, post, routes_of
from undistract.errors import FileError
from undistract.web.app import make_app
from undistract.web.guard import HEADERS, names_for

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
    "sent by a neighbour": (403, OURS | {"sec-fetch-site": "same-site"}),
    "sent by who knows": (403, OURS | {"sec-fetch-site": "new-word"}),
    "a long header": (431, OURS | {"x-long": "x" * 40_000}),
    "many headers": (431, [*OURS.items(), *((f"x-{number}", "x" * 100) for number in range(400))]),
}


@pytest.fixture(scope="module", params=["service", "review"])
def app(request, model):
    if request.param == "service":
        return make_app(token=TOKEN, model=model)
    pytest.importorskip("undistract.web.review_routes", reason="the review's routes are not there")
    # Who is refused never gets as far as the desk.
    return make_app(token=TOKEN, model=model, desk=object())


@pytest.mark.parametrize("case", list(REFUSED))
def test_every_route_refuses(app, case):
    status, headers = REFUSED[case]
    walked = sorted(set(routes_of(app.routes)))
    assert {("POST", "/score"), ("GET", "/openapi.json"), ("GET", "/static/1"), ("GET", "/health")} <= set(walked)
    for method, path in [*walked, ("GET", "/"), ("GET", "/no-such-route"), ("OPTIONS", "/score"), ("PUT", "/health")]:
        reply = ask(app, method, path, headers)
        assert reply.status == status, (method, path)
        assert list(reply.json()) == ["error"]
        assert_sealed(reply)


def assert_sealed(reply):
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
def test_who_knows_the_token_comes_in(model, path, more):
    reply = ask(make_app(token=TOKEN, model=model), "GET", path, OURS | more)
    assert reply.status == 200
    assert_sealed(reply)


def test_the_address_with_the_token_sets_a_strict_cookie_and_takes_it_out_of_the_address():
    app = make_app(token=TOKEN)
    reply = ask(app, "GET", f"/?token={TOKEN}", WITHOUT | {"sec-fetch-site": "none"})
    assert (reply.status, reply.headers["location"]) == (303, "/")
    name, *attributes = reply.headers["set-cookie"].split("; ")
    assert set(attributes) == {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert_sealed(reply)
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
def test_the_token_in_an_address_opens_nothing_else(method, target, headers):
    reply = ask(make_app(token=TOKEN), method, target, WITHOUT | headers)
    assert reply.status in (401, 403, 421)
    assert "set-cookie" not in reply.headers


def test_a_name_that_was_allowed_is_ours_on_its_ports_alone():
    app = make_app(token=TOKEN, hosts=[f"scores.example:{PORT}", *names_for("fd00::5", ["proxy.example"])])
    found = {
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
    assert list(found.values()) == [200, 200, 200, 200, 421, 421, 421]
    behind = OURS | {"host": "proxy.example", "origin": "https://proxy.example"}
    assert ask(app, "GET", "/health", behind).status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "X"])
def test_other_methods_do_not_work_anywhere(app, method):
    for known, path in routes_of(app.routes):
        assert known in ("GET", "HEAD", "POST")
        reply = ask(app, method, path)
        assert (reply.status, list(reply.json())) == (405, ["error"])
        assert_sealed(reply)


def test_web_sockets_are_refused_whatever_they_know(model):
    sent = []

    async def send(message):
        sent.append(message)

    headers = [(name.encode(), value.encode()) for name, value in OURS.items()]
    scope = {"type": "websocket", "path": "/score", "headers": headers, "query_string": b"", "server": (HOST, PORT)}
    asyncio.run(make_app(token=TOKEN, model=model)(scope, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_an_accident_is_told_in_one_sentence_and_keeps_its_secrets(caplog):
    app = make_app(token=TOKEN)

    @app.get("/accident")
    def accident():
        raise RuntimeError("the secret of the house")

    reply = ask(app, "GET", "/accident")
    assert (reply.status, list(reply.json())) == (500, ["error"])
    assert "secret" not in reply.body.decode()
    assert "the secret of the house" in caplog.text
    assert_sealed(reply)


def test_an_answer_that_finds_the_disk_full_is_refused_so_that_the_page_sends_it_again():
    routes = pytest.importorskip("undistract.web.review_routes", reason="the review's routes are not there")

    class FullDisk:
        def record(self, verdict):
            raise FileError("days.review cannot be written: no space is left.")

    key, item = "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "0-1-2"
    reply = post(
        make_app(token=TOKEN, desk=FullDisk()), "/api/verdicts", {"key": key, "item": item, "answer": "unsure"}
    )
    assert (reply.status, reply.json()) == (507, {"error": "days.review cannot be written: no space is left."})
    outbox = (Path(routes.__file__).parent / "static" / "outbox.js").read_text(encoding="utf-8")
    assert "507" not in re.search(r"FINAL = new Set\(\[(.*?)\]", outbox)[1]  # those are never sent again


def test_pages_of_documentation_that_load_scripts_of_others_are_off(model):
    app = make_app(token=TOKEN, model=model)
    assert {ask(app, "GET", path).status for path in ("/docs", "/redoc", "/docs/oauth2-redirect")} == {404}


def test_what_was_sent_is_told_as_text_that_no_page_can_run(model):
    app = make_app(token=TOKEN, model=model)
    reply = ask(app, "GET", "/<script>alert(1)</script>")
    assert (reply.status, reply.headers["content-type"]) == (404, "application/json")
    assert json.loads(reply.body)["error"].startswith("There is nothing at '/<script>")

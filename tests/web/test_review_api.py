"""The review API without a browser: responses follow the schema, errors are one message."""

import json
from uuid import uuid4

import pytest

from tests.web import reviews
from tests.web.asking import OURS, TOKEN, ask, post, routes_of
from tests.web.browsing import events

pytest.importorskip("fastapi", reason="needs fastapi: pip install 'undistract[web]'")
httpx = pytest.importorskip("httpx", reason="needs httpx: pip install httpx")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return reviews.table(tmp_path_factory.mktemp("table"))


@pytest.fixture
def desk(files, tmp_path):
    with files.desk(tmp_path / "days.review") as session:
        yield session


@pytest.fixture
def app(desk):
    from undistract.web.app import make_app

    return make_app(token=TOKEN, hosts=[], session=desk)


@pytest.fixture
def first(desk):
    return desk.queue()["items"][0]["id"]


def calling(address):
    """Return a client of a running server."""
    return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)


def verdict(item, **others):
    return {"key": str(uuid4()), "item": item, "answer": "false_alarm", **others}


def test_responses_equal_those_of_the_session(app, desk, first):
    assert ask(app, "GET", "/api/about").json() == desk.about()
    assert ask(app, "GET", "/api/queue?offset=2&limit=3").json() == desk.queue(2, 3)
    assert ask(app, "GET", "/api/groups/1/track?start=10&stop=90&width=20").json() == desk.track(1, 10, 90, 20)
    shown = ask(app, "GET", f"/api/items/{first}").json()
    assert {**shown, "explanation": None} == {**desk.item(first), "explanation": None}
    recorded = post(app, "/api/verdicts", verdict(first, who="Anna", note="noon")).json()
    desk.wait_for(recorded["event"])
    assert ask(app, "GET", "/api/summary").json() == desk.summary()
    assert ask(app, "GET", "/api/changes?version=1").json() == desk.changes(1)
    history = ask(app, "GET", f"/api/items/{first}").json()["history"]
    assert [(event["who"], event["note"]) for event in history] == [("Anna", "noon")]


def test_repeated_verdict_counts_once_and_its_key_is_unique(app, desk, first):
    body = verdict(first)
    assert post(app, "/api/verdicts", body).json() == post(app, "/api/verdicts", body).json()
    assert len(events(desk)) == 1
    changed = post(app, "/api/verdicts", {**body, "answer": "anomaly"})
    assert changed.status == 409
    assert body["key"] in changed.json()["error"]
    assert post(app, "/api/withdrawals", {"key": str(uuid4()), "of": body["key"]}).json()["event"] == 2
    assert post(app, "/api/withdrawals", {"key": str(uuid4()), "of": str(uuid4())}).status == 409


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/items/7-0-1", 404),
        ("/api/items/0-5-999999", 404),
        ("/api/items/..%2f..%2fetc%2fpasswd", 404),
        ("/api/items/abc", 422),
        ("/api/items/0-0-1/picture.png", 404),
        ("/api/items/0-0-1/picture.png?view=all", 422),
        ("/api/items/0-0-1/clip.mp4", 404),
        ("/api/groups/9/track", 404),
        ("/api/groups/0/track?width=100000", 422),
        ("/api/groups/0/track?start=50&stop=10", 409),
        ("/api/summary/directions/99.png", 404),
        ("/api/queue?limit=2001", 422),
        ("/api/queue?offset=-1", 422),
        ("/api/preview.png?item=0-0-1&strength=0", 422),
    ],
)
def test_errors_are_one_message(app, path, status):
    reply = ask(app, "GET", path)
    assert reply.status == status
    assert list(reply.json()) == ["error"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"answer": "maybe"}, {"strength": 0}, {"strength": "1"}, {"strength": 101}, {"scope": "here"}, {"key": "1"},
        {"key": str(uuid4()).upper()}, {"who": "x" * 201}, {"note": "x" * 2001}, {"expires": -1}, {"item": "0-1"},
        {"when": 5}, {"extra": 1}, {"item": "0-9-4"}, {"answer": None},
    ],
)  # fmt: skip
def test_invalid_verdict_is_not_recorded(app, desk, first, wrong):
    reply = post(app, "/api/verdicts", {**verdict(first), **wrong})
    assert reply.status in (404, 409, 422)
    assert list(reply.json()) == ["error"]
    assert events(desk) == []


@pytest.mark.parametrize(("kind", "media"), [("csv", "text/csv"), ("json", "application/json")])
def test_exports_are_downloads(app, desk, first, kind, media):
    desk.record(verdict(first, note="<b>"))
    reply = ask(app, "GET", f"/api/export.{kind}")
    assert reply.headers["content-type"].startswith(media)
    assert reply.headers["content-disposition"] == f'attachment; filename="verdicts.{kind}"'
    assert reply.body == desk.export(kind)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": OURS["host"]}, 401),
        ({**OURS, "host": "rebound.example"}, 421),
        ({**OURS, "origin": "http://evil.example"}, 403),
        ({**OURS, "sec-fetch-site": "same-site"}, 403),
    ],
)
def test_every_route_needs_authentication(app, desk, headers, status):
    routes = [(method, path) for method, path in routes_of(app.routes)]
    assert len([path for _, path in routes if path.startswith("/api/")]) >= 15
    for method, path in routes:
        assert ask(app, method, path, headers).status == status, (method, path)
    assert events(desk) == []


def test_event_stream_reports_verdicts_and_rankings(serve, files, first, tmp_path):
    with (
        calling(serve(files.desk(tmp_path / "events.review"))) as client,
        client.stream("GET", "/api/events") as stream,
    ):
        assert stream.headers["content-type"].startswith("text/event-stream")
        messages = (json.loads(line.removeprefix("data: ")) for line in stream.iter_lines() if line[:5] == "data:")
        assert next(messages) == {"version": 1, "event": 0}
        recorded = client.post("/api/verdicts", json=verdict(first)).json()
        for message in messages:
            assert message["event"] == recorded["event"]
            if message["version"] > 1:
                break


def test_event_stream_ends_with_the_session(serve, files, tmp_path):
    desk = files.desk(tmp_path / "closed.review")
    with calling(serve(desk)) as client, client.stream("GET", "/api/events") as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("data:")
        desk._worker.close()
        assert all(not line or line.startswith(":") for line in lines), "it ends"


def test_clip_supports_ranges(serve, tmp_path):
    pytest.importorskip("av", reason="needs PyAV: pip install 'undistract[video]'")
    pytest.importorskip("cv2", reason="needs OpenCV: pip install 'undistract[video]'")
    desk = reviews.clips(tmp_path).desk(tmp_path / "match.review")
    item = desk.queue()["items"][0]["id"]
    with calling(serve(desk)) as client:
        complete = client.get(f"/api/items/{item}/clip.mp4")
        assert (complete.status_code, complete.headers["content-type"]) == (200, "video/mp4")
        part = client.get(f"/api/items/{item}/clip.mp4", headers={"Range": "bytes=100-199"})
        assert (part.status_code, part.content) == (206, complete.content[100:200])
        assert client.get(f"/api/items/{item}/clip.mp4", headers={"Range": "bytes=999999999-"}).status_code == 416
        picture = client.get(f"/api/items/{item}/picture.png?view=taken")
        assert picture.content.startswith(b"\x89PNG")


def test_routes_follow_their_schema(serve, files, tmp_path):
    pytest.importorskip("schemathesis", reason="needs schemathesis: pip install schemathesis")
    from tests.campaigns.api import campaign
    from tests.web.running import Running

    address = serve(files.desk(tmp_path / "days.review"))
    # The event stream has no end, so schemathesis cannot test it.
    result = campaign(Running(f"{address}/"), 2, 1, "--exclude-path", "/api/events")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Tested: 18" in result.stdout

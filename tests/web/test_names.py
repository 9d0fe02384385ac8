"""Promise 9: no name in a request becomes a path, in any route; items are served by id."""

import json
import sys
from urllib.parse import quote, unquote
from uuid import uuid4

import pytest

pytest.importorskip("fastapi", reason='needs FastAPI: pip install "undistract[web]"')

from tests.web import reviews
from tests.web.asking import OURS, TOKEN, ask, post, routes_of
from tests.web.test_static_files import SECRET, TRICKS
from undistract.web.app import make_app

WATCH = {"on": False, "opened": []}


def _watch(event, arguments):
    if WATCH["on"] and event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str | bytes):
        WATCH["opened"].append(str(arguments[0]))


sys.addaudithook(_watch)


@pytest.fixture
def opened():
    """Collect the files that are opened during a test."""
    WATCH.update(on=True, opened=[])
    yield WATCH["opened"]
    WATCH["on"] = False


@pytest.fixture(scope="module")
def app(tmp_path_factory, model):
    folder = tmp_path_factory.mktemp("review")
    (folder / "secret.txt").write_text(SECRET)
    (folder / "link.js").symlink_to(folder / "secret.txt")
    with reviews.table(folder).desk(folder / "days.review") as desk:
        yield make_app(token=TOKEN, session=desk, model=model)


def test_all_routes_with_a_name_are_tested(app):
    named = {(method, path) for method, path in routes_of(app.routes, "NAME") if "NAME" in path}
    assert {
        ("GET", "/static/NAME"),
        ("GET", "/api/items/NAME"),
        ("GET", "/api/items/NAME/picture.png"),
        ("GET", "/api/items/NAME/clip.mp4"),
        ("GET", "/api/groups/NAME/track"),
        ("GET", "/api/summary/directions/NAME.png"),
    } <= named


@pytest.mark.parametrize("trick", TRICKS)
def test_no_name_opens_a_file(app, trick, opened):
    plain = unquote(trick)
    replies = [ask(app, method, path) for method, path in routes_of(app.routes, trick) if path not in routes(app)]
    quoted = quote(plain, safe="")
    replies += [ask(app, "GET", f"/api/preview.png?item={quoted}"), ask(app, "GET", f"/api/queue?offset={quoted}")]
    key = str(uuid4())
    for fields in ({"item": plain}, {"item": "0-1-2", "scope": plain}, {"item": "0-1-2", "answer": plain}):
        replies += [
            post(app, "/api/preview", fields),
            post(app, "/api/verdicts", {"key": key, "answer": "unsure", **fields}),
        ]
    replies += [post(app, "/api/withdrawals", {"key": key, "of": plain}), post(app, "/score", {"rows": plain})]
    assert {reply.status for reply in replies} <= {404, 405, 409, 422}
    for reply in replies:
        assert SECRET.encode() not in reply.body
        assert b"root:" not in reply.body
    assert [path for path in opened if "secret" in path or "passwd" in path or "link" in path] == []


def routes(app):
    """Return the paths without a name."""
    return {path for _, path in routes_of(app.routes, "NAME") if "NAME" not in path}


@pytest.mark.parametrize("trick", ["../secret.txt", "/etc/passwd", "link.js", "..%2f..%2fsecret.txt"])
def test_group_name_to_score_is_not_a_path(app, model, trick, opened):
    row = [0.0] * model.focus.n_features_in_
    body = json.dumps({"rows": [row] * 3, "group": trick}).encode()
    reply = ask(app, "POST", "/score", {**OURS, "content-type": "application/json"}, [body])
    assert reply.status == 200
    assert len(reply.json()["scores"]) == 3
    assert [path for path in opened if "secret" in path or "passwd" in path or "link" in path] == []


def test_the_check_notices_an_opened_file(opened, tmp_path):
    (tmp_path / "secret.txt").write_text(SECRET)
    assert any("secret.txt" in path for path in opened)

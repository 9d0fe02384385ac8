"""Static files are served by name; no name leads to another file."""

import http.client
from contextlib import closing

import pytest

pytest.importorskip("fastapi", reason='needs FastAPI: pip install "undistract[web]"')

from fastapi import FastAPI

from tests.web.asking import TOKEN, ask
from undistract.web.app import static_router

SECRET = "a secret text"
UP = [
    "../",
    "..%2f",
    "%2e%2e/",
    "%2e%2e%2f",
    "..%5c",
    "..\\",
    "%252e%252e%252f",
    "....//",
    ".././",
    "..;/",
    "%c0%ae%c0%ae/",
]
TRICKS = [
    *(f"{up * times}secret.txt" for up in UP for times in (1, 2)),
    *(f"{up * 8}etc/passwd" for up in UP),
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "//etc/passwd",
    "file:///etc/passwd",
    "link.js",
    "link.js%00.css",
    "link.css",
    "inner",
    "inner/",
    "inner/deep.js",
    "inner%2fdeep.js",
    "inner%5cdeep.js",
    "",
    ".",
    "..",
    "./page.js/.",
    "page.js/",
    "page.js%00",
    "page.js%00.png",
    "page.js%20",
    "page.js.",
    "page.js::$DATA",
    "PAGE.JS",
    "page%252ejs",
    "page.js;x",
    "notes.txt",
    "page.py",
    ".hidden.js",
    "__init__.py",
    "%e2%80%aepage.js",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web") / "static"
    (folder / "inner").mkdir(parents=True)
    (folder / "page.js").write_text("export const one = 1;")
    (folder / "page.css").write_text("p {}")
    for name in ("../secret.txt", "inner/deep.js", "notes.txt", "page.py"):
        (folder / name).write_text(SECRET)
    (folder / "link.js").symlink_to(folder.parent / "secret.txt")
    (folder / "link.css").symlink_to("/etc/passwd")
    return folder


@pytest.fixture(scope="module")
def app(folder):
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.include_router(static_router(folder))
    return app


@pytest.mark.parametrize(("name", "kind"), [("page.js", "text/javascript"), ("page.css", "text/css")])
def test_static_file_has_its_media_type(app, folder, name, kind):
    reply = ask(app, "GET", f"/static/{name}")
    assert (reply.status, reply.body) == (200, (folder / name).read_bytes())
    assert reply.headers["content-type"] == f"{kind}; charset=utf-8"


def test_there_are_at_least_sixty_tricks():
    assert len(set(TRICKS)) >= 60


@pytest.mark.parametrize("name", TRICKS)
def test_tricks_find_no_file(app, name):
    reply = ask(app, "GET", f"/static/{name}")
    assert reply.status == 404
    assert SECRET.encode() not in reply.body
    assert b"root:" not in reply.body


def test_later_file_is_not_served(app, folder):
    (folder / "late.js").write_text(SECRET)
    assert ask(app, "GET", "/static/late.js").status == 404


def test_missing_folder(tmp_path):
    app = FastAPI()
    app.include_router(static_router(tmp_path / "none"))
    assert ask(app, "GET", "/static/page.js").status == 404


def test_tricks_find_no_file_on_a_real_server(server):
    statuses = set()
    # http.client sends the target unchanged; other clients would normalize it.
    with closing(http.client.HTTPConnection(*server.place, timeout=30)) as line:
        for name in [*TRICKS, "../app.py", "..%2fapp.py", "static_files.py"]:
            line.request("GET", f"/static/{name}", headers={"Authorization": f"Bearer {TOKEN}"})
            reply = line.getresponse()
            body = reply.read()
            statuses.add(reply.status)
            assert b"root:" not in body
            assert b"import" not in body
    assert statuses <= {400, 404}

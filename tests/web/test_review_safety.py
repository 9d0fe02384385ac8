"""The review page against hostile pages and hostile text."""

import json
import re
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from uuid import UUID

import pytest

from tests.web import reviews
from tests.web.browsing import answer, events

pytest.importorskip("fastapi", reason="needs fastapi: pip install 'undistract[web]'")

PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "'\"><script>alert(1)</script>",
    "\" onmouseover=\"alert(1)\" x=\"",
    "' onfocus='alert(1)' autofocus='",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<a href=javascript:alert(1)>click</a>",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "<style>@import 'http://127.0.0.1:9/x';*{display:none}</style>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<base href=http://127.0.0.1:9/>",
    "<form action=http://127.0.0.1:9/><input name=a autofocus></form>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<math><mtext><img src=x onerror=alert(1)></mtext></math>",
    "{{ 7 * 7 }}{% for x in () %}{% endfor %}",
    "${alert(1)}#{alert(1)}<%= alert(1) %>",
    "</title><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "--><script>alert(1)</script><!--",
    "]]><script>alert(1)</script>",
    "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "../../etc/passwd%00.mp4?view=<script>alert(1)</script>#x",
    "\u202egpj.exe\u202c <b onclick=alert(1)>right to left</b>",
)  # fmt: skip


def test_there_are_thirty_payloads():
    assert len(set(PAYLOADS)) == 30


def plain(text):
    return re.sub(r"\s+", " ", text).strip()


def assert_no_markup(page):
    """Check that no payload became markup."""
    assert page.locator("script").count() == 1
    assert page.locator("iframe, base, style, math, object, embed, [onerror], [onload], [onclick], b").count() == 0
    assert page.locator("meta[http-equiv], a[href^='javascript'], form[action]").count() == 0
    assert page.complaints == []


@pytest.fixture(scope="module")
def hostile_files(tmp_path_factory):
    """Return a table whose groups, columns and file name are payloads."""
    columns = [f"{payload} {number}" for number, payload in enumerate(PAYLOADS[:20])]
    drawn = {"n_rows": 60, "n_glare": 1, "n_strange": 0}
    return reviews.table(tmp_path_factory.mktemp("hostile"), PAYLOADS, columns, name=PAYLOADS[1], **drawn)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return reviews.table(tmp_path_factory.mktemp("table"))


def test_payloads_in_file_group_and_column_names_stay_text(hostile_files, serve, visit, tmp_path):
    desk = hostile_files.desk(tmp_path / "hostile.review")
    page = visit(serve(desk), PAYLOADS[0])
    assert page.title() == f"{PAYLOADS[1]}.scores · review"
    assert page.inner_text("h1") == f"{PAYLOADS[1]}.scores"
    assert [plain(name) for name in page.locator("#track-set option").all_inner_texts()] == [*map(plain, PAYLOADS)]
    names = set()
    for item in desk.queue()["items"]:
        page.wait_for_selector(f"#centre[data-item='{item['id']}']")
        assert plain(page.inner_text("#item-name")) == plain(item["group_name"])
        assert plain(page.inner_text(f"#row-{item['id']} .set")) == plain(item["group_name"])
        names.add(item["group_name"])
        page.keyboard.press("n")
    assert names == set(PAYLOADS)
    cells = {plain(name) for name in page.locator("#exhibit tbody th").all_inner_texts()}
    assert cells == {plain(f"{payload} {number}") for number, payload in enumerate(PAYLOADS[:20])}
    page.keyboard.press("p")
    page.wait_for_selector("#preview-accept[aria-disabled='false']")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-learned='1']")
    page.keyboard.press("s")
    page.wait_for_selector("#summary-dialog[open]")
    assert PAYLOADS[0] in page.inner_text("#summary-shown")
    assert_no_markup(page)


def test_payloads_in_notes_reviewers_and_errors_stay_text(files, serve, visit, tmp_path):
    desk = files.desk(tmp_path / "days.review")
    page = visit(serve(desk))
    item = page.get_attribute("#centre", "data-item")
    # Routed once: between two routes, a request could reach the server.
    refusals = iter(PAYLOADS)
    page.route("**/api/preview", lambda route: refuse(next(refusals), route))
    for number, payload in enumerate(PAYLOADS):
        verdict = {"item": item, "answer": "unsure", "who": payload, "note": payload, "key": str(UUID(int=number))}
        desk.record(verdict)
        page.wait_for_selector(f"#history li >> nth={number}")
        assert plain(page.inner_text("#history .said >> nth=0")) == plain(payload)
        assert plain(page.inner_text("#history bdi >> nth=0")) == plain(payload)
        page.keyboard.press("p")
        page.wait_for_selector("#preview-shown .caution")
        assert plain(page.inner_text("#preview-shown .caution")) == plain(payload)
        page.keyboard.press("Escape")
    page.route("**/api/verdicts", partial(refuse, PAYLOADS[1]))
    answer(page, "u")
    page.wait_for_selector("#trouble:not([hidden])")
    assert page.inner_text("#trouble-words") == PAYLOADS[1]
    page.complaints[:] = [text for text in page.complaints if "status of 422" not in text]
    assert_no_markup(page)


def refuse(message, route):
    route.fulfill(status=422, content_type="application/json", body=json.dumps({"error": message}))


HOSTILE = """<!doctype html><title>hostile</title><body><script>
const query = new URL(location).searchParams;
const target = query.get("target");
const key = "0f0e0d0c-0b0a-4908-8706-050403020100";
const verdict = JSON.stringify({key, item: query.get("item"), answer: "false_alarm"});
const tried = {};
const attempt = (name, work) => work().then(() => tried[name] = "done", () => tried[name] = "failed");
const loads = (element, name) => attempt(name, () => new Promise((done, failed) => {
  element.onload = done; element.onerror = failed; document.body.append(element) }));
(async () => {
  const post = (type, mode) => () => fetch(target + "/api/verdicts",
    {method: "POST", mode, credentials: "include", headers: {"Content-Type": type}, body: verdict});
  await attempt("blind", post("text/plain", "no-cors"));
  await attempt("json", post("application/json", "cors"));
  await attempt("read", () => fetch(target + "/api/queue", {credentials: "include"}).then((it) => it.json()));
  await loads(Object.assign(new Image(), {src: target + "/static/icon.svg"}), "picture");
  await loads(Object.assign(document.createElement("script"), {src: target + "/static/words.js"}), "script");
  const frame = Object.assign(document.createElement("iframe"), {src: target + "/", name: "framed"});
  document.body.append(frame);
  await new Promise((done) => { frame.onload = done; setTimeout(done, 1500) });
  await attempt("events", () => new Promise((done, failed) => {
    const events = new EventSource(target + "/api/events", {withCredentials: true});
    events.onmessage = done; events.onerror = failed }));
  const form = Object.assign(document.createElement("form"), {method: "POST", action: target + "/api/verdicts",
    enctype: "text/plain", target: "framed"});
  form.append(Object.assign(document.createElement("input"), {name: verdict.slice(0, -1) + ',"note":"', value: '"}'}));
  document.body.append(form);
  form.submit();
  await new Promise((done) => { frame.onload = done; setTimeout(done, 1500) });
  document.body.dataset.tried = JSON.stringify(tried);
})();
</script>"""


class Hostile(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(HOSTILE.encode())

    def log_message(self, *arguments):
        pass


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])  # another site, and another port of the same site
def test_hostile_page_cannot_post_read_or_frame(files, serve, visit, tmp_path, name):
    desk = files.desk(tmp_path / "days.review")
    address = serve(desk)
    page = visit(address)
    item = page.get_attribute("#centre", "data-item")
    other = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    Thread(target=other.serve_forever, daemon=True).start()
    try:
        hostile = page.context.new_page()
        hostile.goto(f"http://{name}:{other.server_address[1]}/?target={address}&item={item}")
        hostile.wait_for_selector("body[data-tried]", state="attached")
        tried = json.loads(hostile.get_attribute("body", "data-tried"))
        framed = [frame for frame in hostile.frames if frame.url.startswith(address)]
    finally:
        other.shutdown()
        other.server_close()
    tried.pop("blind")  # a no-cors request always looks like a success; its effect is checked below
    assert set(tried.values()) == {"failed"}, tried
    assert events(desk) == []
    assert all(frame.locator("#list").count() == 0 for frame in framed), "the page is in no frame"
    answer(page, "f")
    page.wait_for_selector("#saving[data-waiting='0']")
    assert len(events(desk)) == 1, "the real page still works"


def test_page_works_under_its_strict_policy(files, serve, visit, tmp_path):
    address = serve(files.desk(tmp_path / "days.review"))
    page = visit(address)
    urls = []
    page.on("request", lambda request: urls.append(request.url))
    response = page.reload()
    page.wait_for_selector("#track[data-buckets]")
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert all(url.startswith(address) for url in urls)
    assert page.complaints == []

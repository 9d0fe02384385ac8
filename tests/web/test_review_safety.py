"""The review page against other people's pages and other people's words."""

import json
import re
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.web.standin import StandIn

pytest.importorskip("fastapi", reason="browser tests need: pip install 'undistract[web]' playwright")

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


def plain(words):
    return re.sub(r"\s+", " ", words).strip()


def untouched(page):
    """Nothing of a payload became markup."""
    assert page.locator("script").count() == 1
    assert page.locator("iframe, base, style, math, object, embed, [onerror], [onload], [onclick], b").count() == 0
    assert page.locator("meta[http-equiv], a[href^='javascript'], form[action]").count() == 0
    assert page.complaints == []


def test_thirty_payloads_in_names_cells_and_notes_are_shown_as_they_are_written(review, visit):
    desk = StandIn(n_items=30, n_rows=400, names=list(PAYLOADS))
    page = visit(review(desk), PAYLOADS[0])
    assert page.title() == f"{PAYLOADS[0]} · review"
    assert page.inner_text("h1") == PAYLOADS[0]
    for number, payload in enumerate(PAYLOADS):
        page.wait_for_selector(f"#centre[data-item^='{number}-']")
        assert plain(page.inner_text("#item-name")) == plain(payload)
        assert plain(page.inner_text(f"[data-item^='{number}-'] .set")) == plain(payload)
        assert page.locator("#track-set option").nth(number).inner_text() == plain(payload)
        assert PAYLOADS[0] in page.inner_text("#why"), "feature names carry the payload of the first set"
        page.keyboard.press("n")
    untouched(page)


def test_thirty_payloads_in_notes_and_errors_are_shown_as_they_are_written(review, visit):
    desk = StandIn(n_items=60)
    page = visit(review(desk))
    for payload in PAYLOADS:
        item = page.get_attribute("#centre", "data-item")
        verdict = {"item": item, "answer": "unsure", "who": payload, "note": payload, "scope": "everywhere"}
        desk.record({**verdict, "strength": 1, "expires": None, "key": f"{len(desk.events)}"})
        page.wait_for_selector("#history .said")
        assert plain(page.inner_text("#history .said")) == plain(payload)
        assert plain(page.inner_text("#history bdi")) == plain(payload)
        page.route("**/api/verdicts", partial(refuse, payload))
        page.keyboard.press("u")
        page.wait_for_selector(f"#centre:not([data-item='{item}'])")
        page.wait_for_selector("#trouble:not([hidden])")
        assert plain(page.inner_text("#trouble-words")) == plain(payload)
        page.unroute("**/api/verdicts")
        page.click("[data-does='dismiss']")
    page.keyboard.press("s")
    page.wait_for_selector("#summary-dialog[open]")
    page.complaints[:] = [words for words in page.complaints if "status of 422" not in words]
    untouched(page)


def refuse(words, route):
    route.fulfill(status=422, content_type="application/json", body=json.dumps({"error": words}))


HOSTILE = """<!doctype html><title>hostile</title><body><script>
const target = new URL(location).searchParams.get("target");
const verdict = JSON.stringify({key: "0f0e0d0c-0b0a-4908-8706-050403020100", item: "0-250-255", answer: "familiar"});
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
  await loads(Object.assign(new Image(), {src: target + "/api/items/2-250-255/picture.png"}), "picture");
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

    def log_message(self, *words):
        pass


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])  # another site; and another port of the same site
def test_a_hostile_page_can_not_post_read_or_frame(review, visit, name):
    desk = StandIn(n_items=8)
    address = review(desk)
    page = visit(address)
    other = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    Thread(target=other.serve_forever, daemon=True).start()
    try:
        hostile = page.context.new_page()
        hostile.goto(f"http://{name}:{other.server_address[1]}/?target={address}")
        hostile.wait_for_selector("body[data-tried]", state="attached")
        tried = json.loads(hostile.get_attribute("body", "data-tried"))
        framed = [frame for frame in hostile.frames if frame.url.startswith(address)]
    finally:
        other.shutdown()
        other.server_close()
    tried.pop("blind")  # a blind request is always "done" for the one who sent it; what counts is what it did
    assert set(tried.values()) == {"failed"}, tried
    assert desk.events == []
    assert all(frame.locator("#list").count() == 0 for frame in framed), "no frame shows the page"
    page.keyboard.press("f")
    page.wait_for_selector("#saving[data-waiting='0']")
    assert len(desk.events) == 1, "the person's own page still works"


def test_the_page_runs_under_its_strict_policy_alone(review, visit):
    address = review(StandIn())
    page = visit(address)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    answer = page.reload()
    page.wait_for_selector("#track[data-buckets]")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert all(url.startswith(address) for url in asked)
    assert page.locator("[style]").evaluate_all("all => all.filter(one => one.outerHTML.includes('<script')).length") == 0
    assert page.complaints == []

"""Fixtures with a real browser and server, for tests of the review page. conftest.py re-exports them."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack, contextmanager

import pytest

from tests.browser import launched
from tests.web.asking import TOKEN

ENABLE = "browser tests need: apt-get install chromium && pip install 'undistract[web]' playwright"


@pytest.fixture(scope="module")
def browser():
    """Start Chromium once per module; each test has its own context."""
    with launched() as chromium:
        yield chromium


@contextmanager
def served(desk):
    """Serve a review session on a free local port, and return the address."""
    uvicorn = pytest.importorskip("uvicorn", reason=ENABLE)
    from undistract.web.app import make_app

    app = make_app(token=TOKEN, hosts=[], session=desk)
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", log_level="error", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
        assert thread.is_alive(), "the server did not start"
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture
def serve():
    """Serve review sessions until the end of a test."""
    with ExitStack() as ends:

        def start(desk):
            ends.enter_context(desk)
            return ends.enter_context(served(desk))

        yield start


@pytest.fixture
def visit(browser):
    """Open a review page; messages of the browser and dialogs are collected in `complaints`."""
    with ExitStack() as ends:

        def open_page(address, who="Anna", **settings):
            context = browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **settings})
            ends.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(15_000)
            page.complaints = []
            page.on("console", lambda entry: entry.type in ("error", "warning") and page.complaints.append(entry.text))
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.on("dialog", lambda dialog: (page.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
            page.goto(f"{address}/?token={TOKEN}")
            page.wait_for_selector("#name-dialog[open]")
            page.keyboard.type(who)
            page.keyboard.press("Enter")
            page.wait_for_selector("#name-dialog:not([open])", state="attached")
            page.wait_for_selector("#track[data-buckets]")
            return page

        yield open_page


def shown(page):
    """Return the id of the item on the page."""
    return page.get_attribute("#centre", "data-item")


def answer(page, key):
    """Press a verdict key, wait for the next item, and return the reviewed one."""
    item = shown(page)
    page.keyboard.press(key)
    page.wait_for_selector(f"#centre:not([data-item='{item}'])")
    return item


def events(desk):
    """Return all recorded events, verdicts and withdrawals, in order."""
    return json.loads(desk.export("json"))["events"]


def answers(desk):
    """Return the answers of all verdicts, in order."""
    return [event["answer"] for event in events(desk) if "answer" in event]

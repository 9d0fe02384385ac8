"""A real browser and a real server, for the tests of the review page."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

CHROMIUM = os.environ.get("UNDISTRACT_CHROMIUM", "/usr/bin/chromium")
ENABLE = "apt-get install chromium && pip install 'undistract[web]' playwright"
TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium, headless."""
    playwright = pytest.importorskip("playwright.sync_api", reason=f"browser tests need: {ENABLE}")
    if not os.path.exists(CHROMIUM):
        pytest.skip(f"browser tests need: {ENABLE}")
    arguments = ["--no-sandbox", "--disable-background-networking"]
    with playwright.sync_playwright() as run:
        found = run.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield found
        found.close()


@contextmanager
def served(app) -> Iterator[str]:
    """Serve an app on a free port of this machine; gives its address."""
    uvicorn = pytest.importorskip("uvicorn", reason=f"browser tests need: {ENABLE}")
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, lifespan="off", log_level="error", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
        assert thread.is_alive(), "the server did not start"
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def visit(browser):
    """Open the page of a desk as a reviewer; what the console says and every dialog of the browser is written down."""
    contexts = []

    def opened(address, who="Anna", **settings):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.complaints = []
        page.on("console", lambda said: said.type in ("error", "warning") and page.complaints.append(said.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (page.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.goto(f"{address}/?token={TOKEN}")
        page.wait_for_selector("#name-dialog[open]")
        page.keyboard.type(who)
        page.keyboard.press("Enter")
        page.wait_for_selector("#name-dialog:not([open])", state="attached")
        page.wait_for_selector("#track[data-buckets]")
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def review():
    """Serve a desk: gives the address of its page."""
    app = pytest.importorskip("undistract.web.app", reason=f"browser tests need: {ENABLE}")
    servers = []

    def begun(desk):
        server = served(app.make_app(token=TOKEN, hosts=[], desk=desk))
        servers.append(server)
        return server.__enter__()

    yield begun
    for server in servers:
        server.__exit__(None, None, None)

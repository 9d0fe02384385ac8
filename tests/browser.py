"""Chromium under Playwright, for tests that need a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

HOW = "needs a browser: apt-get install chromium && pip install playwright"


@contextmanager
def launched() -> Iterator[Any]:
    """Start a headless browser, or skip the test if there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason=HOW)
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip(HOW)
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-background-networking"]
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def new_page(**options: Any) -> Iterator[Any]:
    """Open an empty page in a headless browser, or skip the test if there is none."""
    with launched() as browser:
        yield browser.new_page(**options)

"""Make docs/images/review.png: the review page on the demo's clip, as a person sees it.

    python -m benchmarks.review_picture [--save docs/images/review.png]

Needs the extras video and web, playwright, and Chromium.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

AT_ITS_PEAK = """clip => new Promise(done => {
  const look = () => clip.readyState > 2 && !clip.seeking && clip.currentTime > 0 ? done() : setTimeout(look, 100);
  look();
})"""
STORY = """
demo --part clip --folder dots --quiet
learn dots/calm --features pixels(size=24x16) --save calm.focus --quiet
score dots/match.mp4 --with calm.focus --save match.scores --quiet
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, default=Path(__file__).parents[1] / "docs" / "images" / "review.png")
    target = parser.parse_args().save.resolve()
    with TemporaryDirectory() as folder:
        for line in STORY.strip().splitlines():
            subprocess.run([sys.executable, "-m", "undistract", *line.split()], cwd=folder, check=True)
        review = [sys.executable, "-m", "undistract", "review", "match.scores", "--no-browser", "--json"]
        server = subprocess.Popen(review, cwd=folder, stdout=subprocess.PIPE, text=True)
        told = ""
        while not told.endswith("}\n"):
            told += server.stdout.readline()
        try:
            photograph(json.loads(told)["address"], target)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)
    print(f"Saved {target.name}.")


def photograph(address: str, target: Path) -> None:
    """Open the review, let the clip load, and save what is seen."""
    with sync_playwright() as run:
        browser = run.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-background-networking"]
        )
        page = browser.new_page(viewport={"width": 1240, "height": 900}, color_scheme="light")
        page.goto(address)
        page.wait_for_selector("#name-dialog[open]")
        page.keyboard.type("Ada")
        page.keyboard.press("Enter")
        page.wait_for_selector("#track[data-buckets]")
        page.locator("video").evaluate(AT_ITS_PEAK)
        page.wait_for_timeout(500)
        page.screenshot(path=target)
        browser.close()


if __name__ == "__main__":
    main()

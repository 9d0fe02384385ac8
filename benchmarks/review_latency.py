"""How long a person waits: from the key press to the newly ranked list, through a real browser.

    python -m benchmarks.review_latency [--rows 10000] [--features 512] [--answers 40]

A server process reviews one group; Chromium presses f again and again. The time ends when the page shows the list that
has learned from the answer. Beside it the same time for relearning and ranking alone, in this process; what is left is
the way through server, log and page. The limit is 1 s at the 95th percentile on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import numpy as np
from playwright.sync_api import sync_playwright

from undistract import EvidenceWarning, Model, Source, learn, read_sources, score
from undistract.review.session import ReviewSession

# Waits in the page itself: Playwright looks only twice a second after a while.
RANKED = """number => new Promise(done => {
  const look = () => Number(document.body.dataset.ranked) >= number && done();
  new MutationObserver(look).observe(document.body, {attributes: true});
  look();
})"""
N_SETS, ROWS_OF_SET, N_CAUSES, N_DISTRACTORS = 20, 500, 30, 12


def write(folder: Path, n_rows: int, n_features: int) -> tuple[Path, Path]:
    """Write a model and scores: normal rows of a few causes, and a test with distractors that training never saw."""
    rng = np.random.default_rng(0)
    causes, distractors = rng.normal(size=(N_CAUSES, n_features)), rng.normal(size=(N_DISTRACTORS, n_features))

    def rows(n: int) -> np.ndarray:
        mean = rng.normal(size=(1, N_CAUSES))
        return (mean + 0.3 * rng.normal(size=(n, N_CAUSES))) @ causes + rng.normal(size=(n, n_features))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        model = learn([Source(str(number), rows(ROWS_OF_SET)) for number in range(N_SETS)])
    seen = rows(n_rows)
    odd = rng.choice(n_rows, n_rows // 50, replace=False)
    seen[odd] += 3 * rng.normal(size=(len(odd), 1)) * distractors[rng.integers(N_DISTRACTORS, size=len(odd))]
    np.save(folder / "seen.npy", seen)
    model.save(folder / "model.focus")
    score(read_sources(folder / "seen.npy"), model).save(folder / "seen.scores")
    return folder / "seen.scores", folder / "model.focus"


def through_the_browser(scores: Path, model: Path, n_answers: int) -> np.ndarray:
    """Press f, wait for the list, again and again; gives the seconds of each."""
    line = [sys.executable, "-m", "undistract", "review", scores, "--with", model, "--no-browser", "--json"]
    line += ["--data", scores.with_suffix(".npy")]
    server = subprocess.Popen(list(map(str, line)), stdout=subprocess.PIPE, text=True)
    try:
        told = ""
        while not told.endswith("}\n"):
            told += server.stdout.readline()
        with sync_playwright() as run:
            browser = run.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-background-networking"]
            )
            page = browser.new_page()
            page.goto(json.loads(told)["address"])
            page.wait_for_selector("#name-dialog[open]")
            page.keyboard.press("Enter")
            page.wait_for_selector("#track[data-buckets]")
            seconds = []
            for number in range(1, n_answers + 1):
                start = time.perf_counter()
                page.keyboard.press("f")
                page.evaluate(RANKED, number)
                seconds.append(time.perf_counter() - start)
                page.wait_for_selector(f"body[data-learned='{number}']", state="attached", timeout=120_000)
            browser.close()
        return np.array(seconds)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def alone(scores: Path, model: Path, n_answers: int) -> tuple[np.ndarray, np.ndarray]:
    """Relearn and rank without server and page; gives the seconds until the list, and until every row is scored."""
    lists, everything = [], []
    with ReviewSession.open(
        scores, model=model, data=[scores.with_suffix(".npy")], store=scores.with_name("alone.review")
    ) as desk:
        for _ in range(n_answers):
            version = desk.queue(0, 1)["version"]
            first = desk.queue(0, 1)["items"][0]["id"]
            start = time.perf_counter()
            event = desk.record({"key": str(uuid4()), "item": first, "answer": "false_alarm"})["event"]
            while desk.queue(0, 1)["learned"] < event:
                desk.wait(version, event, 1)
            lists.append(time.perf_counter() - start)
            desk.wait_for(event)
            everything.append(time.perf_counter() - start)
    return np.array(lists), np.array(everything)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--answers", type=int, default=40)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        scores, model = write(Path(folder), arguments.rows, arguments.features)
        removed = Model.load(model).focus.n_removed_
        measured = {"through the browser, to the list": through_the_browser(scores, model, arguments.answers)}
        measured["alone, to the list"], measured["alone, every row"] = alone(scores, model, arguments.answers)
    print(
        f"{arguments.rows} rows of {arguments.features} features, {arguments.answers} answers, "
        f"{removed} directions ignored before"
    )
    for name, seconds in measured.items():
        half, most, worst = np.percentile(seconds, [50, 95, 100])
        print(f"{name:34s} median {half:.2f} s, 95th percentile {most:.2f} s, worst {worst:.2f} s")


if __name__ == "__main__":
    main()

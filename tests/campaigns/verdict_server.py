"""A minimal server for a store: it accepts verdicts and withdrawals over HTTP and acknowledges recorded ones.

    python -m tests.campaigns.verdict_server match.review

It has the routes of the review page, so that the campaign can use either server.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from undistract.errors import FileError, InputError
from undistract.review import ReviewStore, Verdict, Withdrawal

N_ITEMS = 40
TOKEN = "only-for-tests"


def verdict_of(body: dict[str, object]) -> tuple[Verdict, np.ndarray | None]:
    """Return the verdict of a request, and evidence for it."""
    fields = {name: value for name, value in body.items() if name != "item"}
    start = int(str(body["item"]).split("-")[1])
    position = {"group_name": "match.mp4", "start": start, "stop": start + 5, "peak": start + 2, "when": time.time()}
    verdict = Verdict.from_json(fields | position)
    rows = np.random.default_rng(start).normal(size=(5, 64))
    return verdict, {"unsure": None, "calm": rows}.get(verdict.answer, rows[2])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: ReviewStore

    def do_GET(self):
        self._answer(200, {"items": [{"id": f"0-{start}-{start + 5}"} for start in range(0, 10 * N_ITEMS, 10)]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                return self._answer(401, {"error": "No token."})
            if self.path == "/api/withdrawals":
                number = self.store.record(Withdrawal.from_json(body | {"when": time.time()}))
            else:
                number = self.store.record(*verdict_of(body))
            self._answer(200, {"event": number, "key": body["key"]})
        except InputError as error:
            self._answer(507 if isinstance(error, FileError) else 400, {"error": str(error)})

    def _answer(self, status, record):
        content = json.dumps(record).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


def main() -> None:
    Handler.store = ReviewStore.open(sys.argv[1], about={"n_features": 64})
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}/?token={TOKEN}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

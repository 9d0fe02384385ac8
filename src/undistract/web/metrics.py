"""What the server has done so far, as text that Prometheus reads."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from itertools import accumulate

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
KNOWN_METHODS = ("GET", "HEAD", "POST")


class Metrics:
    """Counts of requests, rows and alarms; safe to use from several threads.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.count_request("POST", "/score", 200, 0.02)
    >>> metrics.count_rows(60, 2)
    >>> [line for line in metrics.text().splitlines() if line[0] != "#"][0]
    'undistract_requests_total{method="POST",route="/score",status="200"} 1'
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._seconds: Counter[str] = Counter()
        self._rows = self._alarms = 0

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._buckets[route][bisect_left(BUCKETS, seconds)] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]

    def count_rows(self, rows: int, alarms: int) -> None:
        """Count rows that were scored, and those of them that alarm."""
        with self._lock:
            self._rows += rows
            self._alarms += alarms

    def text(self) -> str:
        """Write all counts, in Prometheus' text format 0.0.4."""
        with self._lock:
            lines = ["# HELP undistract_requests_total Requests answered.", "# TYPE undistract_requests_total counter"]
            for (method, route, status), count in sorted(self._requests.items()):
                lines.append(
                    f'undistract_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'
                )
            name = "undistract_request_seconds"
            lines += [f"# HELP {name} How long answers took.", f"# TYPE {name} histogram"]
            for route, counts in sorted(self._buckets.items()):
                totals = list(accumulate(counts))
                for bound, total in zip([*map(str, BUCKETS), "+Inf"], totals, strict=True):
                    lines.append(f'{name}_bucket{{route="{route}",le="{bound}"}} {total}')
                lines.append(f'{name}_sum{{route="{route}"}} {self._seconds[route]:.6f}')
                lines.append(f'{name}_count{{route="{route}"}} {totals[-1]}')
            for name, words, count in (
                ("undistract_rows_scored_total", "Rows scored.", self._rows),
                ("undistract_alarms_total", "Rows that alarmed.", self._alarms),
            ):
                lines += [f"# HELP {name} {words}", f"# TYPE {name} counter", f"{name} {count}"]
        return "\n".join(lines) + "\n"


class Metered:
    """Count every request by the template of its route, so that no caller can make up new names.

    Parameters
    ----------
    app : ASGI application
    metrics : Metrics
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it once it is answered."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started, status = time.perf_counter(), 499  # 499: the caller left before an answer

        async def noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path", None) or "none"
            method = scope["method"] if scope["method"] in KNOWN_METHODS else "other"
            self.metrics.count_request(method, route, status, time.perf_counter() - started)

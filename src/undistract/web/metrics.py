"""Counts of requests, rows and alarms, for Prometheus."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

KNOWN_METHODS = ("GET", "HEAD", "POST")


class Metrics:
    """Counts of one app, in a registry of its own; safe to use from several threads."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter("undistract_requests", "Requests answered.", labels, registry=self._registry)
        self._seconds = Histogram("undistract_request_seconds", "Response time.", ("route",), registry=self._registry)
        self._rows = Counter("undistract_rows_scored", "Rows scored.", registry=self._registry)
        self._alarms = Counter("undistract_alarms", "Rows that alarmed.", registry=self._registry)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request and its response time."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count_rows(self, rows: int, alarms: int) -> None:
        """Count scored rows and alarms."""
        self._rows.inc(rows)
        self._alarms.inc(alarms)

    def text(self) -> str:
        """Return all counts in Prometheus' text format."""
        return generate_latest(self._registry).decode()


class MetricsMiddleware:
    """Count every request by the path template of its route, so that clients cannot create new label values."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and count it after the response."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        start = time.perf_counter()
        status = 499  # the client disconnected before the response

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, send_and_note_status)
        finally:
            route = getattr(scope.get("route"), "path", None) or "none"
            method = scope["method"] if scope["method"] in KNOWN_METHODS else "other"
            self.metrics.count_request(method, route, status, time.perf_counter() - start)

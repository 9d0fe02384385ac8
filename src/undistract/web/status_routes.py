"""How the server is doing: /health for whoever starts it, /metrics for whoever watches it."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict

from undistract.version import __version__
from undistract.web.metrics import Metrics


class Health(BaseModel):
    """That the server answers, and which one it is."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["ok"] = "ok"
    version: str = __version__


def status_router(metrics: Metrics) -> APIRouter:
    """Make the routes that tell how the server is doing.

    Examples
    --------
    >>> [route.path for route in status_router(Metrics()).routes]
    ['/health', '/metrics']
    """
    router = APIRouter()

    @router.get("/health")
    def health() -> Health:
        """Say that the server answers."""
        return Health()

    @router.get("/metrics", response_class=PlainTextResponse)
    def counts() -> PlainTextResponse:
        """Give all counts so far, in Prometheus' text format."""
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router

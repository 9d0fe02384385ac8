"""The web app: review page, scoring service, health and metrics, behind one authentication middleware."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, FastAPI
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response

from undistract.version import __version__
from undistract.web.errors import register_error_handlers
from undistract.web.limits import BodyLimitMiddleware, Limits
from undistract.web.metrics import Metrics, MetricsMiddleware
from undistract.web.openapi import complete_schema
from undistract.web.score_api import score_router
from undistract.web.security import AuthMiddleware

if TYPE_CHECKING:
    from undistract.pipeline import Model
    from undistract.review.session import ReviewSession


FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}


def static_router(folder: Path = FOLDER) -> APIRouter:
    """Serve the files of a folder under /static/: no subfolders, no links, only the types in `TYPES`.

    A requested name is a key of a dictionary and never becomes a path, so path traversal is impossible.
    """
    files = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.suffix in TYPES and path.is_file() and not path.is_symlink():
            files[path.name] = path.read_bytes()
    router = APIRouter()

    @router.get("/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:
        """Return one file."""
        if name not in files:
            raise HTTPException(404)
        return Response(files[name], media_type=TYPES[Path(name).suffix])

    return router


class Health(BaseModel):
    """The server is running, with this version."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["ok"] = "ok"
    version: str = __version__


def status_router(metrics: Metrics) -> APIRouter:
    """Return the routes for health checks and monitoring."""
    router = APIRouter()

    @router.get("/health")
    def health() -> Health:
        """Report that the server is running."""
        return Health()

    @router.get("/metrics", response_class=PlainTextResponse)
    def counts() -> PlainTextResponse:
        """Return all counts in Prometheus' text format."""
        return PlainTextResponse(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    return router


def make_app(
    *,
    token: str,
    hosts: Sequence[str] = (),
    session: ReviewSession | None = None,
    model: Model | None = None,
    limits: Limits | None = None,
) -> FastAPI:
    """Build the app that `serve` runs.

    Parameters
    ----------
    token : str
        The secret that every request must contain.
    hosts : sequence of str
        Allowed host names, in addition to the loopback names. Without a port, the server's own port is used.
    session : ReviewSession, optional
        The review session. Without it, there is no review page.
    model : Model, optional
        The model that scores rows. Without it, there is no scoring service.
    limits : Limits, optional
        Size and time limits of a request.

    Examples
    --------
    >>> sorted(make_app(token="secret").openapi()["paths"])
    ['/health', '/metrics']
    """
    limits = limits or Limits()
    metrics = Metrics()
    app = FastAPI(
        title="undistract",
        version=__version__,
        description="Scores rows after removing nuisance variation. Every request needs the token.",
        docs_url=None,  # both documentation pages would load scripts from other sites
        redoc_url=None,
        redirect_slashes=False,  # a redirect would contain the Host header of the client
        middleware=[
            Middleware(MetricsMiddleware, metrics=metrics),
            Middleware(AuthMiddleware, token=token, hosts=hosts, limits=limits),
            Middleware(BodyLimitMiddleware, limits=limits),
        ],
    )
    app.include_router(status_router(metrics))
    app.include_router(static_router())
    if model is not None:
        app.include_router(score_router(model, metrics, limits))
    if session is not None:
        from undistract.web.review_api import review_router

        app.include_router(review_router(session))
    register_error_handlers(app)
    app.openapi = complete_schema(app.openapi)  # type: ignore[method-assign]
    # FastAPI builds the schema on first use and suppresses warnings meanwhile, which is not thread-safe. Build it
    # here, before the worker thread of the review starts.
    app.openapi()
    return app

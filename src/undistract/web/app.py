"""The app: the review's page and the scoring service behind one guard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.middleware import Middleware

from undistract.version import __version__
from undistract.web.guard import Guard
from undistract.web.limits import LimitedBody, Limits
from undistract.web.metrics import Metered, Metrics
from undistract.web.problems import answer_in_words
from undistract.web.schema import exact_schema
from undistract.web.score_routes import score_router
from undistract.web.static_files import static_router
from undistract.web.status_routes import status_router

if TYPE_CHECKING:
    from undistract.workflow import Model
    from undistract.workflow.desk import Desk


def make_app(
    *,
    token: str,
    hosts: Sequence[str] = (),
    desk: Desk | None = None,
    model: Model | None = None,
    limits: Limits | None = None,
) -> FastAPI:
    """Make the app that `serve` runs.

    Parameters
    ----------
    token : str
        Who knows it may come in; nothing is open without it.
    hosts : sequence of str
        Names that the server is called by, beside those of this machine. With a port, or the server's own is meant.
    desk : Desk, optional
        The review that the page shows.
    model : Model, optional
        What rows are scored with.
    limits : Limits, optional

    Examples
    --------
    >>> sorted(make_app(token="secret").openapi()["paths"])
    ['/health', '/metrics']
    """
    limits, metrics = limits or Limits(), Metrics()
    app = FastAPI(
        title="undistract",
        version=__version__,
        description="Scores rows without what distracts. Every call needs the token.",
        docs_url=None,  # both pages would load scripts of others
        redoc_url=None,
        redirect_slashes=False,  # a redirect is made of the Host that the caller sent
        middleware=[
            Middleware(Metered, metrics=metrics),
            Middleware(Guard, token=token, hosts=hosts, limits=limits),
            Middleware(LimitedBody, limits=limits),
        ],
    )
    app.include_router(status_router(metrics))
    app.include_router(static_router())
    if model is not None:
        app.include_router(score_router(model, metrics, limits))
    if desk is not None:
        from undistract.web.review_routes import review_router

        app.include_router(review_router(desk))
    answer_in_words(app)
    app.openapi = exact_schema(app.openapi)  # type: ignore[method-assign]
    # FastAPI makes routes when they are first used and hushes warnings meanwhile, which two threads cannot do at once:
    # made now, while the desk is still.
    app.openapi()
    return app

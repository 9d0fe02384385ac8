"""The review's routes: a request is read, the desk is asked, its answer goes out."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath
from fastapi.responses import FileResponse, HTMLResponse, StreamingResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader

from undistract.errors import InputError
from undistract.web import review_answers as given
from undistract.web.problems import problem
from undistract.web.review_asked import ITEM, Answer, PreviewAsked, Scope, VerdictAsked, WithdrawalAsked

if TYPE_CHECKING:
    from undistract.workflow.desk import Desk

ItemInPath = Annotated[str, InPath(alias="id", pattern=ITEM)]
Number = Annotated[int, InPath(ge=0, le=10**9)]
Row = Annotated[int, Query(ge=0, le=10**12)]
REFUSALS: dict[int | str, dict[str, Any]] = {
    404: {"description": "There is no such thing"},
    409: {"description": "It does not go together with what is there"},
    422: {"description": "What was given cannot be used"},
    507: {"description": "It could not be written or read; send it again"},
}
PNG: dict[int | str, dict[str, Any]] = {200: {"content": {"image/png": {}}, "description": "A picture"}}
WAIT = 2.0  # seconds; a browser that has gone is noticed after so long
LISTENERS = 100  # pages that are told live; each holds one waiting thread


class ToldRoute(APIRoute):
    """A route that says what the desk refuses: 404 where something is not there, 409 where it does not go together."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def told(request: Request) -> Response:
            try:
                return await handle(request)
            except InputError as error:
                return problem(getattr(error, "status", 409), " ".join(str(error).split()))

        return told


def review_router(desk: Desk) -> APIRouter:
    """Make the routes of one review.

    Parameters
    ----------
    desk : Desk
        Where every question goes.

    Examples
    --------
    >>> from undistract.web.review_routes import review_router
    >>> router = review_router(None)  # a desk is asked only when a request comes
    >>> [route.path for route in router.routes if "summary" in route.path]
    ['/api/summary', '/api/summary/directions/{n}.png']
    """
    router = APIRouter(route_class=ToldRoute, responses=REFUSALS)
    _page(router, desk)
    _looking(router, desk)
    _pictures(router, desk)
    _answering(router, desk)
    _listening(router, desk)
    return router


def _page(router: APIRouter, desk: Desk) -> None:
    pages = Environment(loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True)

    @router.get("/", response_class=HTMLResponse)
    def page() -> HTMLResponse:
        """Give the page."""
        return HTMLResponse(pages.get_template("review.html").render(title=desk.about()["title"]))


def _looking(router: APIRouter, desk: Desk) -> None:
    @router.get("/api/about", response_model=given.About)
    def about() -> Any:
        """Say what is reviewed."""
        return desk.about()

    @router.get("/api/queue", response_model=given.Queue)
    def queue(offset: Row = 0, limit: Annotated[int, Query(ge=1, le=2000)] = 200) -> Any:
        """Give the ranked list, or a part of it."""
        return desk.queue(offset, limit)

    @router.get("/api/items/{id}", response_model=given.ItemShown)
    def item(item: ItemInPath) -> Any:
        """Give one item with its exhibit, its explanation and its history."""
        return desk.item(item)

    @router.get("/api/sets/{n}/track", response_model=given.Track)
    def track(
        n: Number, start: Row = 0, stop: Row | None = None, width: Annotated[int, Query(ge=1, le=4000)] = 800
    ) -> Any:
        """Give a set's scores, thinned to at most `width` buckets."""
        return desk.track(n, start, stop, width)

    @router.get("/api/summary", response_model=given.Summary)
    def summary() -> Any:
        """Say what was answered and learned."""
        return desk.summary()

    @router.get("/api/changes", response_model=given.Changes)
    def changes(version: Row = 0) -> Any:
        """Say what the newest re-ranking changed."""
        return desk.changes(version)

    def export(kind: Literal["csv", "json"], media: str) -> Response:
        named = {"Content-Disposition": f'attachment; filename="verdicts.{kind}"'}
        return Response(desk.export(kind), media_type=media, headers=named)

    @router.get("/api/export.csv", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
    def export_csv() -> Response:
        """Give all verdicts as a table."""
        return export("csv", "text/csv; charset=utf-8")

    @router.get("/api/export.json", response_class=Response, responses={200: {"content": {"application/json": {}}}})
    def export_json() -> Response:
        """Give all verdicts as JSON."""
        return export("json", "application/json")


def _pictures(router: APIRouter, desk: Desk) -> None:
    def png(data: bytes | None, what: str) -> Response:
        if data is None:
            return problem(404, f"There is no picture of {what}.")
        return Response(data, media_type="image/png")

    @router.get("/api/items/{id}/picture.png", response_class=Response, responses=PNG)
    def picture(
        item: ItemInPath, view: Literal["before", "after", "taken"] = "before", row: Row | None = None
    ) -> Response:
        """Show a row as it is, without what distracts, or what was taken out."""
        return png(desk.picture(item, view, row), "this item")

    @router.get(
        "/api/items/{id}/clip.mp4", response_class=FileResponse, responses={200: {"content": {"video/mp4": {}}}}
    )
    def clip(item: ItemInPath, version: Row | None = None) -> Response:
        """Give the stretch of video around an item; ranges can be asked for, so that a player can seek."""
        path = desk.clip(item, version)
        if path is None:
            return problem(404, "There is no video of this item.")
        return FileResponse(path, media_type="video/mp4")

    @router.get("/api/preview.png", response_class=Response, responses=PNG)
    def preview_picture(
        item: Annotated[str, Query(pattern=ITEM)],
        answer: Answer = "familiar",
        scope: Scope = "everywhere",
        strength: Annotated[float, Query(gt=0, le=100)] = 1.0,
    ) -> Response:
        """Show the direction that would go."""
        return png(desk.preview_picture(item, answer, scope, strength), "this direction")

    @router.get("/api/summary/directions/{n}.png", response_class=Response, responses=PNG)
    def direction_picture(n: Number) -> Response:
        """Show a direction that is ignored."""
        return png(desk.direction_picture(n), "this direction")


def _answering(router: APIRouter, desk: Desk) -> None:
    @router.post("/api/preview", response_model=given.Preview)
    def preview(asked: PreviewAsked) -> Any:
        """Say what an answer would change, without giving it."""
        return desk.preview(**asked.model_dump(exclude={"item"}), id=asked.item)

    @router.post("/api/verdicts", response_model=given.Recorded)
    def record(verdict: VerdictAsked) -> Any:
        """Keep an answer: it is on disk when this returns."""
        return desk.record(verdict.model_dump())

    @router.post("/api/withdrawals", response_model=given.Recorded)
    def withdraw(withdrawal: WithdrawalAsked) -> Any:
        """Take an answer back."""
        return desk.withdraw(withdrawal.model_dump())


def _listening(router: APIRouter, desk: Desk) -> None:
    # Waiting pages have threads of their own: however many listen, an answer finds one free.
    threads = anyio.CapacityLimiter(LISTENERS)

    async def told() -> AsyncIterator[str]:
        version = event = -1
        while True:
            since = monotonic()
            if await run_sync(desk.wait, version, event, WAIT, limiter=threads, abandon_on_cancel=True):
                now = await run_sync(desk.queue, 0, 1)
                version, event = now["version"], now["event"]
                yield f"data: {json.dumps({'version': version, 'event': event})}\n\n"
            elif monotonic() - since < WAIT / 2:
                return  # nothing new, and told at once: the desk is closed
            else:
                yield ": still here\n\n"

    @router.get(
        "/api/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}}
    )
    async def events() -> StreamingResponse:
        """Tell live when there is a new answer or a new ranking."""
        return StreamingResponse(told(), media_type="text/event-stream")

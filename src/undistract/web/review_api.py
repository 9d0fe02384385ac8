"""The routes of the review: each calls one method of the review session."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Response
from fastapi import Path as InPath
from fastapi.responses import FileResponse, HTMLResponse, StreamingResponse
from jinja2 import Environment, FileSystemLoader
from pydantic import BaseModel, ConfigDict, Field

from undistract.pipeline.verdicts import KEY_PATTERN, MAX_STRENGTH, MAX_TEXT, Answer, Scope
from undistract.review import payloads
from undistract.web.errors import error_response

if TYPE_CHECKING:
    from undistract.review.session import ReviewSession


ITEM = r"^[0-9]{1,9}-[0-9]{1,12}-[0-9]{1,12}$"

ItemId = Annotated[str, Field(pattern=ITEM, description="group-start-stop, as in the queue", examples=["0-120-131"])]
Key = Annotated[
    str, Field(pattern=f"^{KEY_PATTERN}$", description="a UUID from the client; repeated requests count once")
]
Strength = Annotated[float, Field(gt=0, le=MAX_STRENGTH)]
ItemInPath = Annotated[str, InPath(alias="id", pattern=ITEM)]
Number = Annotated[int, InPath(ge=0, le=10**9)]
Row = Annotated[int, Query(ge=0, le=10**12)]
ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"description": "Not found"},
    409: {"description": "The request conflicts with the review"},
    422: {"description": "The request is invalid"},
    507: {"description": "Reading or writing failed; send the request again"},
}
PNG: dict[int | str, dict[str, Any]] = {200: {"content": {"image/png": {}}, "description": "An image"}}
MP4: dict[int | str, dict[str, Any]] = {200: {"content": {"video/mp4": {}}}}
EVENTS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}
WAIT = 2.0  # seconds between two checks whether the browser is still connected
LISTENERS = 100  # pages that can listen to events; each holds one waiting thread


class Request(BaseModel):
    """Base of all requests: strict types, no unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid")


class PreviewRequest(Request):
    """A verdict to preview."""

    item: ItemId
    answer: Answer = "false_alarm"
    scope: Scope = "everywhere"
    strength: Strength = 1.0


class VerdictRequest(PreviewRequest):
    """A verdict to record."""

    key: Key
    answer: Answer
    who: Annotated[str, Field(max_length=MAX_TEXT["who"])] = ""
    expires: Annotated[float, Field(ge=0, le=1e11)] | None = None
    note: Annotated[str, Field(max_length=MAX_TEXT["note"])] = ""


class WithdrawalRequest(Request):
    """A verdict to withdraw."""

    key: Key
    of: Key
    who: Annotated[str, Field(max_length=MAX_TEXT["who"])] = ""


def review_router(session: ReviewSession) -> APIRouter:
    """Return the routes of one review."""
    router = APIRouter(responses=ERRORS)
    pages = Environment(loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True)

    @router.get("/", response_class=HTMLResponse)
    def page() -> HTMLResponse:
        """Return the review page."""
        return HTMLResponse(pages.get_template("review.html").render(title=session.about()["title"]))

    _add_queries(router, session)
    _add_images(router, session)
    _add_verdicts(router, session)
    _add_events(router, session)
    return router


def _add_queries(router: APIRouter, session: ReviewSession) -> None:
    @router.get("/api/about", response_model=payloads.AboutPayload)
    def about() -> Any:
        """Return the title and the groups of the review."""
        return session.about()

    @router.get("/api/queue", response_model=payloads.QueuePayload)
    def queue(offset: Row = 0, limit: Annotated[int, Query(ge=1, le=2000)] = 200) -> Any:
        """Return the ranked list, or a part of it."""
        return session.queue(offset, limit)

    @router.get("/api/items/{id}", response_model=payloads.ItemDetail)
    def item(item: ItemInPath) -> Any:
        """Return one item with its exhibit, its explanation and its history."""
        return session.item(item)

    @router.get("/api/groups/{n}/track", response_model=payloads.TrackPayload)
    def track(
        n: Number, start: Row = 0, stop: Row | None = None, width: Annotated[int, Query(ge=1, le=4000)] = 800
    ) -> Any:
        """Return the scores of a group, reduced to at most `width` buckets."""
        return session.track(n, start, stop, width)

    @router.get("/api/summary", response_model=payloads.SummaryPayload)
    def summary() -> Any:
        """Return the verdicts so far and their effect."""
        return session.summary()

    @router.get("/api/changes", response_model=payloads.ChangesPayload)
    def changes(version: Row = 0) -> Any:
        """Return the effect of the latest re-ranking."""
        return session.changes(version)

    def export(kind: Literal["csv", "json"], media: str) -> Response:
        headers = {"Content-Disposition": f'attachment; filename="verdicts.{kind}"'}
        return Response(session.export(kind), media_type=media, headers=headers)

    @router.get("/api/export.csv", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
    def export_csv() -> Response:
        """Return all verdicts as a CSV table."""
        return export("csv", "text/csv; charset=utf-8")

    @router.get("/api/export.json", response_class=Response, responses={200: {"content": {"application/json": {}}}})
    def export_json() -> Response:
        """Return all verdicts as JSON."""
        return export("json", "application/json")


def _add_images(router: APIRouter, session: ReviewSession) -> None:
    def png(data: bytes | None, subject: str) -> Response:
        if data is None:
            return error_response(404, f"There is no image of {subject}.")
        return Response(data, media_type="image/png")

    @router.get("/api/items/{id}/picture.png", response_class=Response, responses=PNG)
    def picture(
        item: ItemInPath, view: Literal["before", "after", "taken"] = "before", row: Row | None = None
    ) -> Response:
        """Return an image of a row: original, denoised, or the difference of both."""
        return png(session.picture(item, view, row), "this item")

    @router.get("/api/items/{id}/clip.mp4", response_class=FileResponse, responses=MP4)
    def clip(item: ItemInPath, version: Row | None = None) -> Response:
        """Return the video around an item. HTTP ranges are supported, so that a player can seek."""
        path = session.clip(item, version)
        if path is None:
            return error_response(404, "There is no video of this item.")
        return FileResponse(path, media_type="video/mp4")

    @router.get("/api/preview.png", response_class=Response, responses=PNG)
    def preview_picture(
        item: Annotated[str, Query(pattern=ITEM)],
        answer: Answer = "false_alarm",
        scope: Scope = "everywhere",
        strength: Annotated[float, Query(gt=0, le=MAX_STRENGTH)] = 1.0,
    ) -> Response:
        """Return an image of the direction that the verdict would remove."""
        return png(session.preview_picture(item, answer, scope, strength), "this direction")

    @router.get("/api/summary/directions/{n}.png", response_class=Response, responses=PNG)
    def direction_picture(n: Number) -> Response:
        """Return an image of an ignored direction."""
        return png(session.direction_picture(n), "this direction")


def _add_verdicts(router: APIRouter, session: ReviewSession) -> None:
    @router.post("/api/preview", response_model=payloads.PreviewPayload)
    def preview(verdict: PreviewRequest) -> Any:
        """Return the effect of a verdict without recording it."""
        return session.preview(**verdict.model_dump(exclude={"item"}), id=verdict.item)

    @router.post("/api/verdicts", response_model=payloads.Recorded)
    def record(verdict: VerdictRequest) -> Any:
        """Record a verdict. It is on disk when the response is sent."""
        return session.record(verdict.model_dump())

    @router.post("/api/withdrawals", response_model=payloads.Recorded)
    def withdraw(withdrawal: WithdrawalRequest) -> Any:
        """Withdraw a verdict."""
        return session.withdraw(withdrawal.model_dump())


def _add_events(router: APIRouter, session: ReviewSession) -> None:
    # Listening pages have their own threads, so that they cannot block requests.
    threads = anyio.CapacityLimiter(LISTENERS)

    async def event_stream() -> AsyncIterator[str]:
        version = event = -1
        while True:
            start = monotonic()
            if await run_sync(session.wait, version, event, WAIT, limiter=threads, abandon_on_cancel=True):
                queue = await run_sync(session.queue, 0, 1)
                version = queue["version"]
                event = queue["event"]
                yield f"data: {json.dumps({'version': version, 'event': event})}\n\n"
            elif monotonic() - start < WAIT / 2:
                return  # nothing new, and returned early: the session is closed
            else:
                yield ": keep-alive\n\n"

    @router.get("/api/events", response_class=StreamingResponse, responses=EVENTS)
    async def events() -> StreamingResponse:
        """Send an event when there is a new verdict or a new ranking."""
        return StreamingResponse(event_stream(), media_type="text/event-stream")

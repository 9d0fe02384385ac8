"""What the review's routes give, exactly: the schema that a client can rely on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from undistract.web.review_asked import Answer


class Recorded(BaseModel):
    """It is kept, under this number."""

    event: int
    key: str


class SetAbout(BaseModel):
    """One reviewed set."""

    id: int
    name: str
    rows: int
    kind: Literal["video", "image", "window", "row"]
    times: Literal["seconds", "dates"] | None


class About(BaseModel):
    """What is reviewed."""

    title: str
    features: int
    sets: list[SetAbout]


class Item(BaseModel):
    """One alarm, and where it stands now and stood before any answer."""

    id: str
    set: int
    set_name: str
    start: int
    stop: int
    peak: int
    time: str | None
    score: float | None
    was: float | None
    rank: int
    was_rank: int
    alarm: bool
    was_alarm: bool
    answer: Answer | None
    who: str | None
    key: str | None


class Queue(BaseModel):
    """Open items first, strongest first; then the answered ones."""

    version: int
    event: int
    learned: int  # the last event that the ranking has learned from
    busy: bool
    problem: str | None = Field(None, description="why the newest answers could not be learned from")
    threshold: float | None
    total: int
    open: int
    answered: int
    items: list[Item]


class Part(BaseModel):
    """A feature, and what it carried."""

    name: str
    part: float | None


class Explanation(BaseModel):
    """Why an item was flagged."""

    text: str
    ignored: float | None
    features: list[Part]


class ImageExhibit(BaseModel):
    """A row that is a picture."""

    kind: Literal["image"]
    pictures: list[str]
    size: list[int] | None = None


class VideoExhibit(BaseModel):
    """A stretch of a video."""

    kind: Literal["video"]
    clip: bool
    pictures: list[str]
    seconds: list[float] | None = None
    peak_second: float | None = None


class Series(BaseModel):
    """One column of a window, as it is, without what distracts, and as it usually goes."""

    name: str
    values: list[float | None]
    after: list[float | None] | None = None
    usual: list[float | None] | None = None


class WindowExhibit(BaseModel):
    """A window of a time series."""

    kind: Literal["window"]
    series: list[Series]
    steps: int
    left_out: int = 0


class Cell(BaseModel):
    """One cell of a table row."""

    name: str
    value: float | None
    usual: float | None
    after: float | None
    part: float | None


class RowExhibit(BaseModel):
    """A row of a table."""

    kind: Literal["row"]
    cells: list[Cell]
    left_out: int = 0


Exhibit = Annotated[ImageExhibit | VideoExhibit | WindowExhibit | RowExhibit, Field(discriminator="kind")]


class Happened(BaseModel):
    """An event of the history: an answer, or (with `of`) one taken back."""

    model_config = ConfigDict(extra="allow")

    key: str
    who: str = ""
    when: float = 0.0
    answer: Answer | None = None
    of: str | None = None


class ItemShown(Item):
    """An item with everything that a person sees of it."""

    version: int
    explanation: Explanation
    exhibit: Exhibit
    history: list[Happened]


class Track(BaseModel):
    """The scores of one set, thinned to buckets of rows."""

    set: int
    start: int
    stop: int
    rows: list[int]
    low: list[float | None]
    high: list[float | None]
    before_high: list[float | None] | None
    threshold: float | None
    before_threshold: float | None
    items: list[Annotated[list[int | str | bool | None], Field(min_length=5, max_length=5)]] = Field(
        description="start, stop, id, answer or null, whether it alarms now"
    )
    times: list[str] | None


class Weakened(Item):
    """A confirmed anomaly, and what it would score then."""

    then: float | None


class Direction(BaseModel):
    """Which direction would go: its features, and whether it can be seen as a picture."""

    features: list[Part]
    picture: bool


class Preview(BaseModel):
    """What an answer would change."""

    vanish: list[Item]
    appear: list[Item]
    weaken: list[Weakened]
    removed: int
    removed_then: int
    direction: Direction
    protected: bool
    words: str


class Moved(BaseModel):
    """An item that the newest re-ranking moved."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    id: str
    origin: int = Field(alias="from")
    to: int
    score: float | None
    was: float | None


class Changes(BaseModel):
    """What the newest re-ranking changed."""

    version: int
    event: int
    moved: list[Moved]
    vanished: int
    by: list[str]
    words: str


class LearnedDirection(Direction):
    """A direction that is ignored."""

    distraction: float | None
    taught: bool


class Summary(BaseModel):
    """What was answered, and what was learned from it."""

    verdicts: dict[str, int]
    reviewers: dict[str, int]
    removed: int
    removed_before: int
    alarms: int
    alarms_before: int
    directions: list[LearnedDirection]
    words: str

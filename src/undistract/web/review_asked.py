"""What the review's routes take, exactly: nothing is guessed, nothing unknown is let in."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

ITEM = r"^[0-9]{1,9}-[0-9]{1,12}-[0-9]{1,12}$"
KEY = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"

Answer = Literal["familiar", "anomaly", "unsure", "calm"]
Scope = Literal["everywhere", "context"]
ItemId = Annotated[
    str, Field(pattern=ITEM, description="set-start-stop, as the queue gives it", examples=["0-120-131"])
]
Key = Annotated[str, Field(pattern=KEY, description="a UUID made by the client; sent again, it counts once")]
Strength = Annotated[float, Field(gt=0, le=100)]


class Asked(BaseModel):
    """A request: nothing is guessed, nothing unknown is let in."""

    model_config = ConfigDict(strict=True, extra="forbid")


class PreviewAsked(Asked):
    """What would change?"""  # noqa: D400

    item: ItemId
    answer: Answer = "familiar"
    scope: Scope = "everywhere"
    strength: Strength = 1.0


class VerdictAsked(PreviewAsked):
    """An answer to be kept."""

    key: Key
    answer: Answer
    who: Annotated[str, Field(max_length=200)] = ""
    expires: Annotated[float, Field(ge=0, le=1e11)] | None = None
    note: Annotated[str, Field(max_length=2000)] = ""


class WithdrawalAsked(Asked):
    """An answer to be taken back."""

    key: Key
    of: Key
    who: Annotated[str, Field(max_length=200)] = ""

"""People look, and what they say is kept: verdicts, which of them stand, and the log that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from undistract.extras import need
from undistract.review.verdicts import (
    ANSWERS,
    SCOPES,
    Event,
    Standing,
    Verdict,
    Withdrawal,
    event_from_json,
    standing,
)

if TYPE_CHECKING:
    from undistract.review.store import ReviewStore

__all__ = [
    "ANSWERS",
    "SCOPES",
    "Event",
    "ReviewStore",
    "Standing",
    "Verdict",
    "Withdrawal",
    "event_from_json",
    "standing",
]


def __getattr__(name: str) -> Any:
    # The store alone needs SQLAlchemy; verdicts do without.
    if name == "ReviewStore":
        need("sqlalchemy", extra="web", to="Keeping a review")
        from undistract.review.store import ReviewStore

        return ReviewStore
    raise AttributeError(f"module 'undistract.review' has no attribute {name!r}")

"""The review application without HTTP: items, the log of verdicts, and the session that updates the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from undistract._optional import import_optional
from undistract.pipeline.verdicts import (
    ANSWERS,
    SCOPES,
    ActiveVerdicts,
    Event,
    Verdict,
    Withdrawal,
    active_verdicts,
    event_from_json,
)

if TYPE_CHECKING:
    from undistract.review.feedback import relearn
    from undistract.review.store import ReviewStore

__all__ = [
    "ANSWERS",
    "SCOPES",
    "ActiveVerdicts",
    "Event",
    "ReviewStore",
    "Verdict",
    "Withdrawal",
    "active_verdicts",
    "event_from_json",
    "relearn",
]


def __getattr__(name: str) -> Any:
    # The store needs SQLAlchemy; verdicts do not.
    if name == "ReviewStore":
        import_optional("sqlalchemy", extra="web", to="Keeping a review")
        from undistract.review.store import ReviewStore

        return ReviewStore
    if name == "relearn":
        from undistract.review.feedback import relearn

        return relearn
    raise AttributeError(f"module 'undistract.review' has no attribute {name!r}")

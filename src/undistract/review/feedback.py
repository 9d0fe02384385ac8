"""Relearn: apply the verdicts of a review to a model."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from undistract.pipeline.model import Model
from undistract.pipeline.verdicts import FeedbackItem, active_verdicts

if TYPE_CHECKING:
    from undistract.review.store import ReviewStore


def relearn(
    model: Model, reviews: ReviewStore | str | Path | Iterable[FeedbackItem], *, now: float | None = None
) -> Model:
    """Return the model with the feedback of a review.

    The model is fitted on its training and on all active verdicts. So relearning twice equals relearning once, the
    order does not matter, and a withdrawn verdict has no effect.

    Parameters
    ----------
    model : Model
        With or without earlier feedback; feedback from other reviews stays.
    reviews : ReviewStore, path, URL or iterable of FeedbackItem
        The log of `undistract review`.
    now : float, optional
        Unix seconds, by default the present; verdicts that have expired by then do not count.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract import Source, learn
    >>> from undistract.review import Verdict
    >>> rng = np.random.default_rng(0)
    >>> days = [Source(day, rng.normal(size=20) + rng.normal(size=(30, 20))) for day in range(40)]
    >>> model = learn(days)
    >>> key = "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c"
    >>> shake = FeedbackItem(Verdict(key, "match.mp4", 120, 131, 125, "false_alarm"), 9 * np.ones(20))
    >>> better = relearn(model, [shake])
    >>> model.focus.n_removed_, better.focus.n_removed_
    (0, 1)
    >>> (relearn(better, [shake]).focus.components_ == better.focus.components_).all()
    np.True_
    """
    moment = time() if now is None else now
    if isinstance(reviews, str | Path):
        from undistract.review import ReviewStore  # its import error names the extra for SQLAlchemy

        with ReviewStore.open(reviews, create=False) as store:
            return relearn(model, store, now=moment)
    if isinstance(reviews, Iterable):
        items = list(reviews)
        keys = {item.verdict.key for item in items}
        active = [item for item in items if item.verdict.is_active(moment)]
    else:
        events = [event for _, event in reviews.events()]
        keys = {event.key for event in events}
        verdicts = active_verdicts(events, now=moment)
        evidence = reviews.evidence_of(verdicts)
        active = [FeedbackItem(verdict, evidence.get(key)) for key, verdict in verdicts.items()]
    return model.with_feedback([*other_feedback(model, keys, moment), *active])


def other_feedback(model: Model, review_keys: Collection[str], now: float) -> list[FeedbackItem]:
    """Return the unexpired feedback of a model from other reviews than the one with these keys."""
    return [item for item in model.feedback if item.verdict.key not in review_keys and item.verdict.is_active(now)]

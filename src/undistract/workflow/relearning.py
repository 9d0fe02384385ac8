"""Relearn: a model, and what people said about its alarms, make the next model."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from undistract.review.feedback import Lesson
from undistract.review.verdicts import Standing
from undistract.workflow.model import Model

if TYPE_CHECKING:
    from undistract.review.store import ReviewStore


def relearn(model: Model, reviews: ReviewStore | str | Path | Iterable[Lesson], *, now: float | None = None) -> Model:
    """Learn from verdicts what else to ignore, and what never to.

    The model is made anew of its training and of all verdicts that stand. So learning twice is learning once, the order
    does not matter, and a verdict that was withdrawn leaves no trace.

    Parameters
    ----------
    model : Model
        As it was learned, or relearned before: lessons from other reviews stay.
    reviews : ReviewStore, path, URL or iterable of Lesson
        The log that `undistract review` keeps.
    now : float, optional
        Unix seconds; what has expired by then does not count. The present if left out.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract import FeatureSet, learn
    >>> from undistract.review import Verdict
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=20) + rng.normal(size=(30, 20))) for day in range(40)]
    >>> model = learn(days)
    >>> key = "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c"
    >>> shake = Lesson(Verdict(key, "match.mp4", 120, 131, 125, "familiar"), 9 * np.ones(20))
    >>> better = relearn(model, [shake])
    >>> model.focus.n_removed_, better.focus.n_removed_
    (0, 1)
    >>> (relearn(better, [shake]).focus.components_ == better.focus.components_).all()
    np.True_
    """
    moment = time() if now is None else now
    if isinstance(reviews, str | Path):
        from undistract.review import ReviewStore  # it needs SQLAlchemy, and says so

        with ReviewStore.open(reviews, create=False) as store:
            return relearn(model, store, now=moment)
    if isinstance(reviews, Iterable):
        every = list(reviews)
        new = [one for one in every if one.verdict.counts(moment)]
        return with_lessons(model, new, {one.verdict.key for one in every}, moment)
    events = [event for _, event in reviews.events()]
    standing = Standing(events).verdicts(moment)
    evidence = reviews.evidence_of(standing)
    new = [Lesson(one, evidence.get(key)) for key, one in standing.items()]
    return with_lessons(model, new, {event.key for event in events}, moment)


def with_lessons(
    model: Model, lessons: Iterable[Lesson], said: Collection[str], now: float, *, calibrate: bool = True
) -> Model:
    """Teach a model the lessons of one review; those it knows from others stay while they count.

    Parameters
    ----------
    model : Model
    lessons : iterable of Lesson
        That stand.
    said : collection of str
        The keys of every verdict of this review: what does not stand any more goes.
    now : float
        Unix seconds.
    calibrate : bool
        False: keep the threshold as it is, which is faster.

    Examples
    --------
    >>> with_lessons(model, [], {"6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c"}, now=0.0)  # doctest: +SKIP
    """
    kept = [one for one in model.lessons if one.verdict.key not in said and one.verdict.counts(now)]
    return model.taught([*kept, *lessons], calibrate=calibrate)

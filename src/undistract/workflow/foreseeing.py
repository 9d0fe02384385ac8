"""Foreseeing: what an answer would change, found out by giving it to a model that nobody keeps."""

from __future__ import annotations

import numpy as np

from undistract.review.feedback import Lesson
from undistract.review.items import Item
from undistract.review.preview import Preview, compare
from undistract.review.verdicts import Verdict
from undistract.workflow.live_review import LiveReview, State

# The key of an answer that is only imagined.
IMAGINED = "ffffffff-ffff-4fff-bfff-ffffffffffff"


def foreseen(live: LiveReview, state: State, item: Item, answer: str, *, scope: str, strength: float) -> Preview:
    """Say what an answer about an item would change.

    Parameters
    ----------
    live : LiveReview
        What was said so far, and what it rests on.
    state : State
        What is compared with.
    item : Item
    answer, scope, strength
        As in `Verdict`.

    Examples
    --------
    >>> foreseen(live, live.state, item, "familiar", scope="everywhere", strength=1.0).words  # doctest: +SKIP
    '16 alarms would vanish. 1 direction more would be ignored.'
    """
    name = str(state.ranking.sets[item.set].name)
    verdict = Verdict(IMAGINED, name, item.start, item.stop, item.peak, answer, scope=scope, strength=strength)
    others = {key: one for key, one in state.verdicts.items() if one.item != verdict.item}
    then = state.ranking.under(live.taught([*live.lessons(others), Lesson(verdict, live.evidence(item, answer))]))
    said = [state.answer_to(one) for one in state.ranking.items]
    confirmed = np.array([one is not None and one.answer == "anomaly" for one in said], dtype=bool)
    now_and_then = state.ranking.model.in_context(name).focus, then.model.in_context(name).focus
    seen = live.evidence(item, "familiar")
    assert seen is not None
    return compare((state.scores, state.alarms), then.of_items(), confirmed, now_and_then, seen)

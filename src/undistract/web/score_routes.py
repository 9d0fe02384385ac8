"""The scoring service: rows in, scores and reasons out; and what the model is."""

# No postponed annotations here: FastAPI reads the request's type, which is made for each model.

from time import time
from typing import Any

import numpy as np
from fastapi import APIRouter

from undistract.detect import Threshold
from undistract.web.limits import Limits
from undistract.web.metrics import Metrics
from undistract.web.score_messages import Known, Part, Scored, When, Why, rows_to_score
from undistract.workflow import Model
from undistract.workflow.answering import Answer, answer, judged_by


def score_router(model: Model, metrics: Metrics, limits: Limits) -> APIRouter:
    """Make the routes that score with one model.

    Parameters
    ----------
    model : Model
    metrics : Metrics
        Where rows and alarms are counted.
    limits : Limits

    Examples
    --------
    >>> from undistract import FeatureSet, learn
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> [route.path for route in score_router(learn(days), Metrics(), Limits()).routes]
    ['/score', '/model']
    """
    router = APIRouter()
    Rows: Any = rows_to_score(model, limits)

    @router.post("/score")
    def score(asked: Rows) -> Scored:
        """Score rows of one context: send those that belong together in one call."""
        said = answer(np.array(asked.rows), model, name=asked.set, alarm_above=asked.threshold, explain=asked.explain)
        metrics.count_rows(len(said.scores), 0 if said.alarms is None else int(said.alarms.sum()))
        return _scored(said, asked.threshold)

    @router.get("/model")
    def about() -> Known:
        """Say what the model learned from, what it ignores, and when it alarms."""
        return _known(model.without_expired(time()))

    return router


def _scored(said: Answer, given: float | None) -> Scored:
    return Scored(
        judged_by=said.judged_by,
        scores=said.scores.tolist(),
        threshold=_when(said.threshold) if given is None else When(value=given, rate=None, rule="given"),
        alarms=None if said.alarms is None else said.alarms.tolist(),
        ignored=said.ignored.tolist(),
        p_values=None if said.p_values is None else said.p_values.tolist(),
        explanations=[
            Why(
                row=why.row,
                text=str(why),
                features=[Part(name=name, part=part) for name, part in why.strongest()],
                ignored=why.ignored,
            )
            for why in said.explanations
        ],
    )


def _when(threshold: Threshold | None) -> When | None:
    return None if threshold is None else When(value=threshold.value, rate=threshold.rate, rule=threshold.rule)


def _known(model: Model) -> Known:
    names = model.feature_names
    return Known(
        **model.summary() | {"threshold": _when(model.threshold)},
        feature_names=None if names is None else list(names),
        judged_by=judged_by(model),
        alarms=model.when_to_alarm(),
        description=model.focus.describe(),
    )

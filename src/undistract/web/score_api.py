"""The scoring service: POST /score returns scores and explanations, GET /model describes the model."""

import math
from time import time
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter
from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, Strict, create_model

from undistract.detect import Threshold
from undistract.detect.base import MAX_ABS
from undistract.pipeline import Model
from undistract.pipeline.scoring import N_EXPLAINED, RowScores, judged_by, score_rows
from undistract.web.limits import Limits
from undistract.web.metrics import Metrics

# No `from __future__ import annotations`: FastAPI evaluates the type of the request, which is created per model.

NO_EXTRA = ConfigDict(extra="forbid")
Number = Annotated[float, Strict(), Field(allow_inf_nan=False, ge=-MAX_ABS, le=MAX_ABS)]
# JSON has no representation of infinite numbers and NaN.
Finite = Annotated[
    float | None, BeforeValidator(lambda value: value if value is None or math.isfinite(value) else None)
]
Share = Annotated[float, Field(ge=0, le=1)]


class ThresholdInfo(BaseModel):
    """The alarm threshold."""

    model_config = NO_EXTRA
    value: Finite = Field(description="Scores above this alarm; null if a single row cannot alarm.")
    rate: Share | None = Field(
        description="The share of rows of a normal group that alarm; null if the request contained the threshold."
    )
    rule: str


class FeaturePart(BaseModel):
    """The contribution of one feature to a score."""

    model_config = NO_EXTRA
    name: str
    part: float


class RowExplanation(BaseModel):
    """The explanation of one row's score."""

    model_config = NO_EXTRA
    row: Annotated[int, Field(ge=0)]
    text: str
    features: list[FeaturePart] = Field(description="The largest contributions, strongest first.")
    ignored: Share


class ScoreResponse(BaseModel):
    """The scores of the rows and their explanations."""

    model_config = NO_EXTRA
    judged_by: Literal["known", "own"] = Field(
        description="Whether rows were compared with the reference rows of the model, or only with each other."
    )
    scores: list[float] = Field(description="One anomaly score per row; higher is more anomalous.")
    threshold: ThresholdInfo | None = Field(
        description="null if the model has no reference rows and the request no threshold."
    )
    alarms: list[bool] | None = Field(description="null if there is no threshold.")
    ignored: list[Share] = Field(description="The share of each row's deviation along ignored directions.")
    p_values: list[Share] | None = Field(description="The p-value of each score under normal groups, if available.")
    explanations: list[RowExplanation] = Field(
        max_length=N_EXPLAINED,
        description="With explain: the rows that alarm, or the highest scores if there is no threshold.",
    )


class ModelInfo(BaseModel):
    """The training data of the model, what it ignores, and its threshold."""

    model_config = NO_EXTRA
    groups: int
    rows: int
    features: int = Field(description="The number of features of a row.")
    feature_names: list[str] | None
    removed: int = Field(description="The number of ignored directions.")
    cutoff: Finite
    threshold: ThresholdInfo | None
    judged_by: Literal["known", "own"]
    reading: dict[str, Any] = Field(description="The options that files were read with.")
    feedback: dict[str, int] = Field(description="The number of verdicts that the model learned from, by answer.")
    alarms: str = Field(description="A sentence about the threshold.")
    description: str = Field(description="The summary of what is ignored and why.")


def rows_to_score(model: Model, limits: Limits) -> type[BaseModel]:
    """Return the request model. The number of features is part of its schema."""
    width = model.focus.n_features_in_
    min_rows = 2 if judged_by(model) == "own" else 1  # rows that are compared with each other
    # Validation stops at the first wrong number: millions of error messages would need more memory than the rows.
    Row = Annotated[list[Number], FailFast(), Field(min_length=width, max_length=width)]
    return create_model(
        "RowsToScore",
        __config__=ConfigDict(extra="forbid", title="Rows to score"),
        __doc__="Rows of one group, with the features of the training data.",
        rows=(
            Annotated[list[Row], FailFast(), Field(min_length=min_rows, max_length=limits.rows)],
            Field(description="One list of numbers per row, one number per feature."),
        ),
        group=(
            Annotated[str, Strict(), Field(max_length=200)],
            Field(default="rows", description="The name of the group."),
        ),
        explain=(Annotated[bool, Strict()], Field(default=False, description="Explain the rows that alarm.")),
        threshold=(
            Number | None,
            Field(default=None, description="Alarm above this score instead of the threshold of the model."),
        ),
    )


def score_router(model: Model, metrics: Metrics, limits: Limits) -> APIRouter:
    """Return the routes that score with one model; `metrics` counts rows and alarms."""
    router = APIRouter()
    Rows: Any = rows_to_score(model, limits)

    @router.post("/score")
    def score(request: Rows) -> ScoreResponse:
        """Score rows of one group. Send the rows that belong together in one request."""
        rows = np.array(request.rows)
        result = score_rows(rows, model, name=request.group, alarm_above=request.threshold, explain=request.explain)
        n_alarms = 0 if result.alarms is None else int(result.alarms.sum())
        metrics.count_rows(len(result.scores), n_alarms)
        return _response(result, request.threshold)

    @router.get("/model")
    def about() -> ModelInfo:
        """Describe the training data of the model, what it ignores, and its threshold."""
        return _model_info(model.without_expired(time()))

    return router


def _response(result: RowScores, alarm_above: float | None) -> ScoreResponse:
    threshold = _threshold_info(result.threshold)
    if alarm_above is not None:
        threshold = ThresholdInfo(value=alarm_above, rate=None, rule="given")
    explanations = []
    for explanation in result.explanations:
        features = [FeaturePart(name=name, part=part) for name, part in explanation.strongest()]
        explanations.append(
            RowExplanation(row=explanation.row, text=str(explanation), features=features, ignored=explanation.ignored)
        )
    return ScoreResponse(
        judged_by=result.judged_by,
        scores=result.scores.tolist(),
        threshold=threshold,
        alarms=None if result.alarms is None else result.alarms.tolist(),
        ignored=result.ignored.tolist(),
        p_values=None if result.p_values is None else result.p_values.tolist(),
        explanations=explanations,
    )


def _threshold_info(threshold: Threshold | None) -> ThresholdInfo | None:
    if threshold is None:
        return None
    return ThresholdInfo(value=threshold.value, rate=threshold.rate, rule=threshold.rule)


def _model_info(model: Model) -> ModelInfo:
    return ModelInfo(
        **model.summary() | {"threshold": _threshold_info(model.threshold)},
        feature_names=None if model.feature_names is None else list(model.feature_names),
        judged_by=judged_by(model),
        alarms=model.describe_threshold(),
        description=str(model.focus.summary(model.feature_names)),
    )

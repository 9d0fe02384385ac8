"""What the scoring service takes and gives, as pydantic models: the schema is made of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, Strict, create_model

from undistract.detect.rows import FAR
from undistract.web.limits import Limits
from undistract.workflow.answering import N_EXPLAINED, judged_by

if TYPE_CHECKING:
    from undistract.workflow import Model

Told = ConfigDict(extra="forbid")
Number = Annotated[float, Strict(), Field(allow_inf_nan=False, ge=-FAR, le=FAR)]
# JSON has no word for what is not finite.
Finite = Annotated[
    float | None, BeforeValidator(lambda value: value if value is None or math.isfinite(value) else None)
]
Share = Annotated[float, Field(ge=0, le=1)]


class When(BaseModel):
    """From which score a row alarms."""

    model_config = Told
    value: Finite = Field(description="Above this; null where no lone row can alarm.")
    rate: Share | None = Field(
        description="The share of a normal set's rows that alarm; null where you gave the value."
    )
    rule: str


class Part(BaseModel):
    """What one feature carried of a score."""

    model_config = Told
    name: str
    part: float


class Why(BaseModel):
    """Why one row scored as it did."""

    model_config = Told
    row: Annotated[int, Field(ge=0)]
    text: str
    features: list[Part] = Field(description="Those that carried most, the strongest first.")
    ignored: Share


class Scored(BaseModel):
    """What the model says about the rows, one value for each."""

    model_config = Told
    judged_by: Literal["known", "own"] = Field(
        description="Whether rows were compared with those the model knows, or only with each other."
    )
    scores: list[float] = Field(description="High is strange.")
    threshold: When | None = Field(description="null where the model keeps no rows and you gave no value.")
    alarms: list[bool] | None = Field(description="null where there is no threshold.")
    ignored: list[Share] = Field(description="The share of each row's deviation along ignored directions.")
    p_values: list[Share] | None = Field(description="How rare each score is among normal sets, where that is known.")
    explanations: list[Why] = Field(
        max_length=N_EXPLAINED,
        description="With explain: rows that alarm, or the strongest where there is no threshold; strongest first.",
    )


class Known(BaseModel):
    """What the model learned from, what it ignores, and when it alarms."""

    model_config = Told
    sets: int
    rows: int
    features: int = Field(description="How many numbers a row has.")
    feature_names: list[str] | None
    removed: int = Field(description="How many directions are ignored.")
    cutoff: Finite
    threshold: When | None
    judged_by: Literal["known", "own"]
    reading: dict[str, Any] = Field(description="How rows were made of files.")
    lessons: dict[str, int] = Field(description="How many verdicts of people it learned from, by answer.")
    alarms: str = Field(description="When a row alarms, in words.")
    description: str = Field(description="What is ignored and why, in words.")


def rows_to_score(model: Model, limits: Limits) -> type[BaseModel]:
    """Make the model of a request: rows as wide as those that were learned, so that the schema says so.

    Examples
    --------
    >>> import numpy as np
    >>> from undistract import FeatureSet, learn
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> rows_to_score(learn(days), Limits()).model_json_schema()["properties"]["rows"]["items"]["maxItems"]
    3
    """
    width = model.focus.n_features_in_
    # One row cannot be compared with itself.
    least = 2 if judged_by(model) == "own" else 1
    # The first wrong number is told; a list of millions would cost more than the rows.
    Row = Annotated[list[Number], FailFast(), Field(min_length=width, max_length=width)]
    return create_model(
        "RowsToScore",
        __config__=ConfigDict(extra="forbid", title="Rows to score"),
        __doc__="Rows of one context, as those that were learned.",
        rows=(
            Annotated[list[Row], FailFast(), Field(min_length=least, max_length=limits.rows)],
            Field(description="One list of numbers for each row, one number for each feature."),
        ),
        set=(
            Annotated[str, Strict(), Field(max_length=200)],
            Field(default="rows", description="What the context is called."),
        ),
        explain=(Annotated[bool, Strict()], Field(default=False, description="Say why rows alarm.")),
        threshold=(
            Number | None,
            Field(default=None, description="Alarm above this score instead of where the model says."),
        ),
    )

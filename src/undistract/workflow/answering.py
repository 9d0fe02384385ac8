"""Some rows, judged at once: scores, alarms, how rare, how much was ignored, and why; what the scoring service says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import time
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undistract.arrays import Floats
from undistract.detect import Explanation, FocusDetector, Threshold
from undistract.detect import explain as explain_rows
from undistract.focus import Focus
from undistract.sets.feature_set import FeatureSet
from undistract.workflow.model import Model
from undistract.workflow.scoring import own_detector, score

N_EXPLAINED = 20


@dataclass(frozen=True, eq=False)
class Answer:
    """What a model says about rows.

    Parameters
    ----------
    judged_by : "known" or "own"
        Whether rows were compared with those the model learned from, or with each other.
    scores, ignored : (n,) arrays
        High is strange; the share of each row's deviation that lies along ignored directions.
    threshold : Threshold, optional
        The model's own; none where it keeps no rows.
    p_values : (n,) array, optional
        How rare each score is among normal sets, where there is a threshold.
    alarms : (n,) array of bool, optional
        None where nobody said from where on.
    explanations : tuple of Explanation
        The strongest first.
    """

    judged_by: Literal["known", "own"]
    scores: Floats
    ignored: Floats
    threshold: Threshold | None
    p_values: Floats | None
    alarms: NDArray[np.bool_] | None
    explanations: tuple[Explanation, ...] = ()


def judged_by(model: Model) -> Literal["known", "own"]:
    """Say what a model compares rows with: those it knows, or each other.

    Examples
    --------
    >>> from undistract import learn
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> judged_by(learn(days)), judged_by(learn(days, keep_rows=False))
    ('known', 'own')
    """
    return "own" if isinstance(model.watch, Focus) or model.watch.adapt else "known"


def answer(
    rows: ArrayLike, model: Model, *, name: str = "rows", alarm_above: float | None = None, explain: bool = False
) -> Answer:
    """Judge rows of one context.

    Parameters
    ----------
    rows : (n, d) array
        As the model learned from.
    model : Model
    name : str
        What the context is called.
    alarm_above : float, optional
        Alarm above this score; by default where the model's threshold says.
    explain : bool
        Say why the rows that alarm do so, or the strongest ones where nothing says what alarms; at most twenty.

    Examples
    --------
    >>> from undistract import learn
    >>> rng = np.random.default_rng(0)
    >>> light = np.linspace(-30, 30, 8)
    >>> days = [
    ...     FeatureSet(day, rng.normal(size=8) + rng.normal(size=(60, 8)) + rng.normal(size=(60, 1)) * light)
    ...     for day in range(20)
    ... ]
    >>> today = days[3].rows + 0.0
    >>> today[31, 2] += 12
    >>> said = answer(today, learn(days), explain=True)
    >>> np.flatnonzero(said.alarms), said.explanations[0].strongest(1)[0][0]
    (array([31]), 'x2')
    """
    one = FeatureSet(name, rows)
    now = time()
    scored = score([one], model, now=now)
    found, threshold = scored.sets[0], scored.threshold
    scores = found.after.values
    p_values = None if threshold is None else threshold.p_values(scores)
    alarms = None if threshold is None else threshold.alarms(scores)
    if alarm_above is not None:
        alarms = scores > alarm_above
    said = Answer(judged_by(model), scores, found.ignored, threshold, p_values, alarms)
    local = model.without_expired(now).in_context(name)
    return replace(said, explanations=_reasons(one, local, said)) if explain else said


def _reasons(one: FeatureSet, model: Model, said: Answer) -> tuple[Explanation, ...]:
    strongest = np.argsort(-said.scores, kind="stable")
    chosen = strongest if said.alarms is None else strongest[said.alarms[strongest]]
    watch = model.watch
    if isinstance(watch, Focus):
        watch = FocusDetector(model.focus, own_detector(len(one)), adapt=True)
        watch.focus_, watch.detector_ = model.focus, watch.detector
    found = explain_rows(watch, one.rows, chosen[:N_EXPLAINED].tolist(), feature_names=model.feature_names)
    # A lone row does not deviate from itself: what was ignored of it is told as in `ignored`.
    return tuple(
        replace(on_scale_of(float(said.scores[why.row]), why), ignored=float(said.ignored[why.row])) for why in found
    )


def on_scale_of(score: float, why: Explanation) -> Explanation:
    """Bring an explanation to the scale of a score, which a lesson for its context alone can change.

    Examples
    --------
    >>> why = Explanation(7, 2.0, np.array([0.5, 1.5]), True, np.ones(2), 0.0, ("heat", "load"))
    >>> on_scale_of(4.0, why).strongest(1)
    [('load', 3.0)]
    """
    scale = 1.0 if np.isclose(score, why.score, rtol=1e-9) else score / why.score
    return replace(why, score=score, contributions=why.contributions * scale)

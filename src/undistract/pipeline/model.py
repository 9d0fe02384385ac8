"""The model: everything that was fitted on groups of normal rows, and the feedback of people; one value, one file.

Model = training + active feedback. Feedback never changes a model in place, so any verdict can be withdrawn:

    false_alarm   its deviation from its context counts as within-group variation from now on
    anomaly       its deviation, as far as training keeps it visible, is protected from removal
    calm          the range of rows becomes a group, and a sample of its rows joins the reference rows
    unsure        no effect
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from undistract._arrays import Floats, Rows
from undistract.algebra import Feedback, GroupMoments, Moments
from undistract.detect import FocusDetector, Threshold
from undistract.detect.base import Detector
from undistract.errors import EvidenceWarning, FileError, InputError
from undistract.focus import Focus
from undistract.pipeline.verdicts import ANSWERS, FeedbackItem, Verdict, event_from_json
from undistract.sources.options import ReadOptions
from undistract.storage import load, save

# The number of rows of a calm range that join the reference rows, evenly spaced.
MAX_CALM_REFERENCE = 200


@dataclass(frozen=True, eq=False)
class Model:
    """Focus, detector and threshold, and a baseline detector on the original rows.

    Parameters
    ----------
    detector : FocusDetector or Focus
        Only a `Focus` if the model has no reference rows: then a source is scored by its own rows.
    baseline, baseline_threshold : Detector and Threshold, optional
        The same detector without focus, for comparison.
    reading : ReadOptions
        How rows are read.
    feature_names : tuple of str, optional
    image_shape : tuple of int, optional
        The shape of a row that is a picture.
    feedback : tuple of FeedbackItem
        The feedback that the model contains.
    training : Moments, optional
        The moments before feedback added calm groups; None if it added none.

    Examples
    --------
    >>> from undistract import Source, learn
    >>> from tempfile import TemporaryDirectory
    >>> rng = np.random.default_rng(0)
    >>> days = [Source(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> with TemporaryDirectory() as folder:
    ...     model = Model.load(learn(days).save(Path(folder, "street.focus")))
    >>> model.focus.n_removed_, model.threshold.n_groups
    (1, 9)
    """

    detector: FocusDetector | Focus
    baseline: Detector | None = None
    baseline_threshold: Threshold | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)
    feature_names: tuple[str, ...] | None = None
    image_shape: tuple[int, ...] | None = None
    feedback: tuple[FeedbackItem, ...] = ()
    training: Moments | None = None
    # Derived models. Bounded: one per context with own feedback, per set of unexpired feedback, and the last fit.
    _cache: dict[Any, Any] = field(init=False, default_factory=dict, repr=False)

    @property
    def focus(self) -> Focus:
        """The fitted focus."""
        if isinstance(self.detector, Focus):
            return self.detector
        focus: Focus = self.detector.focus_
        return focus

    @property
    def threshold(self) -> Threshold | None:
        """The alarm threshold; None if the model has no reference rows."""
        return None if isinstance(self.detector, Focus) else self.detector.threshold_

    def with_feedback(
        self, items: Iterable[FeedbackItem], *, context: Hashable = None, calibrate: bool = True
    ) -> Model:
        """Return the model of its training and of this feedback; earlier feedback is dropped.

        Parameters
        ----------
        items : iterable of FeedbackItem
            Each verdict once, in any order.
        context : hashable, optional
            The source that will be scored: feedback that is limited to it counts, too.
        calibrate : bool
            False: keep the threshold, which is faster.

        Examples
        --------
        >>> from undistract import Source, learn
        >>> rng = np.random.default_rng(0)
        >>> days = [Source(day, rng.normal(size=20) + rng.normal(size=(30, 20))) for day in range(40)]
        >>> model = learn(days)
        >>> key = "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c"
        >>> shake = FeedbackItem(Verdict(key, "match.mp4", 120, 131, 125, "false_alarm"), 9 * np.ones(20))
        >>> model.focus.n_removed_, model.with_feedback([shake]).focus.n_removed_
        (0, 1)
        """
        # Sorted, so that the same verdicts give the same bits in any order.
        feedback = tuple(sorted(items, key=lambda item: item.verdict.key))
        applicable = [item for item in feedback if item.applies_to(context)]
        training = self.focus.moments_ if self.training is None else self.training
        for item in applicable:
            if item.evidence is not None and item.evidence.shape[-1] != training.n_features:
                raise InputError(
                    f"The verdict on {item.verdict.group_name!r} has {item.evidence.shape[-1]} features, the model has "
                    f"{training.n_features}. Use the model that made those scores."
                )
        calm = [item for item in applicable if item.verdict.answer == "calm"]
        false_alarms = [item for item in applicable if item.verdict.answer == "false_alarm"]
        anomalies = [item for item in applicable if item.verdict.answer == "anomaly"]
        focus = self._fit_with_groups(training, calm)
        # Without false alarms nothing more is removed, so there is nothing to protect from removal.
        if false_alarms:
            strengths = np.array([item.verdict.strength for item in false_alarms])
            confirmed = np.zeros((0, training.n_features))
            if anomalies:
                confirmed = _stack(anomalies)
            focus = focus.with_feedback(Feedback(_stack(false_alarms), strengths, confirmed))
        detector: FocusDetector | Focus = focus
        if isinstance(self.detector, FocusDetector):
            # The first reference rows are those of the training; earlier calm groups come after them.
            reference = self._reference_rows()[: training.n_groups] + [_spaced_rows(item) for item in calm]
            detector = self.detector.with_focus(focus, reference, calibrate=calibrate)
        has_calm = any(item.verdict.answer == "calm" for item in feedback)
        return replace(self, detector=detector, feedback=feedback, training=training if has_calm else None)

    def _reference_rows(self) -> list[Rows]:
        rows: list[Rows] | None = getattr(self.detector, "known_", None)
        if rows is None:
            raise InputError(
                "The model has no reference rows, so it cannot use feedback. Train it again with: "
                "undistract learn … --save MODEL."
            )
        return rows

    def _fit_with_groups(self, training: Moments, calm: Sequence[FeedbackItem]) -> Focus:
        """Fit on training and calm groups; the last fit is cached because most verdicts add no group."""
        keys = tuple(item.verdict.key for item in calm)
        if self._cache.get("calm keys") != keys:
            focus: Focus = clone(self.focus)
            with warnings.catch_warnings():
                # The training has already warned about weak evidence.
                warnings.simplefilter("ignore", EvidenceWarning)
                focus.fit_moments(_add_groups(training, calm))
            if hasattr(self.focus, "feature_names_in_"):
                focus.feature_names_in_ = self.focus.feature_names_in_
            self._cache["focus"] = focus
            self._cache["calm keys"] = keys
        cached: Focus = self._cache["focus"]
        return cached

    def for_source(self, name: Hashable) -> Model:
        """Return the model for one source: with the feedback that is limited to it, if there is any."""
        context = str(name)
        if all(item.verdict.scope == "everywhere" or item.verdict.group_name != context for item in self.feedback):
            return self
        if ("context", context) not in self._cache:
            self._cache["context", context] = self.with_feedback(self.feedback, context=context)
        model: Model = self._cache["context", context]
        return model

    def anomaly_score(self, rows: Rows, *, context: Hashable = None) -> Floats:
        """Return the anomaly scores of rows (n, d) of one source: high is strange.

        With feedback for this source only, its scores are rescaled so that its own threshold becomes the common one.
        """
        local = self if context is None else self.for_source(context)
        scores: Floats = local.detector.anomaly_score(rows)
        if local is self or self.threshold is None or local.threshold is None:
            return scores
        common = self.threshold.value
        own = local.threshold.value
        if 0 < own < inf and 0 < common < inf:
            return scores * (common / own)
        return scores

    def without_expired(self, now: float) -> Model:
        """Return the model without feedback that has expired by `now`, unix seconds."""
        items = [item for item in self.feedback if item.verdict.is_active(now)]
        if len(items) == len(self.feedback):
            return self
        keys = tuple(item.verdict.key for item in items)
        if ("keys", keys) not in self._cache:
            self._cache["keys", keys] = self.with_feedback(items)
        model: Model = self._cache["keys", keys]
        return model

    def describe_threshold(self) -> str:
        """Describe the threshold in one sentence."""
        threshold = self.threshold
        if threshold is None:
            return "Alarms: no threshold; the model has no reference rows, so a source is scored by its own rows."
        return (
            f"Alarms: rows that score above {threshold.value:.4g}, about {threshold.rate:g} of the rows of a normal "
            f"group ({threshold.rule}, {threshold.n_groups} held-out groups)."
        )

    def summary(self) -> dict[str, Any]:
        """Return the key figures as plain values."""
        moments = self.focus.moments_
        threshold: dict[str, Any] | None = None
        if self.threshold is not None:
            threshold = {"value": self.threshold.value, "rate": self.threshold.rate, "rule": self.threshold.rule}
        counts: dict[str, int] = {}
        if self.feedback:
            answers = [item.verdict.answer for item in self.feedback]
            counts = {answer: answers.count(answer) for answer in ANSWERS}
        return {
            "groups": moments.n_groups,
            "rows": moments.n_rows,
            "features": self.focus.n_features_in_,
            "removed": self.focus.n_removed_,
            "cutoff": float(self.focus.cutoff_),
            "threshold": threshold,
            "reading": self.reading.to_dict(),
            "feedback": counts,
        }

    def save(self, path: str | Path, *, provenance: Any = None) -> Path:
        """Save the model as one file, atomically."""
        parts: dict[str, Any] = {
            "kind": "model",
            "detector": self.detector,
            "baseline": self.baseline,
            "baseline_threshold": self.baseline_threshold,
            "reading": self.reading.to_dict(),
            "training": self.training,
        }
        if self.feature_names is not None:
            parts["feature_names"] = list(self.feature_names)
        if self.image_shape is not None:
            parts["image_shape"] = list(self.image_shape)
        if self.feedback:
            parts["feedback"] = [item.verdict.to_json() for item in self.feedback]
            parts |= {f"evidence {number}": item.evidence for number, item in enumerate(self.feedback)}
        return save({name: part for name, part in parts.items() if part is not None}, path, provenance=provenance)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a model; a saved `Focus`, `FocusDetector` or `Moments` is accepted, too."""
        content = load(path)
        if isinstance(content, Moments):
            content = Focus().fit_moments(content)
        if isinstance(content, Focus | FocusDetector):
            return cls(content)
        if not isinstance(content, Mapping) or content.get("kind") != "model":
            raise InputError(f"{Path(path).name} is not a model. Create one with: undistract learn … --save FILE.")
        names = content.get("feature_names")
        shape = content.get("image_shape")
        return cls(
            content["detector"],
            content.get("baseline"),
            content.get("baseline_threshold"),
            ReadOptions.from_dict(content["reading"]),
            None if names is None else tuple(names),
            None if shape is None else tuple(shape),
            _read_feedback(content, Path(path).name),
            content.get("training"),
        )


def _add_groups(moments: Moments, calm: Sequence[FeedbackItem]) -> Moments:
    for item in calm:
        name = f"calm {item.verdict.key}"
        prior: Any = moments.prior
        if prior == "given":  # explicit weights: a group from feedback gets the mean weight
            prior = {name: float(moments.weights.mean())}
        moments = moments + Moments.of([(name, GroupMoments.of(item.evidence))], prior)
    return moments


def _stack(items: Sequence[FeedbackItem]) -> Floats:
    return np.stack([item.evidence for item in items])  # type: ignore[misc]


def _spaced_rows(item: FeedbackItem) -> Floats:
    assert item.evidence is not None
    n_rows = len(item.evidence)
    indices = np.linspace(0, n_rows - 1, min(MAX_CALM_REFERENCE, n_rows)).round().astype(int)
    rows: Floats = item.evidence[indices]
    return rows


def _read_feedback(content: Mapping[str, Any], name: str) -> tuple[FeedbackItem, ...]:
    items = []
    for number, record in enumerate(content.get("feedback", ())):
        verdict = event_from_json(record)
        evidence = content.get(f"evidence {number}")
        if not isinstance(verdict, Verdict) or not (evidence is None or isinstance(evidence, np.ndarray)):
            raise FileError(
                f"{name} is invalid: feedback item {number} has the wrong type. Recreate it with: undistract relearn."
            )
        items.append(FeedbackItem(verdict, evidence))
    return tuple(items)

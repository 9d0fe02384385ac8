"""The model: what was learned from sets of normal rows, in one value and one file."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Self

import numpy as np

from undistract.algebra import Moments
from undistract.arrays import Floats, Rows
from undistract.detect import FocusDetector, Threshold
from undistract.detect.scores import Detector
from undistract.errors import FileError, InputError
from undistract.focus import Focus
from undistract.review.feedback import Lesson, Teachable
from undistract.review.verdicts import ANSWERS, Verdict, event_from_json
from undistract.storage import load, save
from undistract.workflow.reading import Reading


@dataclass(frozen=True, eq=False)
class Model:
    """What to ignore, what is usual, and when to alarm; beside it the same without ignoring anything.

    Parameters
    ----------
    watch : FocusDetector or Focus
        A `Focus` alone where no rows were kept: then a set is judged by its own rows.
    plain, plain_threshold : Detector and Threshold, optional
        What the detector makes of the rows as they are, for comparison.
    reading : Reading
        How rows were made.
    feature_names : tuple of str, optional
    image_shape : tuple of int, optional
        Where a row is a picture.
    lessons : tuple of Lesson
        What people taught it.
    training : Moments, optional
        What it learned before people added calm sets; None where they did not.

    Examples
    --------
    >>> from undistract import FeatureSet, learn
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=3) + rng.normal(size=(50, 3)) * [9, 1, 1]) for day in range(9)]
    >>> with TemporaryDirectory() as folder:
    ...     model = Model.load(learn(days).save(Path(folder, "street.focus")))
    >>> model.focus.n_removed_, model.threshold.n_sets
    (1, 9)
    """

    watch: FocusDetector | Focus
    plain: Detector | None = None
    plain_threshold: Threshold | None = None
    reading: Reading = field(default_factory=Reading)
    feature_names: tuple[str, ...] | None = None
    image_shape: tuple[int, ...] | None = None
    lessons: tuple[Lesson, ...] = ()
    training: Moments | None = None
    _made: dict[Any, Any] = field(init=False, default_factory=dict, repr=False)  # what was asked for before

    @property
    def focus(self) -> Focus:
        """What is ignored."""
        found: Focus = self.watch if isinstance(self.watch, Focus) else self.watch.focus_
        return found

    @property
    def threshold(self) -> Threshold | None:
        """When to alarm; None where no rows were kept to tell."""
        return None if isinstance(self.watch, Focus) else self.watch.threshold_

    def taught(self, lessons: Iterable[Lesson], *, context: Hashable = None, calibrate: bool = True) -> Model:
        """Return what training and these lessons make, whatever was taught before.

        Parameters
        ----------
        lessons : iterable of Lesson
        context : hashable, optional
            Lessons for this set alone count as well.
        calibrate : bool
            False: keep the threshold as it is, which is faster.
        """
        held = tuple(sorted(lessons, key=lambda one: one.verdict.key))
        teachable = self._teachable()
        calm = any(one.verdict.answer == "calm" for one in held)
        watch = teachable.taught(held, context=context, calibrate=calibrate)
        return replace(self, watch=watch, lessons=held, training=teachable.training if calm else None)

    def _teachable(self) -> Teachable:
        if "teachable" not in self._made:  # it keeps what it has solved
            self._made["teachable"] = Teachable(self.watch, self.training)
        found: Teachable = self._made["teachable"]
        return found

    def in_context(self, name: Hashable) -> Model:
        """Return the model for one set: with what people said about it alone, if they did."""
        context = str(name)
        if all(one.verdict.scope == "everywhere" or one.verdict.set_name != context for one in self.lessons):
            return self
        if ("context", context) not in self._made:
            self._made["context", context] = self.taught(self.lessons, context=context)
        found: Model = self._made["context", context]
        return found

    def anomaly_score(self, rows: Rows, *, context: Hashable = None) -> Floats:
        """Score rows (n, d) of one set by what is known: high is strange.

        Where people said something about this set alone, its scores are brought to the common scale: what would alarm
        in it alarms at the common threshold.
        """
        local = self if context is None else self.in_context(context)
        scores: Floats = local.watch.anomaly_score(rows)
        if local is self or self.threshold is None or local.threshold is None:
            return scores
        common, own = self.threshold.value, local.threshold.value
        return scores * (common / own) if 0 < own < inf and 0 < common < inf else scores

    def without_expired(self, now: float) -> Model:
        """Return the model without the lessons that no longer count."""
        held = [one for one in self.lessons if one.verdict.counts(now)]
        if len(held) == len(self.lessons):
            return self
        keys = tuple(one.verdict.key for one in held)
        if ("keys", keys) not in self._made:
            self._made["keys", keys] = self.taught(held)
        found: Model = self._made["keys", keys]
        return found

    def when_to_alarm(self) -> str:
        """Say in words when a row alarms."""
        if self.threshold is None:
            return "Alarms: none by itself; no rows were kept, so a set is judged by its own."
        how = self.threshold
        return (
            f"Alarms: a row that scores over {how.value:.4g}, about {how.rate:g} of a normal set's rows "
            f"({how.rule}, {how.n_sets} held-out sets)."
        )

    def summary(self) -> dict[str, Any]:
        """Give the numbers, as plain values."""
        moments, how = self.focus.moments_, self.threshold
        return {
            "sets": moments.n_sets,
            "rows": moments.n_rows,
            "features": self.focus.n_features_in_,
            "removed": self.focus.n_removed_,
            "cutoff": float(self.focus.cutoff_),
            "threshold": None if how is None else {"value": how.value, "rate": how.rate, "rule": how.rule},
            "reading": self.reading.as_json(),
            "lessons": {
                answer: sum(one.verdict.answer == answer for one in self.lessons) for answer in ANSWERS if self.lessons
            },
        }

    def save(self, path: str | Path, *, provenance: Any = None) -> Path:
        """Save the model as one file, whole or not at all."""
        parts: dict[str, Any] = {
            "kind": "model",
            "watch": self.watch,
            "plain": self.plain,
            "plain_threshold": self.plain_threshold,
            "reading": self.reading.as_json(),
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "image_shape": None if self.image_shape is None else list(self.image_shape),
            "training": self.training,
        }
        if self.lessons:
            parts["lessons"] = [one.verdict.to_json() for one in self.lessons]
            parts |= {f"evidence {number}": one.evidence for number, one in enumerate(self.lessons)}
        return save({name: part for name, part in parts.items() if part is not None}, path, provenance=provenance)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a model; a saved `Focus`, `FocusDetector` or `Moments` will do."""
        found = load(path)
        if isinstance(found, Moments):
            found = Focus().fit_moments(found)
        if isinstance(found, Focus | FocusDetector):
            return cls(found)
        if not isinstance(found, Mapping) or found.get("kind") != "model":
            raise InputError(f"{Path(path).name} holds no model. Make one with: undistract learn … --save FILE.")
        names, shape = found.get("feature_names"), found.get("image_shape")
        return cls(
            found["watch"],
            found.get("plain"),
            found.get("plain_threshold"),
            Reading.of(found["reading"]),
            None if names is None else tuple(names),
            None if shape is None else tuple(shape),
            _lessons(found, Path(path).name),
            found.get("training"),
        )


def _lessons(found: Mapping[str, Any], name: str) -> tuple[Lesson, ...]:
    """Make the lessons of a file anew; whatever is not as it must be is refused."""
    made = []
    for number, said in enumerate(found.get("lessons", ())):
        verdict, evidence = event_from_json(said), found.get(f"evidence {number}")
        if not isinstance(verdict, Verdict) or not (evidence is None or isinstance(evidence, np.ndarray)):
            raise FileError(f"{name} cannot be used: lesson {number} is none. Relearn the model.")
        made.append(Lesson(verdict, evidence))
    return tuple(made)

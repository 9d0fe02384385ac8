"""Feedback: what verdicts teach. Model = training + fold of the standing verdicts, so any of them can be taken back.

    familiar   its deviation from its context counts as variation inside sets from now on
    anomaly    its deviation, as far as training leaves it visible, may not be removed
    calm       the stretch is a set of its own, and its rows are known
    unsure     nothing

Lessons are sorted by key before they are summed: the same lessons give the same bits in any order.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from undistract.algebra import Moments, SetMoments, Taught
from undistract.arrays import Floats, Rows
from undistract.detect import FocusDetector
from undistract.errors import EvidenceWarning, InputError
from undistract.focus import Focus
from undistract.review.verdicts import Verdict

# So many rows of a calm stretch are kept to compare with, evenly spread.
KNOWN_CALM = 200


@dataclass(frozen=True, eq=False)
class Lesson:
    """A verdict, and what the person saw.

    Parameters
    ----------
    verdict : Verdict
    evidence : array, optional
        (d,) the deviation from the context for "familiar" and "anomaly", (n, d) the rows for "calm".

    Examples
    --------
    >>> key = "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c"
    >>> Lesson(Verdict(key, "match.mp4", 120, 131, 125, "familiar"), np.zeros((2, 3)))
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: The evidence of a 'familiar' verdict has shape (2, 3), expected (features,)...
    """

    verdict: Verdict
    evidence: Floats | None = None

    def __post_init__(self) -> None:
        found = self.evidence
        wanted = {"unsure": 0, "calm": 2}.get(self.verdict.answer, 1)
        if (0 if found is None else found.ndim) != wanted or (found is not None and not np.isfinite(found).all()):
            shape = "nothing" if found is None else f"shape {found.shape}"
            raise InputError(
                f"The evidence of a {self.verdict.answer!r} verdict has {shape}, expected "
                f"{('nothing', '(features,)', '(rows, features)')[wanted]} of finite numbers. Record it anew."
            )

    def holds_in(self, context: str | None) -> bool:
        """Whether it counts where `context` is scored; None: anywhere else."""
        return self.verdict.scope == "everywhere" or self.verdict.set_name == context


def deviation(rows: Rows, usual: Floats, row: int) -> Floats:
    """Give what a person saw in a row: its deviation from what is usual in its context, the median, (d,).

    Examples
    --------
    >>> day = np.array([[1.0, 2.0], [1.0, 2.0], [4.0, 2.0]])
    >>> deviation(day, np.median(day, axis=0), 2)
    array([3., 0.])
    """
    found: Floats = rows[row].astype(np.float64) - usual
    return found


class Teachable:
    """What was learned from training, ready to be taught by people.

    Parameters
    ----------
    watch : FocusDetector or Focus
        As it was learned, or taught before: training counts alone.
    training : Moments, optional
        Where people have added calm sets to those of `watch`.

    Examples
    --------
    >>> from undistract import FeatureSet
    >>> rng = np.random.default_rng(0)
    >>> days = [FeatureSet(day, rng.normal(size=20) + rng.normal(size=(30, 20))) for day in range(40)]
    >>> watch = FocusDetector(Focus()).fit_sets(days)
    >>> key = "6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c"
    >>> shake = Lesson(Verdict(key, "match.mp4", 120, 131, 125, "familiar"), 9 * np.ones(20))
    >>> before, after = watch.focus_.n_removed_, Teachable(watch).taught([shake]).focus_.n_removed_
    >>> before, after
    (0, 1)
    """

    def __init__(self, watch: FocusDetector | Focus, training: Moments | None = None) -> None:
        self._watch = watch
        self._learned: Focus = watch if isinstance(watch, Focus) else watch.focus_
        self.training = self._learned.moments_ if training is None else training
        known: list[Rows] | None = getattr(watch, "known_", None)
        if isinstance(watch, FocusDetector) and known is None:
            raise InputError(
                "The model holds no normal rows to compare with, so it cannot be taught. Learn it anew with: "
                "undistract learn … --save MODEL."
            )
        self._known = (known or [])[: self.training.n_sets]
        self._bases: dict[tuple[str, ...], Focus] = {}

    def taught(self, lessons: Iterable[Lesson], *, context: Hashable = None, calibrate: bool = True) -> Any:
        """Return the watch (or focus) that has learned from training and from lessons.

        Parameters
        ----------
        lessons : iterable of Lesson
            Each verdict once.
        context : hashable, optional
            The set that will be scored: lessons for it alone count as well.
        calibrate : bool
            False: keep the threshold as it is, which is faster.
        """
        name = None if context is None else str(context)
        held = sorted((one for one in lessons if one.holds_in(name)), key=lambda one: one.verdict.key)
        self._check(held)
        calm = [one for one in held if one.verdict.answer == "calm"]
        familiar, anomaly = ([one for one in held if one.verdict.answer == word] for word in ("familiar", "anomaly"))
        # With nothing to ignore beyond training, there is nothing to protect from.
        focus = self._told(calm, familiar, anomaly) if familiar else self._base(calm)
        if isinstance(self._watch, Focus):
            return focus
        known = self._known + [_some(one.evidence) for one in calm]
        return self._watch.with_focus(focus, known, calibrate=calibrate)

    def _told(self, calm: list[Lesson], familiar: list[Lesson], anomaly: list[Lesson]) -> Focus:
        strengths = np.array([one.verdict.strength for one in familiar])
        protected = _evidence(anomaly) if anomaly else np.zeros((0, self.training.n_features))
        return self._base(calm).taught_by(Taught(_evidence(familiar), strengths, protected))

    def _base(self, calm: list[Lesson]) -> Focus:
        """Learn from training and calm sets, without what people called familiar."""
        keys = tuple(one.verdict.key for one in calm)
        if keys not in self._bases:
            self._bases = {keys: self._fit(self._moments(calm))}
        return self._bases[keys]

    def _moments(self, calm: list[Lesson]) -> Moments:
        moments = self.training
        for one in calm:
            name = f"calm {one.verdict.key}"
            # Where weights were given, a set that people add weighs as much as the others on average.
            prior: Any = {name: float(moments.weights.mean())} if moments.prior == "given" else moments.prior
            moments = moments + Moments.of([(name, SetMoments.of(one.evidence))], prior)
        return moments

    def _fit(self, moments: Moments) -> Focus:
        with warnings.catch_warnings():
            # What speaks against the evidence was said when the sets were learned.
            warnings.simplefilter("ignore", EvidenceWarning)
            focus: Focus = clone(self._learned).fit_moments(moments)
        if hasattr(self._learned, "feature_names_in_"):
            focus.feature_names_in_ = self._learned.feature_names_in_
        return focus

    def _check(self, lessons: list[Lesson]) -> None:
        for one in lessons:
            width = None if one.evidence is None else one.evidence.shape[-1]
            if width not in (None, self.training.n_features):
                raise InputError(
                    f"The verdict on {one.verdict.set_name!r} is about {width} features, the model about "
                    f"{self.training.n_features}. Teach the model that made those scores."
                )


def _evidence(lessons: list[Lesson]) -> Floats:
    return np.stack([one.evidence for one in lessons])  # type: ignore[misc]


def _some(rows: Floats | None) -> Floats:
    assert rows is not None
    places = np.linspace(0, len(rows) - 1, min(KNOWN_CALM, len(rows))).round().astype(int)
    some: Floats = rows[places]
    return some

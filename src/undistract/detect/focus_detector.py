"""FocusDetector: Focus, a detector and a calibrated alarm threshold as one estimator.

groups ─► focus ─► detector ─► scores of held-out groups ─► threshold
rows   ─► focus ─► detector ─► scores ────────────────────► alarms
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from undistract._progress import track
from undistract._rollback import restore_on_error
from undistract._schema import anything, array, instance_of, number, optional, require, saveable
from undistract.algebra.groups import number_groups
from undistract.detect.alarms import Alarm, find_alarms
from undistract.detect.base import Detector, Rows, Scores, flip_sign
from undistract.detect.calibration import fit_detector_and_threshold, split_groups
from undistract.detect.registry import as_detector
from undistract.detect.reservoir import make_samplers
from undistract.detect.thresholds import Quantile, Threshold, ThresholdRule
from undistract.errors import EvidenceWarning, InputError, NoGroupsWarning
from undistract.focus import Focus
from undistract.sources.source import Source, as_source_list

DEFAULT_DETECTOR = "nearest"


def _encode(model: FocusDetector) -> dict[str, Any]:
    reference = getattr(model, "known_", None)
    if reference is None:
        return {"known": None, "known_counts": None}
    counts = np.array([len(rows) for rows in reference], dtype=np.int64)
    return {"known": np.concatenate(reference).astype(np.float64), "known_counts": counts}


def _decode(fields: dict[str, Any]) -> dict[str, Any]:
    rows = fields["known"]
    counts = fields["known_counts"]
    if rows is None:
        return {}
    require(counts is not None and counts.sum() == len(rows), "its known rows are not those of its groups")
    return {"known_": np.split(rows, np.cumsum(counts)[:-1])}


def _validate(model: FocusDetector) -> None:
    require(model.focus_.n_features_in_ == model.n_features_in_, "its focus has other features")
    require(isinstance(model.adapt, bool), "adapt is neither True nor False")
    reference = getattr(model, "known_", [])
    require(all(rows.shape[1] == model.n_features_in_ for rows in reference), "its known rows have other features")
    if not model.adapt:
        n_out = model.focus_.projection_.n_out
        n_in = getattr(model.detector_, "n_features_in_", None)
        require(n_in == n_out, f"its detector does not have {n_out} features")


@saveable(
    {
        "focus_": instance_of(Focus),
        "detector_": anything,
        "threshold_": instance_of(Threshold),
        "offset_": number(infinite=True),
        "scores_": array("n", nan=True),
        "known": optional(array("k", "d")),
        "known_counts": optional(array("M", dtype=np.int64, low=1, high=2**53)),
    },
    validate=_validate,
    encode=_encode,
    decode=_decode,
)
class FocusDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Detect anomalies in grouped data: remove nuisance variation, score rows, raise alarms.

    Fitted on groups of normal rows. Focus finds the directions to ignore, the detector scores rows in the projected
    features, and the threshold is calibrated on held-out groups.

    Parameters
    ----------
    focus : transformer, optional
        Any transformer whose ``fit`` takes ``groups``. By default ``Focus()``.
    detector : str or object, optional
        Anything that `undistract.detect.as_detector` accepts. By default ``"nearest"``.
    threshold : rule or float, optional
        The rule that computes the threshold from held-out normal groups: `Quantile`, `Conformal`, `GroupQuantile`,
        `Tail` or `AlarmBudget`; a number is the rate of a `Quantile`. By default one row in a hundred of a normal group
        may raise an alarm.
    n_folds : int, default=5
        Number of folds of groups that are held out to calibrate the threshold: the groups of a fold are scored by a
        focus and a detector that were fitted without them.
    adapt : bool, default=False
        False (novelty detection): the detector is fitted once, on the normal rows. True (as in the paper): it is
        fitted on the rows that are scored, so that their own context defines what is normal.

    Attributes
    ----------
    focus_, detector_ : fitted parts (`detector_` is unfitted with ``adapt=True``)
    threshold_ : Threshold
        The threshold with its rate, guarantee and evidence.
    offset_ : float
        Minus the threshold's value: `decision_function` is ``score_samples - offset_``.
    scores_ : (n,) array
        Anomaly scores of the fitted rows, each by a model that was fitted without its group.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> days = np.repeat(np.arange(20), 60)
    >>> light = np.linspace(-30, 30, 8)
    >>> X = rng.normal(size=(20, 8))[days] + rng.normal(size=(1200, 8)) + rng.normal(size=(1200, 1)) * light
    >>> detector = FocusDetector().fit(X, groups=days)
    >>> event = X[:1] + [0, 0, 0, 9, 9, 0, 0, 0]
    >>> today = np.vstack([X[:3], event])
    >>> detector.predict(today)
    array([ 1,  1,  1, -1])
    >>> print(detector.find_alarms(today)[0])
    row 3, score 10.9 (threshold 3.71)
    """

    # Request `groups` by default under metadata routing.
    __metadata_request__fit = {"groups": True}  # noqa: RUF012

    def __init__(
        self,
        focus: Any = None,
        detector: Any = None,
        threshold: ThresholdRule | float | None = None,
        *,
        n_folds: int = 5,
        adapt: bool = False,
    ) -> None:
        self.focus = focus
        self.detector = detector
        self.threshold = threshold
        self.n_folds = n_folds
        self.adapt = adapt

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Fit focus, detector and threshold on normal rows.

        Parameters
        ----------
        X : (n, d) array or data frame
        y : ignored
        groups : (n,) sequence of hashables
            The group of each row. Without it, no direction is ignored (with a warning), and blocks of consecutive rows
            replace the groups in the calibration of the threshold.
        """
        with restore_on_error(self):
            rule = self._rule()
            rows = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
            self.__dict__.pop("known_", None)  # rows of an earlier `fit_groups`
            if isinstance(groups, Iterator):
                groups = list(groups)  # labels are read more than once
            if groups is None:
                codes = np.arange(len(rows)) * min(self.n_folds, len(rows)) // len(rows)  # consecutive blocks
            else:
                codes = number_groups(groups, len(rows))[1]
            self.focus_, self.detector_ = self._fit_parts(rows, groups)
            members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
            held_out = self._cross_validate(rows.astype(np.float64, copy=False), groups, members)
            self.scores_ = np.empty(len(rows))
            for indices, scores in zip(members, held_out, strict=True):
                self.scores_[indices] = scores
            self.threshold_ = rule(held_out)
            self.offset_ = -self.threshold_.value
        return self

    def fit_groups(
        self, groups: Iterable[Source], *, n_known: int = 3000, seed: int = 0, progress: bool | None = False
    ) -> Self:
        """Fit on sources one by one, in constant memory.

        Focus is fitted on every row. The detector and the threshold are fitted on a sample of each source. For the
        calibration the detector is fitted without the held-out sources, but the focus is the one fitted on all.

        Parameters
        ----------
        groups : iterable of Source
            Each is read once.
        n_known : int
            Maximum number of rows in the sample, divided equally between the sources.
        seed : int
            Seed of the sample.
        progress : bool or None
            Show a progress bar on a terminal: True always, None only for long runs.

        Examples
        --------
        >>> from undistract import Focus, Source
        >>> rng = np.random.default_rng(0)
        >>> light = np.linspace(-30, 30, 8)
        >>> days = [
        ...     Source(day, rng.normal(size=8) + rng.normal(size=(60, 8)) + rng.normal(size=(60, 1)) * light)
        ...     for day in range(20)
        ... ]
        >>> detector = FocusDetector().fit_groups(days, n_known=600)
        >>> detector.focus_.n_removed_, len(detector.scores_)
        (1, 600)
        """
        sources = as_source_list(groups)
        make_sample = make_samplers(len(sources), n_known, seed)
        samples = [make_sample(number) for number in range(len(sources))]
        sampled = (sample.watch(source) for sample, source in zip(samples, sources, strict=True))
        tracked = track(sampled, total=len(sources), what="Learning groups", progress=progress)
        focus = self._new_focus().fit_groups(tracked)
        return self._fit_detector(focus, [sample.rows for sample in samples])

    def with_focus(self, focus: Any, reference: list[Rows] | None = None, *, calibrate: bool = True) -> FocusDetector:
        """Return a copy with another fitted focus; detector and threshold are refitted on normal reference rows.

        Parameters
        ----------
        focus : fitted transformer
        reference : list of (n_m, d) arrays, optional
            Normal rows, one array per group; by default the sample that `fit_groups` stored.
        calibrate : bool
            False keeps the threshold, which is several times faster. Scores are the same; the threshold is then only
            approximate.

        Examples
        --------
        >>> from undistract import Focus, Source
        >>> rng = np.random.default_rng(0)
        >>> days = [Source(day, rng.normal(size=4) + rng.normal(size=(60, 4))) for day in range(9)]
        >>> detector = FocusDetector().fit_groups(days)
        >>> careful = detector.with_focus(Focus(n_remove=1).fit_moments(detector.focus_.moments_))
        >>> careful.focus_.n_removed_, careful.detector_.n_features_in_
        (1, 3)
        """
        if reference is None:
            reference = getattr(self, "known_", None)
        if reference is None:
            raise InputError("No normal rows are stored to compare with. Fit with fit_groups, or pass reference.")
        updated: FocusDetector = clone(self)
        if calibrate:
            return updated._fit_detector(focus, reference)
        updated.__dict__.update(self.__dict__, focus_=focus, known_=reference)
        if not self.adapt:
            projected = np.concatenate([focus.transform(rows) for rows in reference])
            updated.detector_ = self._new_detector().fit(projected)
        return updated

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d): high is anomalous."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self._score_rows(self.focus_, self.detector_, rows)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Score rows as scikit-learn does: low is anomalous."""
        return flip_sign(self.anomaly_score(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the distance of each score to the threshold; negative rows raise alarms."""
        scores = self.score_samples(X)
        if not np.isfinite(self.offset_):
            raise InputError(
                f"{self.threshold_.rule} has no fixed value for a single row with {self.threshold_.n_groups} groups. "
                "Use predict or p_values on complete groups, or a Quantile."
            )
        return scores - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return -1 for rows that raise alarms and 1 for the others; for group-wise rules X is one group."""
        scores = self.anomaly_score(X)
        return np.where(self.threshold_.alarms(scores), -1, 1)

    def p_values(self, X: Any) -> NDArray[np.float64]:
        """Return the p-value of each row: how often held-out normal groups score at least as high."""
        scores = self.anomaly_score(X)
        return self.threshold_.p_values(scores)

    def find_alarms(
        self, X: Any, *, name: Hashable = "rows", times: Any = None, gap: int = 0, gap_seconds: float | None = None
    ) -> list[Alarm]:
        """Score the rows of one source and join them into alarms, highest score first."""
        scores = Scores(name, self.anomaly_score(X), times)
        return find_alarms(scores, self.threshold_, gap=gap, gap_seconds=gap_seconds)

    def _new_focus(self) -> Any:
        return Focus() if self.focus is None else clone(self.focus)

    def _new_detector(self) -> Detector:
        detector = DEFAULT_DETECTOR if self.detector is None else self.detector
        return as_detector(clone(detector, safe=False))

    def _rule(self) -> ThresholdRule:
        if self.threshold is None:
            return Quantile()
        return self.threshold if callable(self.threshold) else Quantile(self.threshold)

    def _fit_parts(self, rows: Rows, groups: Any) -> tuple[Any, Detector]:
        """Fit a new focus and a new detector."""
        focus = self._new_focus()
        focus = focus.fit(rows) if groups is None else focus.fit(rows, groups=groups)
        detector = self._new_detector()
        if not self.adapt:
            detector.fit(focus.transform(rows))
        return focus, detector

    def _cross_validate(self, rows: Rows, groups: Any, members: list[NDArray[np.intp]]) -> list[Rows]:
        """Score the rows of each group, given by their indices, with a focus and a detector fitted without it."""
        labels = groups
        if groups is not None and not hasattr(groups, "__array__"):
            labels = np.fromiter(groups, object)
        scores: list[Rows] = [np.empty(0)] * len(members)
        for train, held_out in split_groups(len(members), self.n_folds):
            indices = np.concatenate([members[group] for group in train])
            train_labels = None
            if labels is not None and len(train) > 1:  # a single group has no evidence about directions to ignore
                train_labels = np.asarray(labels)[indices]
            with warnings.catch_warnings():
                # These warnings were already raised by the fit on all groups.
                warnings.simplefilter("ignore", EvidenceWarning)
                warnings.simplefilter("ignore", NoGroupsWarning)
                focus, detector = self._fit_parts(rows[indices], train_labels)
            for group in held_out:
                scores[group] = self._score_rows(focus, detector, rows[members[group]])
        return scores

    def _fit_detector(self, focus: Any, reference: list[Rows]) -> Self:
        """Fit the detector and the threshold on reference rows, with a fitted focus."""
        with restore_on_error(self):
            self.focus_ = focus
            self.known_ = reference
            self.n_features_in_ = focus.n_features_in_
            self.__dict__.pop("feature_names_in_", None)  # left over from an earlier `fit`
            projected = [focus.transform(rows) for rows in reference]
            self.detector_, self.threshold_, held_out = fit_detector_and_threshold(
                self._new_detector(), self._rule(), projected, n_folds=self.n_folds, adapt=self.adapt
            )
            self.scores_ = np.concatenate(held_out)
            self.offset_ = -self.threshold_.value
        return self

    def _score_rows(self, focus: Any, detector: Detector, rows: Rows) -> Rows:
        projected = focus.transform(rows)
        if self.adapt:
            return clone(detector, safe=False).fit(projected).scores_  # type: ignore[no-any-return]
        return detector.anomaly_score(projected)

"""From sets to alarms in one estimator: what to ignore, what is strange, and from where on somebody is called.

sets ─► focus ─► detector ─► scores of held-out sets ─► threshold
rows ─► focus ─► detector ─► scores ──────────────────► alarms
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils.validation import validate_data

from undistract.algebra.set_labels import number_sets
from undistract.attempt import as_before_if_it_fails
from undistract.detect.adapters import detector as as_detector
from undistract.detect.calibration import Rows
from undistract.detect.held_out import calibrated, held_out_scores
from undistract.detect.judges_rows import JudgesRows
from undistract.detect.sample import samples_for
from undistract.detect.thresholds import Quantile, ThresholdRule
from undistract.errors import EvidenceWarning, InputError, NoSetsWarning
from undistract.progress import watched
from undistract.sets.feature_set import FeatureSet, listed_sets


class FocusDetector(JudgesRows, OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn from sets of normal rows what to ignore, how to score, and when to alarm.

    Parameters
    ----------
    focus : transformer
        A `Focus`, or any transformer whose ``fit`` takes ``sets``.
    detector : str or object, default="nearest"
        Anything that `undistract.detect.detector` takes.
    threshold : rule or float, optional
        How the threshold comes from held-out normal sets: `Quantile`, `Conformal`, `MostSets`, `Tail` or `AlarmBudget`;
        a number is the rate of a `Quantile`. By default one row in a hundred of a normal set may alarm.
    n_folds : int, default=5
        Sets are held out in so many folds to calibrate the threshold: focus and detector never see what they calibrate
        on.
    adapt : bool, default=False
        False, novelty: the detector is fitted once, on the normal rows. True, as in the paper: it is fitted on the very
        rows that are scored, so that the context of the test set defines what is normal there.

    Attributes
    ----------
    focus_, detector_ : fitted parts (`detector_` is unfitted with ``adapt=True``)
    threshold_ : Threshold
        What is promised, and on what evidence.
    offset_ : float
        Minus the threshold's value: `decision_function` is ``score_samples - offset_``.
    scores_ : (n,) array
        Anomaly scores of the rows it was fitted on, each by a model that never saw its set.

    Examples
    --------
    >>> from undistract import Focus
    >>> rng = np.random.default_rng(0)
    >>> days = np.repeat(np.arange(20), 60)
    >>> light = np.linspace(-30, 30, 8)
    >>> X = rng.normal(size=(20, 8))[days] + rng.normal(size=(1200, 8)) + rng.normal(size=(1200, 1)) * light
    >>> watch = FocusDetector(Focus()).fit(X, sets=days)
    >>> event = X[:1] + [0, 0, 0, 9, 9, 0, 0, 0]
    >>> watch.predict(np.vstack([X[:3], event]))
    array([ 1,  1,  1, -1])
    """

    __metadata_request__fit = {"sets": True}  # noqa: RUF012

    def __init__(
        self,
        focus: Any,
        detector: Any = "nearest",
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

    def fit(self, X: Any, y: Any = None, *, sets: Any = None) -> Self:
        """Learn from normal rows.

        Parameters
        ----------
        X : (n, d) array or data frame
        y : ignored
        sets : (n,) sequence of hashables
            Which set each row belongs to. Without it nothing is ignored (with a warning), and consecutive stretches of
            rows stand in for sets when the threshold is calibrated.
        """
        with as_before_if_it_fails(self):
            rule = self._rule()
            rows = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
            self.__dict__.pop("known_", None)  # rows of an earlier `fit_sets`
            sets = list(sets) if isinstance(sets, Iterator) else sets  # they are asked for again
            codes = None if sets is None else number_sets(sets, len(rows))[1]
            focus = clone(self.focus)
            self.focus_ = focus.fit(rows) if sets is None else focus.fit(rows, sets=sets)
            self.detector_ = as_detector(clone(self.detector, safe=False))
            if not self.adapt:
                self.detector_.fit(self.focus_.transform(rows))
            stretches = np.arange(len(rows)) * min(self.n_folds, len(rows)) // len(rows) if codes is None else codes
            members = np.split(np.argsort(stretches, kind="stable"), np.cumsum(np.bincount(stretches))[:-1])
            # Sets are dealt by the places of their rows, so that each is still called by its name.
            held_out = held_out_scores(
                self._learn_without(rows.astype(np.float64, copy=False), sets),
                [one[:, None] for one in members],
                n_folds=self.n_folds,
            )
            self.scores_ = np.empty(len(rows))
            for one, found in zip(members, held_out, strict=True):
                self.scores_[one] = found
            self.threshold_ = rule(held_out)
            self.offset_ = -self.threshold_.value
        return self

    def fit_sets(
        self, sets: Iterable[FeatureSet], *, n_known: int = 3000, seed: int = 0, progress: bool | None = False
    ) -> Self:
        """Learn from sets one by one, in flat memory.

        Every row teaches what to ignore. The detector and the threshold know a sample of each set; when the threshold
        is calibrated, the detector has not seen the held-out sets, but what to ignore was learned from all of them.

        Parameters
        ----------
        sets : iterable of FeatureSet
            Each is read once.
        n_known : int
            How many rows the sample holds at most, shared equally by the sets.
        seed : int
            Of the sample.
        progress : bool or None
            True shows on a terminal how many sets are done, None only when it takes long.

        Examples
        --------
        >>> from undistract import FeatureSet, Focus
        >>> rng = np.random.default_rng(0)
        >>> light = np.linspace(-30, 30, 8)
        >>> days = [
        ...     FeatureSet(day, rng.normal(size=8) + rng.normal(size=(60, 8)) + rng.normal(size=(60, 1)) * light)
        ...     for day in range(20)
        ... ]
        >>> watch = FocusDetector(Focus()).fit_sets(days, n_known=600)
        >>> watch.focus_.n_removed_, len(watch.scores_)
        (1, 600)
        """
        every = listed_sets(sets)
        samples = list(map(samples_for(len(every), n_known, seed), range(len(every))))
        sampled = (sample.watch(one) for sample, one in zip(samples, every, strict=True))
        focus = clone(self.focus).fit_sets(watched(sampled, total=len(every), what="Learning sets", progress=progress))
        return self._settle(focus, [sample.rows for sample in samples])

    def with_focus(self, focus: Any, known: list[Rows] | None = None, *, calibrate: bool = True) -> FocusDetector:
        """Return the same with another fitted focus: the detector and the threshold are fitted anew on known rows.

        Parameters
        ----------
        focus : fitted transformer
        known : list of (n_m, d) arrays, optional
            Normal rows, set by set; by default those that were kept by `fit_sets`.
        calibrate : bool
            False: the threshold stays as it is, which is several times as fast. Scores are the same; when to alarm is
            then only about right.

        Examples
        --------
        >>> from undistract import FeatureSet, Focus
        >>> rng = np.random.default_rng(0)
        >>> days = [FeatureSet(day, rng.normal(size=4) + rng.normal(size=(60, 4))) for day in range(9)]
        >>> watch = FocusDetector(Focus()).fit_sets(days)
        >>> careful = watch.with_focus(Focus(n_remove=1).fit_moments(watch.focus_.moments_))
        >>> careful.focus_.n_removed_, careful.detector_.n_features_in_
        (1, 3)
        """
        known = getattr(self, "known_", None) if known is None else known
        if known is None:
            raise InputError("No normal rows were kept to compare with. Fit with fit_sets, or hand the known rows too.")
        made: FocusDetector = clone(self)
        if calibrate:
            return made._settle(focus, known)
        made.__dict__.update(self.__dict__, focus_=focus, known_=known)
        if not self.adapt:
            fresh = as_detector(clone(self.detector, safe=False))
            made.detector_ = fresh.fit(np.concatenate([focus.transform(rows) for rows in known]))
        return made

    def _settle(self, focus: Any, known: list[Rows]) -> Self:
        """Fit the detector and the threshold behind a fitted focus."""
        with as_before_if_it_fails(self):
            self.focus_, self.known_, self.n_features_in_ = focus, known, focus.n_features_in_
            self.__dict__.pop("feature_names_in_", None)  # of an earlier `fit`
            projected = [focus.transform(rows) for rows in known]
            self.detector_, self.threshold_, held_out = calibrated(
                self.detector, self._rule(), projected, n_folds=self.n_folds, adapt=self.adapt
            )
            self.scores_ = np.concatenate(held_out)
            self.offset_ = -self.threshold_.value
        return self

    def _rule(self) -> ThresholdRule:
        if not callable(self.threshold):
            return Quantile() if self.threshold is None else Quantile(self.threshold)
        return self.threshold

    def _learn_without(self, rows: Rows, sets: Any) -> Callable[[list[Rows]], Callable[[Rows], Any]]:
        """Return what learns from some of the sets, given as the places of their rows, for `held_out_scores`."""
        labels = sets if hasattr(sets, "__array__") or sets is None else np.fromiter(sets, object)

        def learn(train: list[Rows]) -> Callable[[Rows], Any]:
            some = _places(train)
            focus, scorer = clone(self.focus), as_detector(clone(self.detector, safe=False))
            with warnings.catch_warnings():
                # What speaks against the evidence was said when all sets were learned.
                warnings.simplefilter("ignore", EvidenceWarning)
                warnings.simplefilter("ignore", NoSetsWarning)
                # One set that is left cannot say what to ignore.
                several = labels is not None and len(train) > 1
                focus = focus.fit(rows[some], sets=np.asarray(labels)[some]) if several else focus.fit(rows[some])
            if not self.adapt:
                scorer.fit(focus.transform(rows[some]))
            return lambda held_out: self._scored(focus, scorer, rows[_places([held_out])])

        return learn


def _places(pieces: list[Rows]) -> NDArray[np.intp]:
    return np.concatenate(pieces)[:, 0].astype(np.intp)

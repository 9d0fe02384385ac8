"""Learning that fails leaves every estimator as it was: fitted as before, or not fitted at all."""

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor

from tests.test_bad_input import LABELS, frame, good_rows, labels_for, refused
from undistract import (
    DiscriminativeDetector,
    FeatureSet,
    Focus,
    FocusDetector,
    FocusPenalty,
    InputError,
    KernelFocus,
    Moments,
    NearestDetector,
    NeuralFocus,
    Recogniser,
    RidgeMahalanobis,
    SparseCombinationDetector,
    detector,
)
from undistract.detect import DensityRatioDetector

pytestmark = [
    pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning"),
    pytest.mark.filterwarnings("ignore::undistract.errors.NoSetsWarning"),
]
REFUSALS = (InputError, ValueError, TypeError, MemoryError, KeyboardInterrupt)
SMALL = {"n_components": 2, "n_hidden": 8, "epochs": 1, "random_state": 0}


class FailsLate(IsolationForest):
    """A model that is fitted, and then breaks."""

    def fit(self, X, y=None):
        super().fit(X)
        raise MemoryError


@dataclass
class Case:
    """An estimator, a setting that it refuses, and how it learns."""

    made: Any
    wrong: dict[str, Any]
    learns: str = "sets"  # or rows, classes, both

    def fit(self, X, estimator):
        if self.learns == "sets":
            return estimator.fit(X, sets=labels_for(X))
        if self.learns == "both":
            return estimator.fit(X, labels_for(X) % 2, sets=labels_for(X))
        return estimator.fit(X, labels_for(X)) if self.learns == "classes" else estimator.fit(X)


CASES = {
    "Focus": Case(Focus(n_remove=1), {"cushion": -1}),
    "KernelFocus": Case(KernelFocus(n_remove=1), {"gamma": -1}),
    "KernelFocus by Nyström": Case(KernelFocus(approx="nystroem", random_state=0), {"cutoff": 7}),
    "FocusDetector": Case(
        FocusDetector(Focus(n_remove=1), NearestDetector(n_neighbors=2), 0.1),
        {"detector": NearestDetector(n_neighbors=99)},
    ),
    "FocusDetector that adapts": Case(
        FocusDetector(Focus(n_remove=1), NearestDetector(n_neighbors=2), adapt=True), {"n_folds": 0}
    ),
    "FocusPenalty": Case(FocusPenalty(LogisticRegression(), Focus(n_remove=1)), {"estimator": Lasso()}, "both"),
    "FocusPenalty of a model without coefficients": Case(
        FocusPenalty(LogisticRegression()), {"estimator": IsolationForest()}, "classes"
    ),
    "Recogniser": Case(Recogniser(), {"ridge": 0}, "classes"),
    "Recogniser taught": Case(
        Recogniser(Moments.of_labelled(good_rows(), LABELS)),
        {"moments": Moments.of_labelled(good_rows()[:, 1:], LABELS)},
        "classes",
    ),
    "NearestDetector": Case(NearestDetector(n_neighbors=2), {"n_neighbors": 99}, "rows"),
    "RidgeMahalanobis": Case(RidgeMahalanobis(), {"ridge": -1}, "rows"),
    "DiscriminativeDetector": Case(
        DiscriminativeDetector(window=5, n_shuffles=2, random_state=0), {"penalty": NearestDetector()}, "rows"
    ),
    "SparseCombinationDetector": Case(
        SparseCombinationDetector(n_bases=2, size=1, random_state=0), {"size": 99}, "rows"
    ),
    "DensityRatioDetector": Case(DensityRatioDetector(), {"reference": np.ones((3, 2))}, "rows"),
    "AdaptedDetector": Case(detector(GaussianMixture(random_state=0)), {"estimator": FailsLate()}, "rows"),
    "AdaptedDetector of rows alone": Case(detector(LocalOutlierFactor(2)), {"estimator": LogisticRegression()}, "rows"),
}
if find_spec("torch"):
    CASES["NeuralFocus"] = Case(NeuralFocus(**SMALL), {"epochs": 0})

WIDE = np.random.default_rng(1).normal(size=(40, 7))


class Interrupted:
    """Rows that somebody stops half-way."""

    def __array__(self, dtype=None, copy=None):
        raise KeyboardInterrupt


def one_missing(rows):
    rows = np.array(rows)
    rows[-1, -1] = np.nan
    return rows


BAD = {
    **{name: refused[name] for name in ("NaN", "no rows", "one dimension", "ragged", "strings", "nothing")},
    "one row": lambda: good_rows()[:1],
    "NaN in wider rows": lambda: one_missing(WIDE),
    "NaN in a frame of other names": lambda: frame(one_missing(good_rows()), "wxyz"),
    "interrupted": Interrupted,
}


def told(estimator):
    """All that an estimator says of good rows, as bytes; the names of its features and its attributes too."""
    answers = [
        np.asarray(getattr(estimator, name)(frame())).tobytes()
        for name in ("transform", "anomaly_score", "predict_proba")
        if hasattr(estimator, name) and not isinstance(getattr(estimator, "estimator", None), LocalOutlierFactor)
    ]
    names = list(estimator.feature_names_in_)
    return (
        answers,
        getattr(estimator, "scores_", np.zeros(0)).tobytes(),
        names,
        estimator.n_features_in_,
        set(vars(estimator)),
    )


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def refit(case, rows, estimator):
    with (
        pytest.raises(REFUSALS),
        warnings.catch_warnings(action="ignore"),
    ):
        case.fit(rows, estimator)


@pytest.mark.parametrize("rows", BAD)
def test_rows_that_are_refused_change_nothing(case, rows):
    if rows == "one row" and getattr(case.made, "moments", None) is not None:
        pytest.skip("one example is enough where others teach")
    estimator = case.fit(frame(), clone(case.made))
    before = told(estimator)
    refit(case, BAD[rows](), estimator)
    assert told(estimator) == before


@pytest.mark.parametrize("rows", [WIDE, pd.DataFrame(WIDE, columns=list("tuvwxyz"))], ids=["array", "frame"])
def test_a_setting_that_is_refused_changes_nothing_whatever_rows_came_with_it(case, rows):
    estimator = case.fit(frame(), clone(case.made))
    before, settings = told(estimator), estimator.get_params(deep=False)
    refit(case, rows, estimator.set_params(**case.wrong))
    assert told(estimator.set_params(**settings)) == before


def test_what_never_learned_stays_so(case):
    estimator = clone(case.made).set_params(**case.wrong)
    refit(case, good_rows(), estimator)
    assert set(vars(estimator)) == set(vars(clone(case.made)))
    use = next(name for name in ("transform", "anomaly_score", "predict") if hasattr(estimator, name))
    with pytest.raises(NotFittedError):
        getattr(estimator, use)(good_rows())


def test_a_second_fit_leaves_no_trace_of_the_first(case):
    """Names of columns stayed behind in an adapted detector, and classes in a penalised model."""
    rows = good_rows()[:, ::-1] if getattr(case.made, "moments", None) is not None else WIDE
    again = case.fit(rows, case.fit(frame(), clone(case.made)))
    fresh = case.fit(rows, clone(case.made))
    assert set(vars(again)) == set(vars(fresh))
    assert again.n_features_in_ == rows.shape[1]


def test_a_regression_has_no_classes_though_a_classifier_was_fitted_before_it():
    penalised = FocusPenalty(LogisticRegression()).fit(good_rows(), LABELS)
    assert not hasattr(penalised.set_params(estimator=Ridge()).fit(good_rows(), LABELS), "classes_")


def breaking():
    """Two good sets of other features, then an error out of the reader."""
    yield FeatureSet("first", WIDE[:20])
    yield FeatureSet("second", WIDE[20:])
    raise OSError("the disk is gone")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if hasattr(case.made, "fit_sets")])
def test_sets_that_break_off_change_nothing(name):
    estimator = CASES[name].fit(frame(), clone(CASES[name].made))
    before = told(estimator)
    with pytest.raises(OSError, match="the disk is gone"):
        estimator.fit_sets(breaking())
    assert told(estimator) == before


@pytest.mark.parametrize("name", ["Focus", "KernelFocus by Nyström"])
@pytest.mark.parametrize("rows", [rows for rows in BAD if rows != "one row"])  # one row is a piece
def test_a_piece_that_is_refused_changes_nothing(name, rows):
    estimator = clone(CASES[name].made).partial_fit(frame(), sets=LABELS)
    before = told(estimator)
    with pytest.raises(REFUSALS), warnings.catch_warnings(action="ignore"):
        estimator.partial_fit(BAD[rows](), sets=labels_for(BAD[rows]()))
    assert told(estimator) == before

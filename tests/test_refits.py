"""A failed fit leaves each estimator unchanged: fitted as before, or unfitted."""

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
    FewShotClassifier,
    Focus,
    FocusDetector,
    FocusPenalty,
    InputError,
    KernelFocus,
    Moments,
    NearestDetector,
    NeuralFocus,
    RidgeMahalanobis,
    Source,
    SparseCombinationDetector,
    as_detector,
)
from undistract.detect import DensityRatioDetector

pytestmark = [
    pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning"),
    pytest.mark.filterwarnings("ignore::undistract.errors.NoGroupsWarning"),
]
REFUSALS = (InputError, ValueError, TypeError, MemoryError, KeyboardInterrupt)
SMALL = {"n_components": 2, "n_hidden": 8, "epochs": 1, "random_state": 0}


class FailsLate(IsolationForest):
    """A model that raises after it was fitted."""

    def fit(self, X, y=None):
        super().fit(X)
        raise MemoryError


@dataclass
class Case:
    """An estimator, an invalid setting, and the input of its fit."""

    estimator: Any
    wrong: dict[str, Any]
    learns: str = "groups"  # or rows, classes, both

    def fit(self, X, estimator):
        if self.learns == "groups":
            return estimator.fit(X, groups=labels_for(X))
        if self.learns == "both":
            return estimator.fit(X, labels_for(X) % 2, groups=labels_for(X))
        return estimator.fit(X, labels_for(X)) if self.learns == "classes" else estimator.fit(X)


CASES = {
    "Focus": Case(Focus(n_remove=1), {"ridge": -1}),
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
    "FewShotClassifier": Case(FewShotClassifier(), {"within_ridge": 0}, "classes"),
    "FewShotClassifier taught": Case(
        FewShotClassifier(Moments.from_labels(good_rows(), LABELS)),
        {"moments": Moments.from_labels(good_rows()[:, 1:], LABELS)},
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
    "AdaptedDetector": Case(as_detector(GaussianMixture(random_state=0)), {"estimator": FailsLate()}, "rows"),
    "AdaptedDetector of rows alone": Case(
        as_detector(LocalOutlierFactor(2)), {"estimator": LogisticRegression()}, "rows"
    ),
}
if find_spec("torch"):
    CASES["NeuralFocus"] = Case(NeuralFocus(**SMALL), {"epochs": 0})

WIDE = np.random.default_rng(1).normal(size=(40, 7))


class Interrupted:
    """Rows whose conversion is interrupted."""

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


def results_of(estimator):
    """Return all results for good rows as bytes, with feature names and attributes."""
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
def test_invalid_rows_change_nothing(case, rows):
    if rows == "one row" and getattr(case.estimator, "moments", None) is not None:
        pytest.skip("one example per class is enough with moments")
    estimator = case.fit(frame(), clone(case.estimator))
    before = results_of(estimator)
    refit(case, BAD[rows](), estimator)
    assert results_of(estimator) == before


@pytest.mark.parametrize("rows", [WIDE, pd.DataFrame(WIDE, columns=list("tuvwxyz"))], ids=["array", "frame"])
def test_invalid_setting_changes_nothing(case, rows):
    estimator = case.fit(frame(), clone(case.estimator))
    before, settings = results_of(estimator), estimator.get_params(deep=False)
    refit(case, rows, estimator.set_params(**case.wrong))
    assert results_of(estimator.set_params(**settings)) == before


def test_failed_first_fit_stays_unfitted(case):
    estimator = clone(case.estimator).set_params(**case.wrong)
    refit(case, good_rows(), estimator)
    assert set(vars(estimator)) == set(vars(clone(case.estimator)))
    use = next(name for name in ("transform", "anomaly_score", "predict") if hasattr(estimator, name))
    with pytest.raises(NotFittedError):
        getattr(estimator, use)(good_rows())


def test_second_fit_has_no_trace_of_the_first(case):
    """Regression: column names stayed in an adapted detector, and classes in a penalised model."""
    rows = good_rows()[:, ::-1] if getattr(case.estimator, "moments", None) is not None else WIDE
    again = case.fit(rows, case.fit(frame(), clone(case.estimator)))
    fresh = case.fit(rows, clone(case.estimator))
    assert set(vars(again)) == set(vars(fresh))
    assert again.n_features_in_ == rows.shape[1]


def test_regression_after_a_classifier_has_no_classes():
    penalised = FocusPenalty(LogisticRegression()).fit(good_rows(), LABELS)
    assert not hasattr(penalised.set_params(estimator=Ridge()).fit(good_rows(), LABELS), "classes_")


def breaking():
    """Yield two good groups of other features, then raise."""
    yield Source("first", WIDE[:20])
    yield Source("second", WIDE[20:])
    raise OSError("the disk is gone")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if hasattr(case.estimator, "fit_groups")])
def test_interrupted_groups_change_nothing(name):
    estimator = CASES[name].fit(frame(), clone(CASES[name].estimator))
    before = results_of(estimator)
    with pytest.raises(OSError, match="the disk is gone"):
        estimator.fit_groups(breaking())
    assert results_of(estimator) == before


@pytest.mark.parametrize("name", ["Focus", "KernelFocus by Nyström"])
@pytest.mark.parametrize("rows", [rows for rows in BAD if rows != "one row"])  # one row is a valid batch
def test_invalid_batch_changes_nothing(name, rows):
    estimator = clone(CASES[name].estimator).partial_fit(frame(), groups=LABELS)
    before = results_of(estimator)
    with pytest.raises(REFUSALS), warnings.catch_warnings(action="ignore"):
        estimator.partial_fit(BAD[rows](), groups=labels_for(BAD[rows]()))
    assert results_of(estimator) == before

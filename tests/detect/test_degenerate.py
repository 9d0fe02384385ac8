"""Promise 4: any input gives a result or one typed error with advice; never a NaN score."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from undistract import Focus, FocusPenalty
from undistract.detect import (
    DensityRatioDetector,
    DiscriminativeDetector,
    NearestDetector,
    RidgeMahalanobis,
    SparseCombinationDetector,
    as_detector,
)
from undistract.errors import InputError

FROZEN_FOCUS = FrozenEstimator(
    Focus(n_remove=1).fit(np.random.default_rng(1).normal(size=(200, 3)) * [9, 1, 1], groups=np.arange(200) % 10)
)
DETECTORS = {
    "discriminative": DiscriminativeDetector(window=5, stride=3, n_shuffles=2, random_state=0),
    "discriminative, raw": DiscriminativeDetector(window=5, stride=3, n_shuffles=2, standardise=False),
    "discriminative, one step": DiscriminativeDetector(window=5, stride=3, solver="one_step", average="margin"),
    "Mahalanobis": RidgeMahalanobis(),
    "Mahalanobis, raw": RidgeMahalanobis(standardise=False),
    "nearest": NearestDetector(n_neighbors=3),
    "sparse combination": SparseCombinationDetector(n_bases=2, size=1, n_starts=1, random_state=0),
    "density ratio": DensityRatioDetector(),
    "forest": as_detector(IsolationForest(n_estimators=5, random_state=0)),
    "outlier factor": as_detector(LocalOutlierFactor(n_neighbors=3, novelty=True)),
    "one-class SVM": as_detector(OneClassSVM()),
    "penalised": DiscriminativeDetector(window=5, stride=3, n_shuffles=2, penalty=FROZEN_FOCUS, strength="auto"),
    "penalised one-class SVM": as_detector(FocusPenalty(OneClassSVM(kernel="linear"), FROZEN_FOCUS)),
}

# scikit-learn's own checks require a TypeError for sparse rows and for objects that are not numbers.
TYPED = (InputError, TypeError)

plain = np.random.default_rng(0).normal(size=(20, 3))


def changed(value):
    X = plain.copy()
    X[4, 1] = value
    return X


INPUTS = {
    "plain": plain,
    "NaN": changed(np.nan),
    "inf": changed(np.inf),
    "empty": np.zeros((0, 3)),
    "no features": np.zeros((20, 0)),
    "one row": plain[:1],
    "two rows": plain[:2],
    "one feature": plain[:, :1],
    "zero": np.zeros((20, 3)),
    "constant": np.full((20, 3), 0.1),
    "large constant": np.full((20, 3), 1e300),
    "duplicates": np.repeat(plain[:4], 5, axis=0),
    "one differs": np.concatenate([np.ones((19, 3)), [[2.0, 1.0, 1.0]]]),
    "ragged": [[1.0, 2.0], [3.0]] * 10,
    "one-dimensional": plain[:, 0],
    "three-dimensional": plain[:, :, None],
    "a number": 3.0,
    "nothing": None,
    "text": np.full((20, 3), "high"),
    "numbers as objects": plain.astype(object),
    "mixed objects": np.array([[1, 2.5, "a"]] * 20, dtype=object),
    "whole numbers": np.arange(60).reshape(20, 3) % 7,
    "booleans": plain > 0,
    "complex": plain + 1j,
    "sparse": sparse.csr_array(plain),
    "float16": plain.astype(np.float16),
    "float32": plain.astype(np.float32),
    "1e308": 1e308 * np.sign(plain),
    "1.7e308 among ones": changed(1.7e308),
    "1e150": 1e150 * plain,
    "1e-308": 1e-308 * plain,
    "least number": 5e-324 * np.round(plain),
    "mean 1e12": plain + 1e12,
    "more features than rows": np.random.default_rng(1).normal(size=(20, 50)),
    "a list": plain.tolist(),
    "a frame": pd.DataFrame(plain, columns=["a", "b", "c"]),
    "a frame with numbers for names": pd.DataFrame(plain, columns=[0, 1, 2]),
    "a frame with text": pd.DataFrame({"a": plain[:, 0], "b": ["x"] * 20}),
    "dates": np.full((20, 3), np.datetime64("2024-01-01")),
}


# scikit-learn's models may warn about such input; our detectors must not.
@pytest.mark.filterwarnings("ignore::UserWarning:sklearn")
@pytest.mark.parametrize("model", DETECTORS.values(), ids=DETECTORS.keys())
@pytest.mark.parametrize("X", INPUTS.values(), ids=INPUTS.keys())
def test_fitting_gives_finite_scores_or_one_typed_error(model, X):
    try:
        fitted = clone(model).fit(X)
    except TYPED:
        return
    for scores in (fitted.scores_, fitted.anomaly_score(X)):
        assert scores.shape == (np.shape(X)[0],)
        assert scores.dtype == np.float64
        assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("ignore::UserWarning:sklearn")
@pytest.mark.parametrize("model", DETECTORS.values(), ids=DETECTORS.keys())
@pytest.mark.parametrize("X", INPUTS.values(), ids=INPUTS.keys())
def test_scoring_gives_finite_scores_or_one_typed_error(model, X):
    fitted = clone(model).fit(plain)
    try:
        scores = fitted.anomaly_score(X)
    except TYPED:
        return
    assert scores.shape == (np.shape(X)[0],)
    assert np.isfinite(scores).all()


USABLE = [
    "plain",
    "constant",
    "duplicates",
    "numbers as objects",
    "whole numbers",
    "booleans",
    "float16",
    "1e-308",
    "mean 1e12",
    "more features than rows",
    "a frame",
]
# The penalty was fitted on three features and rejects any other number.
OTHERS = ("forest", "outlier factor", "one-class SVM", "penalised", "penalised one-class SVM")
OURS = [name for name in DETECTORS if name not in OTHERS]


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("rows", [*USABLE, "1e308", "1.7e308 among ones"])
def test_usable_rows_are_scored(name, rows):
    if "raw" in name and "1" in rows[:1] and "e-" not in rows:
        with pytest.raises(InputError, match=r"too large to square\. Use standardise=True"):
            clone(DETECTORS[name]).fit(INPUTS[rows])
    else:
        assert np.isfinite(clone(DETECTORS[name]).fit(INPUTS[rows]).scores_).all()


# Without scaling 1.7e308 raises an error; and a density ratio does not detect single rows.
@pytest.mark.parametrize("name", [name for name in OURS if "raw" not in name and name != "density ratio"])
def test_single_huge_value_scores_highest(name):
    fitted = clone(DETECTORS[name]).fit(plain)
    assert fitted.anomaly_score(INPUTS["1.7e308 among ones"]).argmax() == 4


@pytest.mark.parametrize("model", DETECTORS.values(), ids=DETECTORS.keys())
def test_missing_fit_and_wrong_number_of_features_raise_errors(model):
    with pytest.raises(NotFittedError):
        clone(model).anomaly_score(plain)
    with pytest.raises(InputError, match="expecting 3 features"):
        clone(model).fit(plain).anomaly_score(plain[:, :2])

"""The detectors that every method is tried with: rows → scores, high is strange."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from undistract._arrays import Floats, Rows
from undistract.detect import Detector, NearestDetector, RidgeMahalanobis, as_detector

# name → (n_neighbors, novelty) → detector
DETECTORS: Mapping[str, Callable[[int, bool], Detector]] = {
    "kNN": lambda k, novelty: NearestDetector(n_neighbors=k),
    "LOF": lambda k, novelty: as_detector(LocalOutlierFactor(n_neighbors=2 * k, novelty=novelty)),
    "isolation forest": lambda k, novelty: as_detector(IsolationForest(random_state=0)),
    "one-class SVM": lambda k, novelty: as_detector(OneClassSVM(nu=0.1, gamma="scale")),
    "Mahalanobis": lambda k, novelty: RidgeMahalanobis(),
}


def scores(name: str, test: Rows, known: Rows | None = None, *, n_neighbors: int = 10) -> Floats:
    """Score the test rows.

    Parameters
    ----------
    name : str
        One of `DETECTORS`.
    test : (n, d) array
    known : (m, d) array, optional
        Normal rows to fit on. Without them the detector is fitted on the test rows themselves, as in the paper: what
        most of them do is usual.
    n_neighbors : int
        For kNN; LOF looks at twice as many, so that 10 gives scikit-learn's own 20.
    """
    found = DETECTORS[name](n_neighbors, known is not None)
    return found.fit(test).scores_ if known is None else found.fit(known).anomaly_score(test)

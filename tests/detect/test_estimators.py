from __future__ import annotations

from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.utils.estimator_checks import parametrize_with_checks

from undistract.detect import (
    DensityRatioDetector,
    DiscriminativeDetector,
    NearestDetector,
    RidgeMahalanobis,
    SparseCombinationDetector,
    as_detector,
)


# The checks use few rows and few features, so windows, neighbours and bases are small.
@parametrize_with_checks(
    [
        DiscriminativeDetector(window=3, stride=2, n_shuffles=2),
        DiscriminativeDetector(window=3, stride=2, n_shuffles=2, solver="one_step", average="margin"),
        RidgeMahalanobis(),
        NearestDetector(n_neighbors=2),
        SparseCombinationDetector(n_bases=2, size=1, n_starts=1),
        DensityRatioDetector(),
        as_detector(IsolationForest(n_estimators=5)),
        as_detector(LocalOutlierFactor(n_neighbors=2)),
    ]
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)

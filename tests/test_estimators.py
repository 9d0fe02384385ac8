"""scikit-learn in every respect: its own checks, and the places where people put an estimator."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from undistract import Focus


class FocusWithSets(Focus):
    """Focus as scikit-learn's checks never call it: with sets, so that it has something to remove."""

    def __init__(self, *, removal="kept_span"):
        super().__init__(n_remove=1, removal=removal)
        self.removal = removal

    def fit(self, X, y=None, *, sets=None):
        n_rows = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        return super().fit(X, sets=np.arange(n_rows) % 3 if sets is None else sets)

    def partial_fit(self, X, y=None, *, sets=None):
        n_rows = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        return super().partial_fit(X, sets=np.arange(n_rows) % 3 if sets is None else sets)


def one_feature_cannot_lose_one(estimator):
    reason = "the only feature varies, and removing it would leave nothing: an error says so"
    if not isinstance(estimator, FocusWithSets):
        return {}
    return {"check_fit2d_1feature": reason}


@pytest.mark.filterwarnings("ignore::undistract.errors.NoSetsWarning")
@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
@parametrize_with_checks(
    [kind(removal=removal) for kind in (Focus, FocusWithSets) for removal in ("kept_span", "eigen", "oblique")],
    expected_failed_checks=one_feature_cannot_lose_one,
)
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)

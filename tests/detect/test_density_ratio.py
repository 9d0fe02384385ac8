from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, spearmanr

from undistract.detect import DensityRatioDetector
from undistract.errors import InputError


def test_two_shifted_bells_have_the_ratio_known_by_hand():
    random = np.random.default_rng(0)
    reference, here = random.normal(0, 1, (20_000, 1)), random.normal(1, 1, (20_000, 1))
    found = DensityRatioDetector(reference=reference).fit(here)
    at = np.linspace(-1, 2, 7)[:, None]
    expected = norm.pdf(at, 1, 1) / norm.pdf(at, 0, 1)  # exp(x - 1/2)
    # A slope of 20 000 rows a side is known to about 1 %, and x reaches 2.
    assert found.anomaly_score(at) == pytest.approx(expected[:, 0], rel=0.05)


def test_the_same_rows_on_both_sides_have_odds_of_one():
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert DensityRatioDetector(reference=X).fit(X).scores_ == pytest.approx(np.ones(50), abs=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([3, 60]))
@settings(deadline=None, max_examples=30)
def test_a_row_scores_the_same_in_any_batch(seed, n_features):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, n_features))
    found = DensityRatioDetector(reference=random.normal(size=(20, n_features)) + 1).fit(X)
    alone = np.concatenate([found.anomaly_score(row[None]) for row in X])
    assert found.anomaly_score(X) == pytest.approx(alone, rel=1e-9)
    assert found.scores_ == pytest.approx(alone, rel=1e-9)


def test_a_share_takes_the_first_rows_as_reference():
    random = np.random.default_rng(0)
    past, present = random.normal(size=(30, 2)), random.normal(size=(10, 2)) + 2
    share = DensityRatioDetector(reference=0.75).fit(np.concatenate([past, present]))
    given_rows = DensityRatioDetector(reference=past).fit(present)
    assert share.scores_[30:] == pytest.approx(given_rows.scores_, rel=1e-9)
    assert np.median(share.scores_[:30]) < np.median(share.scores_[30:])


def test_the_unit_does_not_matter():
    X = np.random.default_rng(0).normal(size=(40, 2)) + np.linspace(0, 1, 40)[:, None]
    one, other = (DensityRatioDetector().fit(rows).scores_ for rows in (X, 1e6 * X))
    assert spearmanr(one, other)[0] == pytest.approx(1)
    assert one == pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (0.0, "reference=0.0 of 5 rows leaves none on one side"),
        (0.95, "leaves none on one side"),
        (7, "Give a share between 0 and 1"),
        (np.zeros((3, 2)), "2 features"),
        ([[np.nan] * 5], "NaN"),
    ],
)
def test_a_reference_that_cannot_be_is_refused_with_a_reason(reference, message):
    with pytest.raises(InputError, match=message):
        DensityRatioDetector(reference=reference).fit(np.eye(5))

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, spearmanr

from undistract.detect import DensityRatioDetector
from undistract.errors import InputError


def test_two_shifted_normals_have_the_analytic_ratio():
    random = np.random.default_rng(0)
    reference = random.normal(0, 1, (20_000, 1))
    current = random.normal(1, 1, (20_000, 1))
    fitted = DensityRatioDetector(reference=reference).fit(current)
    grid = np.linspace(-1, 2, 7)[:, None]
    expected = norm.pdf(grid, 1, 1) / norm.pdf(grid, 0, 1)  # exp(x - 1/2)
    # With 20 000 rows per side the slope has an error of about 1 %, and x reaches 2.
    assert fitted.anomaly_score(grid) == pytest.approx(expected[:, 0], rel=0.05)


def test_equal_rows_on_both_sides_have_odds_one():
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert DensityRatioDetector(reference=X).fit(X).scores_ == pytest.approx(np.ones(50), abs=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([3, 60]))
@settings(deadline=None, max_examples=30)
def test_score_does_not_depend_on_batch(seed, n_features):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, n_features))
    fitted = DensityRatioDetector(reference=random.normal(size=(20, n_features)) + 1).fit(X)
    alone = np.concatenate([fitted.anomaly_score(row[None]) for row in X])
    assert fitted.anomaly_score(X) == pytest.approx(alone, rel=1e-9)
    assert fitted.scores_ == pytest.approx(alone, rel=1e-9)


def test_share_uses_first_rows_as_reference():
    random = np.random.default_rng(0)
    past, present = random.normal(size=(30, 2)), random.normal(size=(10, 2)) + 2
    share = DensityRatioDetector(reference=0.75).fit(np.concatenate([past, present]))
    explicit = DensityRatioDetector(reference=past).fit(present)
    assert share.scores_[30:] == pytest.approx(explicit.scores_, rel=1e-9)
    assert np.median(share.scores_[:30]) < np.median(share.scores_[30:])


def test_scores_do_not_depend_on_unit():
    X = np.random.default_rng(0).normal(size=(40, 2)) + np.linspace(0, 1, 40)[:, None]
    plain, scaled = (DensityRatioDetector().fit(rows).scores_ for rows in (X, 1e6 * X))
    assert spearmanr(plain, scaled)[0] == pytest.approx(1)
    assert plain == pytest.approx(scaled, rel=1e-6)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (0.0, "got 0.0 for 5 rows"),
        (0.95, "leaves rows on both sides"),
        (7, "must be a share between 0 and 1"),
        (np.zeros((3, 2)), "2 features"),
        ([[np.nan] * 5], "NaN"),
    ],
)
def test_invalid_reference_raises_input_error(reference, message):
    with pytest.raises(InputError, match=message):
        DensityRatioDetector(reference=reference).fit(np.eye(5))

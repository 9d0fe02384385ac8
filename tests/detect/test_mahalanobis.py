from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from undistract.detect import DiscriminativeDetector, RidgeMahalanobis


def mixed_rows(seed, n_rows, n_features):
    random = np.random.default_rng(seed)
    return random.normal(size=(n_rows, n_features)) @ random.normal(size=(n_features, n_features)) + 3


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 40), st.sampled_from([1e-3, 0.1, 10.0]))
@settings(deadline=None)
def test_scores_equal_the_formula(seed, n_rows, n_features, ridge):
    X = mixed_rows(seed, n_rows, n_features)
    new = mixed_rows(seed + 1, 5, n_features)
    window = min(7, n_rows / 2)
    floor = 2 * ridge / (window * (n_rows - window) / n_rows)
    covariance = np.cov(X.T, bias=True).reshape(n_features, n_features) + floor * np.eye(n_features)
    fitted = RidgeMahalanobis(ridge=ridge, window=7, standardise=False).fit(X)
    for scores, rows in ((fitted.scores_, X), (fitted.anomaly_score(new), new)):
        deviations = rows - X.mean(axis=0)
        expected = (deviations * np.linalg.solve(covariance, deviations.T).T).sum(axis=1)
        # The condition number here reaches 1e6, and solve loses its digits.
        assert scores == pytest.approx(expected, rel=1e-8, abs=1e-8)


@given(st.integers(0, 10**6), st.integers(2, 12))
@settings(deadline=None)
def test_scores_are_invariant_to_shift_scale_and_rotation(seed, n_features):
    X = mixed_rows(seed, 20, n_features)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(n_features, n_features)))[0]
    moved = RidgeMahalanobis().fit(1e-4 * X @ rotation - 5.0).scores_
    # Centring at 5 with a spread of 1e-4 leaves eleven digits; the smallest variances may lose a few more.
    assert RidgeMahalanobis().fit(X).scores_ == pytest.approx(moved, rel=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([3, 50]))
@settings(deadline=None, max_examples=30)
def test_score_does_not_depend_on_batch(seed, n_features):
    X = mixed_rows(seed, 20, n_features)
    fitted = RidgeMahalanobis().fit(X)
    alone = np.concatenate([fitted.anomaly_score(row[None]) for row in X])
    assert fitted.anomaly_score(X) == pytest.approx(alone, rel=1e-9)
    assert fitted.anomaly_score(X) == pytest.approx(fitted.scores_, rel=1e-9)


def test_small_case_by_hand():
    # Mean 0, variance 1 in the first feature, 4 in the second, w = n/2 = 2, m = 1, so the floor is 2ρ = 1.
    X = np.array([[1.0, 2.0], [-1.0, 2.0], [1.0, -2.0], [-1.0, -2.0]])
    fitted = RidgeMahalanobis(ridge=0.5, standardise=False).fit(X)
    assert fitted.floor_ == 1
    assert fitted.scores_ == pytest.approx(np.full(4, 1 / 2 + 4 / 5))


def test_discriminative_detector_converges_to_it():
    X = np.random.default_rng(0).normal(size=(500, 5))
    limit = RidgeMahalanobis(window=20).fit(X).scores_
    agreement = [
        spearmanr(DiscriminativeDetector(window=20, stride=10, n_shuffles=n, random_state=0).fit(X).scores_, limit)[0]
        for n in (3, 10, 30, 100, 300)
    ]
    assert agreement == sorted(agreement)
    assert agreement[1] > 0.6
    assert agreement[-1] > 0.975


def test_many_features_need_no_square_matrix():
    X = np.random.default_rng(0).normal(size=(10, 30_000))
    fitted = RidgeMahalanobis().fit(X)  # 30 000 squared would be 7 GB
    assert fitted.directions_.shape == (30_000, 10)
    assert np.isfinite(fitted.scores_).all()

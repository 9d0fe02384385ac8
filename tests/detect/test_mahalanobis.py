from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from undistract.detect import DiscriminativeDetector, RidgeMahalanobis


def mixed(seed, n_rows, n_features):
    random = np.random.default_rng(seed)
    return random.normal(size=(n_rows, n_features)) @ random.normal(size=(n_features, n_features)) + 3


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 40), st.sampled_from([1e-3, 0.1, 10.0]))
@settings(deadline=None)
def test_it_is_the_formula_with_few_and_with_many_features(seed, n_rows, n_features, ridge):
    X = mixed(seed, n_rows, n_features)
    new = mixed(seed + 1, 5, n_features)
    window = min(7, n_rows / 2)
    floor = 2 * ridge / (window * (n_rows - window) / n_rows)
    covariance = np.cov(X.T, bias=True).reshape(n_features, n_features) + floor * np.eye(n_features)
    found = RidgeMahalanobis(ridge=ridge, window=7, standardise=False).fit(X)
    for scores, rows in ((found.scores_, X), (found.anomaly_score(new), new)):
        away = rows - X.mean(axis=0)
        expected = (away * np.linalg.solve(covariance, away.T).T).sum(axis=1)
        # The condition number here reaches 1e6, and solve loses its digits.
        assert scores == pytest.approx(expected, rel=1e-8, abs=1e-8)


@given(st.integers(0, 10**6), st.integers(2, 12))
@settings(deadline=None)
def test_origin_unit_and_direction_of_the_axes_do_not_matter(seed, n_features):
    X = mixed(seed, 20, n_features)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(n_features, n_features)))[0]
    other = RidgeMahalanobis().fit(1e-4 * X @ turn - 5.0).scores_
    # Centring at 5 with a spread of 1e-4 leaves eleven digits; the smallest variances may take some more.
    assert RidgeMahalanobis().fit(X).scores_ == pytest.approx(other, rel=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([3, 50]))
@settings(deadline=None, max_examples=30)
def test_a_new_row_scores_the_same_in_any_batch_and_a_known_row_as_before(seed, n_features):
    X = mixed(seed, 20, n_features)
    found = RidgeMahalanobis().fit(X)
    alone = np.concatenate([found.anomaly_score(row[None]) for row in X])
    assert found.anomaly_score(X) == pytest.approx(alone, rel=1e-9)
    assert found.anomaly_score(X) == pytest.approx(found.scores_, rel=1e-9)


def test_by_hand():
    # Mean 0, variance 1 in the first feature, 4 in the second, w = n/2 = 2, m = 1, so the floor is 2ρ = 1.
    X = np.array([[1.0, 2.0], [-1.0, 2.0], [1.0, -2.0], [-1.0, -2.0]])
    found = RidgeMahalanobis(ridge=0.5, standardise=False).fit(X)
    assert found.floor_ == 1
    assert found.scores_ == pytest.approx(np.full(4, 1 / 2 + 4 / 5))


def test_the_discriminative_detector_comes_ever_nearer_to_it():
    X = np.random.default_rng(0).normal(size=(500, 5))
    limit = RidgeMahalanobis(window=20).fit(X).scores_
    agreement = [
        spearmanr(DiscriminativeDetector(window=20, stride=10, n_shuffles=n, random_state=0).fit(X).scores_, limit)[0]
        for n in (3, 10, 30, 100, 300)
    ]
    assert agreement == sorted(agreement)
    assert agreement[1] > 0.6
    assert agreement[-1] > 0.975


def test_many_features_form_nothing_square():
    X = np.random.default_rng(0).normal(size=(10, 30_000))
    found = RidgeMahalanobis().fit(X)  # 30 000 squared would be 7 GB
    assert found.directions_.shape == (30_000, 10)
    assert np.isfinite(found.scores_).all()

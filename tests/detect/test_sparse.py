from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undistract.detect import SparseCombinationDetector
from undistract.errors import InputError


def planes(seed, n_planes=3, size=2, n_features=8, n_rows=60):
    """Return rows on a few planes through zero, mirrored so that their mean is zero, and the planes."""
    random = np.random.default_rng(seed)
    bases = [np.linalg.qr(random.normal(size=(n_features, size)))[0] for _ in range(n_planes)]
    X = np.concatenate([random.normal(size=(n_rows, size)) @ basis.T for basis in bases])
    return np.concatenate([X, -X]), bases


@given(st.integers(0, 200))
@settings(deadline=None, max_examples=20)
def test_bases_are_orthonormal_and_score_is_smallest_error(seed):
    X = np.random.default_rng(seed).normal(size=(50, 6)) + 4
    fitted = SparseCombinationDetector(n_bases=3, size=2, n_starts=1, random_state=0).fit(X)
    for basis in fitted.bases_:
        assert basis.T @ basis == pytest.approx(np.eye(2), abs=1e-12)
    centred = (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0).mean())
    errors = [((centred - centred @ b @ b.T) ** 2).sum(axis=1) for b in fitted.bases_]
    assert fitted.scores_ == pytest.approx(np.min(errors, axis=0), abs=1e-12)
    assert fitted.anomaly_score(X) == pytest.approx(fitted.scores_, abs=1e-12)


@given(st.integers(0, 200))
@settings(deadline=None, max_examples=20)
def test_scores_are_invariant_to_rotation(seed):
    X, _ = planes(seed)
    X += 0.1 * np.random.default_rng(seed).normal(size=X.shape)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(8, 8)))[0]
    plain, rotated = (
        SparseCombinationDetector(n_bases=3, size=2, n_starts=2, random_state=0).fit(rows).scores_
        for rows in (X, X @ rotation)
    )
    assert plain == pytest.approx(rotated, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_rows_on_planes_are_reconstructed_and_rows_between_are_not(seed):
    X, bases = planes(seed)
    fitted = SparseCombinationDetector(n_bases=3, size=2, random_state=0).fit(X)
    assert fitted.scores_.max() < 1e-20
    assert fitted.anomaly_score((bases[0][:, :1] + bases[1][:, :1]).T)[0] > 1e-2


def test_seed_determines_bases():
    X = np.random.default_rng(0).normal(size=(100, 5))
    first, second = (SparseCombinationDetector(random_state=3).fit(X).bases_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_more_starts_never_increase_the_error():
    X = np.random.default_rng(0).normal(size=(200, 6))
    totals = [
        SparseCombinationDetector(n_bases=6, size=2, n_starts=n, random_state=0).fit(X).scores_.sum() for n in (1, 3, 9)
    ]
    assert totals == sorted(totals, reverse=True)


def test_score_does_not_depend_on_batch():
    X = np.random.default_rng(0).normal(size=(100, 5))
    fitted = SparseCombinationDetector(random_state=0).fit(X)
    alone = np.concatenate([fitted.anomaly_score(row[None]) for row in X])
    # The rounding error of well reconstructed rows is relative to their length, not to the score.
    assert fitted.anomaly_score(X) == pytest.approx(alone, rel=1e-9, abs=1e-14)


def test_more_features_than_rows_are_supported():
    X = np.random.default_rng(0).normal(size=(40, 100))
    fitted = SparseCombinationDetector(n_bases=4, size=3, random_state=0).fit(X)
    assert (fitted.scores_ < fitted.anomaly_score(X + np.random.default_rng(1).normal(size=X.shape))).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 5}, "A basis of 5 directions reconstructs every row without error, because X has n_features = 5"),
        ({"n_bases": 10, "size": 4}, "10 bases of 4 directions reconstruct any 40 rows without error"),
        ({"n_bases": 0}, "n_bases must be a whole number of at least 1, got 0"),
    ],
)
def test_invalid_options_raise_input_error(options, message):
    with pytest.raises(InputError, match=message):
        SparseCombinationDetector(**options).fit(np.random.default_rng(0).normal(size=(30, 5)))

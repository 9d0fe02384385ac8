from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from undistract.detect import NearestDetector, nearest
from undistract.errors import InputError


def expected(new, X, k, aggregate, *, own=False):
    distances = cdist(new, X)
    if own:
        np.fill_diagonal(distances, np.inf)
    smallest = np.sort(distances, axis=1)[:, :k]
    return smallest.mean(axis=1) if aggregate == "mean" else smallest[:, -1]


def rows(seed, n_rows, n_features, kind):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_features))
    if kind == "binary":
        return (X > 0).astype(float)
    if kind == "far":
        return X + 1e6
    if kind == "clustered":
        # Clusters a billion times narrower than their distance from the mean.
        return random.normal(size=(3, n_features))[random.integers(3, size=n_rows)] + 1e-9 * X
    return X


cases = st.tuples(
    st.integers(0, 10**6),
    st.integers(6, 80),
    st.integers(1, 40),
    st.sampled_from(["plain", "binary", "far", "clustered"]),
)


@given(cases, st.integers(1, 5), st.sampled_from(["mean", "kth"]))
@settings(deadline=None)
def test_scores_equal_exact_distances(case, k, aggregate):
    X, new = rows(*case), rows(case[0] + 1, *case[1:])
    fitted = NearestDetector(n_neighbors=k, aggregate=aggregate).fit(X)
    # The mean is subtracted with an error of 1e-16 of the values: 1e-10 of the distances of far rows, 1e-7 of clusters.
    assert fitted.scores_ == pytest.approx(expected(X, X, k, aggregate, own=True), rel=1e-6, abs=1e-14)
    assert fitted.anomaly_score(new) == pytest.approx(expected(new, X, k, aggregate), rel=1e-6, abs=1e-14)


@given(cases)
@settings(deadline=None)
def test_score_does_not_depend_on_batch(case):
    X, new = rows(*case), rows(case[0], *case[1:]) * 1.01
    fitted = NearestDetector(n_neighbors=3).fit(X)
    alone = np.concatenate([fitted.anomaly_score(row[None]) for row in new])
    assert fitted.anomaly_score(new) == pytest.approx(alone, rel=1e-9, abs=0)


def test_near_duplicates_are_measured_exactly():
    # Rows within 1e-9 of each other, far from the mean: |x|² - 2xy + |y|² has no correct digit.
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(size=(200, 30)), 100 + 1e-9 * random.normal(size=(40, 30))])
    fitted = NearestDetector(n_neighbors=3, aggregate="kth").fit(X)
    # 100 has a rounding error of 1e-14, which is 1e-5 of these distances.
    assert fitted.scores_[200:] == pytest.approx(expected(X, X, 3, "kth", own=True)[200:], rel=1e-4)


def test_chunk_size_does_not_change_scores(monkeypatch):
    X = rows(0, 60, 20, "clustered")
    reference = NearestDetector(n_neighbors=4).fit(X)
    monkeypatch.setattr(nearest, "CHUNK", 100)
    chunked = NearestDetector(n_neighbors=4).fit(X)
    assert chunked.scores_ == pytest.approx(reference.scores_, rel=1e-9, abs=0)


def test_fitted_row_is_not_its_own_neighbour():
    fitted = NearestDetector(n_neighbors=1).fit([[0.0], [0.0], [5.0], [9.0]])
    assert fitted.scores_.tolist() == [0.0, 0.0, 4.0, 4.0]
    assert fitted.anomaly_score([[9.0]]).tolist() == [0.0]


def test_scores_scale_with_the_unit():
    X = rows(0, 30, 4, "plain")
    assert NearestDetector().fit(1e200 * X).scores_ == pytest.approx(1e200 * NearestDetector().fit(X).scores_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"n_neighbors": 5},
            "must be smaller than the number of rows, got 5, but X has n_samples = 5. Use n_neighbors=4",
        ),
        ({"n_neighbors": 0}, "n_neighbors must be a whole number of at least 1, got 0"),
        ({"n_neighbors": 2, "aggregate": "median"}, "aggregate must be one of 'mean', 'kth'"),
    ],
)
def test_invalid_options_raise_input_error(options, message):
    with pytest.raises(InputError, match=message):
        NearestDetector(**options).fit(np.eye(5))


def test_too_many_neighbours_after_fit_raise_input_error():
    """Regression: numpy's "kth(=8) out of bounds (5)"."""
    fitted = NearestDetector(n_neighbors=2).fit(np.eye(5)).set_params(n_neighbors=9)
    with pytest.raises(InputError, match="got 9, but X has n_samples = 5"):
        fitted.anomaly_score(np.eye(5))

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from undistract.detect import NearestDetector, nearest
from undistract.errors import InputError


def expected(new, X, k, how, *, own=False):
    distances = cdist(new, X)
    if own:
        np.fill_diagonal(distances, np.inf)
    smallest = np.sort(distances, axis=1)[:, :k]
    return smallest.mean(axis=1) if how == "mean" else smallest[:, -1]


def rows(seed, n_rows, n_features, kind):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_features))
    if kind == "binary":
        return (X > 0).astype(float)
    if kind == "far":
        return X + 1e6
    if kind == "clustered":
        # Clumps a billion times narrower than their distance from the mean.
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
def test_distances_are_those_of_differences(case, k, how):
    X, new = rows(*case), rows(case[0] + 1, *case[1:])
    found = NearestDetector(n_neighbors=k, how=how).fit(X)
    # Subtracting the mean rounds at 1e-16 of the values: 1e-10 of the distances of far rows, 1e-7 of clumps.
    assert found.scores_ == pytest.approx(expected(X, X, k, how, own=True), rel=1e-6, abs=1e-14)
    assert found.anomaly_score(new) == pytest.approx(expected(new, X, k, how), rel=1e-6, abs=1e-14)


@given(cases)
@settings(deadline=None)
def test_a_new_row_scores_the_same_in_any_batch(case):
    X, new = rows(*case), rows(case[0], *case[1:]) * 1.01
    found = NearestDetector(n_neighbors=3).fit(X)
    alone = np.concatenate([found.anomaly_score(row[None]) for row in new])
    assert found.anomaly_score(new) == pytest.approx(alone, rel=1e-9, abs=0)


def test_the_quick_search_is_not_trusted_among_near_duplicates():
    # Twenty rows within 1e-9 of one another, far from the mean: |x|² - 2xy + |y|² sees no difference at all.
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(size=(200, 30)), 100 + 1e-9 * random.normal(size=(40, 30))])
    found = NearestDetector(n_neighbors=3, how="kth").fit(X)
    # 100 is written with an error of 1e-14, that is 1e-5 of these distances.
    assert found.scores_[200:] == pytest.approx(expected(X, X, 3, "kth", own=True)[200:], rel=1e-4)


def test_chunks_change_nothing(monkeypatch):
    X = rows(0, 60, 20, "clustered")
    whole = NearestDetector(n_neighbors=4).fit(X)
    monkeypatch.setattr(nearest, "CHUNK", 100)
    pieces = NearestDetector(n_neighbors=4).fit(X)
    assert pieces.scores_ == pytest.approx(whole.scores_, rel=1e-9, abs=0)


def test_a_row_is_not_its_own_neighbour_but_its_twin_is():
    found = NearestDetector(n_neighbors=1).fit([[0.0], [0.0], [5.0], [9.0]])
    assert found.scores_.tolist() == [0.0, 0.0, 4.0, 4.0]
    assert found.anomaly_score([[9.0]]).tolist() == [0.0]


def test_units_are_those_of_the_rows():
    X = rows(0, 30, 4, "plain")
    assert NearestDetector().fit(1e200 * X).scores_ == pytest.approx(1e200 * NearestDetector().fit(X).scores_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"n_neighbors": 5},
            "5 neighbours of each row were asked for, but X has n_samples = 5. Use n_neighbors=4",
        ),
        ({"n_neighbors": 0}, "n_neighbors=0 was given"),
        ({"n_neighbors": 2, "how": "median"}, "expected one of 'mean', 'kth'"),
    ],
)
def test_options_that_cannot_be_are_refused_with_a_reason(options, message):
    with pytest.raises(InputError, match=message):
        NearestDetector(**options).fit(np.eye(5))


def test_more_neighbours_than_rows_are_refused_after_the_fit_too():
    """It was numpy's "kth(=8) out of bounds (5)"."""
    fitted = NearestDetector(n_neighbors=2).fit(np.eye(5)).set_params(n_neighbors=9)
    with pytest.raises(InputError, match="9 neighbours of each row were asked for, but X has n_samples = 5"):
        fitted.anomaly_score(np.eye(5))

"""Counterexample x1 = s + t, x2 = t: removing eigenvectors works on axis-aligned data and fails here."""

import numpy as np
import pytest

from undistract import Focus

N_SETS, N_ROWS = 30, 400
SETS = np.repeat(np.arange(N_SETS), N_ROWS)


@pytest.fixture(params=["plain", "mixed"])
def trap(request):
    return group_trap(mixed=request.param == "mixed")


def group_trap(mixed):
    rng = np.random.default_rng(7)
    s = np.repeat(rng.normal(size=N_SETS) * 5, N_ROWS) + rng.normal(size=len(SETS)) * 0.2  # descriptive
    t = rng.normal(size=len(SETS)) * 3  # distracting
    X = np.column_stack([s + t, t])
    mixing = rng.normal(size=(2, 2)) if mixed else np.eye(2)
    return X @ mixing.T, s, t, mixing


@pytest.mark.parametrize("removal", ["orthogonal", "eigen", "oblique"])
def test_kept_coordinates_depend_on_s_and_not_on_t(trap, removal):
    X, s, t, _ = trap
    Z = Focus(n_remove=1, ridge=1e-6, removal=removal).fit(X, groups=SETS).transform(X)
    reading = Z[:, 0]
    assert abs(np.corrcoef(reading, s)[0, 1]) > 0.9999
    assert abs(np.corrcoef(reading, t)[0, 1]) < 0.05  # s and t themselves correlate by chance


def test_kept_filter_is_x1_minus_x2(trap):
    X, _, _, mixing = trap
    focus = Focus(n_remove=1, ridge=1e-6).fit(X, groups=SETS)
    read = focus.components_[0] @ mixing  # back in the features of the plain copy
    assert read / read[0] == pytest.approx([1.0, -1.0], abs=0.01)


def test_euclidean_complement_of_the_filter_keeps_the_distractor():
    X, _, t, _ = group_trap(mixed=False)
    focus = Focus(n_remove=1, ridge=1e-6).fit(X, groups=SETS)
    filter_ = focus.filters_[:, 0] / np.linalg.norm(focus.filters_[:, 0])
    wrong = X - np.outer(X @ filter_, filter_)
    assert abs(np.corrcoef(wrong[:, 0], t)[0, 1]) > 0.4  # t still moves the remaining coordinate

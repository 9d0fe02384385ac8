"""The trap: x1 = s + t, x2 = t. "Remove the eigenvectors" passes on axis-aligned toys and fails here."""

import numpy as np
import pytest

from undistract import Focus

N_SETS, N_ROWS = 30, 400
SETS = np.repeat(np.arange(N_SETS), N_ROWS)


@pytest.fixture(params=["plain", "mixed"])
def trap(request):
    return set_trap(mixed=request.param == "mixed")


def set_trap(mixed):
    rng = np.random.default_rng(7)
    s = np.repeat(rng.normal(size=N_SETS) * 5, N_ROWS) + rng.normal(size=len(SETS)) * 0.2  # describes
    t = rng.normal(size=len(SETS)) * 3  # distracts
    X = np.column_stack([s + t, t])
    mixing = rng.normal(size=(2, 2)) if mixed else np.eye(2)
    return X @ mixing.T, s, t, mixing


@pytest.mark.parametrize("removal", ["kept_span", "eigen", "oblique"])
def test_what_is_left_reads_s_and_nothing_of_t(trap, removal):
    X, s, t, _ = trap
    Z = Focus(n_remove=1, cushion=1e-6, removal=removal).fit(X, sets=SETS).transform(X)
    reading = Z[:, 0]
    assert abs(np.corrcoef(reading, s)[0, 1]) > 0.9999
    assert abs(np.corrcoef(reading, t)[0, 1]) < 0.05  # s and t themselves correlate by chance


def test_the_filter_that_is_kept_is_x1_minus_x2(trap):
    X, _, _, mixing = trap
    focus = Focus(n_remove=1, cushion=1e-6).fit(X, sets=SETS)
    read = focus.components_[0] @ mixing  # back in the features of the plain copy
    assert read / read[0] == pytest.approx([1.0, -1.0], abs=0.01)


def test_the_euclidean_complement_of_the_filter_leaves_the_distractor_in():
    X, _, t, _ = set_trap(mixed=False)
    focus = Focus(n_remove=1, cushion=1e-6).fit(X, sets=SETS)
    filter_ = focus.filters_[:, 0] / np.linalg.norm(focus.filters_[:, 0])
    wrong = X - np.outer(X @ filter_, filter_)
    assert abs(np.corrcoef(wrong[:, 0], t)[0, 1]) > 0.4  # t still moves what is left

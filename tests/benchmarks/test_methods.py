"""The baselines match answers known by hand and the implementations of other libraries."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.quality.detectors import DETECTORS, scores
from benchmarks.quality.methods import (
    METHODS,
    contrastive_pca,
    focus,
    focus_fixed,
    grid,
    lda,
    leace,
    nap,
    pca_drop_bottom,
    pca_drop_top,
    rca,
    words,
)
from undistract.algebra import Moments

# Standard deviations within groups and of group means: the first feature is a nuisance, the second differs between
# groups, the third does both, the last two are weak.
INSIDE, APART = np.array([9.0, 1.0, 3.0, 0.5, 0.2]), np.array([0.0, 6.0, 2.0, 0.0, 0.1])
N_SETS, N_ROWS = 12, 50


def drawn(mixing):
    """Return rows and their groups; `mixing` rotates the axes, so that no direction is a single feature."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(N_SETS), N_ROWS)
    X = rng.normal(size=(len(groups), 5)) * INSIDE + (rng.normal(size=(N_SETS, 5)) * APART)[groups]
    return X @ mixing + 7.0, groups


@pytest.fixture(params=["plain", "mixed"])
def rows(request):
    mixing = np.eye(5) if request.param == "plain" else np.random.default_rng(1).normal(size=(5, 5))
    return drawn(mixing)


@pytest.fixture
def moments(rows):
    return Moments.from_labels(*rows)


def spread(learned, X):
    """Return the total variance of mapped rows."""
    return learned(X).var(axis=0).sum()


def within(X, groups):
    return Moments.from_labels(X, groups).within


def group_means(X, groups):
    return np.array([X[groups == group].mean(axis=0) for group in np.unique(groups)])


def test_keeping_the_top_is_pca_of_scikit_learn(rows, moments):
    X, _ = rows
    expected = PCA(3).fit(X).transform(X)
    found = pca_drop_bottom(moments, k=3)(X)
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, atol=1e-9 * np.abs(X).max())


def test_dropping_the_top_loses_the_largest_variances_and_no_other(rows, moments):
    X, _ = rows
    kept = PCA().fit(X)
    assert spread(pca_drop_top(moments, k=2), X) == pytest.approx(kept.explained_variance_[2:].sum() * 599 / 600)


def test_nap_removes_exactly_the_top_of_within(rows, moments):
    X, groups = rows
    top = np.linalg.eigvalsh(moments.within)[::-1]
    left = np.linalg.eigvalsh(within(nap(moments, k=2)(X), groups))[::-1]
    np.testing.assert_allclose(left, top[2:], rtol=1e-9)


def test_nap_is_focus_with_a_huge_cushion(rows, moments):
    X, _ = rows
    # At ridge 1e9 the eigenvectors differ from those of within by about 1e-9.
    np.testing.assert_allclose(
        focus(moments, n_remove=2, ridge=1e9)(X), nap(moments, k=2)(X), atol=1e-6 * np.abs(X).max()
    )


def test_nap_removes_a_descriptive_feature_if_it_varies_most():
    X = np.random.default_rng(0).normal(size=(600, 2)) * [5.0, 1.0]
    groups = np.repeat(np.arange(12), 50)
    X[:, 0] += 2 * groups  # the first feature varies more within groups, and also differs between them
    found = nap(Moments.from_labels(X, groups), k=1)(X)
    # 600 rows determine the direction to .01, and the first feature is seven times as large.
    assert found.std() == pytest.approx(X[:, 1].std(), rel=0.02)


def test_rca_makes_within_the_identity(rows, moments):
    X, groups = rows
    np.testing.assert_allclose(within(rca(moments, ridge=1e-12)(X), groups), np.eye(5), atol=1e-8)


def test_rca_with_a_huge_ridge_only_scales(rows, moments):
    X, _ = rows
    found = rca(moments, ridge=1e9)(X)
    assert np.corrcoef(found.ravel(), (X - moments.mean).ravel())[0, 1] == pytest.approx(1, abs=1e-8)


def test_lda_finds_the_directions_of_scikit_learn(rows, moments):
    X, groups = rows
    expected = LinearDiscriminantAnalysis(solver="eigen", n_components=3).fit(X, groups).transform(X)
    found = lda(moments, ridge=1e-12, q=3)(X)
    # Equal up to signs; with groups of equal size scikit-learn estimates the same within-group covariance.
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected - expected.mean(axis=0), atol=1e-7 * np.abs(expected).max())


def test_lda_has_unit_variance_within_groups(rows, moments):
    X, groups = rows
    found = lda(moments, ridge=1e-12, q=None)(X)
    assert found.shape[1] == 5
    np.testing.assert_allclose(within(found, groups), np.eye(5), atol=1e-8)


def test_lda_keeps_at_most_one_direction_less_than_groups():
    rng = np.random.default_rng(0)
    moments = Moments.of([rng.normal(size=(30, 9)) + rng.normal(size=9) for _ in range(4)])
    assert lda(moments, ridge=0.1, q=None)(np.eye(9)).shape == (9, 3)
    assert lda(moments, ridge=0.1, q=5) is None


def test_contrastive_pca_at_one_is_pca_of_the_group_means(rows, moments):
    X, groups = rows
    means = PCA(2).fit(group_means(X, groups))
    found = contrastive_pca(moments, alpha=1.0, k=2)
    filters = found(np.eye(5)) - found(np.zeros((1, 5)))
    assert subspace_angles(filters, means.components_.T).max() < 1e-6


def test_contrastive_pca_without_contrast_is_pca(rows, moments):
    X, _ = rows
    found = contrastive_pca(moments, alpha=0.0, k=3)(X)
    np.testing.assert_allclose(found, pca_drop_bottom(moments, k=3)(X), atol=1e-9 * np.abs(X).max())


def test_contrastive_pca_keeps_directions_with_positive_contrast_only(moments):
    assert contrastive_pca(moments, alpha=2.0, k=5) is None
    assert 1 <= contrastive_pca(moments, alpha=2.0, k=None)(np.eye(5)).shape[1] < 5


@pytest.fixture
def few():
    """Four groups in nine dimensions: their means differ in three directions."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 9)) @ rng.normal(size=(9, 9)) + 5.0
    groups = np.repeat(np.arange(4), 30)
    return X + (3 * rng.normal(size=(4, 9)))[groups], groups


def test_all_group_means_are_equal_after_erasure(few):
    X, groups = few
    erased = leace(Moments.from_labels(X, groups), k=None)
    means = group_means(erased(X), groups)
    assert erased.n_removed == 3
    np.testing.assert_allclose(means, means[:1].repeat(4, axis=0), atol=1e-8)
    # The mean of all rows does not move.
    np.testing.assert_allclose(erased(X).mean(axis=0), X.mean(axis=0), atol=1e-8)


def test_erasure_changes_rows_less_than_orthogonal_erasure(few):
    X, groups = few
    erased = leace(Moments.from_labels(X, groups), k=None)(X)
    cost = np.square(erased - X).sum()
    # Orthogonal erasure removes the span of the group means.
    step = group_means(X, groups) - X.mean(axis=0)
    basis = np.linalg.svd(step)[2][:3]
    assert cost < np.square((X - X.mean(axis=0)) @ basis.T).sum()


def test_erasing_twice_is_erasing_once(few):
    X, groups = few
    erased = leace(Moments.from_labels(X, groups), k=2)
    np.testing.assert_allclose(erased(erased(X)), erased(X), atol=1e-8)


def test_nothing_is_erased_if_groups_do_not_differ(few):
    X, groups = few
    levelled = X - group_means(X, groups)[groups] + X.mean(axis=0)
    erased = leace(Moments.from_labels(levelled, groups), k=None)
    assert erased.n_removed == 0  # rounding of the means does not count as a difference
    np.testing.assert_array_equal(erased(levelled), levelled)


def test_partial_erasure_if_groups_differ_in_all_directions(rows, moments):
    X, groups = rows
    assert leace(moments, k=None) is None
    assert leace(moments, k=2).n_removed == 2
    assert np.ptp(group_means(leace(moments, k=2)(X), groups), axis=0).max() > 0.1


def test_fixed_focus_is_focus(rows, moments):
    X, _ = rows
    expected = focus(moments, ridge=0.01, cutoff=0.9)
    found = focus_fixed(moments, ridge=0.01, cutoff=0.9)
    assert found.n_removed == expected.n_removed > 0
    np.testing.assert_allclose(found(X), expected(X), atol=1e-12 * np.abs(X).max())


def test_removing_all_directions_is_not_a_setting(moments):
    for method in (nap, pca_drop_top, pca_drop_bottom):
        assert method(moments, k=4) is not None
        assert method(moments, k=5) is None


def test_methods_do_not_reuse_results_of_other_moments(rows, moments):
    X, groups = rows
    other = Moments.from_labels(X[:, ::-1], groups)
    for method in METHODS:
        for setting in method.settings[:1]:
            before, between = method(moments, setting), method(other, setting)
            after = method(moments, setting)
            if before is None:
                assert between is None
                continue
            np.testing.assert_array_equal(before(X), after(X))
            if method.name != "raw":
                assert not np.allclose(before(X), between(X)) or before.n_removed == 0


def test_settings_have_different_labels():
    for method in METHODS:
        assert len({words(setting) for setting in method.settings}) == len(method.settings)
    assert words(grid(a=(1,), b=(None,))[0]) == "a=1 b=all"


@pytest.mark.parametrize("name", DETECTORS)
def test_every_detector_finds_a_distant_row(name):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[7] = 6.0
    assert scores(name, X).argmax() == 7
    assert scores(name, X, np.delete(X, 7, axis=0)).argmax() == 7

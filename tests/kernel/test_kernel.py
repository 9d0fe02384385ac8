"""`KernelFocus`: linear and dual form, residual coordinate, approximations, pre-images."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.linalg import eigh
from scipy.spatial.distance import pdist
from scipy.stats import ortho_group
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from tests.rings import on_rings, separation, thirty_rings
from undistract import EvidenceWarning, Focus, InputError, KernelFocus, NoGroupsWarning, Source
from undistract._kernel_maps import PreImage
from undistract.kernel import MAX_ROWS

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")  # groups are small on purpose
SETS = np.repeat(np.arange(12), 8)


def lit(mixed, size=8):
    """Return rows of twelve groups: one nuisance feature, three that differ between groups; or the same, mixed."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), size)
    X = rng.normal(size=(len(groups), 4)) * [30, 1, 1, 1] + rng.normal(size=(12, 4))[groups] * [0, 3, 3, 3]
    if mixed:
        return X @ (np.diag([1, 2, 3, 4]) @ ortho_group.rvs(4, random_state=1))
    return X


@pytest.fixture(scope="module")
def rings():
    return thirty_rings(20)


# Linear and dual form


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("removal", ["orthogonal", "oblique", "soft"])
@pytest.mark.parametrize("options", [{"n_remove": 1}, {"cutoff": "auto"}, {"cutoff": 0.8, "prior": "by_size"}])
def test_linear_kernel_equals_focus(mixed, removal, options):
    X, groups = lit(mixed, 40)[:-7], np.repeat(np.arange(12), 40)[:-7]
    shared = {"removal": removal, "ridge": 0.1, "strength": 25.0} | options
    linear = Focus(**shared).fit(X, groups=groups)
    kernel = KernelFocus("linear", **{"cutoff": "auto"} | shared).fit(X, groups=groups)
    assert kernel.n_removed_ == linear.n_removed_ > 0
    assert kernel.distraction_[:4] == pytest.approx(linear.distraction_, abs=1e-8)
    assert kernel.debiased_distraction_[:4] == pytest.approx(linear.debiased_distraction_, abs=1e-8)
    new = np.vstack([X[::9], 3 * X[::7]])
    assert pdist(kernel.transform(new)) == pytest.approx(pdist(linear.transform(new)), abs=1e-8)


@pytest.mark.parametrize("mixed", [False, True])
def test_linear_kernel_of_wide_rows_equals_focus_also_outside_their_span(mixed):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 90)) + rng.normal(size=(5, 90)).repeat(8, axis=0)
    X = X @ ortho_group.rvs(90, random_state=1) * rng.uniform(1, 3, 90) if mixed else X
    options = {"n_remove": 2, "ridge": 5.0, "absolute_ridge": True}
    linear = Focus(**options).fit(X, groups=SETS[:40])
    kernel = KernelFocus("linear", **options).fit(X, groups=SETS[:40])
    n_common = min(len(kernel.distraction_), 90)
    assert kernel.distraction_[:n_common] == pytest.approx(linear.distraction_[:n_common], abs=1e-8)
    assert pdist(kernel.transform(X)) == pytest.approx(pdist(linear.transform(X)), abs=1e-8)
    # A new row is outside the span of forty rows; its distances to them are still equal.
    new = rng.normal(size=(1, 90))
    expected, distances = (
        np.linalg.norm(focus.transform(new) - focus.transform(X), axis=1) for focus in (linear, kernel)
    )
    assert distances == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("prior", ["uniform", "by_size"])
@pytest.mark.parametrize(("kernel", "parameters"), [("rbf", {"gamma": 0.05}), ("laplacian", {"gamma": 0.1})])
def test_distraction_equals_dual_form(mixed, prior, kernel, parameters):
    """K N K α = λ (K L K + ε K) α with D = diag(P/n), L = D - D11ᵀD, N = D - Σ P/n² 1 1ᵀ over groups."""
    X = lit(mixed)[:90]
    groups = SETS[:90]
    epsilon = 0.01
    K = pairwise_kernels(X, metric=kernel, **parameters)
    counts = np.bincount(groups)
    shares = np.full(12, 1 / 12) if prior == "uniform" else counts / 90
    D = (shares / counts)[groups]
    L = np.diag(D) - np.outer(D, D)
    N = np.diag(D) - (groups[:, None] == groups) * (shares / counts**2)[groups]
    dual = eigh(K @ N @ K, K @ L @ K + epsilon * K, eigvals_only=True)[::-1]
    focus = KernelFocus(kernel, **parameters, ridge=epsilon, absolute_ridge=True, prior=prior, n_remove=1)
    assert focus.fit(X, groups=groups).distraction_[:90] == pytest.approx(dual, abs=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "cosine", "linear"])
def test_precomputed_kernel_equals_named_kernel(kernel):
    X = lit(mixed=True)
    gamma = {"gamma": 0.01} if kernel in ("rbf", "poly", "laplacian") else {}
    parameters = gamma | ({"coef0": 1, "degree": 3} if kernel == "poly" else {})
    named = KernelFocus(kernel, **gamma, news=False, n_remove=2).fit(X[::2], groups=SETS[::2])
    products = pairwise_kernels(X, X[::2], metric=kernel, **parameters)
    precomputed = KernelFocus("precomputed", n_remove=2).fit(products[::2], groups=SETS[::2])
    assert pdist(precomputed.transform(products)) == pytest.approx(pdist(named.transform(X)), rel=1e-6, abs=1e-8)


def test_kernel_may_be_a_function():
    X = lit(mixed=True)
    named = KernelFocus("rbf", gamma=0.01).fit(X[::4], groups=SETS[::4])
    custom = KernelFocus(lambda x, y, width: np.exp(-width * (x - y) @ (x - y)), kernel_params={"width": 0.01})
    custom.fit(X[::4], groups=SETS[::4])
    assert pdist(custom.transform(X)) == pytest.approx(pdist(named.transform(X)), rel=1e-6, abs=1e-6)


# Purpose


@pytest.mark.parametrize(
    "options", [{}, {"approx": "nystroem"}, {"approx": "fourier"}, {"kernel": "poly", "degree": 2}], ids=str
)
@pytest.mark.parametrize("mixed", [False, True])
def test_new_ring_is_compact_and_other_radius_is_separated(rings, options, mixed):
    rng = np.random.default_rng(1)
    rotation = ortho_group.rvs(3, random_state=2) if mixed else np.eye(3)
    usual, other = (on_rings(np.full(200, radius), rng) @ rotation for radius in (2.0, 2.7))
    focus = KernelFocus(**options, random_state=0).fit(rings[0] @ rotation, groups=rings[1])
    assert separation(usual, other) < 0.2
    assert separation(focus.transform(usual), focus.transform(other)) > 2


@pytest.mark.parametrize("approx", [None, "nystroem"])
def test_deviation_outside_training_is_visible(rings, approx):
    X, groups = rings
    focus = KernelFocus(approx=approx, random_state=0).fit(X, groups=groups)
    shifted = X + np.array([0, 0, 3.0])
    assert separation(focus.transform(X), focus.transform(shifted)) > 2
    assert focus.kinds_[-1] == "constant" if approx is None else True
    blind = KernelFocus(approx=approx, random_state=0, news=False).fit(X, groups=groups)
    assert blind.map_.n_out == focus.map_.n_out - 1


def test_residual_coordinate_of_fitted_rows_is_zero(rings):
    X, groups = rings
    for kernel in ("rbf", "linear", "poly", "laplacian"):
        focus = KernelFocus(kernel, ridge=1e-8).fit(X, groups=groups)
        assert not focus.map_(X)[:, -1].any()


# Approximations


def test_nystroem_with_all_rows_is_exact(rings):
    X, groups = rings
    exact = KernelFocus().fit(X[::2], groups=groups[::2])
    spanned = KernelFocus(approx="nystroem", n_components=len(X), random_state=0).fit(X[::2], groups=groups[::2])
    assert spanned.distraction_[:20] == pytest.approx(exact.distraction_[:20], abs=1e-8)
    assert pdist(spanned.transform(X)) == pytest.approx(pdist(exact.transform(X)), abs=1e-6)


def test_nystroem_equals_scikit_learn(rings):
    X, groups = rings
    focus = KernelFocus(approx="nystroem", n_components=40, gamma=30.0, random_state=0, news=False).fit(
        X, groups=groups
    )
    reference = Nystroem(gamma=30.0, n_components=40).fit(focus.map_.rows)
    products = focus.map_(X) @ focus.map_(X).T
    assert np.abs(products - reference.transform(X) @ reference.transform(X).T).max() < 1e-8


def test_more_frequencies_approximate_the_kernel_better(rings):
    X, groups = rings
    error = {}
    for n_components in (100, 4000):
        focus = KernelFocus(approx="fourier", n_components=n_components, random_state=0).fit(X[::5], groups=groups[::5])
        Z = focus.map_(X[::5])
        error[n_components] = np.sqrt(((Z @ Z.T - focus.map_.kernel(X[::5], X[::5])) ** 2).mean())
        assert (Z**2).sum(axis=1) == pytest.approx(np.ones(len(Z)))
    assert error[4000] < 0.02 < error[100]
    assert error[100] / error[4000] == pytest.approx(np.sqrt(40), rel=0.5)


@pytest.mark.parametrize("approx", ["nystroem", "fourier"])
def test_partial_fit_keeps_the_map_of_the_first_batch(rings, approx):
    X, groups = rings
    order = np.random.default_rng(0).permutation(len(X))
    focus = KernelFocus(approx=approx, n_components=60, random_state=0)
    for start in range(0, 600, 200):
        batch = order[start : start + 200]
        focus.partial_fit(X[batch], groups=groups[batch], batch_id=start)
        focus.partial_fit(X[batch], groups=groups[batch], batch_id=start)  # ignored, the same key
    assert focus.moments_.n_rows == 600
    reference = Focus(**{name: getattr(focus, name) for name in ("cutoff", "ridge")}).fit(focus.map_(X), groups=groups)
    assert focus.distraction_ == pytest.approx(reference.distraction_, abs=1e-9)
    assert pdist(focus.transform(X[:50])) == pytest.approx(pdist(reference.transform(focus.map_(X[:50]))), abs=1e-9)


def test_failed_partial_fit_leaves_inner_focus_unchanged():
    # Regression: the invalid options stayed in it.
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    focus = KernelFocus(approx="fourier", n_components=20, random_state=0).partial_fit(X, groups=groups)
    before = focus.transform(X)
    with pytest.raises(InputError, match=r"cutoff must be .* got 7"):
        focus.set_params(cutoff=7).partial_fit(X, groups=groups)
    assert focus.focus_.cutoff == KernelFocus().cutoff
    assert np.array_equal(focus.transform(X), before)


def test_exact_kernel_has_no_partial_fit():
    with pytest.raises(AttributeError) as error:
        KernelFocus().partial_fit(lit(False), groups=SETS)
    assert "approx='nystroem'" in str(error.value.__cause__)


def test_too_many_rows_for_exact_kernel_raise_input_error():
    X, groups = np.random.default_rng(0).normal(size=(MAX_ROWS + 1, 2)), np.arange(MAX_ROWS + 1) % 9
    with pytest.raises(InputError, match="approx='nystroem'"):
        KernelFocus().fit(X, groups=groups)
    assert KernelFocus(approx="nystroem", n_components=20, n_remove=1).fit(X, groups=groups).moments_.n_rows == len(X)


# Pre-images


def test_pre_images_of_linear_kernel_equal_focus():
    X = lit(mixed=True)
    linear = Focus(n_remove=1, ridge=0.1).fit(X, groups=SETS)
    kernel = KernelFocus("linear", n_remove=1, ridge=0.1).fit(X, groups=SETS)
    for removal in ("orthogonal", "oblique"):
        assert kernel.denoise(X, removal=removal) == pytest.approx(linear.denoise(X, removal=removal), abs=1e-6)
    assert kernel.inverse_transform(kernel.transform(X)) == pytest.approx(
        linear.inverse_transform(linear.transform(X)), abs=1e-6
    )


def exposed(images, rng):
    """Change the gamma and the contrast of every image."""
    gamma, contrast = 2 ** rng.normal(size=(len(images), 1)), rng.uniform(0.4, 1.0, size=(len(images), 1))
    return contrast * images**gamma


def decibels(images, expected):
    return -10 * np.log10(((images - expected) ** 2).mean())


@pytest.mark.parametrize("approx", [None, "nystroem"])
def test_denoised_images_have_equal_exposure(approx):
    """The effect of exposure, fitted on sixty digits under twelve exposures, is removed from a hundred others."""
    rng = np.random.default_rng(0)
    images = rng.permutation(load_digits().data / 16)
    training, new = images[:60], images[60:160]
    rows = exposed(np.repeat(training, 12, axis=0), rng)
    groups = np.repeat(np.arange(60), 12)
    noisy = exposed(new, rng)
    expected = np.mean([exposed(new, rng) for _ in range(100)], axis=0)
    linear = Focus(cutoff=0.8).fit(rows, groups=groups).denoise(noisy)
    focus = KernelFocus(ridge=0.1, cutoff=0.95, approx=approx, random_state=0).fit(rows, groups=groups)
    assert decibels(focus.denoise(noisy), expected) > decibels(noisy, expected) + 2.5
    assert decibels(focus.denoise(noisy), expected) > decibels(linear, expected)
    back = focus.inverse_transform(focus.transform(noisy))
    assert decibels(back, expected) > decibels(noisy, expected) + 2


def test_pre_images_need_rows():
    X = lit(False)
    for focus in (
        KernelFocus("precomputed").fit(X @ X.T, groups=SETS),
        KernelFocus(approx="fourier").fit(X, groups=SETS),
    ):
        # scikit-learn uses `hasattr` to find out whether a transformer has an inverse.
        with pytest.raises(AttributeError) as error:
            focus.inverse_transform(np.zeros((1, focus.focus_._n_features_out)))
        assert isinstance(error.value.__cause__, InputError)
        assert "need the fitted rows" in str(error.value.__cause__)
        with pytest.raises(InputError, match="need the fitted rows"):
            focus.denoise(X if focus.approx else X @ X.T)


# Estimator interface


def test_group_labels_are_routed_through_a_pipeline(rings):
    X, groups = rings
    with sklearn.config_context(enable_metadata_routing=True):
        chain = make_pipeline(KernelFocus(), KNeighborsClassifier()).fit(X, groups % 2, groups=groups)
    assert chain[0].moments_.n_groups == 30
    assert len(chain.predict(X)) == len(X)


def test_clone_is_unfitted_and_fits_equally(rings):
    X, groups = rings
    focus = KernelFocus(approx="nystroem", n_components=50, random_state=0).fit(X, groups=groups)
    copy = clone(focus)
    assert not hasattr(copy, "map_")
    assert np.array_equal(copy.fit(X, groups=groups).transform(X), focus.transform(X))


def test_fit_groups_equals_fit_and_keeps_names(rings):
    X, groups = rings
    reference = KernelFocus().fit(X, groups=groups)
    by_name = {f"day {name}": X[groups == name] for name in range(30)}
    for collection in (by_name, list(by_name.values()), (Source(n, rows) for n, rows in by_name.items())):
        focus = KernelFocus().fit_groups(collection)
        assert pdist(focus.transform(X[:40])) == pytest.approx(pdist(reference.transform(X[:40])), abs=1e-9)
    assert focus.moments_.names == tuple(by_name)


def test_frames_keep_their_feature_names(rings):
    X, groups = rings
    frames = {name: pd.DataFrame(X[groups == name], columns=["x", "y", "z"]) for name in range(30)}
    focus = KernelFocus(n_remove=3).fit_groups(frames)
    assert list(focus.feature_names_in_) == ["x", "y", "z"]
    out = focus.set_output(transform="pandas").transform(frames[0])
    assert list(out.columns) == list(focus.get_feature_names_out())
    assert out.columns[0] == "kernelfocus0"


def test_float32_stays_float32(rings):
    X, groups = rings
    focus = KernelFocus().fit(X, groups=groups)
    for use in (focus.transform, focus.denoise):
        assert use(X.astype(np.float32)).dtype == np.float32
        assert use(X.astype(np.float32)) == pytest.approx(use(X), abs=1e-4)


def test_transform_does_not_depend_on_batch(rings):
    X, groups = rings
    focus = KernelFocus().fit(X[::2], groups=groups[::2])
    assert focus.transform(X[5:6]) == pytest.approx(focus.transform(X)[5:6], abs=1e-7)


def test_large_offset_does_not_change_distraction(rings):
    X, groups = rings
    near = KernelFocus().fit(X, groups=groups)
    far = KernelFocus().fit(X + 1e6, groups=groups)
    assert far.distraction_[:20] == pytest.approx(near.distraction_[:20], abs=1e-6)


def test_fit_without_groups_warns_and_removes_nothing(rings):
    X, _ = rings
    with pytest.warns(NoGroupsWarning) as warned:
        focus = KernelFocus().fit(X)
    assert [warning.filename for warning in warned] == [__file__]
    assert focus.n_removed_ == 0
    assert "Fitted on 0 groups" in str(focus.summary())
    # Inner products of the output equal the kernel.
    assert np.abs(focus.transform(X) @ focus.transform(X).T - focus.map_.kernel(X, X)).max() < 1e-6


def test_removal_of_almost_everything_warns_at_the_caller():
    with pytest.warns(EvidenceWarning, match="little is left") as warned:
        KernelFocus("linear", n_remove=4).fit(lit(True), groups=SETS)
    assert [warning.filename for warning in warned] == [__file__]


def test_summary_shows_kernel_and_dimensions(rings):
    X, groups = rings
    assert "kernel rbf(gamma=" in str(KernelFocus().fit(X, groups=groups).summary())
    focus = KernelFocus("poly", degree=2, approx="nystroem", n_components=50).fit(X, groups=groups)
    text = str(focus.summary())
    assert "kernel poly(" in text
    assert "50 rows span 10 dimensions" in text


def test_options_changed_after_fit_have_no_effect(rings):
    X, groups = rings
    focus = KernelFocus().fit(X, groups=groups)
    before = focus.transform(X)
    focus.set_params(kernel="poly", gamma=9.0, news=False, n_remove=1, removal="oblique")
    assert np.array_equal(focus.transform(X), before)
    assert len(focus.get_feature_names_out()) == before.shape[1]


invalid_options = [
    *[("kernel", value) for value in ("x", None, 3)],
    *[("approx", value) for value in ("x", 3, "Nystroem")],
    *[("n_components", value) for value in (0, 2.5, True, 10**9)],
    *[("gamma", value) for value in (0, -1, np.nan, "x", None)],
    *[("degree", value) for value in (-1, "3", None, np.inf)],
    *[("coef0", value) for value in (np.nan, "x")],
    ("kernel_params", {"gamma": 1.0}),
    ("news", "yes"),
    ("ridge", -1),
    ("cutoff", 2),
    ("removal", "x"),
    ("prior", "x"),
    ("n_remove", 10**6),
]


@pytest.mark.parametrize(("option", "value"), invalid_options, ids=str)
def test_invalid_option_raises_input_error_with_its_name(option, value):
    with pytest.raises(InputError, match=option):
        KernelFocus(**{option: value}).fit(lit(False), groups=SETS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "sigmoid", "gamma": 5.0, "coef0": -9.0}, "not positive semidefinite"),
        ({"kernel": "poly", "approx": "fourier"}, "needs kernel='rbf'"),
        ({"kernel": "precomputed"}, "products of all rows"),
        ({"kernel": "precomputed", "approx": "nystroem"}, "approx=None"),
        ({"kernel": "poly", "degree": 100, "gamma": 1e10}, "overflows"),
    ],
)
def test_invalid_kernels_raise_input_error(options, message):
    with pytest.raises(InputError, match=message):
        KernelFocus(**options).fit(lit(False), groups=SETS)


def test_asymmetric_precomputed_kernel_raises_input_error():
    K = lit(False) @ lit(False).T
    K[0, 1] += 50
    with pytest.raises(InputError, match="not symmetric"):
        KernelFocus("precomputed").fit(K, groups=SETS)


def test_failed_refit_leaves_model_unchanged(rings):
    X, groups = rings
    focus = KernelFocus().fit(X, groups=groups)
    before = focus.transform(X)
    with pytest.raises(InputError):
        focus.fit(X[:, :2], groups=np.zeros(len(X)))
    assert np.array_equal(focus.transform(X), before)


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
def test_error_has_the_number_of_the_row(kernel, monkeypatch):
    # Regression: it was the number within a block of 32.
    monkeypatch.setattr("undistract._kernel_maps.BLOCK_VALUES", 60 * 7)
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    focus = KernelFocus(kernel, n_remove=1).fit(X, groups=groups)
    far = np.vstack([X, X])
    far[77] = 1e200
    with pytest.raises(InputError, match="Row 77 is so large"):
        focus.transform(far)


def test_pre_image_map_is_fitted_once(monkeypatch):
    # Regression: it was fitted in every call.
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    calls = []
    original = PreImage.of
    monkeypatch.setattr(PreImage, "of", lambda span: calls.append(span) or original(span))
    focus = KernelFocus(n_remove=1).fit(X, groups=groups)
    reference = focus.denoise(X)
    assert np.allclose(np.vstack([focus.denoise(X[:30]), focus.denoise(X[30:])]), reference)
    assert len(calls) == 1
    focus.fit(2 * X, groups=groups).denoise(X)
    assert calls[-1] is focus.map_

"""`KernelFocus`: equal to linear FOCUS and to the dual form, the news, the approximations, and the way back."""

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
from undistract import EvidenceWarning, FeatureSet, Focus, InputError, KernelFocus, NoSetsWarning
from undistract.kernel.makes_map import MOST_ROWS
from undistract.kernel.way_back import WayBack

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")  # sets are small on purpose
SETS = np.repeat(np.arange(12), 8)


def lit(mixed, size=8):
    """Twelve sets of some rows: one feature distracts, three tell sets apart; and the same, mixed."""
    rng = np.random.default_rng(0)
    sets = np.repeat(np.arange(12), size)
    X = rng.normal(size=(len(sets), 4)) * [30, 1, 1, 1] + rng.normal(size=(12, 4))[sets] * [0, 3, 3, 3]
    return X @ (np.diag([1, 2, 3, 4]) @ ortho_group.rvs(4, random_state=1)) if mixed else X


@pytest.fixture(scope="module")
def rings():
    return thirty_rings(20)


# The same as linear FOCUS, and as the dual form.


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("removal", ["kept_span", "oblique", "soft"])
@pytest.mark.parametrize("settings", [{"n_remove": 1}, {"cutoff": "auto"}, {"cutoff": 0.8, "prior": "by_size"}])
def test_the_linear_kernel_is_linear_focus(mixed, removal, settings):
    X, sets = lit(mixed, 40)[:-7], np.repeat(np.arange(12), 40)[:-7]
    both = {"removal": removal, "cushion": 0.1, "strength": 25.0} | settings
    linear = Focus(**both).fit(X, sets=sets)
    kernel = KernelFocus("linear", **{"cutoff": "auto"} | both).fit(X, sets=sets)
    assert kernel.n_removed_ == linear.n_removed_ > 0
    assert kernel.distraction_[:4] == pytest.approx(linear.distraction_, abs=1e-8)
    assert kernel.debiased_distraction_[:4] == pytest.approx(linear.debiased_distraction_, abs=1e-8)
    new = np.vstack([X[::9], 3 * X[::7]])
    assert pdist(kernel.transform(new)) == pytest.approx(pdist(linear.transform(new)), abs=1e-8)


@pytest.mark.parametrize("mixed", [False, True])
def test_the_linear_kernel_of_few_wide_rows_is_linear_focus_and_news_is_what_no_row_showed(mixed):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 90)) + rng.normal(size=(5, 90)).repeat(8, axis=0)
    X = X @ ortho_group.rvs(90, random_state=1) * rng.uniform(1, 3, 90) if mixed else X
    settings = {"n_remove": 2, "cushion": 5.0, "absolute_cushion": True}
    linear = Focus(**settings).fit(X, sets=SETS[:40])
    kernel = KernelFocus("linear", **settings).fit(X, sets=SETS[:40])
    known = min(len(kernel.distraction_), 90)
    assert kernel.distraction_[:known] == pytest.approx(linear.distraction_[:known], abs=1e-8)
    assert pdist(kernel.transform(X)) == pytest.approx(pdist(linear.transform(X)), abs=1e-8)
    # A new row leaves the span of forty rows: its distance to these is the same all the same.
    new = rng.normal(size=(1, 90))
    apart = [np.linalg.norm(one.transform(new) - one.transform(X), axis=1) for one in (linear, kernel)]
    assert apart[1] == pytest.approx(apart[0], rel=1e-8)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("prior", ["uniform", "by_size"])
@pytest.mark.parametrize(("kernel", "parameters"), [("rbf", {"gamma": 0.05}), ("laplacian", {"gamma": 0.1})])
def test_distraction_is_that_of_the_dual_form(mixed, prior, kernel, parameters):
    """K N K α = λ (K L K + ε K) α with D = diag(P/n), L = D - D11ᵀD, N = D - Σ P/n² 1 1ᵀ over sets."""
    X, sets, epsilon = lit(mixed)[:90], SETS[:90], 0.01
    K = pairwise_kernels(X, metric=kernel, **parameters)
    counts = np.bincount(sets)
    shares = np.full(12, 1 / 12) if prior == "uniform" else counts / 90
    D = (shares / counts)[sets]
    L = np.diag(D) - np.outer(D, D)
    N = np.diag(D) - (sets[:, None] == sets) * (shares / counts**2)[sets]
    dual = eigh(K @ N @ K, K @ L @ K + epsilon * K, eigvals_only=True)[::-1]
    focus = KernelFocus(kernel, **parameters, cushion=epsilon, absolute_cushion=True, prior=prior, n_remove=1)
    assert focus.fit(X, sets=sets).distraction_[:90] == pytest.approx(dual, abs=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "cosine", "linear"])
def test_a_precomputed_kernel_gives_the_same(kernel):
    X = lit(mixed=True)
    asked = {"gamma": 0.01} if kernel in ("rbf", "poly", "laplacian") else {}
    known = asked | ({"coef0": 1, "degree": 3} if kernel == "poly" else {})
    named = KernelFocus(kernel, **asked, news=False, n_remove=2).fit(X[::2], sets=SETS[::2])
    products = pairwise_kernels(X, X[::2], metric=kernel, **known)
    given = KernelFocus("precomputed", n_remove=2).fit(products[::2], sets=SETS[::2])
    assert pdist(given.transform(products)) == pytest.approx(pdist(named.transform(X)), rel=1e-6, abs=1e-8)


def test_a_kernel_may_be_a_function():
    X = lit(mixed=True)
    named = KernelFocus("rbf", gamma=0.01).fit(X[::4], sets=SETS[::4])
    own = KernelFocus(lambda x, y, width: np.exp(-width * (x - y) @ (x - y)), kernel_params={"width": 0.01})
    own.fit(X[::4], sets=SETS[::4])
    assert pdist(own.transform(X)) == pytest.approx(pdist(named.transform(X)), rel=1e-6, abs=1e-6)


# What it is for.


@pytest.mark.parametrize(
    "settings", [{}, {"approx": "nystroem"}, {"approx": "fourier"}, {"kernel": "poly", "degree": 2}], ids=str
)
@pytest.mark.parametrize("mixed", [False, True])
def test_rows_of_an_unseen_ring_lie_together_and_another_radius_stands_out(rings, settings, mixed):
    rng = np.random.default_rng(1)
    turn = ortho_group.rvs(3, random_state=2) if mixed else np.eye(3)
    usual, other = (on_rings(np.full(200, radius), rng) @ turn for radius in (2.0, 2.7))
    focus = KernelFocus(**settings, random_state=0).fit(rings[0] @ turn, sets=rings[1])
    assert separation(usual, other) < 0.2
    assert separation(focus.transform(usual), focus.transform(other)) > 2


@pytest.mark.parametrize("approx", [None, "nystroem"])
def test_what_no_set_ever_showed_stays_visible_as_news(rings, approx):
    X, sets = rings
    focus = KernelFocus(approx=approx, random_state=0).fit(X, sets=sets)
    strange = X + np.array([0, 0, 3.0])
    assert separation(focus.transform(X), focus.transform(strange)) > 2
    assert focus.kinds_[-1] == "constant" if approx is None else True
    blind = KernelFocus(approx=approx, random_state=0, news=False).fit(X, sets=sets)
    assert blind.map_.n_out == focus.map_.n_out - 1


def test_no_row_that_was_learned_from_is_news(rings):
    X, sets = rings
    for kernel in ("rbf", "linear", "poly", "laplacian"):
        focus = KernelFocus(kernel, cushion=1e-8).fit(X, sets=sets)
        assert not focus.map_(X)[:, -1].any()


# The approximations.


def test_nystroem_with_all_rows_is_exact(rings):
    X, sets = rings
    exact = KernelFocus().fit(X[::2], sets=sets[::2])
    spanned = KernelFocus(approx="nystroem", n_components=len(X), random_state=0).fit(X[::2], sets=sets[::2])
    assert spanned.distraction_[:20] == pytest.approx(exact.distraction_[:20], abs=1e-8)
    assert pdist(spanned.transform(X)) == pytest.approx(pdist(exact.transform(X)), abs=1e-6)


def test_products_of_nystroem_are_those_of_scikit_learn(rings):
    X, sets = rings
    focus = KernelFocus(approx="nystroem", n_components=40, gamma=30.0, random_state=0, news=False).fit(X, sets=sets)
    theirs = Nystroem(gamma=30.0, n_components=40).fit(focus.map_.rows)
    ours = focus.map_(X) @ focus.map_(X).T
    assert np.abs(ours - theirs.transform(X) @ theirs.transform(X).T).max() < 1e-8


def test_more_frequencies_are_nearer_to_the_kernel(rings):
    X, sets = rings
    wrong = {}
    for n_components in (100, 4000):
        focus = KernelFocus(approx="fourier", n_components=n_components, random_state=0).fit(X[::5], sets=sets[::5])
        Z = focus.map_(X[::5])
        wrong[n_components] = np.sqrt(((Z @ Z.T - focus.map_.kernel(X[::5], X[::5])) ** 2).mean())
        assert (Z**2).sum(axis=1) == pytest.approx(np.ones(len(Z)))
    assert wrong[4000] < 0.02 < wrong[100]
    assert wrong[100] / wrong[4000] == pytest.approx(np.sqrt(40), rel=0.5)


@pytest.mark.parametrize("approx", ["nystroem", "fourier"])
def test_an_approximation_learns_on_and_the_first_rows_settle_the_map(rings, approx):
    X, sets = rings
    order = np.random.default_rng(0).permutation(len(X))
    focus = KernelFocus(approx=approx, n_components=60, random_state=0)
    for start in range(0, 600, 200):
        some = order[start : start + 200]
        focus.partial_fit(X[some], sets=sets[some], key=start)
        focus.partial_fit(X[some], sets=sets[some], key=start)  # came twice
    assert focus.moments_.n_rows == 600
    whole = Focus(**{name: getattr(focus, name) for name in ("cutoff", "cushion")}).fit(focus.map_(X), sets=sets)
    assert focus.distraction_ == pytest.approx(whole.distraction_, abs=1e-9)
    assert pdist(focus.transform(X[:50])) == pytest.approx(pdist(whole.transform(focus.map_(X[:50]))), abs=1e-9)


def test_learning_on_that_fails_leaves_the_focus_inside_as_it_was():
    # The settings that were refused stayed in it.
    rng = np.random.default_rng(0)
    X, sets = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    focus = KernelFocus(approx="fourier", n_components=20, random_state=0).partial_fit(X, sets=sets)
    before = focus.transform(X)
    with pytest.raises(InputError, match="cutoff is 7"):
        focus.set_params(cutoff=7).partial_fit(X, sets=sets)
    assert focus.focus_.cutoff == KernelFocus().cutoff
    assert np.array_equal(focus.transform(X), before)


def test_an_exact_kernel_does_not_learn_on_and_says_what_does():
    with pytest.raises(AttributeError) as said:
        KernelFocus().partial_fit(lit(False), sets=SETS)
    assert "approx='nystroem'" in str(said.value.__cause__)


def test_too_many_rows_for_an_exact_kernel_are_sent_to_nystroem():
    X, sets = np.random.default_rng(0).normal(size=(MOST_ROWS + 1, 2)), np.arange(MOST_ROWS + 1) % 9
    with pytest.raises(InputError, match="approx='nystroem'"):
        KernelFocus().fit(X, sets=sets)
    assert KernelFocus(approx="nystroem", n_components=20, n_remove=1).fit(X, sets=sets).moments_.n_rows == len(X)


# The way back.


def test_the_way_back_of_the_linear_kernel_is_that_of_focus():
    X = lit(mixed=True)
    linear = Focus(n_remove=1, cushion=0.1).fit(X, sets=SETS)
    kernel = KernelFocus("linear", n_remove=1, cushion=0.1).fit(X, sets=SETS)
    for removal in ("kept_span", "oblique"):
        assert kernel.denoise(X, removal=removal) == pytest.approx(linear.denoise(X, removal=removal), abs=1e-6)
    assert kernel.inverse_transform(kernel.transform(X)) == pytest.approx(
        linear.inverse_transform(linear.transform(X)), abs=1e-6
    )


def exposed(images, rng):
    """Change the gamma and the contrast of every image."""
    gamma, contrast = 2 ** rng.normal(size=(len(images), 1)), rng.uniform(0.4, 1.0, size=(len(images), 1))
    return contrast * images**gamma


def decibels(found, wanted):
    return -10 * np.log10(((found - wanted) ** 2).mean())


@pytest.mark.parametrize("approx", [None, "nystroem"])
def test_images_are_written_back_as_if_they_were_all_exposed_alike(approx):
    """Sixty scanned digits, each under twelve exposures, teach what exposure does to hundred others."""
    rng = np.random.default_rng(0)
    images = rng.permutation(load_digits().data / 16)
    known, new = images[:60], images[60:160]
    rows, sets = exposed(np.repeat(known, 12, axis=0), rng), np.repeat(np.arange(60), 12)
    given, wanted = exposed(new, rng), np.mean([exposed(new, rng) for _ in range(100)], axis=0)
    linear = Focus(cutoff=0.8).fit(rows, sets=sets).denoise(given)
    focus = KernelFocus(cushion=0.1, cutoff=0.95, approx=approx, random_state=0).fit(rows, sets=sets)
    assert decibels(focus.denoise(given), wanted) > decibels(given, wanted) + 2.5
    assert decibels(focus.denoise(given), wanted) > decibels(linear, wanted)
    back = focus.inverse_transform(focus.transform(given))
    assert decibels(back, wanted) > decibels(given, wanted) + 2


def test_there_is_no_way_back_without_rows():
    X = lit(False)
    for focus in (KernelFocus("precomputed").fit(X @ X.T, sets=SETS), KernelFocus(approx="fourier").fit(X, sets=SETS)):
        # scikit-learn asks by `hasattr` whether a transformer goes back.
        with pytest.raises(AttributeError) as refused:
            focus.inverse_transform(np.zeros((1, focus.focus_._n_features_out)))
        assert isinstance(refused.value.__cause__, InputError)
        assert "no way back" in str(refused.value.__cause__)
        with pytest.raises(InputError, match="no way back"):
            focus.denoise(X if focus.approx else X @ X.T)


# An estimator like the others.


def test_sets_are_routed_through_a_pipeline(rings):
    X, sets = rings
    with sklearn.config_context(enable_metadata_routing=True):
        chain = make_pipeline(KernelFocus(), KNeighborsClassifier()).fit(X, sets % 2, sets=sets)
    assert chain[0].moments_.n_sets == 30
    assert len(chain.predict(X)) == len(X)


def test_a_clone_is_unfitted_and_learns_the_same(rings):
    X, sets = rings
    focus = KernelFocus(approx="nystroem", n_components=50, random_state=0).fit(X, sets=sets)
    copy = clone(focus)
    assert not hasattr(copy, "map_")
    assert np.array_equal(copy.fit(X, sets=sets).transform(X), focus.transform(X))


def test_sets_one_by_one_teach_the_same_and_keep_their_names(rings):
    X, sets = rings
    whole = KernelFocus().fit(X, sets=sets)
    by_name = {f"day {name}": X[sets == name] for name in range(30)}
    for some in (by_name, list(by_name.values()), (FeatureSet(n, rows) for n, rows in by_name.items())):
        focus = KernelFocus().fit_sets(some)
        assert pdist(focus.transform(X[:40])) == pytest.approx(pdist(whole.transform(X[:40])), abs=1e-9)
    assert focus.moments_.names == tuple(by_name)


def test_frames_keep_their_names(rings):
    X, sets = rings
    frames = {name: pd.DataFrame(X[sets == name], columns=["x", "y", "z"]) for name in range(30)}
    focus = KernelFocus(n_remove=3).fit_sets(frames)
    assert list(focus.feature_names_in_) == ["x", "y", "z"]
    out = focus.set_output(transform="pandas").transform(frames[0])
    assert list(out.columns) == list(focus.get_feature_names_out())
    assert out.columns[0] == "kernelfocus0"


def test_float32_stays_float32(rings):
    X, sets = rings
    focus = KernelFocus().fit(X, sets=sets)
    for use in (focus.transform, focus.denoise):
        assert use(X.astype(np.float32)).dtype == np.float32
        assert use(X.astype(np.float32)) == pytest.approx(use(X), abs=1e-4)


def test_a_row_reads_the_same_in_any_batch(rings):
    X, sets = rings
    focus = KernelFocus().fit(X[::2], sets=sets[::2])
    assert focus.transform(X[5:6]) == pytest.approx(focus.transform(X)[5:6], abs=1e-7)


def test_rows_far_from_zero_read_as_near_it(rings):
    X, sets = rings
    near = KernelFocus().fit(X, sets=sets)
    far = KernelFocus().fit(X + 1e6, sets=sets)
    assert far.distraction_[:20] == pytest.approx(near.distraction_[:20], abs=1e-6)


def test_without_sets_there_is_one_warning_and_nothing_is_removed(rings):
    X, _ = rings
    with pytest.warns(NoSetsWarning) as said:
        focus = KernelFocus().fit(X)
    assert [one.filename for one in said] == [__file__]
    assert focus.n_removed_ == 0
    assert "no sets" in focus.describe()
    # Products of what comes out are those of the kernel.
    assert np.abs(focus.transform(X) @ focus.transform(X).T - focus.map_.kernel(X, X)).max() < 1e-6


def test_a_removal_that_leaves_little_is_told_on_the_caller_s_own_line():
    with pytest.warns(EvidenceWarning, match="little is left") as said:
        KernelFocus("linear", n_remove=4).fit(lit(True), sets=SETS)
    assert [one.filename for one in said] == [__file__]


def test_words_name_the_kernel_and_the_span(rings):
    X, sets = rings
    assert "By rbf(gamma=" in KernelFocus().fit(X, sets=sets).describe()
    words = KernelFocus("poly", degree=2, approx="nystroem", n_components=50).fit(X, sets=sets).describe()
    assert "By poly(" in words
    assert "50 rows span 10 dimensions" in words


def test_settings_changed_after_fit_wait_for_the_next_fit(rings):
    X, sets = rings
    focus = KernelFocus().fit(X, sets=sets)
    before = focus.transform(X)
    focus.set_params(kernel="poly", gamma=9.0, news=False, n_remove=1, removal="oblique")
    assert np.array_equal(focus.transform(X), before)
    assert len(focus.get_feature_names_out()) == before.shape[1]


nonsense = [
    *[("kernel", value) for value in ("x", None, 3)],
    *[("approx", value) for value in ("x", 3, "Nystroem")],
    *[("n_components", value) for value in (0, 2.5, True, 10**9)],
    *[("gamma", value) for value in (0, -1, np.nan, "x", None)],
    *[("degree", value) for value in (-1, "3", None, np.inf)],
    *[("coef0", value) for value in (np.nan, "x")],
    ("kernel_params", {"gamma": 1.0}),
    ("news", "yes"),
    ("cushion", -1),
    ("cutoff", 2),
    ("removal", "x"),
    ("prior", "x"),
    ("n_remove", 10**6),
]


@pytest.mark.parametrize(("setting", "value"), nonsense, ids=str)
def test_a_nonsense_setting_is_refused_by_name(setting, value):
    with pytest.raises(InputError, match=setting):
        KernelFocus(**{setting: value}).fit(lit(False), sets=SETS)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": "sigmoid", "gamma": 5.0, "coef0": -9.0}, "not positive semidefinite"),
        ({"kernel": "poly", "approx": "fourier"}, "for 'rbf' alone"),
        ({"kernel": "precomputed"}, "products of all rows"),
        ({"kernel": "precomputed", "approx": "nystroem"}, "approx=None"),
        ({"kernel": "poly", "degree": 100, "gamma": 1e10}, "range of numbers"),
    ],
)
def test_kernels_that_cannot_be_are_refused_with_words(settings, words):
    with pytest.raises(InputError, match=words):
        KernelFocus(**settings).fit(lit(False), sets=SETS)


def test_products_that_are_not_symmetric_are_refused():
    K = lit(False) @ lit(False).T
    K[0, 1] += 50
    with pytest.raises(InputError, match="not symmetric"):
        KernelFocus("precomputed").fit(K, sets=SETS)


def test_a_failed_refit_leaves_the_old_model_whole(rings):
    X, sets = rings
    focus = KernelFocus().fit(X, sets=sets)
    before = focus.transform(X)
    with pytest.raises(InputError):
        focus.fit(X[:, :2], sets=np.zeros(len(X)))
    assert np.array_equal(focus.transform(X), before)


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
def test_a_row_that_is_refused_is_told_by_its_place(kernel, monkeypatch):
    # It was told by its place in a block of 32.
    monkeypatch.setattr("undistract.kernel.maps.BLOCK_VALUES", 60 * 7)
    rng = np.random.default_rng(0)
    X, sets = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    focus = KernelFocus(kernel, n_remove=1).fit(X, sets=sets)
    far = np.vstack([X, X])
    far[77] = 1e200
    with pytest.raises(InputError, match="Row 77 is so large"):
        focus.transform(far)


def test_the_way_back_is_found_once_for_every_map(monkeypatch):
    # It was found anew with every call.
    rng = np.random.default_rng(0)
    X, sets = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    found = []
    as_usual = WayBack.of
    monkeypatch.setattr(WayBack, "of", lambda span: found.append(span) or as_usual(span))
    focus = KernelFocus(n_remove=1).fit(X, sets=sets)
    whole = focus.denoise(X)
    assert np.allclose(np.vstack([focus.denoise(X[:30]), focus.denoise(X[30:])]), whole)
    assert len(found) == 1
    focus.fit(2 * X, sets=sets).denoise(X)
    assert found[-1] is focus.map_

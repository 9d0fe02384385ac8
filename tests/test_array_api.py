"""Focus on arrays of other libraries: the same answers, where the rows are."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils._array_api import get_namespace_and_device, move_estimator_to
from sklearn.utils.estimator_checks import check_array_api_input_and_values

from undistract import EvidenceWarning, Focus, InputError, Moments, dispatch, load, save
from undistract.algebra import Projection, Spectrum, elsewhere, gather_elsewhere
from undistract.algebra.complement import Complement
from undistract.algebra.directions import Known
from undistract.algebra.elsewhere import moved
from undistract.algebra.gather_elsewhere import moments_on
from undistract.algebra.library import Library
from undistract.algebra.projection import KeptSpan
from undistract.algebra.solve_elsewhere import dense_on
from undistract.algebra.solvers import dense
from undistract.algebra.store import Folded, KeptRows

REMOVALS = ["kept_span", "eigen", "oblique", "soft"]
NUMPY = Library(np, "cpu", np.asarray)  # the mathematics alone needs no other library


class Place:
    """An array library and a device, for tests."""

    def __init__(self, name, device):
        reason = "needs PyTorch: pip install 'undistract[torch]'" if name == "torch" else f"needs {name}"
        self.module = pytest.importorskip(name, reason=reason)
        self.device = self.module.Device(device) if name == "array_api_strict" else device

    def __call__(self, values):
        return self.module.asarray(np.array(values), device=self.device)

    def home(self, array):
        if self.module.__name__ == "torch":
            return array.numpy()
        return np.asarray(self.module.asarray(array, device=self.module.Device("CPU_DEVICE")))

    def holds(self, array):
        return type(array) is type(self([1.0])) and array.device == self([1.0]).device


@pytest.fixture(
    params=[("torch", "cpu"), ("array_api_strict", "CPU_DEVICE"), ("array_api_strict", "device1")],
    ids=["torch", "strict", "strict-other-device"],
)
def place(request):
    """A library that is not numpy; the strict one never mixes devices, and refuses all that is not in the standard."""
    return Place(*request.param)


@pytest.fixture(autouse=True)
def _dispatch(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    with sklearn.config_context(array_api_dispatch=True):
        yield


def lit(n_sets=24, n_rows=40, n_features=10, distance=0.0, seed=0):
    """Sets far from zero, of different sizes and out of order; one strong direction varies in all of them."""
    rng = np.random.default_rng(seed)
    sets = np.repeat(np.arange(n_sets), rng.integers(n_rows // 2, 3 * n_rows // 2, n_sets))
    rng.shuffle(sets)
    centres = 2 * rng.normal(size=(n_sets, n_features)) + distance
    light = rng.normal(size=(len(sets), 1)) * np.linspace(-20, 20, n_features)
    return rng.normal(size=(len(sets), n_features)) + centres[sets] + light, sets


def close(there, here, tolerance=1e-9):
    return np.abs(there - here).max() <= tolerance * np.abs(here).max()


@pytest.fixture
def folded(monkeypatch):
    """Let even small tests take the road of many rows, in several blocks."""
    for module in ("store", "gather_elsewhere"):
        monkeypatch.setattr(f"undistract.algebra.{module}.few", lambda n_rows, n_features: False)
    monkeypatch.setattr(gather_elsewhere, "SETS_IN_A_BLOCK", 5)
    monkeypatch.setattr(gather_elsewhere, "LEAST_ROWS", 64)
    monkeypatch.setattr(gather_elsewhere, "VALUES_IN_A_BLOCK", 1)


@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")  # to remove everything is bold
@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 1e-5)])
@pytest.mark.parametrize("n_remove", [0, 1, 6, 10])
@pytest.mark.parametrize("move", [0, elsewhere.MOVE], ids=["few columns", "one matrix"])
def test_rows_come_out_equal_and_stay_where_they_are(place, removal, dtype, tolerance, n_remove, move, monkeypatch):
    monkeypatch.setattr(elsewhere, "MOVE", move)
    X, sets = lit(n_features=11)
    X[:, 7] = 0.5  # a constant feature has no filter
    focus = Focus(n_remove=n_remove, removal=removal).fit(X, sets=sets)
    rows = X.astype(dtype)
    Z = focus.transform(rows)
    results = [
        (focus.transform, rows, Z),
        (focus.inverse_transform, Z, focus.inverse_transform(Z)),
        (focus.denoise, rows, focus.denoise(rows)),
        (lambda X: focus.denoise(X, removal="kept_span"), rows, focus.denoise(rows, removal="kept_span")),
        (lambda X: focus.denoise(X, removal="soft"), rows, focus.denoise(rows, removal="soft")),
    ]
    # To undo what was shrunk stretches rounding as much.
    stretch = focus.projection_.filter.stretch.max(initial=1.0) if removal == "soft" else 1.0
    for method, given_rows, expected in results:
        allowed = tolerance * (stretch if method == focus.inverse_transform else 1.0)
        result = method(place(given_rows))
        assert place.holds(result)
        assert result.dtype == place(rows).dtype
        assert result.shape == expected.shape
        assert np.abs(place.home(result) - expected).max(initial=0.0) <= allowed * np.abs(rows).max()


def test_where_nothing_is_removed_rows_pass_to_the_bit(place):
    X, sets = lit(n_sets=40, n_features=30)
    for removal in ("kept_span", "oblique", "soft"):
        focus = Focus(n_remove=0, removal=removal).fit(X, sets=sets)
        assert np.array_equal(place.home(focus.transform(place(X))), X)


@pytest.mark.parametrize(("n_features", "n_columns", "thin"), [(784, 80, True), (784, 300, False), (100, 5, False)])
def test_a_few_columns_are_taken_out_of_many_features_and_one_matrix_serves_the_rest(n_features, n_columns, thin):
    columns = np.random.default_rng(0).normal(size=(n_features, n_columns))
    complement = Complement.of(columns)
    projection = KeptSpan.made(np.zeros(n_features), Known(columns, columns, np.zeros(columns.shape[1])), complement)
    X = np.random.default_rng(1).normal(size=(7, n_features))
    there = moved(projection, NUMPY, np.float64)
    assert (there.rest is not None) == thin
    assert close(there(X), projection(X), 1e-12)
    assert close(there.back(there(X)), projection.back(projection(X)), 1e-12)


def test_no_row_leaves_the_device_on_its_way_through_a_projection(place, monkeypatch):
    X, sets = lit()
    focus = Focus().fit(X, sets=sets)
    monkeypatch.setattr(dispatch, "_home", lambda *_: pytest.fail("a row left the device"))
    Z = focus.transform(place(X))
    assert place.holds(focus.inverse_transform(Z))
    assert place.holds(focus.denoise(place(X)))


def test_matrices_go_to_a_device_once_for_each_dtype(place, monkeypatch):
    X, sets = lit()
    focus = Focus().fit(X, sets=sets)
    copied = []
    array = Library.array
    monkeypatch.setattr(Library, "array", lambda self, *args: copied.append(self.key) or array(self, *args))
    focus.transform(place(X)), focus.denoise(place(X))
    first = len(copied)
    assert first > 0
    focus.transform(place(X[:5])), focus.denoise(place(X[:5])), focus.inverse_transform(focus.transform(place(X)))
    assert len(copied) == first
    focus.transform(place(X.astype(np.float32)))
    assert len(copied) > first


def test_matrices_are_forgotten_with_their_projection():
    X, sets = lit()
    spectrum = Spectrum.of(Moments.of_labelled(X, sets))
    before = len(elsewhere._moved)
    projection = Projection.of(spectrum, 1)
    moved(projection, NUMPY, np.float64)
    assert len(elsewhere._moved) == before + 1
    del projection
    assert len(elsewhere._moved) == before


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("n_removed", [1, 12, 28])
def test_few_columns_and_one_matrix_give_the_same(removal, n_removed, monkeypatch):
    X, sets = lit(n_features=30)
    spectrum = Spectrum.of(Moments.of_labelled(X, sets))
    for thin in (True, False):
        monkeypatch.setattr(elsewhere, "_thin_is_cheaper", lambda *sizes, thin=thin: thin and sizes[-1] > 0)
        projection = Projection.of(spectrum, n_removed, removal)
        there = moved(projection, NUMPY, np.float64)
        assert close(there(X), projection(X), 1e-12)
        assert close(there.back(there(X)), projection.back(projection(X)), 1e-8 if removal == "soft" else 1e-12)
        assert close(there.clean(X), projection.clean(X), 1e-12)


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("prior", ["uniform", "by_size"])
def test_a_focus_fitted_elsewhere_is_the_same(place, removal, prior, folded):
    X, sets = lit()
    here = Focus(removal=removal, prior=prior).fit(X, sets=sets)
    there = Focus(removal=removal, prior=prior).fit(place(X), sets=place(sets))
    assert isinstance(there.moments_.store, Folded)
    assert here.moments_.names == there.moments_.names
    assert here.n_removed_ == there.n_removed_ == 1
    assert close(there.distraction_, here.distraction_)
    assert close(there.debiased_distraction_, here.debiased_distraction_)
    Z, expected = place.home(there.transform(place(X))), here.transform(X)
    # An eigenvector is as good as its negative, and each library has its own.
    assert close(np.abs(Z), np.abs(expected)) if removal == "eigen" else close(Z, expected)
    assert close(place.home(there.denoise(place(X))), here.denoise(X))


def test_rows_in_float32_are_summed_up_in_float64(place, folded):
    X, sets = lit(distance=1e4)
    X = X.astype(np.float32)
    here, there = (Focus().fit(rows, sets=sets) for rows in (X, place(X)))
    assert close(there.moments_.within, here.moments_.within, 1e-12)
    assert close(there.distraction_, here.distraction_)
    assert there.transform(place(X)).dtype == place(X).dtype


@pytest.mark.parametrize("distance", [0.0, 3e7])  # more than a million standard deviations of any feature
@pytest.mark.parametrize("prior", ["uniform", "by_size", [1.0, 2.5] * 12])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_no_digit_is_lost_far_away_from_zero(place, folded, distance, prior, is_sorted):
    X, sets = lit(distance=distance)
    if is_sorted:
        X, sets = X[np.argsort(sets, kind="stable")], np.sort(sets)
    with sklearn.config_context(array_api_dispatch=False):
        here = Moments.of_labelled(X, sets, prior)
    there = moments_on(place(X), sets, prior, dispatch.library_of(place(X)))
    assert isinstance(here.store, Folded)
    assert there.names == here.names
    for name in ("counts", "weights", "mean", "within", "between"):
        assert close(getattr(there, name), getattr(here, name), 1e-12), name
    for there_part, here_part in zip(there.wander(np.eye(10)), here.wander(np.eye(10)), strict=True):
        assert close(there_part, here_part, 1e-12)
    assert close(there.store.spread_sum, here.store.spread_sum, 1e-12)
    assert np.array_equal(there.within, there.within.T)


@pytest.mark.parametrize("is_sorted", [True, False])
def test_a_quiet_set_does_not_drown_in_its_neighbours(place, folded, is_sorted):
    X, sets = lit()
    X[sets % 2 == 1] *= 1e-9  # every other set
    order = np.argsort(sets, kind="stable")
    if is_sorted:
        X, sets, order = X[order], sets[order], None
    rows, counts = place(X), np.bincount(sets)
    gathered = gather_elsewhere._gather(rows, order, counts, np.ones((1, 24)), dispatch.library_of(rows))
    squares, offsets = place.home(gathered.squares), place.home(gathered.offsets)
    for one in range(24):
        members = X[sets == one]
        assert squares[one] == pytest.approx(((members - members.mean(axis=0)) ** 2).sum(axis=0), rel=1e-10)
        assert np.abs(offsets[one] - (members - members[0]).mean(axis=0)).max() <= 1e-12 * members.std()


@settings(max_examples=50)
@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=20),
    st.integers(1, 7),
    st.integers(2, 40),
    st.integers(0, 2**32 - 1),
)
def test_moments_do_not_depend_on_how_blocks_are_cut(counts, sets_in_a_block, rows_in_a_block, seed):
    rng = np.random.default_rng(seed)
    sets = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    X = rng.normal(size=(len(sets), 3)) * [1e-3, 1, 1e3] + rng.normal(size=(len(counts), 3))[sets] * 1e5
    with pytest.MonkeyPatch.context() as patch:
        for module in ("store", "gather_elsewhere"):
            patch.setattr(f"undistract.algebra.{module}.few", lambda n_rows, n_features: False)
        patch.setattr(gather_elsewhere, "SETS_IN_A_BLOCK", sets_in_a_block)
        patch.setattr(gather_elsewhere, "LEAST_ROWS", rows_in_a_block)
        patch.setattr(gather_elsewhere, "VALUES_IN_A_BLOCK", 1)
        here, there = Moments.of_checked(X, sets), moments_on(X, sets, "uniform", NUMPY)
    scale = np.sqrt(np.diag(here.total))
    assert np.abs((there.within - here.within) / np.outer(scale, scale)).max() < 1e-10
    assert np.abs((there.between - here.between) / np.outer(scale, scale)).max() < 1e-10


def test_a_few_rows_are_kept_as_numpy_keeps_them(place):
    X, sets = lit()
    there = Focus().fit(place(X), sets=sets)
    assert isinstance(there.moments_.store, KeptRows)
    assert there.moments_.without(3).n_sets == 23
    assert np.array_equal(there.moments_.within, Focus().fit(X, sets=sets).moments_.within)


def test_more_features_than_rows_are_solved_from_the_rows(place):
    X, sets = lit(n_sets=8, n_rows=6, n_features=200)
    with pytest.warns(EvidenceWarning):
        here = Focus(n_remove=1).fit(X, sets=sets)
    with pytest.warns(EvidenceWarning):
        there = Focus(n_remove=1).fit(place(X), sets=sets)
    assert close(place.home(there.transform(place(X))), here.transform(X))


def test_a_device_without_float64_loses_no_digits_because_its_rows_come_home(folded):
    place = Place("array_api_strict", "no_float64")
    X, sets = lit(distance=1e4)
    X = X.astype(np.float32)
    here, there = Focus().fit(X, sets=sets), Focus().fit(place(X), sets=sets)
    assert np.array_equal(there.distraction_, here.distraction_)
    assert close(place.home(there.transform(place(X))), here.transform(X), 1e-5)


def test_whole_numbers_become_the_widest_floats(place):
    X, sets = lit()
    whole = X.round().astype(np.int64)
    there = Focus().fit(place(whole), sets=sets)
    assert close(place.home(there.transform(place(whole))), Focus().fit(whole, sets=sets).transform(whole))


def test_without_sets_nothing_is_removed_elsewhere_too(place, folded):
    X, _ = lit()
    with pytest.warns(UserWarning, match="without sets"):
        focus = Focus().fit(place(X))
    assert np.array_equal(place.home(focus.transform(place(X))), X)
    assert close(focus.moments_.within, np.cov(X.T, bias=True), 1e-12)


def test_more_rows_of_another_library_are_learned_on(place):
    X, sets = lit()
    focus = Focus()
    for chunk in (slice(0, 300), slice(300, None)):
        focus.partial_fit(place(X[chunk]), sets=place(sets[chunk]))
    assert close(focus.distraction_, Focus().fit(X, sets=sets).distraction_, 1e-10)


@pytest.mark.parametrize(
    "labels",
    [
        lambda sets: [f"day {one}" for one in sets],
        lambda sets: sets.astype(float),
        lambda sets: pd.Series(sets).astype("category"),
        lambda sets: pl.Series(sets.astype(str)),
        lambda sets: (("camera", one) for one in sets.tolist()),
    ],
    ids=["texts", "numbers", "pandas", "polars", "generator"],
)
def test_labels_may_be_anything_while_rows_are_elsewhere(place, labels, folded):
    X, sets = lit()
    assert Focus().fit(place(X), sets=labels(sets)).moments_.names == Focus().fit(X, sets=labels(sets)).moments_.names


def test_too_few_labels_and_broken_rows_are_refused_in_words(place):
    X, sets = lit()
    with pytest.raises(InputError, match=f"sets has {len(X) - 1} labels for {len(X)} rows"):
        Focus().fit(place(X), sets=place(sets[1:]))
    X[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Focus().fit(place(X), sets=sets)
    X[3, 4] = 1e160
    with pytest.raises(InputError, match="leave the range of numbers"):
        moments_on(place(np.tile(X, (300, 1))), np.tile(sets, 300), "uniform", dispatch.library_of(place(X)))


@pytest.mark.parametrize("cushion", [0.1, 1e-8, 0.0])
@pytest.mark.parametrize("shape", ["full rank", "fewer rows inside sets than features", "dependent features"])
def test_the_eigenproblem_has_the_same_solution_elsewhere(place, cushion, shape):
    X, sets = lit(n_sets=30, n_rows=4 if shape == "full rank" else 2, n_features=20, seed=1)
    if shape == "fewer rows inside sets than features":
        few = np.isin(sets, np.unique(sets)[:3]) | (np.unique(sets, return_inverse=True)[1] % 2 == 0)
        X, sets = X[few], np.where(np.isin(sets, np.unique(sets)[:3]), sets, 1000 + np.arange(len(sets)))[few]
    elif shape == "dependent features":
        X[:, 5] = X[:, 6] - 3 * X[:, 7]
    moments = Moments.of_labelled(X, sets)
    here = dense(moments.within, moments.total, cushion)
    there = dense_on(moments.within, moments.total, cushion, dispatch.library_of(place(X)))
    assert there.n_moving == here.n_moving
    assert there.distraction == pytest.approx(here.distraction, abs=1e-9)
    metric = moments.total + cushion * np.eye(20)
    whitened = there.filters.T @ metric @ there.filters
    assert np.abs(whitened - np.eye(len(whitened))).max() < 1e-6
    assert close(there.patterns @ there.filters.T, here.patterns @ here.filters.T, 1e-6)


def test_a_feature_that_never_varies_is_set_aside_elsewhere_too(place):
    X, sets = lit()
    X[:, 4] = 7.0
    moments = Moments.of_labelled(X, sets)
    there = Spectrum.of(moments, solve=partial(dense_on, library=dispatch.library_of(place(X))))
    assert there.n_constant == 1
    assert close(there.distraction, Spectrum.of(moments).distraction)


def test_a_focus_fitted_by_numpy_serves_every_library_and_one_fitted_elsewhere_only_its_own(place, tmp_path):
    X, sets = lit()
    there = Focus().fit(place(X), sets=sets)
    with pytest.raises(InputError, match=r"Focus.transform\(\) got rows of numpy, but was fitted on rows of"):
        there.transform(X)
    with sklearn.config_context(array_api_dispatch=False):
        expected = there.transform(X)
    bridges = [
        Focus().fit(X, sets=sets),
        Focus().fit_moments(there.moments_),
        load(save(there, tmp_path / "there.focus")),
        move_estimator_to(there, np, "cpu"),
        there.fit(X, sets=sets),
    ]
    for focus in bridges:
        assert close(focus.transform(X), expected)
        assert close(place.home(focus.transform(place(X))), expected)


def test_an_estimator_is_moved_by_scikit_learn_s_own_function(place):
    X, sets = lit()
    focus = Focus().fit(X, sets=sets)
    xp, _, device = get_namespace_and_device(place(X))
    there = move_estimator_to(focus, xp, device)
    assert close(place.home(there.transform(place(X))), focus.transform(X))
    with pytest.raises(InputError, match="must use the same namespace"):
        there.transform(X)


def test_two_devices_are_never_mixed():
    one, other = Place("array_api_strict", "device1"), Place("array_api_strict", "device2")
    X, sets = lit()
    focus = Focus().fit(one(X), sets=sets)
    with pytest.raises(InputError, match="device2"):
        focus.transform(other(X))
    focus = Focus().fit(X, sets=sets)
    for place in (one, other, one):
        assert place.holds(focus.transform(place(X)))
        assert place.holds(focus.denoise(place(X)))


@pytest.mark.filterwarnings("ignore:torch.asarray")
def test_a_gradient_flows_through_a_projection():
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")
    X, sets = lit()
    focus = Focus().fit(X, sets=sets)
    with torch.inference_mode():  # what is copied to the device in here can never serve a gradient
        focus.transform(torch.tensor(X))
    rows = torch.tensor(X, requires_grad=True)
    focus.transform(rows).sum().backward()
    assert close(rows.grad.numpy(), np.tile(focus.components_.sum(axis=0), (len(X), 1)), 1e-12)
    assert close(Focus().fit(rows, sets=sets).distraction_, focus.distraction_)


def test_without_dispatch_tensors_become_numpy_arrays_as_everywhere_in_scikit_learn():
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")
    X, sets = lit()
    with sklearn.config_context(array_api_dispatch=False):
        Z = Focus().fit(torch.asarray(X), sets=torch.asarray(sets)).transform(torch.asarray(X))
    assert isinstance(Z, np.ndarray)


@pytest.mark.filterwarnings("ignore::undistract.errors.NoSetsWarning")
@pytest.mark.parametrize(
    ("name", "device", "dtype"),
    [("torch", "cpu", "float64"), ("torch", "cpu", "float32"), ("array_api_strict", "device1", "float64")],
)
def test_scikit_learn_finds_the_same_values(name, device, dtype):
    pytest.importorskip(name)
    check_array_api_input_and_values("Focus", Focus(), name, device, dtype)


def test_scikit_learn_s_own_checks_of_other_array_libraries_pass():
    for name in ("torch", "array_api_strict"):
        pytest.importorskip(name)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            "array_api",
            "-rA",
            "test_estimators.py",
        ],
        cwd=Path(__file__).parent,
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    passed = re.findall(r"^PASSED .*", done.stdout, re.MULTILINE)
    for check in ("check_array_api_input", "check_array_api_mixed_inputs", "check_array_api_same_namespace"):
        assert any(check in line for line in passed), check
    for name in ("torch", "array_api_strict"):
        assert sum(f"array_namespace={name}" in line for line in passed) >= 12, name
    assert "SCIPY_ARRAY_API" not in done.stdout

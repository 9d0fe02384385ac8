"""Focus on arrays of other libraries: the same results on the device of the rows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.utils._array_api import get_namespace_and_device, move_estimator_to
from sklearn.utils.estimator_checks import check_array_api_input_and_values

from tests.algebra.by_hand import spectrum_of
from undistract import Focus, InputError, Moments, load, save
from undistract import focus as dispatch
from undistract.algebra import Projection, Spectrum, array_api
from undistract.algebra.array_api import Namespace, low_rank_is_cheaper, to_device
from undistract.algebra.moments import MatrixStore, RowStore
from undistract.algebra.projection import Orthogonal
from undistract.algebra.spectrum import DenseDirections

REMOVALS = ["orthogonal", "eigen", "oblique", "soft"]
NUMPY = Namespace(np, "cpu", np.asarray)  # needs no other library


class Library:
    """An array library and a device."""

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
def namespace(request):
    """A library other than numpy. array_api_strict never mixes devices and rejects everything outside the standard."""
    return Library(*request.param)


@pytest.fixture(autouse=True)
def _dispatch(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # required by scikit-learn
    with sklearn.config_context(array_api_dispatch=True):
        yield


def illuminated(n_groups=24, n_rows=40, n_features=10, distance=0.0, seed=0):
    """Return groups far from zero, of different sizes and shuffled; one strong direction varies in all of them."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), rng.integers(n_rows // 2, 3 * n_rows // 2, n_groups))
    rng.shuffle(groups)
    centres = 2 * rng.normal(size=(n_groups, n_features)) + distance
    light = rng.normal(size=(len(groups), 1)) * np.linspace(-20, 20, n_features)
    return rng.normal(size=(len(groups), n_features)) + centres[groups] + light, groups


def close(there, here, tolerance=1e-9):
    return np.abs(there - here).max() <= tolerance * np.abs(here).max()


@pytest.fixture
def folded(monkeypatch):
    """Make small data use the code path of many rows."""
    monkeypatch.setattr("undistract.algebra.moments.keep_rows", lambda n_rows, n_features: False)


@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")  # removing everything warns
@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 1e-5)])
@pytest.mark.parametrize("n_remove", [0, 1, 6, 10])
@pytest.mark.parametrize("move", [0, array_api.MOVE], ids=["few columns", "one matrix"])
def test_results_are_equal_and_stay_on_the_device(namespace, removal, dtype, tolerance, n_remove, move, monkeypatch):
    monkeypatch.setattr(array_api, "MOVE", move)
    X, groups = illuminated(n_features=11)
    X[:, 7] = 0.5  # a constant feature has no filter
    focus = Focus(n_remove=n_remove, removal=removal).fit(X, groups=groups)
    rows = X.astype(dtype)
    Z = focus.transform(rows)
    results = [
        (focus.transform, rows, Z),
        (focus.inverse_transform, Z, focus.inverse_transform(Z)),
        (focus.denoise, rows, focus.denoise(rows)),
        (lambda X: focus.denoise(X, removal="orthogonal"), rows, focus.denoise(rows, removal="orthogonal")),
        (lambda X: focus.denoise(X, removal="soft"), rows, focus.denoise(rows, removal="soft")),
    ]
    # The inverse of the shrinkage amplifies rounding errors.
    stretch = focus.projection_.filter.gain.max(initial=1.0) if removal == "soft" else 1.0
    for method, given_rows, expected in results:
        allowed = tolerance * (stretch if method == focus.inverse_transform else 1.0)
        result = method(namespace(given_rows))
        assert namespace.holds(result)
        assert result.dtype == namespace(rows).dtype
        assert result.shape == expected.shape
        assert np.abs(namespace.home(result) - expected).max(initial=0.0) <= allowed * np.abs(rows).max()


def test_rows_are_unchanged_if_nothing_is_removed(namespace):
    X, groups = illuminated(n_groups=40, n_features=30)
    for removal in ("orthogonal", "oblique", "soft"):
        focus = Focus(n_remove=0, removal=removal).fit(X, groups=groups)
        assert np.array_equal(namespace.home(focus.transform(namespace(X))), X)


@pytest.mark.parametrize(("n_features", "n_columns", "thin"), [(784, 80, True), (784, 300, False), (100, 5, False)])
def test_low_rank_form_is_used_for_few_columns(n_features, n_columns, thin):
    columns = np.random.default_rng(0).normal(size=(n_features, n_columns))
    directions = DenseDirections(columns, columns, np.zeros(columns.shape[1]))
    projection = Orthogonal(np.zeros(n_features), directions)
    X = np.random.default_rng(1).normal(size=(7, n_features))
    on_device = to_device(projection, NUMPY, np.float64)
    assert (on_device.forward.right is not None) == thin
    assert close(on_device(X), projection(X), 1e-12)
    assert close(on_device.inverse(on_device(X)), projection.inverse(projection(X)), 1e-12)


def test_projection_does_not_copy_rows_to_the_host(namespace, monkeypatch):
    X, groups = illuminated()
    focus = Focus().fit(X, groups=groups)
    monkeypatch.setattr(dispatch, "_to_numpy", lambda *_: pytest.fail("rows were copied to the host"))
    Z = focus.transform(namespace(X))
    assert namespace.holds(focus.inverse_transform(Z))
    assert namespace.holds(focus.denoise(namespace(X)))


def test_matrices_are_copied_once_per_dtype(namespace, monkeypatch):
    X, groups = illuminated()
    focus = Focus().fit(X, groups=groups)
    copied = []
    array = Namespace.array
    monkeypatch.setattr(Namespace, "array", lambda self, *args: copied.append(self.key) or array(self, *args))
    focus.transform(namespace(X)), focus.denoise(namespace(X))
    first = len(copied)
    assert first > 0
    (
        focus.transform(namespace(X[:5])),
        focus.denoise(namespace(X[:5])),
        focus.inverse_transform(focus.transform(namespace(X))),
    )
    assert len(copied) == first
    focus.transform(namespace(X.astype(np.float32)))
    assert len(copied) > first


def test_matrices_are_freed_with_the_projection():
    X, groups = illuminated()
    spectrum = Spectrum.of(Moments.from_labels(X, groups))
    before = len(array_api._on_device)
    projection = Projection.of(spectrum, 1)
    to_device(projection, NUMPY, np.float64)
    assert len(array_api._on_device) == before + 1
    del projection
    assert len(array_api._on_device) == before


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("n_removed", [1, 12, 28])
def test_low_rank_and_dense_forms_agree(removal, n_removed, monkeypatch):
    X, groups = illuminated(n_features=30)
    spectrum = Spectrum.of(Moments.from_labels(X, groups))
    for thin in (True, False):
        monkeypatch.setattr(array_api, "low_rank_is_cheaper", lambda *sizes, thin=thin: thin and sizes[-1] > 0)
        projection = Projection.of(spectrum, n_removed, removal)
        there = to_device(projection, NUMPY, np.float64)
        assert close(there(X), projection(X), 1e-12)
        assert close(there.inverse(there(X)), projection.inverse(projection(X)), 1e-8 if removal == "soft" else 1e-12)
        assert close(there.denoise(X), projection.denoise(X), 1e-12)


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("prior", ["uniform", "by_size"])
def test_fit_agrees_with_numpy(namespace, removal, prior, folded):
    X, groups = illuminated()
    here = Focus(removal=removal, prior=prior).fit(X, groups=groups)
    there = Focus(removal=removal, prior=prior).fit(namespace(X), groups=namespace(groups))
    assert isinstance(there.moments_.store, MatrixStore)
    assert here.moments_.names == there.moments_.names
    assert here.n_removed_ == there.n_removed_ == 1
    assert close(there.distraction_, here.distraction_)
    assert close(there.debiased_distraction_, here.debiased_distraction_)
    Z, expected = namespace.home(there.transform(namespace(X))), here.transform(X)
    # The sign of an eigenvector is arbitrary and depends on the library.
    assert close(np.abs(Z), np.abs(expected)) if removal == "eigen" else close(Z, expected)
    assert close(namespace.home(there.denoise(namespace(X))), here.denoise(X))


def test_float32_rows_are_summed_in_float64(namespace, folded):
    X, groups = illuminated(distance=1e4)
    X = X.astype(np.float32)
    here, there = (Focus().fit(rows, groups=groups) for rows in (X, namespace(X)))
    assert close(there.moments_.within, here.moments_.within, 1e-12)
    assert close(there.distraction_, here.distraction_)
    assert there.transform(namespace(X)).dtype == namespace(X).dtype


@pytest.mark.parametrize("distance", [0.0, 3e7])  # more than a million standard deviations of any feature
@pytest.mark.parametrize("prior", ["uniform", "by_size", [1.0, 2.5] * 12])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_moments_far_from_zero_are_exact(namespace, folded, distance, prior, is_sorted):
    X, groups = illuminated(distance=distance)
    if is_sorted:
        X, groups = X[np.argsort(groups, kind="stable")], np.sort(groups)
    with sklearn.config_context(array_api_dispatch=False):
        here = Moments.from_labels(X, groups, prior)
    there = Focus(prior=prior).fit(namespace(X), groups=groups).moments_
    assert isinstance(here.store, MatrixStore)
    assert there.names == here.names
    for name in ("counts", "weights", "mean", "within", "between"):
        assert close(getattr(there, name), getattr(here, name), 1e-12), name
    for there_part, here_part in zip(there.mean_noise(np.eye(10)), here.mean_noise(np.eye(10)), strict=True):
        assert close(there_part, here_part, 1e-12)
    assert close(there.store.spread, here.store.spread, 1e-12)
    assert np.array_equal(there.within, there.within.T)


def test_few_rows_are_stored_as_with_numpy(namespace):
    X, groups = illuminated()
    there = Focus().fit(namespace(X), groups=groups)
    assert isinstance(there.moments_.store, RowStore)
    assert there.moments_.without(3).n_groups == 23
    assert np.array_equal(there.moments_.within, Focus().fit(X, groups=groups).moments_.within)


def test_more_features_than_rows(namespace):
    X, groups = illuminated(n_groups=8, n_rows=6, n_features=200)
    here = Focus(n_remove=1).fit(X, groups=groups)
    there = Focus(n_remove=1).fit(namespace(X), groups=groups)
    assert close(namespace.home(there.transform(namespace(X))), here.transform(X))


def test_device_without_float64_uses_numpy(folded):
    namespace = Library("array_api_strict", "no_float64")
    X, groups = illuminated(distance=1e4)
    X = X.astype(np.float32)
    here, there = Focus().fit(X, groups=groups), Focus().fit(namespace(X), groups=groups)
    assert np.array_equal(there.distraction_, here.distraction_)
    assert close(namespace.home(there.transform(namespace(X))), here.transform(X), 1e-5)


def test_integers_become_the_widest_floats(namespace):
    X, groups = illuminated()
    whole = X.round().astype(np.int64)
    there = Focus().fit(namespace(whole), groups=groups)
    assert close(namespace.home(there.transform(namespace(whole))), Focus().fit(whole, groups=groups).transform(whole))


def test_without_labels_nothing_is_removed(namespace, folded):
    X, _ = illuminated()
    with pytest.warns(UserWarning, match="without groups"):
        focus = Focus().fit(namespace(X))
    assert np.array_equal(namespace.home(focus.transform(namespace(X))), X)
    assert close(focus.moments_.within, np.cov(X.T, bias=True), 1e-12)


def test_partial_fit_agrees_with_fit(namespace):
    X, groups = illuminated()
    focus = Focus()
    for chunk in (slice(0, 300), slice(300, None)):
        focus.partial_fit(namespace(X[chunk]), groups=namespace(groups[chunk]))
    assert close(focus.distraction_, Focus().fit(X, groups=groups).distraction_, 1e-10)


@pytest.mark.parametrize(
    "labels",
    [
        lambda groups: [f"day {label}" for label in groups],
        lambda groups: groups.astype(float),
        lambda groups: pd.Series(groups).astype("category"),
        lambda groups: pl.Series(groups.astype(str)),
        lambda groups: (("camera", label) for label in groups.tolist()),
    ],
    ids=["texts", "numbers", "pandas", "polars", "generator"],
)
def test_labels_may_have_any_type(namespace, labels, folded):
    X, groups = illuminated()
    assert (
        Focus().fit(namespace(X), groups=labels(groups)).moments_.names
        == Focus().fit(X, groups=labels(groups)).moments_.names
    )


def test_invalid_labels_and_rows_raise(namespace):
    X, groups = illuminated()
    with pytest.raises(InputError, match=f"groups has {len(X) - 1} labels for {len(X)} rows"):
        Focus().fit(namespace(X), groups=namespace(groups[1:]))
    X[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Focus().fit(namespace(X), groups=groups)
    X[3, 4] = 1e160
    with pytest.raises(InputError, match="leave the range of numbers"):
        Focus().fit(namespace(X), groups=groups)


def test_constant_feature_is_excluded(namespace):
    X, groups = illuminated()
    X[:, 4] = 7.0
    there = Focus().fit(namespace(X), groups=groups)
    assert there.spectrum_.n_constant == 1
    assert close(there.distraction_, Focus().fit(X, groups=groups).distraction_)


def test_focus_fitted_on_numpy_accepts_every_library(namespace, tmp_path):
    X, groups = illuminated()
    there = Focus().fit(namespace(X), groups=groups)
    with pytest.raises(InputError, match=r"Focus.transform\(\) got rows of numpy, but was fitted on rows of"):
        there.transform(X)
    with sklearn.config_context(array_api_dispatch=False):
        expected = there.transform(X)
    bridges = [
        Focus().fit(X, groups=groups),
        Focus().fit_moments(there.moments_),
        load(save(there, tmp_path / "there.focus")),
        move_estimator_to(there, np, "cpu"),
        there.fit(X, groups=groups),
    ]
    for focus in bridges:
        assert close(focus.transform(X), expected)
        assert close(namespace.home(focus.transform(namespace(X))), expected)


def test_move_estimator_to(namespace):
    X, groups = illuminated()
    focus = Focus().fit(X, groups=groups)
    xp, _, device = get_namespace_and_device(namespace(X))
    there = move_estimator_to(focus, xp, device)
    assert close(namespace.home(there.transform(namespace(X))), focus.transform(X))
    with pytest.raises(InputError, match="must use the same namespace"):
        there.transform(X)


def test_devices_are_not_mixed():
    first, second = Library("array_api_strict", "device1"), Library("array_api_strict", "device2")
    X, groups = illuminated()
    focus = Focus().fit(first(X), groups=groups)
    with pytest.raises(InputError, match="device2"):
        focus.transform(second(X))
    focus = Focus().fit(X, groups=groups)
    for namespace in (first, second, first):
        assert namespace.holds(focus.transform(namespace(X)))
        assert namespace.holds(focus.denoise(namespace(X)))


@pytest.mark.filterwarnings("ignore:torch.asarray")
def test_gradient_through_transform():
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")
    X, groups = illuminated()
    focus = Focus().fit(X, groups=groups)
    with torch.inference_mode():  # copies made in this mode cannot be used for gradients
        focus.transform(torch.tensor(X))
    rows = torch.tensor(X, requires_grad=True)
    focus.transform(rows).sum().backward()
    assert close(rows.grad.numpy(), np.tile(focus.components_.sum(axis=0), (len(X), 1)), 1e-12)
    assert close(Focus().fit(rows, groups=groups).distraction_, focus.distraction_)


def test_without_dispatch_tensors_become_numpy_arrays():
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'undistract[torch]'")
    X, groups = illuminated()
    with sklearn.config_context(array_api_dispatch=False):
        Z = Focus().fit(torch.asarray(X), groups=torch.asarray(groups)).transform(torch.asarray(X))
    assert isinstance(Z, np.ndarray)


@pytest.mark.filterwarnings("ignore::undistract.errors.NoGroupsWarning")
@pytest.mark.parametrize(
    ("name", "device", "dtype"),
    [("torch", "cpu", "float64"), ("torch", "cpu", "float32"), ("array_api_strict", "device1", "float64")],
)
def test_scikit_learn_check_of_values(name, device, dtype):
    pytest.importorskip(name)
    check_array_api_input_and_values("Focus", Focus(), name, device, dtype)


def test_scikit_learn_array_api_checks_pass():
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


def groups_of(counts, n_features=3):
    rng = np.random.default_rng(0)
    return [rng.normal(size=n_features) + rng.normal(size=(count, n_features)) for count in counts]


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("n_features", [4, 400])
@pytest.mark.parametrize("n_removed", [0, 1, 3])
def test_projection_agrees_with_numpy(removal, n_features, n_removed):
    groups = groups_of([3] * 4, n_features)
    for rows in groups:
        rows[:, 0] = rows[0, 0]  # constant within groups
    projection = Projection.of(Spectrum.of(Moments.of(groups)), n_removed, removal, 7.0)
    there = to_device(projection, NUMPY, np.float64)
    Z = projection(groups[0])
    np.testing.assert_allclose(there(groups[0]), Z, atol=1e-12)
    np.testing.assert_allclose(there.inverse(Z), projection.inverse(Z), atol=1e-11)
    np.testing.assert_allclose(there.denoise(groups[0]), projection.denoise(groups[0]), atol=1e-11)
    assert there.inverse(Z) is not Z
    assert to_device(projection, NUMPY, np.float32) is not there
    assert to_device(projection, NUMPY, np.float32)(groups[0].astype(np.float32)).dtype == np.float32


def test_last_feature_can_be_the_dropped_coordinate():
    projection = Projection.of(spectrum_of([1.0] * 399 + [99.0], [1.0] * 400, origin=np.arange(400.0)), 1)
    X = np.random.default_rng(0).normal(size=(3, 400))
    there = to_device(projection, NUMPY, np.float64)
    np.testing.assert_allclose(there(X), X[:, :399], atol=1e-12)
    np.testing.assert_allclose(there.denoise(X), np.hstack([X[:, :399], np.full((3, 1), 399.0)]), atol=1e-12)


def test_arrays_are_copied_with_the_requested_dtype():
    values = np.arange(6.0)[::-2]
    assert NUMPY.array(values).dtype == np.float64
    assert NUMPY.array(values, np.float32).dtype == np.float32
    assert NUMPY.array(np.arange(3)).dtype == np.int64
    assert NUMPY.array(values).tolist() == [5.0, 3.0, 1.0]
    copy = NUMPY.array(values)
    copy[0] = 9
    assert values[0] == 5.0
    assert NUMPY.array(values).flags["C_CONTIGUOUS"]
    assert [np.dtype(dtype).name for dtype in NUMPY.dtypes] == ["float64", "float32"]


@pytest.mark.parametrize(
    ("n_in", "rank", "n_out", "expected"),
    [
        (10, 0, 10, True),
        (10, 10, 0, False),
        (10, 1, 9, False),
        (1000, 1, 999, True),
        (1000, 399, 1000, True),
        (1000, 400, 1000, False),
    ],
)
def test_cheaper_form_is_chosen(n_in, rank, n_out, expected):
    """r (d + k) + 200 k against d k multiplications."""
    assert low_rank_is_cheaper(n_in, rank, n_out) is expected

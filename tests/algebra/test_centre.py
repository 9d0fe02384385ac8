"""Group-wise centring of a block: numpy and compiled kernels agree."""

from itertools import pairwise

import numpy as np
import pytest

from undistract import Focus, InputError, Moments
from undistract.algebra import scatter as kernels


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 1, 300, 2), (40, 64)])
@pytest.mark.parametrize(("name", "skip"), [("short", 0), ("long", 0), ("compiled", 0), ("compiled", 1)])
def test_all_kernels_give_the_same_result(name, skip, sizes, dtype):
    if name == "compiled" and kernels.compiled_loop() is None:
        pytest.skip("needs numba: pip install 'undistract[fast]'")
    rng = np.random.default_rng(0)
    block = (1e6 * (dtype != np.uint8) + 50 * rng.random((sum(sizes), 3))).astype(dtype)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    anchors = block[bounds[:-1]].astype(np.float64)
    rows = np.empty((len(block) - skip * len(sizes), 3))
    offsets, squares = np.empty((2, len(sizes), 3))
    if name == "compiled":
        kernels.compiled_loop()(block, bounds, np.empty((0, 3)), rows, anchors, offsets, squares, skip)
    else:
        kernel = {"short": kernels._center_short, "long": kernels._center_long}[name]
        kernel(block, bounds, anchors, rows, offsets, squares)
    wide = block.astype(np.longdouble)
    for index, (first, last) in enumerate(pairwise(bounds)):
        mean = wide[first:last].mean(axis=0)
        np.testing.assert_allclose(offsets[index], (mean - wide[first]).astype(float), atol=1e-12)
        deviations = (wide[first:last] - mean).astype(float)
        centred = rows[first - skip * index : last - skip * (index + 1)]
        if skip:
            assert len(centred) == last - first - 1
            np.testing.assert_allclose(centred.T @ centred, deviations.T @ deviations, rtol=1e-12, atol=1e-11)
        else:
            np.testing.assert_allclose(centred, deviations, atol=1e-12)
        np.testing.assert_allclose(squares[index], (deviations**2).sum(axis=0), rtol=1e-12, atol=1e-20)


def test_group_from_previous_block_keeps_its_anchor():
    rng = np.random.default_rng(3)
    long = rng.normal(size=(kernels.COMPILED_VALUES // 4, 4)) + 100  # large enough for the compiled loop
    begun = kernels.GroupStatistics(np.full((1, 4), 98.0), np.zeros((1, 4)), np.zeros((1, 4)))
    for block in (long, long[:6]):
        rows = np.empty(block.shape)
        statistics = kernels.center_groups(block, np.array([0, 2, len(block)]), rows, begun)
        parts = block[:2], block[2:]
        np.testing.assert_array_equal(statistics.anchors, [np.full(4, 98.0), block[2]])
        offsets = [parts[0].mean(axis=0) - 98, parts[1].mean(axis=0) - parts[1][0]]
        np.testing.assert_allclose(statistics.offsets, offsets, atol=1e-12)
        norms = [((part - part.mean(axis=0)) ** 2).sum(axis=0) for part in parts]
        np.testing.assert_allclose(statistics.squares, norms, rtol=1e-12)


@pytest.mark.parametrize("n_groups", [400, 9000], ids=["long groups", "short groups"])
@pytest.mark.parametrize("width", [16, 300])
def test_moments_do_not_depend_on_numba(width, n_groups, monkeypatch):
    pytest.importorskip("numba", reason="needs numba: pip install 'undistract[fast]'")
    rng = np.random.default_rng(1)
    groups = np.sort(rng.integers(0, n_groups, 40_000))
    X = rng.normal(size=(40_000, width)) + 1e3 * rng.normal(size=(n_groups, width))[groups]
    with_numba = Moments.from_labels(X, groups)
    monkeypatch.setattr(kernels, "compiled_loop", lambda: None)
    without = Moments.from_labels(X, groups)
    for name in ("within", "between", "mean"):
        np.testing.assert_allclose(getattr(with_numba, name), getattr(without, name), rtol=1e-11, atol=1e-13)


def test_numba_can_be_turned_off(monkeypatch):
    monkeypatch.setenv("UNDISTRACT_NUMBA", "0")
    assert kernels.compiled_loop.__wrapped__() is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("n_rows", "width"), [(60, 3), (60, 200), (30_000, 80)], ids=["kept", "wide", "folded"])
def test_missing_value_is_found_in_any_row(bad, n_rows, width):
    rng = np.random.default_rng(2)
    groups = np.arange(n_rows) * 20 // n_rows
    for row in (0, n_rows // 2, n_rows - 1):
        X = rng.normal(size=(n_rows, width))
        X[row, width // 2] = bad
        with pytest.raises(InputError, match=f"at row {row}, feature {width // 2}"):
            Moments.from_labels(X, groups)
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            Focus().fit(X, groups=groups)


def test_kernels_are_compiled_without_cache_folder(monkeypatch):
    """With a read-only home directory numba has no cache folder and raises a RuntimeError."""
    numba = pytest.importorskip("numba", reason="needs numba: pip install 'undistract[fast]'")

    def njit_without_cache(*args, cache=False, njit=numba.njit, **settings):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*args, **settings)

    monkeypatch.setattr(numba, "njit", njit_without_cache)
    loop, rows = kernels.compiled_loop.__wrapped__(), np.empty((3, 1))
    offsets, squares = np.empty((2, 2, 1))
    block, bounds = np.array([[1.0], [3.0], [8.0]]), np.array([0, 2, 3])
    anchors = np.empty((2, 1))
    loop(block, bounds, np.empty((0, 1)), rows, anchors, offsets, squares, 0)
    assert anchors.T.tolist() == [[1.0, 8.0]]
    assert rows.T.tolist() == [[-1.0, 1.0, 0.0]]
    assert (offsets.T.tolist(), squares.T.tolist()) == ([[1.0, 0.0]], [[2.0, 0.0]])


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(2 * kernels.LONG - 1, "_center_short"), (2 * kernels.LONG, "_center_long")]
)
def test_short_groups_use_the_sparse_product(n_rows, expected, monkeypatch):
    called = []
    for name in ("_center_short", "_center_long"):
        monkeypatch.setattr(kernels, name, lambda *args, name=name: called.append(name))
    kernels.center_groups(np.ones((n_rows, 2)), np.array([0, 5, n_rows]), np.empty((n_rows, 2)))
    assert called == [expected]


@pytest.mark.parametrize(
    ("n_rows", "n_features", "worth_while"),
    [
        (kernels.COMPILED_VALUES // 4, 4, True),
        (kernels.COMPILED_VALUES // 4 - 1, 4, False),
        (kernels.COMPILED_VALUES // kernels.COMPILED_FEATURES, kernels.COMPILED_FEATURES, True),
        (kernels.COMPILED_VALUES, kernels.COMPILED_FEATURES + 1, False),
    ],
)
def test_compiled_loop_is_used_for_full_blocks_of_narrow_rows(n_rows, n_features, worth_while, monkeypatch):
    monkeypatch.setattr(kernels, "compiled_loop", lambda: "compiled")
    block = np.broadcast_to(0.0, (n_rows, n_features))
    assert kernels.fast_center(block) == ("compiled" if worth_while else None)
    assert kernels.fast_center(block.astype(np.float16)) is None


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, ">f8", ">f4", ">i2"], ids=str)
@pytest.mark.parametrize("n_groups", [300, 90_000], ids=["long groups", "short groups"])
def test_moments_of_any_number_type(n_groups, dtype):
    """Regression: half precision and foreign byte order failed in the compiler."""
    rows = np.round(np.random.default_rng(0).normal(size=(300_000, 8)) * 10)
    labels = np.arange(len(rows)) % n_groups
    moments, expected = (Moments.from_labels(X, labels) for X in (rows.astype(dtype), rows))
    np.testing.assert_allclose(moments.within, expected.within, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moments.between, expected.between, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moments.mean, expected.mean, atol=1e-9)

"""`rank_functions`: the general formulation of the paper, and its option 1 as a limit."""

import numpy as np
import pytest

from undistract import GroupMoments, InputError, Moments, Spectrum, rank_functions

RNG = np.random.default_rng(0)
SETS = {m: RNG.normal([3 * m, 1.0, -1.0], [2.0, 1.0, 0.0], size=(100, 3)) for m in range(1, 11)}


def test_functions_are_ranked_by_distraction():
    ranked = rank_functions(
        {
            "constant": lambda x: x[:, 2],
            "descriptive": lambda x: x[:, :1],
            "distracting": lambda x: x[:, 1],
            "squared": lambda x: (x[:, 1] - 1) ** 2,
        },
        SETS,
    )
    assert {function.name for function in ranked[:2]} == {"distracting", "squared"}  # nonlinear functions work too
    assert [function.name for function in ranked[2:]] == ["descriptive", "constant"]
    assert ranked[-1].distraction == 0


def test_losses_are_mean_squared_distances():
    small = {name: rows[:6] for name, rows in SETS.items()}
    (function,) = rank_functions([np.tanh], small)
    values = [np.tanh(rows) for rows in small.values()]
    within = np.mean([np.mean([np.sum((a - b) ** 2) for a in v for b in v]) for v in values])
    everything = np.vstack(values)
    total = np.mean([np.sum((a - b) ** 2) for a in everything for b in everything])
    assert (function.within, function.total) == pytest.approx((within, total))


def test_linear_functions_agree_with_the_moments():
    moments = Moments.of(SETS)
    w = np.array([0.3, -1.0, 2.0])
    (function,) = rank_functions({"w": lambda x: x @ w}, SETS)
    assert function.within == pytest.approx(2 * w @ moments.within @ w)
    assert function.distraction == pytest.approx(w @ moments.within @ w / (w @ moments.total @ w))


def test_error_names_the_function_with_missing_rows():
    with pytest.raises(InputError, match="'halved' must return one value or row per input row"):
        rank_functions({"halved": lambda x: x[::2]}, SETS)


def test_cushion_is_added_to_the_total_loss():
    groups = {"a": [[0.0], [2.0]], "b": [[4.0], [6.0]]}  # within 1, total 5; mean squared distances are twice as large
    for ridge, expected in ((0.0, 0.2), (10.0, 0.1)):
        (function,) = rank_functions([np.asarray], groups, ridge=ridge)
        assert (function.name, function.within, function.total) == ("0: asarray", 2.0, 10.0)
        assert function.distraction == pytest.approx(expected)
    (small,) = rank_functions([np.asarray], {name: 0.01 * np.array(rows) for name, rows in groups.items()})
    assert (small.total, small.distraction) == pytest.approx((1e-3, 0.2))
    (constant,) = rank_functions({"constant": lambda x: 0 * x}, groups)
    assert constant.distraction == 0.0


def test_function_returns_a_value_or_a_row_per_row():
    groups = {"a": np.arange(6.0).reshape(3, 2), "b": np.ones((3, 2))}
    assert len(rank_functions([lambda x: x, lambda x: x[:, 0]], groups)) == 2
    for wrong in (lambda x: x[:, :, None], lambda x: x[0, 0], lambda x: x[1:]):
        with pytest.raises(InputError, match="must return one value or row per input row"):
            rank_functions({"wrong": wrong}, groups)


@pytest.mark.parametrize("functions", [np.tanh, 7, None])
def test_single_function_raises(functions):
    with pytest.raises(InputError, match="functions must be a mapping"):
        rank_functions(functions, SETS)


def test_invalid_groups_and_cushion_raise():
    with pytest.raises(InputError, match="rank_functions needs rows, got GroupMoments"):
        rank_functions([np.tanh], {"a": GroupMoments.of([[1.0]]), "b": GroupMoments.of([[2.0]])})
    with pytest.raises(InputError, match="1 group cannot show"):
        rank_functions([np.tanh], {"a": [[1.0], [2.0]]})
    with pytest.raises(InputError, match=r"ridge must be .* got -1"):
        rank_functions([np.tanh], SETS, ridge=-1)


def test_large_cushion_gives_the_top_of_within():
    mixing = np.random.default_rng(1).normal(size=(3, 3))
    moments = Moments.of({name: rows @ mixing.T for name, rows in SETS.items()})
    variances, axes = np.linalg.eigh(moments.within)
    spectrum = Spectrum.of(moments, ridge=1e9)
    top = spectrum.patterns[:, :2] / np.linalg.norm(spectrum.patterns[:, :2], axis=0)
    assert np.abs(np.sum(top * axes[:, :0:-1], axis=0)) == pytest.approx([1.0, 1.0], abs=1e-6)
    assert spectrum.distraction[:2] * spectrum.ridge == pytest.approx(variances[:0:-1], rel=1e-6)

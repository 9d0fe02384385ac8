"""The general formulation: a finite choice of functions, and option 1 of the paper as a limit."""

import numpy as np
import pytest

from undistract import InputError, Moments, SetMoments, Spectrum, rank_functions

RNG = np.random.default_rng(0)
SETS = {m: RNG.normal([3 * m, 1.0, -1.0], [2.0, 1.0, 0.0], size=(100, 3)) for m in range(1, 11)}


def test_functions_are_ranked_by_how_distracting_they_are():
    ranked = rank_functions(
        {
            "constant": lambda x: x[:, 2],
            "descriptive": lambda x: x[:, :1],
            "distracting": lambda x: x[:, 1],
            "squared": lambda x: (x[:, 1] - 1) ** 2,
        },
        SETS,
    )
    assert {one.name for one in ranked[:2]} == {"distracting", "squared"}  # nonlinear ones are welcome
    assert [one.name for one in ranked[2:]] == ["descriptive", "constant"]
    assert ranked[-1].distraction == 0


def test_the_losses_are_the_paper_s_mean_squared_distances():
    small = {name: rows[:6] for name, rows in SETS.items()}
    (one,) = rank_functions([np.tanh], small)
    values = [np.tanh(rows) for rows in small.values()]
    within = np.mean([np.mean([np.sum((a - b) ** 2) for a in v for b in v]) for v in values])
    everything = np.vstack(values)
    total = np.mean([np.sum((a - b) ** 2) for a in everything for b in everything])
    assert (one.within, one.total) == pytest.approx((within, total))


def test_linear_functions_are_read_off_the_moments():
    moments = Moments.of(SETS)
    w = np.array([0.3, -1.0, 2.0])
    (one,) = rank_functions({"w": lambda x: x @ w}, SETS)
    assert one.within == pytest.approx(2 * w @ moments.within @ w)
    assert one.distraction == pytest.approx(w @ moments.within @ w / (w @ moments.total @ w))


def test_a_function_that_loses_rows_is_refused_by_name():
    with pytest.raises(InputError, match="'halved' turned 100 rows into shape"):
        rank_functions({"halved": lambda x: x[::2]}, SETS)


def test_a_cushion_is_added_to_the_loss_of_all_rows():
    sets = {"a": [[0.0], [2.0]], "b": [[4.0], [6.0]]}  # within 1, total 5: twice that as mean squared distances
    for cushion, expected in ((0.0, 0.2), (10.0, 0.1)):
        (one,) = rank_functions([np.asarray], sets, cushion=cushion)
        assert (one.name, one.within, one.total) == ("0: asarray", 2.0, 10.0)
        assert one.distraction == pytest.approx(expected)
    (small,) = rank_functions([np.asarray], {name: 0.01 * np.array(rows) for name, rows in sets.items()})
    assert (small.total, small.distraction) == pytest.approx((1e-3, 0.2))
    (nothing,) = rank_functions({"nothing": lambda x: 0 * x}, sets)
    assert nothing.distraction == 0.0


def test_a_function_may_give_one_value_or_a_row_for_each_and_nothing_else():
    sets = {"a": np.arange(6.0).reshape(3, 2), "b": np.ones((3, 2))}
    assert len(rank_functions([lambda x: x, lambda x: x[:, 0]], sets)) == 2
    for wrong in (lambda x: x[:, :, None], lambda x: x[0, 0], lambda x: x[1:]):
        with pytest.raises(InputError, match="expected one value or row for each"):
            rank_functions({"wrong": wrong}, sets)


@pytest.mark.parametrize("functions", [np.tanh, 7, None])
def test_one_function_alone_is_refused(functions):
    with pytest.raises(InputError, match="functions came as one thing"):
        rank_functions(functions, SETS)


def test_functions_need_rows_sets_and_a_cushion_that_make_sense():
    with pytest.raises(InputError, match="A function needs the rows themselves"):
        rank_functions([np.tanh], {"a": SetMoments.of([[1.0]]), "b": SetMoments.of([[2.0]])})
    with pytest.raises(InputError, match="1 set cannot show"):
        rank_functions([np.tanh], {"a": [[1.0], [2.0]]})
    with pytest.raises(InputError, match="cushion is -1"):
        rank_functions([np.tanh], SETS, cushion=-1)


def test_a_large_cushion_is_option_1_the_top_of_within():
    mixing = np.random.default_rng(1).normal(size=(3, 3))
    moments = Moments.of({name: rows @ mixing.T for name, rows in SETS.items()})
    variances, axes = np.linalg.eigh(moments.within)
    spectrum = Spectrum.of(moments, cushion=1e9)
    top = spectrum.patterns[:, :2] / np.linalg.norm(spectrum.patterns[:, :2], axis=0)
    assert np.abs(np.sum(top * axes[:, :0:-1], axis=0)) == pytest.approx([1.0, 1.0], abs=1e-6)
    assert spectrum.distraction[:2] * spectrum.cushion == pytest.approx(variances[:0:-1], rel=1e-6)

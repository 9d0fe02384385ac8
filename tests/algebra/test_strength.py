"""The strength of a soft removal for spectra known by hand: every number of the formula, once."""

import numpy as np
import pytest

from tests.algebra.by_hand import spectrum_of
from undistract import InputError
from undistract.algebra.cushion import Variances
from undistract.algebra.strength import MOST_AUTOMATIC, strengths

WITHIN, BETWEEN = [98, 48, 1, 1], [2, 2, 1, 3]


def by_hand(inside, apart, kept_inside, kept_apart, belief=1.0):
    """1 + s = ((n_i / n)² / (b_i / b))^2c, at least 1; s at most a hundred million."""
    return min(max((inside / kept_inside) ** 2 / (apart / kept_apart), 1.0) ** (2 * belief) - 1, 1e8)


def test_a_number_counts_by_the_distraction():
    assert strengths(spectrum_of(WITHIN, BETWEEN), 2, 10.0).tolist() == pytest.approx([9.8, 9.6])
    assert strengths(spectrum_of(WITHIN, BETWEEN), 2, 0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("cushion", [0.0, 1.0, 7.5])
def test_many_sets_are_believed(cushion):
    spectrum = spectrum_of(WITHIN, BETWEEN, cushion=cushion)
    kept = (50 / 3, 8 / 3 + cushion)  # of one direction: inside sets, and how sets differ on average
    assert strengths(spectrum, 1) == pytest.approx([by_hand(98, 2 + cushion, *kept)], rel=1e-9)
    kept = (2 / 2, 8 / 2 + cushion)
    expected = [by_hand(98, 2 + cushion, *kept), by_hand(48, 2 + cushion, *kept)]
    assert strengths(spectrum, 2) == pytest.approx(expected, rel=1e-9)


def test_what_sets_vary_by_may_be_known_beyond_the_directions_that_are():
    variances = Variances(total=1000.0, within=500.0, mean=250.0)
    spectrum = spectrum_of(WITHIN, BETWEEN, variances=variances)
    assert strengths(spectrum, 1) == pytest.approx([by_hand(98, 2, 402 / 3, 500 / 3)], rel=1e-9)


@pytest.mark.parametrize(("uneven", "belief"), [(0.0, 1.0), (0.25, 1.0), (0.375, 0.5), (0.5, 0.0), (3.0, 0.0)])
def test_few_sets_are_believed_where_they_vary_alike(uneven, belief):
    spectrum = spectrum_of(WITHIN, BETWEEN, n_sets=2, cushion=0.5, unevenness=np.full(4, uneven))
    heard, usual = 1 / 4, 3 / 4 * 8 / 148  # where no set speaks, sets differ as everywhere
    apart = 98 * (heard * 2 / 98 + usual) + 0.5
    kept = (50 / 3, heard * 8 / 3 + usual * 50 / 3 + 0.5)
    assert strengths(spectrum, 1) == pytest.approx([by_hand(98, apart, *kept, belief)], rel=1e-9, abs=1e-12)


def test_sets_enough_for_half_of_the_directions_are_believed_however_uneven():
    uneven = {"unevenness": np.full(4, 9.0)}
    assert strengths(spectrum_of(WITHIN, BETWEEN, n_sets=3, **uneven), 1) > 100
    assert strengths(spectrum_of(WITHIN, BETWEEN, n_sets=2, **uneven), 1) == 0


def test_people_are_believed_where_few_sets_are_not():
    taught = {"n_sets": 2, "unevenness": np.full(4, 9.0), "taught": np.array([1.0, 0.0, 0.0, 0.0])}
    told, shown = strengths(spectrum_of(WITHIN, BETWEEN, **taught), 2)
    assert told > 100
    assert shown == 0


def test_what_stands_out_less_than_what_is_kept_is_not_shrunk():
    assert strengths(spectrum_of([5, 4], [1, 4]), 1) == pytest.approx([by_hand(5, 1, 4, 5)])
    assert strengths(spectrum_of([5, 40], [1, 40]), 1) == [0.0]


def test_where_nothing_is_kept_that_varies_the_strength_is_the_largest():
    assert strengths(spectrum_of([5, 0], [1, 0]), 1) == [MOST_AUTOMATIC]


def test_where_sets_do_not_differ_anywhere_what_varies_inside_them_decides():
    assert strengths(spectrum_of([5, 1], [0, 0]), 1) == pytest.approx([by_hand(5, 1, 1, 1)])


@pytest.mark.parametrize("strength", [-1e-9, 1.1e100, float("nan"), True, "much", None])
def test_what_is_no_strength_is_refused(strength):
    with pytest.raises(InputError, match="expected 'auto' or a number from 0 up"):
        strengths(spectrum_of(WITHIN, BETWEEN), 1, strength)
    assert strengths(spectrum_of(WITHIN, BETWEEN), 1, 1e100) == pytest.approx([9.8e99])

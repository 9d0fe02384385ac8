"""Strength of a soft removal for spectra known by hand: each term of the formula once."""

import numpy as np
import pytest

from tests.algebra.by_hand import spectrum_of
from undistract import InputError
from undistract.algebra import Projection
from undistract.algebra.shrinkage import MAX_AUTOMATIC, strengths
from undistract.algebra.spectrum import Variances

WITHIN, BETWEEN = [98, 48, 1, 1], [2, 2, 1, 3]


def by_hand(inside, apart, kept_inside, kept_apart, belief=1.0):
    """1 + s = ((n_i / n)² / (b_i / b))^2c, at least 1; s at most a hundred million."""
    return min(max((inside / kept_inside) ** 2 / (apart / kept_apart), 1.0) ** (2 * belief) - 1, 1e8)


def test_numeric_strength_is_multiplied_by_distraction():
    assert strengths(spectrum_of(WITHIN, BETWEEN), 2, 10.0).tolist() == pytest.approx([9.8, 9.6])
    assert strengths(spectrum_of(WITHIN, BETWEEN), 2, 0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("ridge", [0.0, 1.0, 7.5])
def test_automatic_strength_with_many_groups(ridge):
    spectrum = spectrum_of(WITHIN, BETWEEN, ridge=ridge)
    kept = (50 / 3, 8 / 3 + ridge)  # per direction: within-group and mean between-group variance
    assert strengths(spectrum, 1) == pytest.approx([by_hand(98, 2 + ridge, *kept)], rel=1e-9)
    kept = (2 / 2, 8 / 2 + ridge)
    expected = [by_hand(98, 2 + ridge, *kept), by_hand(48, 2 + ridge, *kept)]
    assert strengths(spectrum, 2) == pytest.approx(expected, rel=1e-9)


def test_variances_of_directions_that_were_not_computed_count():
    variances = Variances(total=1000.0, within=500.0, mean=250.0)
    spectrum = spectrum_of(WITHIN, BETWEEN, variances=variances)
    assert strengths(spectrum, 1) == pytest.approx([by_hand(98, 2, 402 / 3, 500 / 3)], rel=1e-9)


@pytest.mark.parametrize(("uneven", "belief"), [(0.0, 1.0), (0.25, 1.0), (0.375, 0.5), (0.5, 0.0), (3.0, 0.0)])
def test_confidence_with_few_groups_depends_on_heterogeneity(uneven, belief):
    spectrum = spectrum_of(WITHIN, BETWEEN, n_groups=2, ridge=0.5, heterogeneity=np.full(4, uneven))
    heard, usual = 1 / 4, 3 / 4 * 8 / 148  # unresolved directions get the typical ratio
    apart = 98 * (heard * 2 / 98 + usual) + 0.5
    kept = (50 / 3, heard * 8 / 3 + usual * 50 / 3 + 0.5)
    assert strengths(spectrum, 1) == pytest.approx([by_hand(98, apart, *kept, belief)], rel=1e-9, abs=1e-12)


def test_confidence_is_full_if_half_of_the_directions_are_resolved():
    uneven = {"heterogeneity": np.full(4, 9.0)}
    assert strengths(spectrum_of(WITHIN, BETWEEN, n_groups=3, **uneven), 1) > 100
    assert strengths(spectrum_of(WITHIN, BETWEEN, n_groups=2, **uneven), 1) == 0


def test_confidence_in_feedback_is_full_with_few_groups():
    feedback_share = {"n_groups": 2, "heterogeneity": np.full(4, 9.0), "feedback_share": np.array([1.0, 0.0, 0.0, 0.0])}
    from_feedback, from_groups = strengths(spectrum_of(WITHIN, BETWEEN, **feedback_share), 2)
    assert from_feedback > 100
    assert from_groups == 0


def test_direction_with_less_noise_than_the_kept_ones_is_not_shrunk():
    assert strengths(spectrum_of([5, 4], [1, 4]), 1) == pytest.approx([by_hand(5, 1, 4, 5)])
    assert strengths(spectrum_of([5, 40], [1, 40]), 1) == [0.0]


def test_strength_is_the_largest_if_kept_directions_are_constant():
    assert strengths(spectrum_of([5, 0], [1, 0]), 1) == [MAX_AUTOMATIC]


def test_within_group_variance_decides_if_groups_do_not_differ():
    assert strengths(spectrum_of([5, 1], [0, 0]), 1) == pytest.approx([by_hand(5, 1, 1, 1)])


@pytest.mark.parametrize("strength", [-1e-9, 1.1e100, float("nan"), True, "much", None])
def test_invalid_strength_is_an_error(strength):
    with pytest.raises(InputError, match="strength must be 'auto' or a non-negative number"):
        Projection.of(spectrum_of(WITHIN, BETWEEN), 1, "soft", strength)
    assert strengths(spectrum_of(WITHIN, BETWEEN), 1, 1e100) == pytest.approx([9.8e99])

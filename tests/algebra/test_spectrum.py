"""What a spectrum says about itself, for features that do not mix; the laws are in tests/laws/test_spectrum_laws.py."""

from dataclasses import replace

import numpy as np
import pytest

from tests.algebra.by_hand import first_of, spectrum_of
from undistract import Focus, InputError, Moments, SketchedMoments, Spectrum
from undistract.algebra.cushion import Variances, check_cushion
from undistract.algebra.leading import Wanted
from undistract.algebra.solvers import rank
from undistract.algebra.spectrum import check_learnable, is_learnable

# Variances 100, 50, 2, 4 and 5, and a feature that never varies.
SPECTRUM = spectrum_of([98, 48, 1, 1, 0, 0], [2, 2, 1, 3, 5, 0], cushion=3.22)


def test_shares_are_of_all_variation_and_of_that_inside_sets():
    assert SPECTRUM.variation == pytest.approx(np.array([100, 50, 2, 4, 5]) / 161)
    assert SPECTRUM.variation_inside == pytest.approx(np.array([98, 48, 1, 1, 0]) / 148)
    more = replace(SPECTRUM, variances=Variances(total=322.0, within=296.0, mean=32.2))
    assert more.variation == pytest.approx(np.array([100, 50, 2, 4, 5]) / 322)
    assert more.variation_inside == pytest.approx(np.array([98, 48, 1, 1, 0]) / 296)


def test_the_cushion_is_told_in_mean_variances_of_what_varies():
    assert SPECTRUM.relative_cushion == pytest.approx(0.1)  # 161 / 5 = 32.2
    assert replace(SPECTRUM, variances=Variances(total=9.0, within=8.0, mean=16.1)).relative_cushion == pytest.approx(
        0.2
    )
    assert replace(SPECTRUM, variances=Variances(total=0.0, within=0.0, mean=0.0)).relative_cushion == 0.0
    assert Spectrum.unknown(Moments.of(np.ones((2, 3, 2)))).relative_cushion == 0.0


def test_directions_are_counted_known_or_not():
    assert (SPECTRUM.n_features, SPECTRUM.n_directions, SPECTRUM.n_moving, SPECTRUM.n_constant) == (6, 5, 4, 2)
    assert SPECTRUM.is_whole
    known = replace(SPECTRUM, variances=Variances(total=161.0, within=148.0, mean=32.2))
    assert known.is_whole
    assert not first_of(known, 2).is_whole
    assert first_of(known, 2).n_directions == 5


def test_each_direction_is_of_one_kind():
    assert SPECTRUM.kinds(1).tolist() == ["distracting", *["descriptive"] * 3, "constant", "constant"]
    assert SPECTRUM.kinds(0)[0] == "descriptive"


@pytest.mark.parametrize(
    ("taught", "n_told"),
    [(None, 0), ([1, 1, 0, 0, 0], 2), ([0.5, 0.49, 1, 0, 0], 1), ([0, 1, 0, 0, 0], 0), ([1, 1, 1, 1, 1], 2)],
)
def test_people_told_the_first_that_distract_and_are_mostly_theirs(taught, n_told):
    """The first two read .95 or more."""
    spectrum = spectrum_of([98, 48, 1, 1, 0], [2, 2, 1, 3, 5])
    assert replace(spectrum, taught=None if taught is None else np.array(taught, dtype=float)).n_told == n_told
    assert replace(spectrum_of([98, 48], [2, 2]), taught=np.ones(2)).n_told == 2  # there may be no others


def test_variances_are_summed_and_meant_over_what_varies():
    assert Variances.of(np.array([4.0, 2.0, 0.0]), np.array([1.0, 2.0, 0.0])) == Variances(6.0, 3.0, 3.0)
    assert Variances.of(np.zeros(2), np.zeros(2)) == Variances(0.0, 0.0, 0.0)


def test_one_set_or_sets_of_single_rows_cannot_be_learned_from():
    one, single, enough = (
        Moments.of(sets) for sets in ([[[1.0], [2.0]]], [[[1.0]], [[2.0]]], [[[1.0], [2.0]], [[3.0]]])
    )
    assert [is_learnable(moments) for moments in (one, single, enough)] == [False, False, True]
    check_learnable(enough)
    with pytest.raises(InputError, match="1 set cannot show what tells sets apart"):
        check_learnable(one)
    with pytest.raises(InputError, match="1 set cannot show what tells sets apart"):
        Spectrum.of(one)
    with pytest.raises(InputError, match="Each of the 2 sets has a single row"):
        check_learnable(single)


@pytest.mark.parametrize("cushion", [-1e-9, 1.1e100, float("nan"), True, "0.1", None])
def test_what_is_no_cushion_is_refused(cushion):
    with pytest.raises(InputError, match="expected a number from 0 up"):
        check_cushion(cushion)
    check_cushion(0)
    check_cushion(1e100)


@pytest.mark.parametrize("n_features", [2, 90])  # from matrices, and from the rows themselves
def test_a_cushion_that_leaves_the_range_of_numbers_is_refused_at_once(n_features):
    """Fit took it, and later questions ended in NaN or called another number the cushion."""
    sets = np.random.default_rng(0).normal(size=(4, 5, n_features)) * 1e120
    for make in (Moments.of, SketchedMoments.of):
        with pytest.raises(InputError, match=r"cushion is 1e\+100, times a mean variance of"):
            Focus(cushion=1e100).fit_moments(make(sets))


@pytest.mark.parametrize("n_features", [2, 50])  # from matrices, and from the rows themselves
@pytest.mark.parametrize("absolute", [False, True])
def test_where_nothing_varies_there_is_no_direction(n_features, absolute):
    spectrum = Spectrum.of(Moments.of(np.full((3, 4, n_features), 7.0)), cushion=0.5, absolute=absolute)
    assert spectrum.patterns.shape == spectrum.filters.shape == (n_features, 0)
    assert (spectrum.n_moving, spectrum.n_directions, spectrum.evidence.n_directions) == (0, 0, 0)
    assert spectrum.cushion == (0.5 if absolute else 0.0)
    assert spectrum.variances == Variances(0.0, 0.0, 0.0)


@pytest.mark.parametrize("cushion", [0.0, 0.1])
def test_few_rows_and_many_count_directions_and_variances_alike(cushion):
    rows = np.random.default_rng(0).normal(size=(3, 4, 60))
    few, many = Moments.of(rows), Moments.of(rows).without_rows()
    one, other = Spectrum.of(few, cushion=cushion), Spectrum.of(many, cushion=cushion)
    assert one.evidence == other.evidence
    assert one.evidence.n_directions == 11
    for name in ("total", "within", "mean"):
        assert getattr(one.variances, name) == pytest.approx(getattr(other.variances, name), rel=1e-12)
    assert one.variances.total == pytest.approx(np.trace(few.total))
    assert one.variances.within == pytest.approx(np.trace(few.within))


@pytest.mark.parametrize("wanted", [None, Wanted(0.95)], ids=["all", "leading"])
def test_sets_that_were_centred_beforehand_differ_in_no_direction(wanted):
    """Their means agree to rounding, which the leading directions of few rows took for one more for each set."""
    rows = np.random.default_rng(0).normal(size=(5, 4, 60)) + 100
    rows -= rows.mean(axis=1, keepdims=True)
    assert Spectrum.of(Moments.of(rows), wanted=wanted).n_directions == 15


@pytest.mark.parametrize("distance", [0.0, 1e4, 1e6])
def test_the_last_digits_of_rows_far_from_zero_are_no_direction(distance):
    """Eight rows along one line that lay a million away varied in seven directions, and in one on other roads."""
    readings = np.array([[-1.0, 1.0], [1.0, 5.0], [-9.0, -4.0], [0.0, 2.0]])
    moments = Moments.of(readings[:, :, None] * np.random.default_rng(0).uniform(1, 2, size=40) + distance)
    for some, wanted in ((moments, None), (moments, Wanted(0.2)), (moments.without_rows(), None)):
        assert Spectrum.of(some, wanted=wanted).n_directions == 1


@pytest.mark.parametrize("unit", [1.0, 1e8, 1e10])
def test_features_in_large_units_hide_no_direction(unit):
    """Beside three features in units of 1e-8, the leading directions of twenty rows were three, and not nineteen."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5, 4, 100)) + rng.normal(size=(5, 1, 100))
    rows[:, :, :3] *= unit
    moments = Moments.of(rows)
    for spectrum in (Spectrum.of(moments), Spectrum.of(moments, wanted=Wanted(0.95))):
        assert spectrum.n_directions == 19
        assert not spectrum.evidence.speaks


@pytest.mark.parametrize("n_features", [40, 500])  # all directions, and the leading ones alone
@pytest.mark.parametrize("rows_per_set", [7, 90])
def test_no_more_directions_vary_than_rows_and_features_that_depend_on_one_another_allow(n_features, rows_per_set):
    """With a cushion every feature was counted: 200 directions were said to vary in 199 degrees of freedom."""
    rng = np.random.default_rng(0)
    sets = (rng.normal(size=(n_features // 10, 1, n_features)) * 2) + rng.normal(
        size=(n_features // 10, rows_per_set, n_features)
    )
    few_features = sets[:, :, : n_features // 2].repeat(2, axis=2)
    for rows in (sets, few_features):
        moments = Moments.of(rows)
        true = np.linalg.matrix_rank((rows - moments.mean).reshape(-1, n_features))
        spectrum = Spectrum.of(moments, wanted=Wanted(0.95))
        assert spectrum.n_directions == true
        assert Spectrum.of(moments).n_directions == true
        assert Spectrum.of(moments).is_whole


def test_an_absolute_cushion_may_be_as_large_as_a_variance():
    moments = Moments.of([[[0.0], [1.0]], [[5.0], [6.0]]])
    assert Spectrum.of(moments, cushion=1e200, absolute=True).cushion == 1e200
    for cushion, absolute in ((1e200, False), (1e291, True)):
        with pytest.raises(InputError, match="expected a number from 0 up"):
            Spectrum.of(moments, cushion=cushion, absolute=absolute)


@pytest.mark.parametrize("cushion", [0.0, 0.1])
def test_three_features_that_do_not_mix(cushion):
    """Variances inside sets 1, 4 and 0; between sets, whose means are at the corners of a rectangle, 1, 0 and 9."""
    inside = np.array([[1.0, 2.0, 0.0], [-1.0, 2.0, 0.0], [1.0, -2.0, 0.0], [-1.0, -2.0, 0.0]])
    means = np.array([[1.0, 0.0, 3.0], [1.0, 0.0, -3.0], [-1.0, 0.0, 3.0], [-1.0, 0.0, -3.0]]) + 7.0
    spectrum = Spectrum.of(Moments.of(inside + means[:, None, :]), cushion=cushion)
    epsilon = cushion * (2 + 4 + 9) / 3
    assert spectrum.cushion == pytest.approx(epsilon)
    assert spectrum.distraction == pytest.approx([4 / (4 + epsilon), 1 / (2 + epsilon), 0.0])
    roots = np.sqrt(np.array([2, 4, 9]) + epsilon)
    assert np.abs(spectrum.patterns) == pytest.approx((np.eye(3) * roots)[:, [1, 0, 2]], abs=1e-12)
    assert np.abs(spectrum.filters) == pytest.approx((np.eye(3) / roots)[:, [1, 0, 2]], abs=1e-12)
    assert spectrum.origin.tolist() == [7.0, 7.0, 7.0]
    assert spectrum.n_moving == 2


@pytest.mark.parametrize("n_rows", [4, 60], ids=["few rows", "many rows"])
def test_without_a_cushion_filters_read_nothing_where_nothing_varied(n_rows):
    """Features of unlike units depend on one another; a change of scale must not make filters look beside the rows."""
    rng = np.random.default_rng(3)
    plane = rng.normal(size=(5, 40)) * 10.0 ** rng.uniform(-2, 2, 40)
    sets = [(rng.normal(size=5) + rng.normal(size=(n_rows, 5))) @ plane for _ in range(4)]
    moments = Moments.of(sets)
    assert (2 * moments.n_rows <= 40) == (n_rows == 4)
    spectrum = Spectrum.of(moments, cushion=0.0)
    assert len(spectrum.distraction) == 5
    beside = np.linalg.svd(plane)[2][5:]  # never seen to move
    reach = np.linalg.norm(spectrum.filters, axis=0)
    np.testing.assert_allclose((beside @ spectrum.filters) / reach, 0, atol=1e-6)
    np.testing.assert_allclose(spectrum.filters.T @ spectrum.patterns, np.eye(5), atol=1e-6)


@pytest.mark.parametrize("cushion", [0.0, 0.1])
def test_features_that_never_vary_take_no_part_whatever_the_unit(cushion):
    """Beside rows of 1e-20, the patterns of few rows had lengths of 1e-17 along a feature that never varied."""
    rows = np.random.default_rng(0).normal(size=(3, 4, 60)) * 1e-20
    rows[:, :, [3, 30]] = 7.0
    moments = Moments.of(rows)
    spectrum = Spectrum.of(moments, cushion=cushion)
    metric = moments.total + spectrum.cushion * np.eye(60)
    assert spectrum.filters.T @ metric @ spectrum.filters == pytest.approx(np.eye(11), abs=1e-9)
    assert not spectrum.filters[[3, 30]].any()
    assert not spectrum.patterns[[3, 30]].any()
    assert spectrum.variation.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("apart", [1e-6, 0.0])
@pytest.mark.parametrize("scale", [1e-60, 1.0])
def test_rank_is_told_on_one_scale_whether_it_is_full_or_not(scale, apart):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 6)) * [1.0, scale, 1.0, 1e9, 0.0, 1.0]
    rows[:, 5] = rows[:, 0] + 2 * rows[:, 2] + apart * rng.normal(size=50)  # nearly, or wholly, the sum of two others
    assert rank(rows.T @ rows) == (5 if apart else 4)
    assert rank(np.zeros((3, 3))) == 0

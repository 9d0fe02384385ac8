"""Properties of spectra of independent features; the laws are in tests/laws/test_spectrum_laws.py."""

from dataclasses import replace

import numpy as np
import pytest

from tests.algebra.by_hand import first_of, spectrum_of
from undistract import Focus, InputError, Moments, SketchedMoments, Spectrum
from undistract.algebra.solvers import EigenRequest, matrix_rank
from undistract.algebra.spectrum import Variances, check_enough_groups, check_ridge, has_enough_groups

# Variances 100, 50, 2, 4 and 5, and a constant feature.
SPECTRUM = spectrum_of([98, 48, 1, 1, 0, 0], [2, 2, 1, 3, 5, 0], ridge=3.22)


def test_shares_of_total_and_within_group_variance():
    assert SPECTRUM.total_share == pytest.approx(np.array([100, 50, 2, 4, 5]) / 161)
    assert SPECTRUM.within_share == pytest.approx(np.array([98, 48, 1, 1, 0]) / 148)
    more = replace(SPECTRUM, variances=Variances(total=322.0, within=296.0, mean=32.2))
    assert more.total_share == pytest.approx(np.array([100, 50, 2, 4, 5]) / 322)
    assert more.within_share == pytest.approx(np.array([98, 48, 1, 1, 0]) / 296)


def test_relative_ridge_is_a_multiple_of_the_mean_variance():
    assert SPECTRUM.relative_ridge == pytest.approx(0.1)  # 161 / 5 = 32.2
    assert replace(SPECTRUM, variances=Variances(total=9.0, within=8.0, mean=16.1)).relative_ridge == pytest.approx(0.2)
    assert replace(SPECTRUM, variances=Variances(total=0.0, within=0.0, mean=0.0)).relative_ridge == 0.0
    assert Spectrum.empty(Moments.of(np.ones((2, 3, 2)))).relative_ridge == 0.0


def test_numbers_of_directions():
    assert (SPECTRUM.n_features, SPECTRUM.n_directions, SPECTRUM.n_varying, SPECTRUM.n_constant) == (6, 5, 4, 2)
    assert SPECTRUM.is_complete
    full = replace(SPECTRUM, variances=Variances(total=161.0, within=148.0, mean=32.2))
    assert full.is_complete
    assert not first_of(full, 2).is_complete
    assert first_of(full, 2).n_directions == 5


def test_kinds_of_directions():
    assert SPECTRUM.kinds(1).tolist() == ["distracting", *["descriptive"] * 3, "constant", "constant"]
    assert SPECTRUM.kinds(0)[0] == "descriptive"


@pytest.mark.parametrize(
    ("share", "n_from_feedback"),
    [(None, 0), ([1, 1, 0, 0, 0], 2), ([0.5, 0.49, 1, 0, 0], 1), ([0, 1, 0, 0, 0], 0), ([1, 1, 1, 1, 1], 2)],
)
def test_number_of_leading_directions_from_feedback(share, n_from_feedback):
    """λ of the first two is at least .95."""
    spectrum = spectrum_of([98, 48, 1, 1, 0], [2, 2, 1, 3, 5])
    assert (
        replace(spectrum, feedback_share=None if share is None else np.array(share, dtype=float)).n_from_feedback
        == n_from_feedback
    )
    assert (
        replace(spectrum_of([98, 48], [2, 2]), feedback_share=np.ones(2)).n_from_feedback == 2
    )  # without other directions


def test_variances_are_averaged_over_varying_features():
    assert Variances.of(np.array([4.0, 2.0, 0.0]), np.array([1.0, 2.0, 0.0])) == Variances(6.0, 3.0, 3.0)
    assert Variances.of(np.zeros(2), np.zeros(2)) == Variances(0.0, 0.0, 0.0)


def test_one_group_or_groups_of_one_row_are_errors():
    one_group, single, enough = (
        Moments.of(groups) for groups in ([[[1.0], [2.0]]], [[[1.0]], [[2.0]]], [[[1.0], [2.0]], [[3.0]]])
    )
    assert [has_enough_groups(moments) for moments in (one_group, single, enough)] == [False, False, True]
    check_enough_groups(enough)
    with pytest.raises(InputError, match="1 group cannot show how groups differ"):
        check_enough_groups(one_group)
    with pytest.raises(InputError, match="1 group cannot show how groups differ"):
        Spectrum.of(one_group)
    with pytest.raises(InputError, match="Each of the 2 groups has a single row"):
        check_enough_groups(single)


@pytest.mark.parametrize("ridge", [-1e-9, 1.1e100, float("nan"), True, "0.1", None])
def test_invalid_ridge_is_an_error(ridge):
    with pytest.raises(InputError, match="ridge must be a non-negative number"):
        check_ridge(ridge)
    check_ridge(0)
    check_ridge(1e100)


@pytest.mark.parametrize("n_features", [2, 90])  # (d, d) matrices; few rows
def test_overflowing_ridge_is_an_error(n_features):
    """Regression: fit accepted it, and later results were NaN."""
    groups = np.random.default_rng(0).normal(size=(4, 5, n_features)) * 1e120
    for make in (Moments.of, SketchedMoments.of):
        with pytest.raises(InputError, match=r"ridge is 1e\+100, times a mean variance of"):
            Focus(ridge=1e100).fit_moments(make(groups))


@pytest.mark.parametrize("n_features", [2, 50])  # (d, d) matrices; few rows
@pytest.mark.parametrize("absolute", [False, True])
def test_constant_data_has_no_directions(n_features, absolute):
    spectrum = Spectrum.of(Moments.of(np.full((3, 4, n_features), 7.0)), ridge=0.5, absolute=absolute)
    assert spectrum.patterns.shape == spectrum.filters.shape == (n_features, 0)
    assert (spectrum.n_varying, spectrum.n_directions, spectrum.evidence.n_directions) == (0, 0, 0)
    assert spectrum.ridge == (0.5 if absolute else 0.0)
    assert spectrum.variances == Variances(0.0, 0.0, 0.0)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_both_solvers_agree_on_counts_and_variances(ridge):
    rows = np.random.default_rng(0).normal(size=(3, 4, 60))
    few, many = Moments.of(rows), Moments.of(rows).without_rows()
    few_spectrum, many_spectrum = Spectrum.of(few, ridge=ridge), Spectrum.of(many, ridge=ridge)
    assert few_spectrum.evidence == many_spectrum.evidence
    assert few_spectrum.evidence.n_directions == 11
    for name in ("total", "within", "mean"):
        assert getattr(few_spectrum.variances, name) == pytest.approx(getattr(many_spectrum.variances, name), rel=1e-12)
    assert few_spectrum.variances.total == pytest.approx(np.trace(few.total))
    assert few_spectrum.variances.within == pytest.approx(np.trace(few.within))


@pytest.mark.parametrize("wanted", [None, EigenRequest(0.95)], ids=["all", "leading"])
def test_centred_groups_differ_in_no_direction(wanted):
    """Regression: rounding errors of equal means counted as one more direction per group."""
    rows = np.random.default_rng(0).normal(size=(5, 4, 60)) + 100
    rows -= rows.mean(axis=1, keepdims=True)
    assert Spectrum.of(Moments.of(rows), request=wanted).n_directions == 15


@pytest.mark.parametrize("distance", [0.0, 1e4, 1e6])
def test_rounding_errors_far_from_the_origin_are_not_directions(distance):
    """Regression: eight rows on a line a million away varied in seven directions, with other solvers in one."""
    readings = np.array([[-1.0, 1.0], [1.0, 5.0], [-9.0, -4.0], [0.0, 2.0]])
    moments = Moments.of(readings[:, :, None] * np.random.default_rng(0).uniform(1, 2, size=40) + distance)
    for variant, wanted in ((moments, None), (moments, EigenRequest(0.2)), (moments.without_rows(), None)):
        assert Spectrum.of(variant, request=wanted).n_directions == 1


@pytest.mark.parametrize("unit", [1.0, 1e8, 1e10])
def test_features_in_large_units_do_not_hide_directions(unit):
    """Regression: with three features in units of 1e-8, twenty rows had three directions instead of nineteen."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5, 4, 100)) + rng.normal(size=(5, 1, 100))
    rows[:, :, :3] *= unit
    moments = Moments.of(rows)
    for spectrum in (Spectrum.of(moments), Spectrum.of(moments, request=EigenRequest(0.95))):
        assert spectrum.n_directions == 19
        assert not spectrum.evidence.is_resolvable


@pytest.mark.parametrize("n_features", [40, 500])  # all directions; leading directions
@pytest.mark.parametrize("rows_per_group", [7, 90])
def test_number_of_directions_is_the_rank_of_the_rows(n_features, rows_per_group):
    """Regression: with a ridge each feature counted, 200 directions for 199 degrees of freedom."""
    rng = np.random.default_rng(0)
    groups = (rng.normal(size=(n_features // 10, 1, n_features)) * 2) + rng.normal(
        size=(n_features // 10, rows_per_group, n_features)
    )
    few_features = groups[:, :, : n_features // 2].repeat(2, axis=2)
    for rows in (groups, few_features):
        moments = Moments.of(rows)
        true = np.linalg.matrix_rank((rows - moments.mean).reshape(-1, n_features))
        spectrum = Spectrum.of(moments, request=EigenRequest(0.95))
        assert spectrum.n_directions == true
        assert Spectrum.of(moments).n_directions == true
        assert Spectrum.of(moments).is_complete


def test_absolute_ridge_may_be_as_large_as_a_variance():
    moments = Moments.of([[[0.0], [1.0]], [[5.0], [6.0]]])
    assert Spectrum.of(moments, ridge=1e200, absolute=True).ridge == 1e200
    for ridge, absolute in ((1e200, False), (1e291, True)):
        with pytest.raises(InputError, match="ridge must be a non-negative number"):
            Spectrum.of(moments, ridge=ridge, absolute=absolute)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_three_independent_features(ridge):
    """Within-group variances 1, 4 and 0; between-group variances 1, 0 and 9 (means at the corners of a rectangle)."""
    inside = np.array([[1.0, 2.0, 0.0], [-1.0, 2.0, 0.0], [1.0, -2.0, 0.0], [-1.0, -2.0, 0.0]])
    means = np.array([[1.0, 0.0, 3.0], [1.0, 0.0, -3.0], [-1.0, 0.0, 3.0], [-1.0, 0.0, -3.0]]) + 7.0
    spectrum = Spectrum.of(Moments.of(inside + means[:, None, :]), ridge=ridge)
    epsilon = ridge * (2 + 4 + 9) / 3
    assert spectrum.ridge == pytest.approx(epsilon)
    assert spectrum.distraction == pytest.approx([4 / (4 + epsilon), 1 / (2 + epsilon), 0.0])
    roots = np.sqrt(np.array([2, 4, 9]) + epsilon)
    assert np.abs(spectrum.patterns) == pytest.approx((np.eye(3) * roots)[:, [1, 0, 2]], abs=1e-12)
    assert np.abs(spectrum.filters) == pytest.approx((np.eye(3) / roots)[:, [1, 0, 2]], abs=1e-12)
    assert spectrum.origin.tolist() == [7.0, 7.0, 7.0]
    assert spectrum.n_varying == 2


@pytest.mark.parametrize("n_rows", [4, 60], ids=["few rows", "many rows"])
def test_filters_without_a_ridge_ignore_directions_without_variance(n_rows):
    """Dependent features of different units: scaling must not add components outside the span of the rows."""
    rng = np.random.default_rng(3)
    plane = rng.normal(size=(5, 40)) * 10.0 ** rng.uniform(-2, 2, 40)
    groups = [(rng.normal(size=5) + rng.normal(size=(n_rows, 5))) @ plane for _ in range(4)]
    moments = Moments.of(groups)
    assert (2 * moments.n_rows <= 40) == (n_rows == 4)
    spectrum = Spectrum.of(moments, ridge=0.0)
    assert len(spectrum.distraction) == 5
    outside = np.linalg.svd(plane)[2][5:]  # outside the span of the rows
    reach = np.linalg.norm(spectrum.filters, axis=0)
    np.testing.assert_allclose((outside @ spectrum.filters) / reach, 0, atol=1e-6)
    np.testing.assert_allclose(spectrum.filters.T @ spectrum.patterns, np.eye(5), atol=1e-6)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_constant_features_have_zero_filters_in_any_unit(ridge):
    """Regression: with rows of 1e-20, patterns had entries of 1e-17 along a constant feature."""
    rows = np.random.default_rng(0).normal(size=(3, 4, 60)) * 1e-20
    rows[:, :, [3, 30]] = 7.0
    moments = Moments.of(rows)
    spectrum = Spectrum.of(moments, ridge=ridge)
    metric = moments.total + spectrum.ridge * np.eye(60)
    assert spectrum.filters.T @ metric @ spectrum.filters == pytest.approx(np.eye(11), abs=1e-9)
    assert not spectrum.filters[[3, 30]].any()
    assert not spectrum.patterns[[3, 30]].any()
    assert spectrum.total_share.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("apart", [1e-6, 0.0])
@pytest.mark.parametrize("scale", [1e-60, 1.0])
def test_rank_is_judged_on_one_scale(scale, apart):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 6)) * [1.0, scale, 1.0, 1e9, 0.0, 1.0]
    rows[:, 5] = rows[:, 0] + 2 * rows[:, 2] + apart * rng.normal(size=50)  # almost, or exactly, a sum of two others
    assert matrix_rank(rows.T @ rows) == (5 if apart else 4)
    assert matrix_rank(np.zeros((3, 3))) == 0

"""Feedback for spectra n_patterns by hand; the laws are in tests/laws/test_feedback_laws.py."""

import numpy as np
import pytest

from tests.algebra.by_hand import spectrum_of
from undistract import InputError, Moments, Spectrum
from undistract.algebra import Feedback, Projection
from undistract.algebra.feedback import DEVIATIONS_TO_REMOVE, ODDS, _widened, apply_feedback, protect_directions

# λ: .98 for feature 2, .5 for feature 0, .25 for feature 1; Σλ = 1.73. Variances 2, 4 and 100.
SPECTRUM = spectrum_of([1, 1, 98], [1, 3, 2], heterogeneity=np.array([0.1, 0.2, 0.4]))
TYPICAL = 0.98 + 0.5 + 0.25


def squared_reading(size, variance, strength=1.0):
    """Return y² of a deviation along one feature: in its variance, scaled as in `apply_feedback`."""
    return strength * size**2 / variance * ODDS / (DEVIATIONS_TO_REMOVE * TYPICAL)


def test_odds_of_the_automatic_cutoff_are_nineteen():
    assert pytest.approx(19) == ODDS


@pytest.mark.parametrize("strength", [1.0, 2.5])
def test_ignored_deviation_along_a_kept_feature(strength):
    updated, n_removed = apply_feedback(SPECTRUM, 1, Feedback([[4.0, 0.0, 0.0]], [strength]))
    y = squared_reading(4.0, 2.0, strength)
    value = 1 - 0.5 / (1 + y)
    share = y / (1 + y) / value  # the share of the feedback in its within-group variance
    assert n_removed == 2
    assert updated.distraction == pytest.approx([value, 0.98, 0.25], rel=1e-12)  # by feedback, by the groups, others
    assert updated.feedback_share == pytest.approx([share, 0.0, 0.0], abs=1e-12)
    assert updated.debiased == pytest.approx([(1 - share) * 0.5 + share, 0.98, 0.25], rel=1e-12)
    assert updated.heterogeneity == pytest.approx([(1 - share) * 0.2, 0.1, 0.4], rel=1e-9)
    assert np.abs(updated.patterns) == pytest.approx(
        np.array([[np.sqrt(2 * (1 + y)), 0, 0], [0, 0, 2], [0, 10, 0]]), abs=1e-12
    )
    assert np.abs(updated.filters) == pytest.approx(
        np.array([[1 / np.sqrt(2 * (1 + y)), 0, 0], [0, 0, 0.5], [0, 0.1, 0]]), abs=1e-12
    )
    assert updated.variances is None


@pytest.mark.parametrize("size", [1e4, 1e7, 1e9, 1e100])
def test_huge_deviation_is_removed_without_loss_of_precision(size):
    """Regression: with a deviation of 1e9 the identity vanished in I + YᵀY by rounding, or it had no factor."""
    updated, n_removed = apply_feedback(SPECTRUM, 1, Feedback([[size, size, 0.0]]))
    # Its readings are 1/√2 to 1/2. The remaining direction reads 1/2 and -1/√2: 1 - λ is .5 and .75 there.
    assert n_removed == 2
    assert updated.distraction == pytest.approx([1.0, 0.98, 1 / 3], rel=1e-5)
    metric = np.diag([2.0, 4.0, 100.0])
    assert updated.filters[:, 1:].T @ metric @ updated.filters[:, 1:] == pytest.approx(np.eye(2), abs=1e-5)
    assert abs(updated.filters[:, 2] @ [1.0, 1.0, 0.0]) < 1e-7  # it does not read the ignored deviation


def test_modest_deviation_counts_but_is_not_removed():
    updated, n_removed = apply_feedback(SPECTRUM, 1, Feedback([[1.0, 0.0, 0.0]]))
    y = squared_reading(1.0, 2.0)
    assert 1 - 0.5 / (1 + y) < 0.95
    assert n_removed == 1
    assert updated.distraction == pytest.approx([0.98, 1 - 0.5 / (1 + y), 0.25], rel=1e-12)


def test_feedback_along_a_removed_direction_changes_nothing():
    updated, n_removed = apply_feedback(SPECTRUM, 1, Feedback([[0.0, 0.0, 50.0]]))
    assert n_removed == 1
    assert updated.distraction == pytest.approx(SPECTRUM.distraction, rel=1e-12)


def test_feedback_along_a_direction_without_variance():
    narrow = spectrum_of([1, 1, 0], [1, 3, 0], ridge=0.5)
    assert narrow.patterns.shape == (3, 2)
    updated, n_removed = apply_feedback(narrow, 0, Feedback([[0.0, 0.0, 3.0]]))
    y = 9.0 / 0.5 * ODDS / (DEVIATIONS_TO_REMOVE * float(narrow.distraction.sum()))  # the metric is the ridge there
    assert n_removed == 1
    assert updated.distraction[0] == pytest.approx(y / (1 + y), rel=1e-12)
    assert updated.n_varying == 3
    assert np.abs(updated.patterns[:, 0]) == pytest.approx([0, 0, np.sqrt(0.5 * (1 + y))], abs=1e-12)
    same, n_removed = apply_feedback(narrow, 0, Feedback([[0.0, 1e-3, 0.0]]))
    assert (same.n_varying, same.patterns.shape, n_removed) == (2, (3, 2), 0)  # no new direction


def test_feedback_does_not_change_the_relative_ridge():
    """Regression: after one large deviation `describe` reported a ridge of 0.01 instead of 0.1."""
    rng = np.random.default_rng(0)
    moments = Moments.of(rng.normal([m, 0, 0, 0], 1, size=(50, 4)) for m in range(10))
    spectrum = Spectrum.of(moments, ridge=0.1)
    updated, _ = apply_feedback(spectrum, 1, Feedback([[0.0, 70.0, 0.0, 0.0]]))
    assert updated.relative_ridge == pytest.approx(0.1)
    assert updated.variances.total > 2 * spectrum.variances.total
    assert updated.total_share.sum() == pytest.approx(1.0)
    assert updated.within_share.sum() == pytest.approx(1.0)
    assert updated.is_complete


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_feedback_along_a_direction_constant_within_groups(ridge):
    """Regression: it still counted as constant, and could not be removed if all others were."""
    spectrum = spectrum_of([98, 98, 0, 0], [1, 1, 4, 4], ridge=ridge)
    updated, n_removed = apply_feedback(spectrum, 2, Feedback([[0.0, 0.0, 50.0, 0.0]]))
    assert (updated.n_varying, n_removed) == (3, 3)
    assert updated.kinds(n_removed).tolist() == ["distracting"] * 3 + ["constant"]
    assert updated.distraction[3] == 0.0
    assert Projection.of(updated, n_removed).n_out == 1
    updated, n_removed = apply_feedback(spectrum, 0, Feedback([[0.0, 0.0, 50.0, 50.0], [0.0, 0.0, 50.0, 49.0]]))
    assert (updated.n_varying, n_removed) == (4, 1)


def test_feedback_along_one_feature_keeps_the_others_constant():
    """Regression with few rows: one deviation outside their span made all directions count as varying."""
    groups = [np.eye(5, 40)[2:3] * m + np.eye(5, 40)[:2].repeat(2, axis=0) * [[1], [-1], [3], [-3]] for m in range(4)]
    spectrum = Spectrum.of(Moments.of(groups))
    assert (spectrum.n_varying, len(spectrum.distraction)) == (2, 3)
    updated, n_removed = apply_feedback(spectrum, 0, Feedback([np.eye(40)[30] * 50]))
    assert (updated.n_varying, len(updated.distraction), n_removed) == (3, 4, 1)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e9])
def test_rounding_error_of_feedback_is_not_a_direction(size):
    rng = np.random.default_rng(0)
    spectrum = Spectrum.of(Moments.of(rng.normal(size=(4, 2, 20)) + rng.normal(size=(4, 1, 20))))
    n_patterns = spectrum.patterns.shape[1]
    assert n_patterns == 7  # eight rows span no more
    inside, outside = spectrum.patterns @ rng.normal(size=7), np.linalg.svd(spectrum.patterns)[0][:, -1]
    for beyond, expected in ((0.0, n_patterns), (1e-3, n_patterns + 1)):
        updated, _ = apply_feedback(spectrum, 0, Feedback([size * (inside + beyond * outside)]))
        assert updated.patterns.shape[1] == expected


def test_feedback_on_constant_data_changes_nothing():
    resting = spectrum_of([0, 0], [1, 3])
    updated, n_removed = apply_feedback(resting, 0, Feedback([[9.0, 0.0]]))
    assert (updated.distraction.tolist(), n_removed) == ([0.0, 0.0], 0)


def test_feedback_that_removes_everything_is_an_error():
    with pytest.raises(InputError, match="would remove all 3 directions"):
        apply_feedback(SPECTRUM, 1, Feedback([[99.0, 0.0, 0.0], [0.0, 99.0, 0.0]]))


@pytest.mark.parametrize(
    ("deviation", "n_left"),
    [
        ([0.0, 0.0, 5.0], 1),  # removed by the groups: not kept again
        ([50.0, 0.0, 0.0], 1),  # hidden by feedback: kept again
        ([1.0, 50.0, 0.0], 2),  # more than half of it is visible
        ([0.0, 0.0, 0.0], 2),
    ],
)
def test_confirmed_anomaly_overrides_feedback(deviation, n_left):
    ignored = Feedback([[30.0, 0.0, 0.0]])
    assert apply_feedback(SPECTRUM, 1, ignored)[1] == 2
    _, n_removed = apply_feedback(SPECTRUM, 1, ignored + Feedback([], confirmed=[deviation]))
    assert n_removed == (2 if deviation == [0.0, 0.0, 5.0] else n_left)


def test_anomaly_is_hidden_below_half_of_itself_or_of_a_normal_row():
    # Features 2 and 0 are removed. A normal row keeps feature 1: λ · variance = 1.
    def n_removed_after(deviation):
        return protect_directions(SPECTRUM, 2, np.array([deviation]))[1]

    # For a short deviation half of its own square counts, for a long one half of what a normal row keeps.
    assert n_removed_after([0.0, 0.71, 0.70]) == 2
    assert n_removed_after([0.0, 0.70, 0.71]) == 1
    assert n_removed_after([0.0, 0.71, 30.0]) == 2
    assert n_removed_after([0.0, 0.70, 30.0]) == 1
    assert n_removed_after([1e-9, 0.0, 1e-9]) == 1
    assert n_removed_after([0.0, 0.0, 0.0]) == 2


@pytest.mark.parametrize(("deviation", "n_removed"), [([0.71, 0.0, 0.70], 1), ([0.70, 0.0, 0.705], 0)])
def test_anomaly_is_judged_in_full_if_the_groups_removed_nothing(deviation, n_removed):
    ignored = Feedback([[0.0, 0.0, 300.0]])
    assert apply_feedback(SPECTRUM, 0, ignored)[1] == 1
    assert apply_feedback(SPECTRUM, 0, ignored + Feedback([], confirmed=[deviation]))[1] == n_removed


def test_only_directions_along_the_anomaly_are_kept_again():
    rotated, n_removed = protect_directions(SPECTRUM, 2, np.array([[0.0, 0.0, 7.0]]))
    assert n_removed == 1
    assert rotated.distraction == pytest.approx([0.5, 0.98, 0.25])  # removed, kept again, others
    assert rotated.debiased == pytest.approx([0.5, 0.98, 0.25])
    assert rotated.heterogeneity == pytest.approx([0.2, 0.1, 0.4])
    assert np.abs(rotated.patterns) == pytest.approx(np.array([[np.sqrt(2), 0, 0], [0, 0, 2], [0, 10, 0]]), abs=1e-12)
    assert (
        protect_directions(SPECTRUM, 2, np.array([[0.0, 0.0, 7.0], [0.0, 0.0, -9.0]]))[1] == 1
    )  # the same direction twice
    both, n_removed = protect_directions(SPECTRUM, 2, np.array([[0.0, 0.0, 7.0], [3.0, 0.0, 0.0], [0.0, 0.0, -9.0]]))
    assert n_removed == 0
    assert both.distraction == pytest.approx([0.98, 0.5, 0.25])  # the most distracting first again


def test_nothing_to_protect_changes_nothing():
    for n_removed, confirmed in ((0, np.ones((1, 3))), (2, np.zeros((0, 3))), (2, np.array([[0.0, 3.0, 0.0]]))):
        unchanged, n_after = protect_directions(SPECTRUM, n_removed, confirmed)
        assert unchanged is SPECTRUM
        assert n_after == n_removed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ignored": []}, "The feedback is empty"),
        ({"ignored": [], "confirmed": []}, "The feedback is empty"),
        ({"ignored": [1.0, 2.0]}, "The deviations has shape"),
        ({"ignored": [[1.0, 2.0]], "confirmed": [[1.0]]}, "1 features, the others have 2"),
        ({"ignored": [[1.0]], "weights": [1.0, 1.0]}, r"each of the 1 ignored deviations, got \[1.0, 1.0\]"),
        ({"ignored": [[1.0]], "weights": [0.0]}, "one positive number for each"),
        ({"ignored": [[1.0]], "weights": [float("inf")]}, "one positive number for each"),
        ({"ignored": [[float("nan")]]}, "holds nan"),
        ({"ignored": [[1e150]]}, "leave the range of numbers"),
        ({"ignored": [], "confirmed": [[1e150]]}, "leave the range of numbers"),
    ],
)
def test_invalid_feedback_is_an_error(arguments, message):
    with pytest.raises(InputError, match=message):
        Feedback(**arguments)


def test_feedback_of_different_width_cannot_be_added():
    with pytest.raises(InputError, match="The added feedback has 3 features, the others have 2"):
        Feedback([[1.0, 2.0]]) + Feedback([[1.0, 2.0, 3.0]])


def test_feedback_copies_its_arrays():
    """Regression: weights changed when the caller changed its array."""
    ignored, weights = np.ones((1, 2)), np.ones(1)
    taught = Feedback(ignored, weights, ignored)
    ignored[:], weights[:] = 9.0, 9.0
    assert (taught.ignored == taught.confirmed).all()
    assert (taught.ignored.max(), taught.weights[0]) == (1.0, 1.0)


def test_feedback_is_added_in_order():
    both = Feedback([[1, 2]], [3.0]) + Feedback([], confirmed=[[5, 6]]) + Feedback([[7, 8]])
    assert both.ignored.tolist() == [[1.0, 2.0], [7.0, 8.0]]
    assert both.weights.tolist() == [3.0, 1.0]
    assert both.confirmed.tolist() == [[5.0, 6.0]]
    assert both.ignored.dtype == both.confirmed.dtype == np.float64
    assert both.n_features == 2
    with pytest.raises(TypeError):
        both + 1
    with pytest.raises(InputError, match="The feedback has 2 features, the others have 3"):
        apply_feedback(SPECTRUM, 1, both)


def test_constant_feature_does_not_change_feedback():
    wide, narrow = (
        spectrum_of([1, 1, 98, 0], [1, 3, 2, 0], ridge=0.5),
        spectrum_of([1, 1, 98], [1, 3, 2], ridge=0.5),
    )
    deviations = np.array([[4.0, 3.0, 0.0, 0.0]])
    wide_result, narrow_result = (
        apply_feedback(wide, 1, Feedback(deviations)),
        apply_feedback(narrow, 1, Feedback(deviations[:, :3])),
    )
    assert wide_result[1] == narrow_result[1]
    np.testing.assert_allclose(wide_result[0].distraction, narrow_result[0].distraction, rtol=1e-12)
    np.testing.assert_allclose(wide_result[0].debiased, narrow_result[0].debiased, rtol=1e-12)
    np.testing.assert_allclose(np.abs(wide_result[0].patterns[:3]), np.abs(narrow_result[0].patterns), rtol=1e-9)
    assert not wide_result[0].patterns[3].any()


def test_new_direction_without_a_ridge_gets_a_tiny_metric():
    """A metric of zero could not be whitened: it is replaced by 1e-12 of the mean variance."""
    widened = _widened(spectrum_of([1, 1, 0], [1, 3, 0]), np.array([[0.0, 0.0, 3.0]]))
    assert widened.patterns[2, 2] ** 2 == pytest.approx(1e-12 * (2 + 4) / 3, rel=1e-9)
    assert widened.filters[2, 2] * widened.patterns[2, 2] == pytest.approx(1.0)
    rounded = _widened(spectrum_of([1, 1, 0], [1, 3, 0], ridge=0.5), np.array([[0.0, 0.0, 3.0]]))
    assert rounded.patterns[2, 2] ** 2 == pytest.approx(0.5, rel=1e-9)


def test_remaining_directions_are_sorted_by_distraction():
    """Of three removed directions one combination is kept again; the other two are the axes of λ in the complement."""
    values = np.array([0.99, 0.98, 0.96])
    spectrum = spectrum_of([*(100 * values), 1], [*(100 * (1 - values)), 99])
    rotated, n_removed = protect_directions(spectrum, 3, np.array([[3.0, 2.0, 1.0, 0.0]]))
    assert n_removed == 2
    away = np.array([[3.0, 2.0, 1.0]]) / np.sqrt(14)
    complement = np.linalg.svd(away)[2][1:]  # orthonormal, and orthogonal to the anomaly
    expected = np.linalg.eigvalsh(complement @ np.diag(values) @ complement.T)[::-1]
    np.testing.assert_allclose(rotated.distraction[:2], expected, rtol=1e-12)
    np.testing.assert_allclose(rotated.distraction[2], away[0] ** 2 @ values, rtol=1e-12)
    cross = rotated.patterns[:3, :2].T / 10 @ np.diag(values) @ rotated.patterns[:3, :2] / 10
    np.testing.assert_allclose(cross, np.diag(expected), atol=1e-12)

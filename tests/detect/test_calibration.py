import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract.detect.alarms import find_alarms
from undistract.detect.base import Scores
from undistract.detect.calibration import Calibration, cross_val_scores, relative_to_group
from undistract.errors import InputError

# Few different values, so that ties are common.
scores = st.lists(st.integers(0, 8).map(float), min_size=1, max_size=12)
groups_of_scores = st.lists(scores, min_size=1, max_size=6)
grid = np.arange(-1, 10) + 0.0


@given(groups_of_scores)
def test_exceedance_falls_from_one_to_zero(groups):
    exceedance = Calibration.of(groups).p_values(grid)
    assert exceedance[0] == pytest.approx(1)
    assert exceedance[-1] == 0
    assert exceedance.max() <= 1
    assert (np.diff(exceedance) <= 0).all()


@given(groups_of_scores, st.integers(2, 5))
def test_group_weight_does_not_depend_on_its_rows(groups, times):
    more = [groups[0] * times, *groups[1:]]
    np.testing.assert_allclose(Calibration.of(more).p_values(grid), Calibration.of(groups).p_values(grid))


@given(groups_of_scores, st.randoms())
def test_order_of_groups_and_rows_does_not_matter(groups, random):
    mixed = [random.sample(group, len(group)) for group in random.sample(groups, len(groups))]
    # Sums in another order: 12 rows, 6 groups, so a few roundings.
    np.testing.assert_allclose(Calibration.of(mixed).p_values(grid), Calibration.of(groups).p_values(grid), atol=1e-15)


def test_exceedance_is_mean_over_groups():
    calm = Calibration.of([[1, 2, 3, 4], [3, 5], Scores("late", [np.nan, 9.0])])
    np.testing.assert_allclose(calm.p_values(np.array([3.0, 4.0, 6.0, np.nan])), [2.5 / 3, 1.75 / 3, 1 / 3, np.nan])
    assert (calm.n_groups, calm.n_rows) == (3, 7)


def test_exceedance_is_at_most_one_despite_rounding():
    # 1/49 summed 49 times is slightly more than 1, and scipy rejects p-values above 1.
    assert Calibration.of([np.arange(49)] * 7).p_values(np.array([-1.0]))[0] <= 1


rows_or_gaps = st.lists(st.integers(0, 5).map(float) | st.just(np.nan), min_size=1, max_size=20)


@given(
    st.lists(rows_or_gaps.filter(lambda values: not np.isnan(values).all()), min_size=1, max_size=3),
    st.integers(0, 3),
)
def test_alarms_are_counted_like_find_alarms(groups, gap):
    def most_alarms(level, group):  # the maximum over thresholds just below `level` or higher
        raised = [len(find_alarms(Scores("calm", group), t, gap=gap)) for t in np.arange(level, 7) - 0.5]
        return max(raised) / np.sum(~np.isnan(group))

    exceedance = Calibration.of_alarms(groups, gap=gap).p_values(np.arange(6.0))
    np.testing.assert_allclose(
        exceedance, [np.mean([most_alarms(level, group) for group in groups]) for level in range(6)]
    )


@given(st.integers(2, 9), st.integers(2, 12), st.integers(0, 5))
def test_no_group_is_scored_by_a_model_fitted_on_it(n_groups, n_folds, seed):
    groups = [np.full((number + 1, 2), number) for number in range(n_groups)]
    fitted_on = []

    def learn(train):
        fitted_on.append({int(rows[0, 0]) for rows in train})
        return score

    def score(rows):
        assert not fitted_on[-1] & set(rows[:, 0].astype(int))
        return rows.sum(axis=1)

    scores = cross_val_scores(learn, groups, n_folds=n_folds, seed=seed)
    assert len(fitted_on) == min(n_folds, n_groups)
    for number, group_scores in enumerate(scores):
        np.testing.assert_array_equal(group_scores, np.full(number + 1, 2.0 * number))


def test_single_group_and_scalar_scores_raise_input_error():
    with pytest.raises(InputError, match="got 1 groups"):
        cross_val_scores(lambda train: lambda rows: rows[:, 0], [np.ones((3, 2))])
    with pytest.raises(InputError, match=r"got shape \(\) for 3 rows"):
        cross_val_scores(lambda train: lambda rows: 1.0, [np.ones((3, 2)), np.ones((3, 2))])


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=20), st.sampled_from([1e-300, 1.0, 1e300]))
def test_relative_scores_do_not_depend_on_unit_and_offset(values, unit):
    values = np.array(values, dtype=float)
    # The middle and the spread are differences of numbers up to 50 in size: 1e-12 allows for rounding.
    np.testing.assert_allclose(relative_to_group(unit * values), relative_to_group(values), atol=1e-12)
    np.testing.assert_allclose(relative_to_group(values + 7), relative_to_group(values), atol=1e-12)


def test_relative_scores_of_constant_group_are_finite():
    np.testing.assert_array_equal(relative_to_group([3.0, 3.0, np.nan]), [0, 0, np.nan])
    np.testing.assert_array_equal(relative_to_group([0.0, 0.0]), [0, 0])
    # More than half equal: the mean distance, 2/8, is the unit.
    np.testing.assert_allclose(relative_to_group([0, 0, 0, 0, 0, 0, 0, 2]), [0, 0, 0, 0, 0, 0, 0, 8])
    assert np.isfinite(relative_to_group([-1.7e308, 0.0, 1.7e308])).all()
    with pytest.raises(InputError, match="infinite"):
        relative_to_group([1.0, np.inf])

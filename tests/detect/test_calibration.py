import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract.detect.alarms import find_alarms
from undistract.detect.calibration import Calibration, relative_to_set
from undistract.detect.held_out import held_out_scores
from undistract.detect.scores import Scores
from undistract.errors import InputError

# Few different values, so that ties are common.
scores = st.lists(st.integers(0, 8).map(float), min_size=1, max_size=12)
some_sets = st.lists(scores, min_size=1, max_size=6)
everywhere = np.arange(-1, 10) + 0.0


@given(some_sets)
def test_reach_falls_from_one_to_zero(sets):
    reach = Calibration.of(sets).reach(everywhere)
    assert reach[0] == pytest.approx(1)
    assert reach[-1] == 0
    assert reach.max() <= 1
    assert (np.diff(reach) <= 0).all()


@given(some_sets, st.integers(2, 5))
def test_a_set_counts_once_however_many_rows_it_has(sets, times):
    more = [sets[0] * times, *sets[1:]]
    np.testing.assert_allclose(Calibration.of(more).reach(everywhere), Calibration.of(sets).reach(everywhere))


@given(some_sets, st.randoms())
def test_the_order_of_sets_and_rows_does_not_matter(sets, random):
    mixed = [random.sample(one, len(one)) for one in random.sample(sets, len(sets))]
    # Sums in another order: 12 rows, 6 sets, so a few roundings.
    np.testing.assert_allclose(
        Calibration.of(mixed).reach(everywhere), Calibration.of(sets).reach(everywhere), atol=1e-15
    )


def test_reach_is_the_mean_of_the_sets_shares():
    calm = Calibration.of([[1, 2, 3, 4], [3, 5], Scores("late", [np.nan, 9.0])])
    np.testing.assert_allclose(calm.reach(np.array([3.0, 4.0, 6.0, np.nan])), [2.5 / 3, 1.75 / 3, 1 / 3, np.nan])
    assert (calm.n_sets, calm.n_rows) == (3, 7)


def test_a_share_of_one_is_not_exceeded_by_rounding():
    # 1/49 summed 49 times is a little more than 1, and scipy refuses p-values above 1.
    assert Calibration.of([np.arange(49)] * 7).reach(np.array([-1.0]))[0] <= 1


rows_or_gaps = st.lists(st.integers(0, 5).map(float) | st.just(np.nan), min_size=1, max_size=20)


@given(
    st.lists(rows_or_gaps.filter(lambda one: not np.isnan(one).all()), min_size=1, max_size=3),
    st.integers(0, 3),
)
def test_alarms_are_counted_as_find_alarms_joins_them(sets, gap):
    def most_from(level, one):  # the most alarms that a threshold just below `level`, or higher, raises
        raised = [len(find_alarms(Scores("calm", one), t, gap=gap)) for t in np.arange(level, 7) - 0.5]
        return max(raised) / np.sum(~np.isnan(one))

    reach = Calibration.of_alarms(sets, gap=gap).reach(np.arange(6.0))
    np.testing.assert_allclose(reach, [np.mean([most_from(level, one) for one in sets]) for level in range(6)])


@given(st.integers(2, 9), st.integers(2, 12), st.integers(0, 5))
def test_no_set_is_scored_by_a_model_that_saw_it(n_sets, n_folds, seed):
    sets = [np.full((number + 1, 2), number) for number in range(n_sets)]
    known = []

    def learn(train):
        known.append({int(one[0, 0]) for one in train})
        return score

    def score(rows):
        assert not known[-1] & set(rows[:, 0].astype(int))
        return rows.sum(axis=1)

    found = held_out_scores(learn, sets, n_folds=n_folds, seed=seed)
    assert len(known) == min(n_folds, n_sets)
    for number, one in enumerate(found):
        np.testing.assert_array_equal(one, np.full(number + 1, 2.0 * number))


def test_one_set_cannot_be_held_out():
    with pytest.raises(InputError, match="1 sets in 5 folds"):
        held_out_scores(lambda train: lambda rows: rows[:, 0], [np.ones((3, 2))])
    with pytest.raises(InputError, match=r"scored 3 rows with shape \(\)"):
        held_out_scores(lambda train: lambda rows: 1.0, [np.ones((3, 2)), np.ones((3, 2))])


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=20), st.sampled_from([1e-300, 1.0, 1e300]))
def test_relative_scores_do_not_know_the_units_of_their_set(values, unit):
    values = np.array(values, dtype=float)
    # The middle and the spread are differences of numbers up to 50 in size: 1e-12 leaves room for rounding.
    np.testing.assert_allclose(relative_to_set(unit * values), relative_to_set(values), atol=1e-12)
    np.testing.assert_allclose(relative_to_set(values + 7), relative_to_set(values), atol=1e-12)


def test_relative_scores_of_a_still_set_stay_finite():
    np.testing.assert_array_equal(relative_to_set([3.0, 3.0, np.nan]), [0, 0, np.nan])
    np.testing.assert_array_equal(relative_to_set([0.0, 0.0]), [0, 0])
    # More than half equal: the mean distance, 2/8, is the unit.
    np.testing.assert_allclose(relative_to_set([0, 0, 0, 0, 0, 0, 0, 2]), [0, 0, 0, 0, 0, 0, 0, 8])
    assert np.isfinite(relative_to_set([-1.7e308, 0.0, 1.7e308])).all()
    with pytest.raises(InputError, match="infinite"):
        relative_to_set([1.0, np.inf])

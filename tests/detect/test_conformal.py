import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract.detect.thresholds import Conformal, GroupQuantile, Quantile, benjamini_hochberg
from undistract.errors import InputError

scores = st.lists(st.integers(0, 8).map(float), min_size=1, max_size=12)
groups_of_scores = st.lists(scores, min_size=1, max_size=7)
rates = st.sampled_from([0.05, 0.1, 0.25, 0.5, 0.9])


@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
@given(groups_of_scores, scores, rates)
def test_conformal_equals_quantile_with_the_new_group_included(groups, new, rate):
    counted = Quantile(rate)([*groups, new])
    threshold = Conformal(rate)(groups)
    np.testing.assert_allclose(threshold.p_values(new), counted.p_values(new), atol=1e-15)
    np.testing.assert_array_equal(threshold.alarms(new), counted.alarms(new))


@given(groups_of_scores, scores, rates)
def test_group_of_one_row_equals_single_row(groups, new, rate):
    together = Conformal(rate)(groups)
    alone = Conformal(rate, whole_groups=False)(groups)
    one_by_one = [together.p_values([score])[0] for score in new]
    np.testing.assert_allclose(alone.p_values(new), one_by_one)
    assert together.value == alone.value


@given(scores, scores)
def test_rows_as_groups_give_split_conformal(calm, new):
    threshold = Conformal(0.5, whole_groups=False)([[score] for score in calm])
    by_hand = [(1 + sum(value >= score for value in calm)) / (len(calm) + 1) for score in new]
    np.testing.assert_allclose(threshold.p_values(new), by_hand)


@given(groups_of_scores, scores, rates)
def test_share_of_alarms_in_a_group_is_bounded(groups, new, rate):
    assert Conformal(rate)(groups).alarms(new).mean() <= (len(groups) + 1) * rate + 1e-12


def test_few_groups_alarm_for_a_complete_group_but_not_for_a_single_row():
    calm = [np.arange(100.0)] * 5
    assert Conformal(0.01, whole_groups=False)(calm).value == np.inf
    new = np.append(np.arange(98.0), [500.0, 600.0])
    np.testing.assert_array_equal(np.flatnonzero(Conformal(0.01)(calm).alarms(new)), [98, 99])


@given(st.lists(scores, min_size=2, max_size=9), rates, st.sampled_from([0.3, 0.5, 0.6, 0.75]))
def test_share_of_groups_keeps_rate_with_each_group_as_the_new_one(groups, rate, share):
    others = [[group for other, group in enumerate(groups) if other != number] for number in range(len(groups))]
    try:
        covered = [
            GroupQuantile(rate, share)(calm).alarms(new).mean() <= rate
            for calm, new in zip(others, groups, strict=True)
        ]
    except InputError:
        assert len(groups) * share > len(groups) - 1  # too few groups for that share
    else:
        assert np.mean(covered) >= share


def test_error_names_number_of_groups_needed():
    with pytest.raises(InputError, match=r"at most 0\.833 with 5 groups.* at least 9 held-out groups"):
        GroupQuantile(share=0.9)([[1.0, 2.0]] * 5)
    GroupQuantile(rate=0.1, share=0.9)([[1.0, 2.0]] * 9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.sampled_from([0.05, 0.2, 0.6]))
def test_benjamini_hochberg_is_the_step_up_rule(p_values, rate):
    ranked = np.sort(p_values)
    passed = np.flatnonzero(ranked <= rate * np.arange(1, len(ranked) + 1) / len(ranked))
    limit = ranked[passed[-1]] if len(passed) else -1
    np.testing.assert_array_equal(benjamini_hochberg(p_values, rate), np.array(p_values) <= limit)


def test_too_few_groups_select_nothing():
    calm = np.random.default_rng(0).normal(size=(8, 50))
    p_values = Conformal()(calm).p_values(np.append(np.zeros(40), np.full(10, 99.0)))
    assert not benjamini_hochberg(p_values, 0.1).any()  # (8 + 1) · 0.1 < 1
    assert benjamini_hochberg(p_values, 0.3)[40:].all()


def test_unscored_rows_are_not_selected():
    np.testing.assert_array_equal(benjamini_hochberg([np.nan, 0.001, np.nan], 0.05), [False, True, False])
    assert not benjamini_hochberg([np.nan], 0.05).any()
    p_values = Conformal(0.1)([[1.0, 2.0]] * 3).p_values([np.nan, 1.0, 5.0])
    np.testing.assert_allclose(p_values, [np.nan, 1.0, 0.125])

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract.detect.conformal import Conformal, MostSets, benjamini_hochberg
from undistract.detect.thresholds import Quantile
from undistract.errors import InputError

scores = st.lists(st.integers(0, 8).map(float), min_size=1, max_size=12)
some_sets = st.lists(scores, min_size=1, max_size=7)
rates = st.sampled_from([0.05, 0.1, 0.25, 0.5, 0.9])


@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
@given(some_sets, scores, rates)
def test_conformal_is_the_quantile_that_counts_the_new_set(sets, new, rate):
    counted = Quantile(rate)([*sets, new])
    threshold = Conformal(rate)(sets)
    np.testing.assert_allclose(threshold.p_values(new), counted.p_values(new), atol=1e-15)
    np.testing.assert_array_equal(threshold.alarms(new), counted.alarms(new))


@given(some_sets, scores, rates)
def test_a_set_of_one_row_is_a_row_that_comes_alone(sets, new, rate):
    together = Conformal(rate)(sets)
    alone = Conformal(rate, whole_sets=False)(sets)
    one_by_one = [together.p_values([score])[0] for score in new]
    np.testing.assert_allclose(alone.p_values(new), one_by_one)
    assert together.value == alone.value


@given(scores, scores)
def test_rows_as_sets_make_plain_split_conformal(calm, new):
    threshold = Conformal(0.5, whole_sets=False)([[score] for score in calm])
    by_hand = [(1 + sum(one >= score for one in calm)) / (len(calm) + 1) for score in new]
    np.testing.assert_allclose(threshold.p_values(new), by_hand)


@given(some_sets, scores, rates)
def test_at_most_a_known_share_of_a_set_can_alarm(sets, new, rate):
    assert Conformal(rate)(sets).alarms(new).mean() <= (len(sets) + 1) * rate + 1e-12


def test_few_sets_never_alarm_for_a_lone_row_and_do_for_a_whole_set():
    calm = [np.arange(100.0)] * 5
    assert Conformal(0.01, whole_sets=False)(calm).value == np.inf
    new = np.append(np.arange(98.0), [500.0, 600.0])
    np.testing.assert_array_equal(np.flatnonzero(Conformal(0.01)(calm).alarms(new)), [98, 99])


@given(st.lists(scores, min_size=2, max_size=9), rates, st.sampled_from([0.3, 0.5, 0.6, 0.75]))
def test_most_sets_are_spared_when_each_in_turn_is_the_new_one(sets, rate, share):
    others = [[one for other, one in enumerate(sets) if other != number] for number in range(len(sets))]
    try:
        spared = [
            MostSets(rate, share)(calm).alarms(new).mean() <= rate for calm, new in zip(others, sets, strict=True)
        ]
    except InputError:
        assert len(sets) * share > len(sets) - 1  # too few to vouch for that share
    else:
        assert np.mean(spared) >= share


def test_the_error_says_how_many_sets_would_do():
    with pytest.raises(InputError, match=r"5 sets can vouch for 0\.833 .* give 9 held-out sets"):
        MostSets(share=0.9)([[1.0, 2.0]] * 5)
    MostSets(rate=0.1, share=0.9)([[1.0, 2.0]] * 9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.sampled_from([0.05, 0.2, 0.6]))
def test_benjamini_hochberg_is_the_step_up_rule(p_values, rate):
    ranked = np.sort(p_values)
    passed = np.flatnonzero(ranked <= rate * np.arange(1, len(ranked) + 1) / len(ranked))
    limit = ranked[passed[-1]] if len(passed) else -1
    np.testing.assert_array_equal(benjamini_hochberg(p_values, rate), np.array(p_values) <= limit)


def test_too_few_sets_discover_nothing():
    calm = np.random.default_rng(0).normal(size=(8, 50))
    p_values = Conformal()(calm).p_values(np.append(np.zeros(40), np.full(10, 99.0)))
    assert not benjamini_hochberg(p_values, 0.1).any()  # (8 + 1) · 0.1 < 1
    assert benjamini_hochberg(p_values, 0.3)[40:].all()


def test_rows_never_scored_are_not_chosen():
    np.testing.assert_array_equal(benjamini_hochberg([np.nan, 0.001, np.nan], 0.05), [False, True, False])
    assert not benjamini_hochberg([np.nan], 0.05).any()
    p_values = Conformal(0.1)([[1.0, 2.0]] * 3).p_values([np.nan, 1.0, 5.0])
    np.testing.assert_allclose(p_values, [np.nan, 1.0, 0.125])

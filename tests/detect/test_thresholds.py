import pickle
import re
import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from undistract.detect.base import Scores
from undistract.detect.calibration import Calibration
from undistract.detect.tails import Tail
from undistract.detect.thresholds import AlarmBudget, Conformal, GroupQuantile, Quantile
from undistract.errors import EvidenceWarning, InputError

pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")

scores = st.lists(st.integers(0, 8).map(float), min_size=1, max_size=12)
groups_of_scores = st.lists(scores, min_size=2, max_size=7)
rates = st.sampled_from([0.01, 0.1, 0.25, 0.3, 0.5, 0.9])
grid = np.arange(-1, 10, 0.5)

FIXED = {
    "quantile": Quantile,
    "lone rows": lambda rate: Conformal(rate, whole_groups=False),
    "most groups": lambda rate: GroupQuantile(rate, share=0.5),
    "budget": lambda rate: AlarmBudget(rate, rows_per_day=1, gap=1, share=0.5),
}


@pytest.mark.parametrize("rule", FIXED.values(), ids=FIXED.keys())
@given(groups=groups_of_scores, rate=rates)
def test_fixed_threshold_raises_alarms_above_its_value(rule, groups, rate):
    threshold = rule(rate)(groups)
    np.testing.assert_array_equal(threshold.alarms(grid), grid > threshold.value)


@pytest.mark.parametrize("rule", FIXED.values(), ids=FIXED.keys())
@given(groups=groups_of_scores, rate=rates)
def test_higher_rate_never_increases_the_threshold(rule, groups, rate):
    assert rule(rate)(groups).value >= rule(min(1.5 * rate, 0.99))(groups).value


@given(groups_of_scores, rates)
def test_quantile_is_lowest_value_that_keeps_the_mean_rate(groups, rate):
    value = Quantile(rate)(groups).value
    assert np.mean([np.mean(np.array(group) > value) for group in groups]) <= rate + 1e-12
    assert np.mean([np.mean(np.array(group) >= value) for group in groups]) > rate - 1e-12


@pytest.mark.parametrize("rule", [Quantile, Conformal, FIXED["lone rows"], FIXED["most groups"]])
@given(groups=groups_of_scores, new=scores)
def test_p_value_is_smallest_rate_with_an_alarm(rule, groups, new):
    p_values = rule(0.5)(groups).p_values(new)
    for row, p in enumerate(p_values):
        if 0.01 < p < 0.99:
            assert rule(p)(groups).alarms(new)[row]
            assert not rule(0.999 * p)(groups).alarms(new)[row]


RULES = {**FIXED, "conformal": Conformal}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
@given(groups=groups_of_scores, rate=rates)
def test_guarantee_holds_with_each_group_as_the_new_one(rule, groups, rate):
    # Exchangeable groups: any could be the new one, so the mean over all choices is the expectation.
    observed = []
    guarantees = set()
    for number, new in enumerate(groups):
        others = [group for other, group in enumerate(groups) if other != number]
        threshold = rule(rate)(others)
        guarantees.add(threshold.guarantee)
        observed.append(_alarms_per_row(rule, threshold, new))
    assert np.mean(observed) <= max(guarantees) + 1e-12


def _alarms_per_row(rule, threshold, new):
    over = threshold.alarms(new)
    if rule is not FIXED["budget"]:
        return over.mean()
    joined = np.convolve(over, [1, 1, 1])[: len(over)] > 0  # gap=1 joins rows up to two apart
    starts = over & ~np.append([False], joined[:-1])
    return starts.mean()


def test_quantile_can_exceed_its_rate_and_guarantee_shows_it():
    calm = [np.arange(100.0) + shift for shift in (0, 1, 2, 3)]
    threshold = Quantile(0.01)(calm)
    assert threshold.alarms(np.arange(100.0) + 500).all()
    assert threshold.guarantee == pytest.approx((4 * 0.01 + 1) / 5)


def test_share_equal_to_rate_raises_alarm_despite_rounding():
    # 1/300 summed 3 k times is often slightly more than k/100.
    calm = [np.arange(100.0)] * 3
    assert [Quantile(k / 100)(calm).value for k in range(1, 100)] == [99.0 - k for k in range(1, 100)]


def test_rate_below_one_row_warns():
    with pytest.warns(EvidenceWarning, match=r"highest of 20 calibration scores, 0\.05"):
        assert Quantile(0.01)([np.arange(10.0), np.arange(10.0)]).value == 9


@pytest.mark.parametrize("rate", [0, 1, -0.1, 1.5, np.nan, None, "0.1"])  # regression: the last two were a TypeError
def test_rate_must_be_between_zero_and_one(rate):
    for rule in (Quantile, Conformal, GroupQuantile, Tail):
        with pytest.raises(InputError, match="between 0 and 1"):
            rule(rate)


def test_thresholds_can_be_pickled():
    calm = np.random.default_rng(0).normal(size=(30, 60))
    for rule in (Quantile(0.1), Conformal(0.1), GroupQuantile(0.1), Tail(0.01), AlarmBudget(1, rows_per_day=10)):
        threshold = rule(calm)
        again = pickle.loads(pickle.dumps(threshold))
        assert again == threshold
        np.testing.assert_array_equal(again.p_values(calm[0]), threshold.p_values(calm[0]))


BAD = {
    "nothing": [],
    "an empty group": [[]],
    "one row": [[1.0]],
    "one row each": [[1.0], [2.0]],
    "NaN only": [[np.nan, np.nan]],
    "some NaN": [[1.0, np.nan, 2.0], [np.nan, 3.0]],
    "infinite": [[1.0, np.inf], [-np.inf, 2.0]],
    "infinite tail": [np.append(np.arange(2000.0), np.inf)],
    "constant": [np.ones(2000)] * 3,
    "duplicates": [np.repeat(np.arange(4.0), 500)] * 3,
    "huge": [1.7e308 * np.linspace(-1, 1, 3000)] * 2,
    "big": [np.linspace(0, 1.7e308, 3000)] * 2,
    "tiny": [np.linspace(0, 1e-308, 3000)] * 2,
    "ragged": [[[1.0], [2.0, 3.0]]],
    "matrix": [np.ones((3, 2))],
    "objects": [np.array([object(), 1.0], dtype=object)],
    "strings": [["calm", "strange"]],
    "sparse": [sparse.csr_array(np.ones((1, 3)))],
    "float16": [np.arange(100, dtype=np.float16)] * 3,
    "integers": [np.arange(100)] * 3,
    "not groups": 3.0 * np.ones(4),
    "one Scores": Scores("calm", [1.0, 2.0]),
    "None": [None],
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize(
    "rule",
    [
        Quantile(),
        Conformal(),
        Conformal(whole_groups=False),
        GroupQuantile(share=0.5),
        Tail(),
        AlarmBudget(5, 100.0),
    ],
    ids=repr,
)
def test_any_input_gives_p_values_or_one_typed_error(rule, bad):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", EvidenceWarning)
        try:
            threshold, message = rule(bad), "must"
        except InputError as error:
            threshold, message = None, str(error)
        assert re.search("must|needs", message)  # an error names what is expected
        if threshold is None:
            return
        new = np.array([-np.inf, -1.7e308, -1.0, 0.0, 1e-308, 1.0, 1.7e308, np.inf, np.nan])
        p_values = threshold.p_values(new)
        assert not np.isnan(threshold.value)
        assert ((p_values[:-1] >= 0) & (p_values[:-1] <= max(1, 5 / 100 / 0.05))).all()
        assert np.isnan(p_values[-1])
        assert not threshold.alarms(new)[-1]


def test_calibration_time_is_linear_in_groups():
    # Split conformal uses each row as a group; this must not need a pass over all rows per group.
    def seconds(n_groups):
        calm = np.random.default_rng(0).normal(size=(n_groups, 1))
        start = time.process_time()
        assert Calibration.of(calm).n_groups == n_groups
        return time.process_time() - start

    few = min(seconds(2000) for _ in range(5))
    # 32 times the groups take 32 times as long, and with such a pass a thousand times.
    assert seconds(64_000) < 64 * few

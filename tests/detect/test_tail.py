import numpy as np
import pytest
from scipy.stats import genpareto

from undistract.detect.calibration import Calibration
from undistract.detect.tail import ParetoTail, Tail
from undistract.errors import InputError


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.4])
def test_the_law_of_the_excesses_is_found(shape):
    calm = genpareto.rvs(shape, scale=2.0, size=(20, 5000), random_state=0)
    tail = ParetoTail.fit(Calibration.of(calm), 0.2)
    # Excesses of a Pareto law follow one whose scale grew by shape · start; 20000 tell it to 3 % (3 errors).
    assert tail.shape == pytest.approx(shape, abs=0.03)
    assert tail.scale == pytest.approx(2.0 + shape * tail.start, rel=0.03)


def test_the_likelihood_is_no_less_than_scipys_own_fit():
    rng = np.random.default_rng(1)
    for calm in (rng.gamma(2.0, size=1000), rng.standard_t(3, size=1000), rng.uniform(size=1000)):
        tail = ParetoTail.fit(Calibration.of([calm]), 0.1)
        excess = calm[calm > tail.start] - tail.start
        shape, _, scale = genpareto.fit(excess, floc=0)
        if shape > -0.5:
            theirs = genpareto.logpdf(excess, shape, scale=scale).sum()
            assert genpareto.logpdf(excess, tail.shape, scale=tail.scale).sum() >= theirs - 1e-3


def test_a_rate_that_no_row_showed_is_met():
    rng = np.random.default_rng(2)
    true_rates = [np.exp(-Tail(1e-4)(rng.exponential(size=(10, 300))).value) for _ in range(30)]
    # 150 excesses know the shape to 0.08, which at a hundredth of what they show is a factor of about two.
    assert 0.5e-4 < np.exp(np.mean(np.log(true_rates))) < 2e-4


def test_alarms_lie_above_the_value_and_p_values_fall_through_the_start():
    calm = np.random.default_rng(3).normal(size=(10, 200))
    threshold = Tail(0.001)(calm)
    scores = np.linspace(-4, 8, 997)
    p_values = threshold.p_values(scores)
    assert (np.diff(p_values) <= 0).all()
    np.testing.assert_array_equal(threshold.alarms(scores), scores > threshold.value)
    assert threshold.p_values([threshold.value])[0] == pytest.approx(0.001)
    assert threshold.guarantee == pytest.approx((10 * 0.05 + 1) / 11)


@pytest.mark.parametrize("unit", [1e-300, 1e-3, 1e300])
def test_units_do_not_matter(unit):
    calm = np.random.default_rng(4).exponential(size=(5, 400))
    # The likelihood is flat at its peak, so the peak is known to the root of rounding, 1e-8.
    assert Tail()(unit * calm).value == pytest.approx(unit * Tail()(calm).value, rel=1e-6)


def test_a_set_counts_once_however_many_rows_it_has():
    calm = np.random.default_rng(5).exponential(size=(4, 400))
    more = [np.tile(calm[0], 5), *calm[1:]]
    assert Tail()(more).value == pytest.approx(Tail()(calm).value, rel=1e-6)


def test_a_tail_needs_enough_rows_and_a_rate_inside_it():
    with pytest.raises(InputError, match="5 of 100 calibration scores lie above 94"):
        Tail()([np.arange(100.0)])
    with pytest.raises(InputError, match="not in the tail"):
        Tail(rate=0.1)

import numpy as np
import pytest
from scipy.stats import genpareto

from undistract.detect.calibration import Calibration
from undistract.detect.tails import ParetoTail, Tail
from undistract.errors import InputError


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.4])
def test_parameters_of_a_pareto_sample_are_recovered(shape):
    calm = genpareto.rvs(shape, scale=2.0, size=(20, 5000), random_state=0)
    tail = ParetoTail.fit(Calibration.of(calm), 0.2)
    # Excesses of a Pareto distribution are Pareto with scale + shape · start; 20000 have an error of 1 % (3 errors).
    assert tail.shape == pytest.approx(shape, abs=0.03)
    assert tail.scale == pytest.approx(2.0 + shape * tail.start, rel=0.03)


def test_likelihood_is_at_least_that_of_scipy():
    rng = np.random.default_rng(1)
    for calm in (rng.gamma(2.0, size=1000), rng.standard_t(3, size=1000), rng.uniform(size=1000)):
        tail = ParetoTail.fit(Calibration.of([calm]), 0.1)
        excess = calm[calm > tail.start] - tail.start
        shape, _, scale = genpareto.fit(excess, floc=0)
        if shape > -0.5:
            reference = genpareto.logpdf(excess, shape, scale=scale).sum()
            assert genpareto.logpdf(excess, tail.shape, scale=tail.scale).sum() >= reference - 1e-3


def test_extrapolated_rate_is_met():
    rng = np.random.default_rng(2)
    true_rates = [np.exp(-Tail(1e-4)(rng.exponential(size=(10, 300))).value) for _ in range(30)]
    # With 150 excesses the shape has an error of 0.08, which extrapolated a hundredfold is a factor of about two.
    assert 0.5e-4 < np.exp(np.mean(np.log(true_rates))) < 2e-4


def test_alarms_are_above_value_and_p_values_fall():
    calm = np.random.default_rng(3).normal(size=(10, 200))
    threshold = Tail(0.001)(calm)
    scores = np.linspace(-4, 8, 997)
    p_values = threshold.p_values(scores)
    assert (np.diff(p_values) <= 0).all()
    np.testing.assert_array_equal(threshold.alarms(scores), scores > threshold.value)
    assert threshold.p_values([threshold.value])[0] == pytest.approx(0.001)
    assert threshold.guarantee == pytest.approx((10 * 0.05 + 1) / 11)


@pytest.mark.parametrize("unit", [1e-300, 1e-3, 1e300])
def test_threshold_scales_with_the_unit(unit):
    calm = np.random.default_rng(4).exponential(size=(5, 400))
    # The likelihood is flat at its maximum, so the maximum has an error of the root of rounding, 1e-8.
    assert Tail()(unit * calm).value == pytest.approx(unit * Tail()(calm).value, rel=1e-6)


def test_group_weight_does_not_depend_on_its_rows():
    calm = np.random.default_rng(5).exponential(size=(4, 400))
    more = [np.tile(calm[0], 5), *calm[1:]]
    assert Tail()(more).value == pytest.approx(Tail()(calm).value, rel=1e-6)


def test_too_few_rows_and_too_large_rate_raise_input_error():
    with pytest.raises(InputError, match="got 5 of 100 above 94"):
        Tail()([np.arange(100.0)])
    with pytest.raises(InputError, match="rate must be smaller than share"):
        Tail(rate=0.1)

"""Laws of the spectrum: eigenproblem, ranks, units, mixing and the de-biased value."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.linalg import eigh

from undistract import Focus, Moments, Spectrum
from undistract.algebra.solvers import solve_dense

from .strategies import (
    dependent_groups,
    exact_ranks,
    integer_groups,
    law,
    limits,
    plain_groups,
    random_mixing,
    relative,
    seeds,
    wide_groups,
)

ridges = st.sampled_from([0.0, 1e-8, 0.1, 10.0])
priors = st.sampled_from(["uniform", "by_size", "given"])
pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")

# The strategies keep the condition of `total` below about 1e4, so 1e-16 grows to 1e-12; two digits are a margin.
ROUNDING = 1e-10


def moments_of(groups, prior="uniform"):
    weights = [1.0 + number for number in range(len(groups))]
    return Moments.of(groups, weights if prior == "given" else prior)


def metric_of(spectrum, moments):
    return moments.total + spectrum.ridge * np.eye(moments.n_features)


@law
@given(st.one_of(plain_groups(), wide_groups()), ridges, priors, st.sampled_from([0, 2**21]))
def test_filters_and_patterns_solve_the_eigenproblem(groups, ridge, prior, kept_values):
    # Sums of wide rows with a tiny ridge have a condition number of 1e8: too few digits to compare.
    assume(kept_values or ridge != 1e-8 or len(groups[0][0]) < 60)
    with limits(kept_values=kept_values):
        moments = moments_of(groups, prior)
        spectrum = Spectrum.of(moments, ridge=ridge)
    W, A, distraction = spectrum.filters, spectrum.patterns, spectrum.distraction
    metric, identity = metric_of(spectrum, moments), np.eye(len(distraction))
    assert ((distraction >= 0) & (distraction <= 1)).all()
    assert (np.diff(distraction) <= 0).all()
    assert np.abs(W.T @ metric @ W - identity).max() <= ROUNDING
    assert np.abs(W.T @ A - identity).max() <= ROUNDING
    assert relative(A, metric @ W) <= ROUNDING
    # within is the sum of λ · pattern patternᵀ, however the directions of equal λ are chosen.
    assert relative(A * distraction @ A.T, moments.within, moments.total) <= ROUNDING


@law
@given(plain_groups(), ridges, priors)
def test_distraction_agrees_with_scipy(groups, ridge, prior):
    moments = moments_of(groups, prior)
    spectrum = Spectrum.of(moments, ridge=ridge)
    expected = eigh(moments.within, metric_of(spectrum, moments), eigvals_only=True)[::-1]
    assert spectrum.distraction == pytest.approx(expected, abs=ROUNDING)


@law
@given(wide_groups(), st.sampled_from([1e-3, 0.1, 10.0]), priors)
def test_few_rows_and_matrices_give_the_same_result(groups, ridge, prior):
    moments = moments_of(groups, prior)
    few = Spectrum.of(moments, ridge=ridge)
    full = solve_dense(moments.within, moments.total, few.ridge)
    n_directions = len(few.distraction)
    assert n_directions == moments.n_rows - 1
    assert few.distraction == pytest.approx(full.distraction[:n_directions], abs=ROUNDING)
    assert full.distraction[n_directions:] == pytest.approx(0, abs=ROUNDING)


@pytest.mark.parametrize("n_rows", [40, 400])
@pytest.mark.parametrize("fall", [1e-2, 1e-4, 1e-6])
def test_sufficient_ridge_is_exact_for_steep_variances(n_rows, fall):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(300, 30)))[0] * np.geomspace(1, fall, 30)  # standard deviations
    groups = [(rng.normal(size=(n_rows // 5, 30)) + rng.normal(size=30)) @ basis.T for _ in range(5)]
    spectrum = Spectrum.of(Moments.of(groups), ridge=0.1)
    # total + 0.1 · mean variance has a condition number of about 1e3 here, for any slope.
    crossed = spectrum.filters.T @ spectrum.patterns
    assert np.abs(crossed - np.eye(len(crossed))).max() <= ROUNDING


def well_conditioned(groups):
    """Skip data whose rank is ambiguous: an eigenvalue is neither zero nor clearly above it."""
    moments = Moments.of([rows.astype(float) for rows in groups])
    scale = np.sqrt(np.diag(moments.total))
    scale[scale == 0] = 1.0
    for matrix in (moments.total, moments.within):
        values = np.linalg.eigvalsh(matrix / np.outer(scale, scale))
        if ((np.abs(values) > 1e-12) & (values < 1e-4)).any():
            return False
    return True


@law
@given(integer_groups(), seeds, st.sampled_from([0, 2**21]))
def test_ranks_count_the_directions_without_a_ridge(groups, seed, kept_values):
    assume(any(len(rows) > 1 for rows in groups) and well_conditioned(groups))
    within, between, total = exact_ranks(groups)
    # Units from 1e-8 to 1e8; powers of two keep the numbers exact.
    units = 2.0 ** np.random.default_rng(seed).integers(-27, 28, size=groups[0].shape[1])
    with limits(kept_values=kept_values):
        spectrum = Spectrum.of(Moments.of([rows * units for rows in groups]), ridge=0.0)
    distraction = spectrum.distraction
    assert len(distraction) == total
    assert (distraction < 1e-8).sum() == total - within
    assert (distraction > 1 - 1e-8).sum() == total - between
    assert ((distraction >= 1e-8) & (distraction <= 1 - 1e-8)).sum() <= len(groups) - 1
    assert spectrum.n_varying == within
    assert (spectrum.kinds(0) == "constant").sum() == groups[0].shape[1] - within


def test_direction_outside_the_rows_does_not_appear():
    # Found by the law above: the last feature depends on the others, but the Cholesky factor has no small pivot.
    groups = [[[2, -2, 3, 0], [5, -8, -2, 0], [6, -9, 0, -3], [5, -8, -2, 0]], [[-3, 3, -5, 3]]]
    assert exact_ranks([np.array(rows) for rows in groups]) == (2, 1, 3)
    spectrum = Spectrum.of(Moments.of(groups), ridge=0.0)
    assert spectrum.distraction == pytest.approx([1, 1, 0], abs=1e-8)


@law
@given(plain_groups(), seeds, priors)
def test_mixing_does_not_change_distraction_without_a_ridge(groups, seed, prior):
    mix = random_mixing(np.random.default_rng(seed), groups[0].shape[1])
    before, after = (
        Spectrum.of(moments_of(rows, prior), ridge=0.0) for rows in (groups, [rows @ mix for rows in groups])
    )
    assert after.distraction == pytest.approx(before.distraction, abs=ROUNDING)
    assert after.debiased == pytest.approx(before.debiased, abs=ROUNDING)


@law
@given(plain_groups(), seeds, ridges)
def test_rotation_rotates_patterns_and_keeps_distraction(groups, seed, ridge):
    turn = random_mixing(np.random.default_rng(seed), groups[0].shape[1], condition=1.0)
    before, after = (Spectrum.of(Moments.of(rows), ridge=ridge) for rows in (groups, [rows @ turn for rows in groups]))
    assert after.distraction == pytest.approx(before.distraction, abs=ROUNDING)
    weighted = [spectrum.patterns * spectrum.distraction @ spectrum.patterns.T for spectrum in (before, after)]
    assert relative(weighted[1], turn.T @ weighted[0] @ turn) <= ROUNDING


@law
@given(st.one_of(plain_groups(), wide_groups()), st.integers(-450, 450), ridges)
def test_units_change_nothing(groups, exponent, ridge):
    unit = 2.0**exponent  # 1e-135 to 1e135
    before, after = (Spectrum.of(Moments.of(rows), ridge=ridge) for rows in (groups, [rows * unit for rows in groups]))
    assert after.distraction == pytest.approx(before.distraction, abs=ROUNDING)
    assert after.debiased == pytest.approx(before.debiased, abs=1e-8)
    assert after.n_varying == before.n_varying


@law
@given(plain_groups(), ridges, st.integers(1, 3))
def test_constant_features_change_nothing_and_are_kept(groups, ridge, n_constant):
    padded = [np.hstack([rows, np.full((len(rows), n_constant), 1e6 / 3)]) for rows in groups]
    before, after = (Spectrum.of(Moments.of(rows), ridge=ridge) for rows in (groups, padded))
    assert after.distraction == pytest.approx(before.distraction, abs=ROUNDING)
    assert after.ridge == pytest.approx(before.ridge)
    assert not after.patterns[-n_constant:].any()
    assert after.n_constant == before.n_constant + n_constant


@law
@given(plain_groups(), seeds, st.integers(1, 3))
def test_constant_directions_after_mixing_change_nothing_and_are_kept(groups, seed, n_constant):
    padded = [np.hstack([rows, np.full((len(rows), n_constant), 1.0)]) for rows in groups]
    mix = random_mixing(np.random.default_rng(seed), padded[0].shape[1])
    before, after = (Spectrum.of(Moments.of(rows), ridge=0.0) for rows in (groups, [rows @ mix for rows in padded]))
    assert after.distraction == pytest.approx(before.distraction, abs=ROUNDING)
    assert after.n_constant == before.n_constant + n_constant


@law
@given(st.one_of(plain_groups(), dependent_groups()), st.floats(1e-6, 1.0), st.floats(1.0, 100.0))
def test_larger_ridge_never_raises_distraction(groups, ridge, times):
    moments = Moments.of(groups)
    low, high = (Spectrum.of(moments, ridge=value).distraction for value in (ridge, ridge * times))
    # A ridge of 1e-6 on dependent features leaves ten digits.
    assert (high <= low + 1e-9).all()
    assert (high < 1).all()


@law
@given(plain_groups())
def test_huge_ridge_ranks_by_within_alone(groups):
    moments = Moments.of(groups)
    spectrum = Spectrum.of(moments, ridge=1e9)
    expected = np.linalg.eigvalsh(moments.within)[::-1]
    assert spectrum.distraction / spectrum.distraction[0] == pytest.approx(expected / expected[0], abs=1e-6)


def naive_debiased(groups, shares, filters):
    """Return the formula of MATHEMATICS 4."""
    means = np.array([rows.mean(axis=0) for rows in groups])
    centred = means - shares @ means
    counts = np.array([len(rows) for rows in groups])
    scatters = np.array([(rows - mean).T @ (rows - mean) for rows, mean in zip(groups, means, strict=True)])
    inside = np.einsum("m,mij->ij", shares / (counts - 1), scatters)
    wander = np.einsum("m,mij->ij", shares * (1 - shares) / (counts * (counts - 1)), scatters)
    apart = ((centred.T * shares) @ centred - wander) / (1 - (shares**2).sum())
    a, q = (np.einsum("ij,ik,kj->j", filters, matrix, filters) for matrix in (inside, apart))
    return a / (a + np.maximum(q, 0))


@law
@given(st.one_of(plain_groups(), wide_groups()), ridges, priors, st.sampled_from([0, 2**21]))
def test_debiased_value_follows_the_formula(groups, ridge, prior, kept_values):
    with limits(kept_values=kept_values):
        moments = moments_of(groups, prior)
        spectrum = Spectrum.of(moments, ridge=ridge)
    varies = spectrum.distraction > 1e-3  # without within-group variance both parts are rounding errors
    expected = naive_debiased(groups, moments.shares, spectrum.filters)
    assert ((spectrum.debiased >= 0) & (spectrum.debiased <= 1)).all()
    assert spectrum.debiased[varies] == pytest.approx(expected[varies], abs=1e-8)


@law
@given(dependent_groups(), st.sampled_from(["uniform", "by_size"]), st.sampled_from([0, 2**21]))
def test_debiased_value_follows_the_formula_for_equal_groups(groups, prior, kept_values):
    with limits(kept_values=kept_values):
        moments = moments_of(groups, prior)
        spectrum = Spectrum.of(moments, ridge=0.1)
    varies = spectrum.distraction > 1e-3
    expected = naive_debiased(groups, moments.shares, spectrum.filters[:, varies])
    assert spectrum.debiased[varies] == pytest.approx(expected, abs=1e-8)


def test_groups_of_one_row_do_not_bias_the_debiased_value():
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(200, 3)) for _ in range(30)] + [rng.normal(size=(1, 3)) for _ in range(1000)]
    # These groups do not differ, and 1000 means know their variance to about √(2/1000). Taken at face value, the noise
    # of single rows would give 0.5.
    assert Spectrum.of(Moments.of(groups), ridge=0.0).debiased == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize(("scale", "angle"), [(1e-8, 0.0), (1e-4, 0.0), (10.0, 0.0), (10.0, 0.6)])
def test_feature_in_small_units_is_not_constant(scale, angle):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) * [1e5, scale]  # a pressure in pascal and a share
    turn = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    assert "constant" not in Focus().fit(X @ turn, groups=np.repeat(np.arange(10), 50)).kinds_


@pytest.mark.parametrize("ridge", [0.0, 1e-8, 1e-3, 0.1])
@pytest.mark.parametrize("n_features", [100, 130])  # matrices (d < 2 n); few rows
def test_directions_outside_the_rows_are_constant_for_any_ridge(n_features, ridge):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 10)
    X = rng.normal(size=(60, n_features)) + rng.normal(size=(6, n_features))[labels]
    spectrum = Spectrum.of(Moments.from_labels(X, labels), ridge=ridge)
    assert spectrum.n_varying == 60 - 6

"""The spectrum: laws of the eigenproblem, ranks, units, mixing and the de-biased value."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.linalg import eigh

from undistract import Focus, Moments, Spectrum
from undistract.algebra.solvers import dense

from .strategies import (
    dependent_sets,
    exact_ranks,
    integer_sets,
    law,
    limits,
    plain_sets,
    random_mixing,
    relative,
    seeds,
    wide_sets,
)

cushions = st.sampled_from([0.0, 1e-8, 0.1, 10.0])
priors = st.sampled_from(["uniform", "by_size", "given"])
pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")

# The strategies keep the condition of `total` below about 1e4, so 1e-16 grows to 1e-12; two digits are left to spare.
ROUNDING = 1e-10


def moments_of(sets, prior="uniform"):
    weights = [1.0 + number for number in range(len(sets))]
    return Moments.of(sets, weights if prior == "given" else prior)


def metric_of(spectrum, moments):
    return moments.total + spectrum.cushion * np.eye(moments.n_features)


@law
@given(st.one_of(plain_sets(), wide_sets()), cushions, priors, st.sampled_from([0, 2**21]))
def test_filters_and_patterns_solve_the_eigenproblem(sets, cushion, prior, kept_values):
    # Folded wide rows with a tiny cushion have a condition of 1e8: too little is left to compare.
    assume(kept_values or cushion != 1e-8 or len(sets[0][0]) < 60)
    with limits(kept_values=kept_values):
        moments = moments_of(sets, prior)
        spectrum = Spectrum.of(moments, cushion=cushion)
    W, A, distraction = spectrum.filters, spectrum.patterns, spectrum.distraction
    metric, one = metric_of(spectrum, moments), np.eye(len(distraction))
    assert ((distraction >= 0) & (distraction <= 1)).all()
    assert (np.diff(distraction) <= 0).all()
    assert np.abs(W.T @ metric @ W - one).max() <= ROUNDING
    assert np.abs(W.T @ A - one).max() <= ROUNDING
    assert relative(A, metric @ W) <= ROUNDING
    # within is the sum of λ · pattern patternᵀ, however the directions of equal λ are chosen.
    assert relative(A * distraction @ A.T, moments.within, moments.total) <= ROUNDING


@law
@given(plain_sets(), cushions, priors)
def test_distraction_is_what_scipy_finds(sets, cushion, prior):
    moments = moments_of(sets, prior)
    spectrum = Spectrum.of(moments, cushion=cushion)
    expected = eigh(moments.within, metric_of(spectrum, moments), eigvals_only=True)[::-1]
    assert spectrum.distraction == pytest.approx(expected, abs=ROUNDING)


@law
@given(wide_sets(), st.sampled_from([1e-3, 0.1, 10.0]), priors)
def test_few_rows_and_whole_matrices_give_one_answer(sets, cushion, prior):
    moments = moments_of(sets, prior)
    few = Spectrum.of(moments, cushion=cushion)
    whole = dense(moments.within, moments.total, few.cushion)
    n_seen = len(few.distraction)
    assert n_seen == moments.n_rows - 1
    assert few.distraction == pytest.approx(whole.distraction[:n_seen], abs=ROUNDING)
    assert whole.distraction[n_seen:] == pytest.approx(0, abs=ROUNDING)


@pytest.mark.parametrize("n_rows", [40, 400])
@pytest.mark.parametrize("fall", [1e-2, 1e-4, 1e-6])
def test_a_healthy_cushion_keeps_the_answer_exact_where_variances_fall_steeply(n_rows, fall):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(300, 30)))[0] * np.geomspace(1, fall, 30)  # standard deviations
    sets = [(rng.normal(size=(n_rows // 5, 30)) + rng.normal(size=30)) @ basis.T for _ in range(5)]
    spectrum = Spectrum.of(Moments.of(sets), cushion=0.1)
    # total + 0.1 · mean variance has a condition of about 1e3 here, whatever the fall.
    crossed = spectrum.filters.T @ spectrum.patterns
    assert np.abs(crossed - np.eye(len(crossed))).max() <= ROUNDING


def well_conditioned(sets):
    """Rank is a matter of taste where an eigenvalue is neither zero nor clearly above it; such data are passed over."""
    moments = Moments.of([rows.astype(float) for rows in sets])
    scale = np.sqrt(np.diag(moments.total))
    scale[scale == 0] = 1.0
    for matrix in (moments.total, moments.within):
        values = np.linalg.eigvalsh(matrix / np.outer(scale, scale))
        if ((np.abs(values) > 1e-12) & (values < 1e-4)).any():
            return False
    return True


@law
@given(integer_sets(), seeds, st.sampled_from([0, 2**21]))
def test_ranks_count_the_directions_without_a_cushion(sets, seed, kept_values):
    assume(any(len(rows) > 1 for rows in sets) and well_conditioned(sets))
    within, between, total = exact_ranks(sets)
    # Units from 1e-8 to 1e8; powers of two keep the numbers exact.
    units = 2.0 ** np.random.default_rng(seed).integers(-27, 28, size=sets[0].shape[1])
    with limits(kept_values=kept_values):
        spectrum = Spectrum.of(Moments.of([rows * units for rows in sets]), cushion=0.0)
    distraction = spectrum.distraction
    assert len(distraction) == total
    assert (distraction < 1e-8).sum() == total - within
    assert (distraction > 1 - 1e-8).sum() == total - between
    assert ((distraction >= 1e-8) & (distraction <= 1 - 1e-8)).sum() <= len(sets) - 1
    assert spectrum.n_moving == within
    assert (spectrum.kinds(0) == "constant").sum() == sets[0].shape[1] - within


def test_a_direction_that_no_row_shows_is_not_invented():
    # Found by the law above: the last feature follows from the others, yet the Cholesky factor shows no small pivot.
    sets = [[[2, -2, 3, 0], [5, -8, -2, 0], [6, -9, 0, -3], [5, -8, -2, 0]], [[-3, 3, -5, 3]]]
    assert exact_ranks([np.array(rows) for rows in sets]) == (2, 1, 3)
    spectrum = Spectrum.of(Moments.of(sets), cushion=0.0)
    assert spectrum.distraction == pytest.approx([1, 1, 0], abs=1e-8)


@law
@given(plain_sets(), seeds, priors)
def test_without_a_cushion_no_mixing_changes_distraction(sets, seed, prior):
    mix = random_mixing(np.random.default_rng(seed), sets[0].shape[1])
    before, after = (
        Spectrum.of(moments_of(rows, prior), cushion=0.0) for rows in (sets, [rows @ mix for rows in sets])
    )
    assert after.distraction == pytest.approx(before.distraction, abs=ROUNDING)
    assert after.debiased == pytest.approx(before.debiased, abs=ROUNDING)


@law
@given(plain_sets(), seeds, cushions)
def test_a_rotation_turns_patterns_and_leaves_distraction(sets, seed, cushion):
    turn = random_mixing(np.random.default_rng(seed), sets[0].shape[1], condition=1.0)
    before, after = (Spectrum.of(Moments.of(rows), cushion=cushion) for rows in (sets, [rows @ turn for rows in sets]))
    assert after.distraction == pytest.approx(before.distraction, abs=ROUNDING)
    weighted = [spectrum.patterns * spectrum.distraction @ spectrum.patterns.T for spectrum in (before, after)]
    assert relative(weighted[1], turn.T @ weighted[0] @ turn) <= ROUNDING


@law
@given(st.one_of(plain_sets(), wide_sets()), st.integers(-450, 450), cushions)
def test_a_change_of_units_changes_nothing(sets, exponent, cushion):
    unit = 2.0**exponent  # 1e-135 to 1e135
    before, after = (Spectrum.of(Moments.of(rows), cushion=cushion) for rows in (sets, [rows * unit for rows in sets]))
    assert after.distraction == pytest.approx(before.distraction, abs=ROUNDING)
    assert after.debiased == pytest.approx(before.debiased, abs=1e-8)
    assert after.n_moving == before.n_moving


@law
@given(plain_sets(), cushions, st.integers(1, 3))
def test_constant_features_change_nothing_and_are_kept(sets, cushion, n_constant):
    padded = [np.hstack([rows, np.full((len(rows), n_constant), 1e6 / 3)]) for rows in sets]
    before, after = (Spectrum.of(Moments.of(rows), cushion=cushion) for rows in (sets, padded))
    assert after.distraction == pytest.approx(before.distraction, abs=ROUNDING)
    assert after.cushion == pytest.approx(before.cushion)
    assert not after.patterns[-n_constant:].any()
    assert after.n_constant == before.n_constant + n_constant


@law
@given(plain_sets(), seeds, st.integers(1, 3))
def test_constant_directions_in_a_mixed_copy_change_nothing_and_are_kept(sets, seed, n_constant):
    padded = [np.hstack([rows, np.full((len(rows), n_constant), 1.0)]) for rows in sets]
    mix = random_mixing(np.random.default_rng(seed), padded[0].shape[1])
    before, after = (Spectrum.of(Moments.of(rows), cushion=0.0) for rows in (sets, [rows @ mix for rows in padded]))
    assert after.distraction == pytest.approx(before.distraction, abs=ROUNDING)
    assert after.n_constant == before.n_constant + n_constant


@law
@given(st.one_of(plain_sets(), dependent_sets()), st.floats(1e-6, 1.0), st.floats(1.0, 100.0))
def test_a_larger_cushion_never_raises_distraction(sets, cushion, times):
    moments = Moments.of(sets)
    low, high = (Spectrum.of(moments, cushion=value).distraction for value in (cushion, cushion * times))
    # A cushion of 1e-6 on dependent features leaves ten digits.
    assert (high <= low + 1e-9).all()
    assert (high < 1).all()


@law
@given(plain_sets())
def test_a_huge_cushion_ranks_by_within_alone(sets):
    moments = Moments.of(sets)
    spectrum = Spectrum.of(moments, cushion=1e9)
    expected = np.linalg.eigvalsh(moments.within)[::-1]
    assert spectrum.distraction / spectrum.distraction[0] == pytest.approx(expected / expected[0], abs=1e-6)


def naive_debiased(sets, shares, filters):
    """MATHEMATICS 4, written down as it stands."""
    means = np.array([rows.mean(axis=0) for rows in sets])
    centred = means - shares @ means
    counts = np.array([len(rows) for rows in sets])
    scatters = np.array([(rows - mean).T @ (rows - mean) for rows, mean in zip(sets, means, strict=True)])
    inside = np.einsum("m,mij->ij", shares / (counts - 1), scatters)
    wander = np.einsum("m,mij->ij", shares * (1 - shares) / (counts * (counts - 1)), scatters)
    apart = ((centred.T * shares) @ centred - wander) / (1 - (shares**2).sum())
    a, q = (np.einsum("ij,ik,kj->j", filters, matrix, filters) for matrix in (inside, apart))
    return a / (a + np.maximum(q, 0))


@law
@given(st.one_of(plain_sets(), wide_sets()), cushions, priors, st.sampled_from([0, 2**21]))
def test_the_debiased_value_is_the_formula(sets, cushion, prior, kept_values):
    with limits(kept_values=kept_values):
        moments = moments_of(sets, prior)
        spectrum = Spectrum.of(moments, cushion=cushion)
    seen = spectrum.distraction > 1e-3  # where nothing varies inside sets both parts are rounding
    expected = naive_debiased(sets, moments.shares, spectrum.filters)
    assert ((spectrum.debiased >= 0) & (spectrum.debiased <= 1)).all()
    assert spectrum.debiased[seen] == pytest.approx(expected[seen], abs=1e-8)


@law
@given(dependent_sets(), st.sampled_from(["uniform", "by_size"]), st.sampled_from([0, 2**21]))
def test_the_debiased_value_is_the_formula_where_all_sets_are_of_one_size(sets, prior, kept_values):
    with limits(kept_values=kept_values):
        moments = moments_of(sets, prior)
        spectrum = Spectrum.of(moments, cushion=0.1)
    seen = spectrum.distraction > 1e-3
    expected = naive_debiased(sets, moments.shares, spectrum.filters[:, seen])
    assert spectrum.debiased[seen] == pytest.approx(expected, abs=1e-8)


def test_sets_of_one_row_leave_the_debiased_value_whole():
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(200, 3)) for _ in range(30)] + [rng.normal(size=(1, 3)) for _ in range(1000)]
    # Nothing tells these sets apart, and 1000 set means know their variance to √(2/1000) or so. Taken at its word, the
    # wandering of single rows would read 0.5.
    assert Spectrum.of(Moments.of(sets), cushion=0.0).debiased == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize(("scale", "angle"), [(1e-8, 0.0), (1e-4, 0.0), (10.0, 0.0), (10.0, 0.6)])
def test_a_feature_in_small_units_that_varies_inside_sets_is_not_called_constant(scale, angle):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) * [1e5, scale]  # a pressure in pascal beside a share
    turn = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    assert "constant" not in Focus().fit(X @ turn, sets=np.repeat(np.arange(10), 50)).kinds_


@pytest.mark.parametrize("cushion", [0.0, 1e-8, 1e-3, 0.1])
@pytest.mark.parametrize("n_features", [100, 130])  # more than rows, fewer than twice as many: whole matrices; few rows
def test_directions_that_no_row_shows_are_constant_at_every_cushion(n_features, cushion):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 10)
    X = rng.normal(size=(60, n_features)) + rng.normal(size=(6, n_features))[labels]
    spectrum = Spectrum.of(Moments.of_labelled(X, labels), cushion=cushion)
    assert spectrum.n_moving == 60 - 6

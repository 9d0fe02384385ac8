"""Laws of soft removal: identity at strength 0, orthogonal removal in the limit, no increase of distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract import Focus, InputError, Moments, Spectrum
from undistract.algebra import Projection
from undistract.algebra.feedback import Feedback
from undistract.algebra.shrinkage import ShrinkageFilter, normalize_columns, strengths

from .strategies import law, plain_groups, relative, seeds
from .test_projection_laws import ROUNDING, removed_from, spread

any_strength = st.one_of(st.just("auto"), st.floats(0, 1e6))
pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")


def distances(X):
    return np.linalg.norm(X[:, None] - X[None], axis=2)


@law
@given(removed_from())
def test_strength_zero_changes_nothing(example):
    X, spectrum, n_removed = example
    assert relative(Projection.of(spectrum, n_removed, "soft", 0)(X), X) <= 1e-15


@law
@given(removed_from())
def test_huge_strength_gives_the_distances_of_the_kept_span(example):
    X, spectrum, n_removed = example
    hard = Projection.of(spectrum, n_removed, "orthogonal")
    soft = Projection.of(spectrum, n_removed, "soft", 1e60)
    assert np.abs(distances(soft(X)) - distances(hard(X))).max() <= ROUNDING * spread(X)
    assert np.abs(soft(X) - hard.denoise(X)).max() <= ROUNDING * (spread(X) + np.abs(spectrum.origin).max())


@law
@given(plain_groups())
def test_distances_fall_with_the_root_of_the_strength(groups):
    spectrum = Spectrum.of(Moments.of(groups))
    axis = normalize_columns(spectrum.patterns[:, :1])[:, 0]
    for strength in (3.0, 1e2, 1e4, 1e8):
        shrunk = Projection.of(spectrum, 1, "soft", strength).kept_part(axis[None, :])[0]
        assert np.allclose(shrunk, axis / np.sqrt(1 + strength * spectrum.distraction[0]), rtol=1e-9, atol=1e-15)


@law
@given(removed_from(), any_strength, st.floats(1, 1e3))
def test_more_strength_shrinks_more(example, strength, factor):
    X, spectrum, n_removed = example
    soft = Projection.of(spectrum, n_removed, "soft", strength)
    assert (distances(soft(X)) <= distances(X) * (1 + 1e-12) + 1e-12 * spread(X)).all()
    if strength != "auto":
        more = Projection.of(spectrum, n_removed, "soft", strength * factor)
        assert (distances(more(X)) <= distances(soft(X)) * (1 + 1e-9) + 1e-9 * spread(X)).all()


@law
@given(removed_from(), any_strength)
def test_filter_is_the_inverse_square_root(example, strength):
    X, spectrum, n_removed = example
    soft = Projection.of(spectrum, n_removed, "soft", strength)
    patterns = normalize_columns(spectrum.patterns[:, :n_removed])
    wanted = np.eye(X.shape[1]) + (patterns * strengths(spectrum, n_removed, strength)) @ patterns.T
    root = soft.kept_part(np.eye(X.shape[1]))
    # root · wanted · root = I, to rounding at the largest eigenvalue.
    assert np.abs(root @ wanted @ root - np.eye(len(wanted))).max() <= 1e-13 * np.linalg.norm(wanted, 2)


@law
@given(removed_from(), st.floats(0, 1e6))
def test_filter_is_invertible(example, strength):
    X, spectrum, n_removed = example
    soft = Projection.of(spectrum, n_removed, "soft", strength)
    assert np.abs(soft.inverse(soft(X)) - X).max() <= 1e-12 * np.sqrt(1 + strength) * np.abs(X).max()
    filters = np.random.default_rng(0).normal(size=(3, X.shape[1]))
    Z = soft.kept_part(X - spectrum.origin)
    # A filter on projected rows gives the same reading as its pull-back on the rows.
    read = np.einsum("nd,md->nm", soft.embed(Z), soft.pullback(filters))
    assert relative(read, Z @ filters.T) <= 1e-11 * np.sqrt(1 + strength) * X.shape[1]


@law
@given(removed_from(), any_strength)
def test_mean_is_unchanged_and_the_two_parts_add_up(example, strength):
    X, spectrum, n_removed = example
    soft = Projection.of(spectrum, n_removed, "soft", strength)
    mean = spectrum.origin[None, :]
    assert np.array_equal(soft(mean), mean)
    assert relative(soft.distracting(X) + soft.denoise(X), X) <= 1e-13


@law
@given(plain_groups(), any_strength)
def test_float32_rows_give_the_same_result(groups, strength):
    X = np.concatenate(groups)
    soft = Projection.of(Spectrum.of(Moments.of(groups)), 1, "soft", strength)
    Z = soft(X.astype(np.float32))
    assert Z.dtype == soft.inverse(Z).dtype == np.float32
    assert np.abs(Z - soft(X)).max() <= 1e-4 * np.abs(X).max()


@law
@given(plain_groups(), st.sampled_from([1e-40, 1e-3, 1e3, 1e40]))
def test_automatic_strength_does_not_depend_on_units(groups, scale):
    plain, scaled = (Spectrum.of(Moments.of([rows * factor for rows in groups])) for factor in (1.0, scale))
    assert np.allclose(strengths(plain, 1), strengths(scaled, 1), rtol=1e-6)


def lit_groups(light, rng, n_groups=40):
    """Return rows in which a light moves the first two features of six; groups differ in the others."""
    groups = []
    for _ in range(n_groups):
        rows = rng.normal(size=(60, 6)) + rng.normal(size=6) * [0, 0, 3, 3, 3, 3]
        rows[:, :2] += light * rng.normal(size=(60, 1))
        groups.append(rows)
    return groups


def test_automatic_strength_grows_with_the_light():
    values = [
        strengths(Spectrum.of(Moments.of(lit_groups(light, np.random.default_rng(0)))), 1)[0] for light in (1, 2, 5)
    ]
    assert values[0] < values[1] < values[2]
    # Variances of 2·light² + 1 against about 1, squared, with a signal near the ridge: far above a hundred.
    assert values[2] > 100**2


def test_direction_that_differs_between_groups_is_shrunk_less():
    rng = np.random.default_rng(0)
    groups = lit_groups(5, rng)
    moved = [rows + rng.normal() * np.array([4, 4, 0, 0, 0, 0]) for rows in groups]
    plain, telling = (strengths(Spectrum.of(Moments.of(some)), 1)[0] for some in (groups, moved))
    assert telling < plain / 2


def test_unresolved_directions_are_assumed_to_differ_between_groups():
    rng = np.random.default_rng(0)
    # The same light among 6 features that 40 groups resolve, and among 200 that 6 groups cannot.
    many = Spectrum.of(Moments.of(lit_groups(5, rng)))
    wide = [
        np.hstack([rows, rng.normal(size=(60, 194)) + rng.normal(size=194)]) for rows in lit_groups(5, rng, n_groups=6)
    ]
    few = Spectrum.of(Moments.of(wide))
    assert many.evidence.resolvable_share == 1.0
    assert few.evidence.resolvable_share < 0.05
    inside = few.distraction[0] * (few.patterns[:, 0] ** 2).sum()
    level = inside / ((few.variances.within - inside) / 199)
    # If signal equals noise, the shrunk direction varies like a kept one, up to the ridge.
    assert 0.5 < np.sqrt(strengths(few, 1)[0]) / level < 5
    assert strengths(many, 1)[0] > 500**2


def wide_groups(rng, lit, n_groups=6):
    """Return few groups of a hundred features, with a strong light in the listed groups."""
    light = np.linspace(-9, 9, 100)
    return [
        rng.normal(size=(40, 100)) + rng.normal(size=100) + (name in lit) * rng.normal(size=(40, 1)) * light
        for name in range(n_groups)
    ]


def test_heterogeneous_direction_of_few_groups_is_not_shrunk():
    rng = np.random.default_rng(0)
    uneven, even = (Spectrum.of(Moments.of(wide_groups(rng, lit))) for lit in ([0, 1], range(6)))
    assert uneven.heterogeneity[0] > 0.5 > 0.25 > even.heterogeneity[0]
    assert strengths(uneven, 1)[0] == 0.0
    assert strengths(even, 1)[0] > 1e4
    assert strengths(uneven, 1, 100.0)[0] > 90  # an explicit number applies


def test_heterogeneous_direction_of_many_groups_is_shrunk():
    rng = np.random.default_rng(0)
    spectrum = Spectrum.of(Moments.of(wide_groups(rng, range(0, 160, 8), n_groups=160)))
    assert spectrum.heterogeneity[0] > 0.5
    assert strengths(spectrum, 1)[0] > 1e4


def test_direction_from_feedback_is_shrunk_fully():
    groups = wide_groups(np.random.default_rng(0), [0, 1])
    feedback = Feedback(ignored=50 * np.linspace(-1, 1, 100)[None])
    focus = Focus(removal="soft").fit_moments(Moments.of(groups), feedback=feedback)
    assert focus.spectrum_.n_from_feedback == 1
    assert strengths(focus.spectrum_, 1)[0] > 100


def test_strength_is_the_same_from_sums_and_from_leading_directions():
    groups = lit_groups(5, np.random.default_rng(0))
    moments = Moments.of(groups)
    full, sums = Spectrum.of(moments), Spectrum.of(moments.without_rows())
    assert np.allclose(strengths(sums, 1), strengths(full, 1), rtol=1e-9)
    learned = Focus(removal="soft", n_remove=1).fit_groups(groups)
    assert learned.projection_.filter.gain**2 == pytest.approx(1 + strengths(full, 1), rel=1e-9)


@pytest.mark.parametrize("strength", [-1, np.nan, np.inf, "strong", None, True, [1.0]])
def test_invalid_strength_is_an_error(strength):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(InputError, match="strength must be 'auto' or a non-negative number"):
        Focus(removal="soft", strength=strength).fit(X, groups=np.repeat([0, 1], 10))


@given(seeds)
@law
def test_filter_without_patterns_is_the_identity(seed):
    X = np.random.default_rng(seed).normal(size=(4, 3))
    assert np.array_equal(ShrinkageFilter.of(np.zeros((3, 0)), np.zeros(0))(X), X)

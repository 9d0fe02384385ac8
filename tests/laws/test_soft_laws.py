"""Soft removal: nothing at strength 0, the kept span at endless strength, and in between it never stretches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract import Focus, InputError, Moments, Spectrum
from undistract.algebra import Projection
from undistract.algebra.soft_filter import SoftFilter, unit
from undistract.algebra.strength import strengths
from undistract.algebra.taught import Taught

from .strategies import law, plain_sets, relative, seeds
from .test_projection_laws import ROUNDING, removed_from, spread

any_strength = st.one_of(st.just("auto"), st.floats(0, 1e6))
pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")


def distances(X):
    return np.linalg.norm(X[:, None] - X[None], axis=2)


@law
@given(removed_from())
def test_without_strength_rows_pass_unchanged(example):
    X, spectrum, n_removed = example
    assert relative(Projection.of(spectrum, n_removed, "soft", 0)(X), X) <= 1e-15


@law
@given(removed_from())
def test_endless_strength_gives_the_distances_of_the_kept_span(example):
    X, spectrum, n_removed = example
    hard = Projection.of(spectrum, n_removed, "kept_span")
    soft = Projection.of(spectrum, n_removed, "soft", 1e60)
    assert np.abs(distances(soft(X)) - distances(hard(X))).max() <= ROUNDING * spread(X)
    assert np.abs(soft(X) - hard.clean(X)).max() <= ROUNDING * (spread(X) + np.abs(spectrum.origin).max())


@law
@given(plain_sets())
def test_what_is_left_of_a_distance_falls_with_the_root_of_the_strength(sets):
    spectrum = Spectrum.of(Moments.of(sets))
    axis = unit(spectrum.patterns[:, :1])[:, 0]
    for strength in (3.0, 1e2, 1e4, 1e8):
        left = Projection.of(spectrum, 1, "soft", strength).visible(axis[None, :])[0]
        assert np.allclose(left, axis / np.sqrt(1 + strength * spectrum.distraction[0]), rtol=1e-9, atol=1e-15)


@law
@given(removed_from(), any_strength, st.floats(1, 1e3))
def test_more_strength_shrinks_more_and_no_distance_grows(example, strength, factor):
    X, spectrum, n_removed = example
    soft = Projection.of(spectrum, n_removed, "soft", strength)
    assert (distances(soft(X)) <= distances(X) * (1 + 1e-12) + 1e-12 * spread(X)).all()
    if strength != "auto":
        more = Projection.of(spectrum, n_removed, "soft", strength * factor)
        assert (distances(more(X)) <= distances(soft(X)) * (1 + 1e-9) + 1e-9 * spread(X)).all()


@law
@given(removed_from(), any_strength)
def test_the_filter_is_the_inverse_root_of_what_it_says(example, strength):
    X, spectrum, n_removed = example
    soft = Projection.of(spectrum, n_removed, "soft", strength)
    patterns = unit(spectrum.patterns[:, :n_removed])
    wanted = np.eye(X.shape[1]) + (patterns * strengths(spectrum, n_removed, strength)) @ patterns.T
    root = soft.visible(np.eye(X.shape[1]))
    # root · wanted · root = I, to rounding at the largest eigenvalue.
    assert np.abs(root @ wanted @ root - np.eye(len(wanted))).max() <= 1e-13 * np.linalg.norm(wanted, 2)


@law
@given(removed_from(), st.floats(0, 1e6))
def test_it_can_be_undone(example, strength):
    X, spectrum, n_removed = example
    soft = Projection.of(spectrum, n_removed, "soft", strength)
    assert np.abs(soft.back(soft(X)) - X).max() <= 1e-12 * np.sqrt(1 + strength) * np.abs(X).max()
    filters = np.random.default_rng(0).normal(size=(3, X.shape[1]))
    Z = soft.visible(X - spectrum.origin)
    # A reading of projected rows is the same reading of rows by what `pull` makes of its filters.
    read = np.einsum("nd,md->nm", soft.lift(Z), soft.pull(filters))
    assert relative(read, Z @ filters.T) <= 1e-11 * np.sqrt(1 + strength) * X.shape[1]


@law
@given(removed_from(), any_strength)
def test_the_mean_stays_and_the_two_parts_make_the_row(example, strength):
    X, spectrum, n_removed = example
    soft = Projection.of(spectrum, n_removed, "soft", strength)
    mean = spectrum.origin[None, :]
    assert np.array_equal(soft(mean), mean)
    assert relative(soft.distracting(X) + soft.clean(X), X) <= 1e-13


@law
@given(plain_sets(), any_strength)
def test_float32_rows_go_the_same_way(sets, strength):
    X = np.concatenate(sets)
    soft = Projection.of(Spectrum.of(Moments.of(sets)), 1, "soft", strength)
    Z = soft(X.astype(np.float32))
    assert Z.dtype == soft.back(Z).dtype == np.float32
    assert np.abs(Z - soft(X)).max() <= 1e-4 * np.abs(X).max()


@law
@given(plain_sets(), st.sampled_from([1e-40, 1e-3, 1e3, 1e40]))
def test_the_automatic_strength_does_not_depend_on_units(sets, scale):
    here, there = (Spectrum.of(Moments.of([rows * factor for rows in sets])) for factor in (1.0, scale))
    assert np.allclose(strengths(here, 1), strengths(there, 1), rtol=1e-6)


def lit_sets(light, rng, n_sets=40):
    """A light of some strength moves the first two features of six; sets differ in the others."""
    sets = []
    for _ in range(n_sets):
        rows = rng.normal(size=(60, 6)) + rng.normal(size=6) * [0, 0, 3, 3, 3, 3]
        rows[:, :2] += light * rng.normal(size=(60, 1))
        sets.append(rows)
    return sets


def test_the_automatic_strength_follows_the_light():
    found = [strengths(Spectrum.of(Moments.of(lit_sets(light, np.random.default_rng(0)))), 1)[0] for light in (1, 2, 5)]
    assert found[0] < found[1] < found[2]
    # Variances of 2·light² + 1 against 1 or so, squared, and the signal is near the cushion: far above a hundred.
    assert found[2] > 100**2


def test_what_tells_sets_apart_is_shrunk_less():
    rng = np.random.default_rng(0)
    sets = lit_sets(5, rng)
    moved = [rows + rng.normal() * np.array([4, 4, 0, 0, 0, 0]) for rows in sets]
    plain, telling = (strengths(Spectrum.of(Moments.of(some)), 1)[0] for some in (sets, moved))
    assert telling < plain / 2


def test_where_few_sets_speak_what_varies_is_taken_to_tell_sets_apart_too():
    rng = np.random.default_rng(0)
    # The same light among 6 features that 40 sets tell apart, and among 200 that 6 sets cannot.
    many = Spectrum.of(Moments.of(lit_sets(5, rng)))
    wide = [np.hstack([rows, rng.normal(size=(60, 194)) + rng.normal(size=194)]) for rows in lit_sets(5, rng, n_sets=6)]
    few = Spectrum.of(Moments.of(wide))
    assert many.evidence.heard == 1.0
    assert few.evidence.heard < 0.05
    inside = few.distraction[0] * (few.patterns[:, 0] ** 2).sum()
    level = inside / ((few.variances.within - inside) / 199)
    # Signal as noise: the deflection makes what is left vary as a kept direction does, up to the cushion.
    assert 0.5 < np.sqrt(strengths(few, 1)[0]) / level < 5
    assert strengths(many, 1)[0] > 500**2


def wide_sets(rng, lit, n_sets=6):
    """Few sets of a hundred features; a strong light falls on those that are named."""
    light = np.linspace(-9, 9, 100)
    return [
        rng.normal(size=(40, 100)) + rng.normal(size=100) + (name in lit) * rng.normal(size=(40, 1)) * light
        for name in range(n_sets)
    ]


def test_a_direction_that_few_sets_show_unevenly_is_not_shrunk_though_it_was_forced_out():
    rng = np.random.default_rng(0)
    uneven, even = (Spectrum.of(Moments.of(wide_sets(rng, lit))) for lit in ([0, 1], range(6)))
    assert uneven.unevenness[0] > 0.5 > 0.25 > even.unevenness[0]
    assert strengths(uneven, 1)[0] == 0.0
    assert strengths(even, 1)[0] > 1e4
    assert strengths(uneven, 1, 100.0)[0] > 90  # a number is believed


def test_where_sets_are_many_an_uneven_light_is_shrunk():
    rng = np.random.default_rng(0)
    spectrum = Spectrum.of(Moments.of(wide_sets(rng, range(0, 160, 8), n_sets=160)))
    assert spectrum.unevenness[0] > 0.5
    assert strengths(spectrum, 1)[0] > 1e4


def test_people_are_believed_where_sets_are_not():
    sets = wide_sets(np.random.default_rng(0), [0, 1])
    told = Taught(familiar=50 * np.linspace(-1, 1, 100)[None])
    focus = Focus(removal="soft").fit_moments(Moments.of(sets), taught=told)
    assert focus.spectrum_.n_told == 1
    assert strengths(focus.spectrum_, 1)[0] > 100


def test_the_strength_is_the_same_from_folded_sums_and_when_only_the_leading_directions_are_known():
    sets = lit_sets(5, np.random.default_rng(0))
    moments = Moments.of(sets)
    whole, sums = Spectrum.of(moments), Spectrum.of(moments.without_rows())
    assert np.allclose(strengths(sums, 1), strengths(whole, 1), rtol=1e-9)
    learned = Focus(removal="soft", n_remove=1).fit_sets(sets)
    assert learned.projection_.filter.stretch**2 == pytest.approx(1 + strengths(whole, 1), rel=1e-9)


@pytest.mark.parametrize("strength", [-1, np.nan, np.inf, "strong", None, True, [1.0]])
def test_what_is_no_strength_is_refused(strength):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(InputError, match="expected 'auto' or a number from 0 up"):
        Focus(removal="soft", strength=strength).fit(X, sets=np.repeat([0, 1], 10))


@given(seeds)
@law
def test_a_filter_of_nothing_is_the_identity(seed):
    X = np.random.default_rng(seed).normal(size=(4, 3))
    assert np.array_equal(SoftFilter.of(np.zeros((3, 0)), np.zeros(0))(X), X)

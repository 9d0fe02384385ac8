"""Laws of projections: removed patterns map to zero, kept readings are unchanged, and they are idempotent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract import Focus, Moments, Spectrum
from undistract.algebra import Projection

from .strategies import dependent_groups, law, plain_groups, random_mixing, relative, removals, seeds, wide_groups

any_groups = st.one_of(plain_groups(), dependent_groups(), wide_groups())
ridges = st.sampled_from([0.0, 1e-8, 0.1])
pytestmark = pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")

# Oblique projections and eigenvector readings magnify rounding by the condition of the patterns, up to 1e5 here.
ROUNDING = 1e-9


@st.composite
def removed_from(draw, groups=any_groups):
    """Draw rows, their spectrum, and a number of directions to remove: none, some, all that vary."""
    rows = draw(groups)
    spectrum = Spectrum.of(Moments.of(rows), ridge=draw(ridges))
    most = min(spectrum.n_varying, spectrum.n_features - 1)
    n_removed = draw(st.one_of(st.integers(0, most), st.just(most)))
    return np.concatenate(rows), spectrum, n_removed


def spread(X):
    return np.abs(X - X.mean(axis=0)).max()


@pytest.mark.parametrize("removal", removals)
@law
@given(removed_from())
def test_projection_is_idempotent(removal, example):
    X, spectrum, n_removed = example
    projection = Projection.of(spectrum, n_removed, removal)
    once = projection.inverse(projection(X))
    assert np.abs(projection.inverse(projection(once)) - once).max() <= ROUNDING * spread(X)


@pytest.mark.parametrize("removal", removals)
@law
@given(removed_from())
def test_removed_patterns_map_to_zero(removal, example):
    X, spectrum, n_removed = example
    projection = Projection.of(spectrum, n_removed, removal)
    for pattern in spectrum.patterns[:, :n_removed].T:
        push = pattern * (spread(X) / np.abs(pattern).max())
        assert np.abs(projection(X[:1] + push) - projection(X[:1])).max() <= ROUNDING * spread(X)


@law
@given(removed_from())
def test_oblique_projection_keeps_all_other_readings(example):
    X, spectrum, n_removed = example
    projection = Projection.of(spectrum, n_removed, "oblique")
    kept = spectrum.filters[:, n_removed:]
    kept = kept / np.linalg.norm(kept, axis=0)
    removed = X - projection(X)
    assert np.abs(removed @ kept).max(initial=0) <= ROUNDING * max(spread(X), np.abs(removed).max())


@pytest.mark.parametrize("removal", ["orthogonal", "eigen"])
@law
@given(removed_from(), seeds)
def test_coordinates_survive_the_inverse(removal, example, seed):
    X, spectrum, n_removed = example
    projection = Projection.of(spectrum, n_removed, removal)
    Z = np.random.default_rng(seed).normal(size=(5, projection.n_out)) * spread(X)
    assert relative(projection(projection.inverse(Z)), Z) <= ROUNDING


@pytest.mark.parametrize("removal", removals)
@law
@given(removed_from())
def test_kept_basis_is_orthonormal_and_orthogonal_to_the_removed_patterns(removal, example):
    X, spectrum, n_removed = example
    basis = Projection.of(spectrum, n_removed, removal).kept_basis
    patterns = spectrum.patterns[:, :n_removed] / np.linalg.norm(spectrum.patterns[:, :n_removed], axis=0)
    assert basis.shape == (X.shape[1] - n_removed, X.shape[1])
    # Householder reflections are exact up to a few rounding errors for any patterns.
    assert np.abs(basis @ basis.T - np.eye(len(basis))).max(initial=0) <= 1e-13
    assert np.abs(basis @ patterns).max(initial=0) <= 1e-13


@law
@given(removed_from())
def test_kept_span_never_increases_distances(example):
    X, spectrum, n_removed = example
    projection = Projection.of(spectrum, n_removed, "orthogonal")
    Z = projection(X)
    assert relative(Z, X @ projection.kept_basis.T, X) <= 1e-13
    before, after = (np.linalg.norm(rows[1:] - rows[:-1], axis=1) for rows in (X, Z))
    assert (after <= before * (1 + 1e-12) + 1e-12 * spread(X)).all()


@pytest.mark.parametrize("removal", removals)
@law
@given(removed_from())
def test_mean_is_unchanged_and_the_two_parts_add_up(removal, example):
    X, spectrum, n_removed = example
    projection = Projection.of(spectrum, n_removed, removal)
    mean = spectrum.origin[None, :]
    assert np.abs(projection.inverse(projection(mean)) - mean).max() <= ROUNDING * (spread(X) + np.abs(mean).max())
    assert relative(projection.distracting(X) + projection.inverse(projection(X)), X) <= 1e-13


@pytest.mark.parametrize("removal", removals)
@law
@given(plain_groups(), st.sampled_from([1e-2, 0.1]))
def test_float32_rows_give_the_same_result(removal, groups, ridge):
    X = np.concatenate(groups)
    projection = Projection.of(Spectrum.of(Moments.of(groups), ridge=ridge), 1, removal)
    Z = projection(X.astype(np.float32))
    assert Z.dtype == projection.inverse(Z).dtype == np.float32
    # Six rounding errors of 6e-8 at a condition number of a hundred.
    assert np.abs(Z - projection(X)).max() <= 1e-4 * np.abs(X).max()


def test_untouched_feature_is_bitwise_unchanged():
    rng = np.random.default_rng(0)
    # The light moves two features; each group repeats the same values, so its pattern has exact zeros elsewhere.
    lit = np.outer([-2.0, -1.0, 1.0, 2.0], [8.0, 4.0])  # (4, 2)
    groups = [np.hstack([lit, np.tile(rng.integers(-4, 5, size=3), (4, 1))]) for _ in range(9)]
    projection = Projection.of(Spectrum.of(Moments.of(groups)), 1)
    X = rng.normal(size=(20, 5))
    assert np.array_equal(projection(X)[:, 1:], X[:, 2:])


def two_equal_lights(rng):
    """Return two equally distracting lights in a random rotation; the groups differ elsewhere."""
    lights = 20.0 * np.tile([[1, 1], [1, -1], [-1, 1], [-1, -1]], (100, 1))
    labels = np.repeat(np.arange(20), 20)
    described = rng.normal(size=(20, 6))[labels]
    return np.hstack([lights, described]) @ random_mixing(rng, 8, condition=1.0), labels


@pytest.mark.parametrize("seed", range(5))
def test_coordinates_do_not_depend_on_the_order_of_rows_with_ties(seed):
    rng = np.random.default_rng(seed)
    X, labels = two_equal_lights(rng)
    focus = Focus(n_remove=2).fit(X, groups=labels)
    order = rng.permutation(len(X))
    shuffled = Focus(n_remove=2).fit(X[order], groups=labels[order])
    projector = focus.components_.T @ focus.components_
    assert relative(shuffled.components_.T @ shuffled.components_, projector) <= 1e-12
    # The coordinates depend only on the span, which is the same.
    assert relative(shuffled.transform(X), focus.transform(X)) <= 1e-9


@pytest.mark.parametrize("removal", removals)
def test_wide_rows_need_no_square_matrix(removal):
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(8, 3000)) + rng.normal(size=3000) for _ in range(5)]
    focus = Focus(n_remove=3, removal=removal).fit_groups(groups)
    rows = np.concatenate(groups)
    once = focus.inverse_transform(focus.transform(rows))
    assert relative(focus.inverse_transform(focus.transform(once)), once) <= ROUNDING
    # g(x) is in the span of the removed patterns.
    removed = rows - once
    inside = focus.patterns_[:, :3]
    explained = inside @ np.linalg.lstsq(inside, removed.T)[0]
    assert relative(explained.T, removed) <= ROUNDING

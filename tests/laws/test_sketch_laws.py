"""The error of a sketch never exceeds its bound, for any rows, order and code path."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract import Moments, Spectrum
from undistract.algebra.sketch import FrequentDirections, SketchedMoments, distraction_bounds, sketched_spectrum

from .strategies import law, seeds
from .test_moments_laws import chunks, join_in_any_order, weights_of

sizes = st.integers(1, 12)
priors = st.sampled_from(["uniform", "by_size", "by name"])
ROUNDING = 1e-10


@st.composite
def decaying_groups(draw):
    """Draw named groups, unbalanced, far from zero, with a flat or decaying spectrum, axis-aligned or correlated."""
    rng = np.random.default_rng(draw(seeds))
    width, n_groups = draw(st.integers(2, 25)), draw(st.integers(2, 30))
    scale = draw(st.sampled_from([1.0, 0.9, 0.5])) ** np.arange(width)
    mix = np.linalg.qr(rng.normal(size=(width, width)))[0] if draw(st.booleans()) else np.eye(width)
    counts = rng.integers(1, 30, size=n_groups)
    counts[0] += 1
    return {
        f"set {number}": ((rng.normal(size=(count, width)) + 2 * rng.normal(size=width)) * scale) @ mix + 1e3
        for number, count in enumerate(counts)
    }


def in_pieces(groups, prior, size, rng):
    return SketchedMoments.of(
        ((name, chunk) for name, rows in groups.items() for chunk in chunks(rows, rng)), prior, size=size
    )


def in_any_order(groups, prior, size, rng):
    parts = (SketchedMoments.of({name: rows}, prior, size=size) for name, rows in groups.items())
    return join_in_any_order(parts, rng)


code_paths = {
    "whole": lambda groups, prior, size, rng: SketchedMoments.of(groups, prior, size=size),
    "pieces": in_pieces,
    "sums": in_any_order,
}


def between_bounds(exact, rows, dropped):
    """Return True if rowsᵀrows ≤ exact ≤ rowsᵀrows + dropped · I."""
    errors = np.linalg.eigvalsh(exact - rows.T @ rows)
    slack = ROUNDING * max(np.trace(exact), 1e-300)
    return errors[0] >= -slack and errors[-1] <= dropped + slack


@pytest.mark.parametrize("code_path", code_paths)
@law
@given(decaying_groups(), priors, sizes, seeds)
def test_error_is_within_the_reported_and_the_theoretical_bound(code_path, groups, prior, size, seed):
    rng = np.random.default_rng(seed)
    given_prior, _ = weights_of(prior, groups, rng)
    sketch, exact = code_paths[code_path](groups, given_prior, size, rng), Moments.of(groups, given_prior)
    assert between_bounds(exact.within, sketch.rows_within, sketch.dropped)
    assert between_bounds(exact.between, sketch.rows_between, sketch.dropped_between)
    lost = np.trace(exact.within) - (sketch.rows_within**2).sum()
    assert sketch.dropped <= lost / (size + 1) + ROUNDING * np.trace(exact.within)
    assert sketch.bound == pytest.approx(np.trace(exact.within) / (size + 1))
    assert max(len(sketch.rows_within), len(sketch.rows_between)) <= 2 * size


@pytest.mark.parametrize("code_path", code_paths)
@law
@given(decaying_groups(), priors, sizes, seeds)
def test_counts_mean_and_variances_are_exact(code_path, groups, prior, size, seed):
    rng = np.random.default_rng(seed)
    given_prior, _ = weights_of(prior, groups, rng)
    sketch, exact = code_paths[code_path](groups, given_prior, size, rng), Moments.of(groups, given_prior)
    assert dict(zip(sketch.names, sketch.counts, strict=True)) == dict(zip(exact.names, exact.counts, strict=True))
    assert sketch.mean == pytest.approx(exact.mean, rel=1e-12)
    assert sketch.variances == pytest.approx(np.diag(exact.total), rel=1e-9)
    patterns = rng.normal(size=(exact.n_features, 3))
    assert sketch.heterogeneity(patterns) == pytest.approx(exact.heterogeneity(patterns), abs=1e-9)


@law
@given(decaying_groups(), priors, sizes, st.sampled_from([0.01, 0.1, 1.0]), seeds)
def test_exact_distraction_is_within_the_bounds(groups, prior, size, ridge, seed):
    given_prior, _ = weights_of(prior, groups, np.random.default_rng(seed))
    sketch = SketchedMoments.of(groups, given_prior, size=size)
    least, most = distraction_bounds(sketch, sketched_spectrum(sketch, ridge=ridge))
    exact = Spectrum.of(Moments.of(groups, given_prior), ridge=ridge).distraction
    exact = np.pad(exact, (0, max(len(least) - len(exact), 0)))
    assert (least - 1e-7 <= exact[: len(least)]).all()
    assert (exact[: len(most)] <= most + 1e-7).all()


def test_bounds_include_directions_outside_the_sketch():
    # Regression, found with 1000 examples: the last of seven upper bounds was .979, the exact value .980.
    rng = np.random.default_rng(42)
    groups = {number: rng.normal(size=(9, 12)) + 2 * rng.normal(size=12) for number in range(4)}
    sketch = SketchedMoments.of(groups, size=5)
    _, most = distraction_bounds(sketch, sketched_spectrum(sketch))
    exact = Spectrum.of(Moments.of(groups)).distraction
    assert (exact[: len(most)] <= most).all()


@law
@given(decaying_groups(), priors, seeds)
def test_large_sketch_is_exact(groups, prior, seed):
    rng = np.random.default_rng(seed)
    given_prior, _ = weights_of(prior, groups, rng)
    n_rows = sum(map(len, groups.values()))
    sketch = in_any_order(groups, given_prior, n_rows, rng)
    spectrum, exact = (
        sketched_spectrum(sketch),
        Spectrum.of(Moments.of({n: groups[n] for n in sketch.names}, given_prior)),
    )
    assert sketch.dropped == sketch.dropped_between == 0
    n_directions = len(spectrum.distraction)  # constant directions have vectors in only one of the two
    assert spectrum.distraction == pytest.approx(exact.distraction[:n_directions], abs=1e-7)
    assert exact.distraction[n_directions:] == pytest.approx(0, abs=1e-7)
    assert spectrum.ridge == pytest.approx(exact.ridge)
    assert (spectrum.patterns * spectrum.distraction) @ spectrum.patterns.T == pytest.approx(
        (exact.patterns * exact.distraction) @ exact.patterns.T, abs=1e-7 * (exact.patterns**2).sum()
    )


@law
@given(st.integers(1, 6), st.integers(1, 8), seeds)
def test_low_rank_rows_are_exact(rank, extra, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, rank)) @ rng.normal(size=(rank, 20))
    sketch = FrequentDirections.of(np.array_split(X, 7), rank + extra, 20)
    assert sketch.dropped <= ROUNDING * sketch.mass
    assert sketch.rows.T @ sketch.rows == pytest.approx(X.T @ X, abs=ROUNDING * sketch.mass)


@law
@given(st.integers(2, 10), st.sampled_from([0.5, 0.8, 0.95]), seeds)
def test_only_the_tail_of_the_spectrum_is_dropped(size, decay, seed):
    """The sharper bound of Ghashami et al.: for any k, the sum of squares after the first k over size + 1 - k."""
    X = np.random.default_rng(seed).normal(size=(300, 30)) * decay ** np.arange(30)
    squares = np.linalg.svd(X, compute_uv=False) ** 2
    sketch = FrequentDirections.of([X], size, 30)
    bounds = [squares[k:].sum() / (size + 1 - k) for k in range(size + 1)]
    assert sketch.dropped <= min(bounds) * (1 + ROUNDING)

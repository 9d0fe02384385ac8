"""Hypothesis strategies for groups of rows, and exact reference results."""

from __future__ import annotations

from contextlib import contextmanager
from fractions import Fraction
from unittest.mock import patch

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st

# Every run draws the same examples; the profile groups their number. Rows come from a seed, and a smaller seed is not a
# simpler example, so nothing is shrunk.
law = settings(derandomize=True, report_multiple_bugs=False, phases=[Phase.explicit, Phase.generate])

seeds = st.integers(0, 2**32 - 1)
removals = ("orthogonal", "eigen", "oblique")


@st.composite
def hard_groups(draw, at_least=2):
    """Draw named groups: unbalanced, far from zero (mean/std up to 1e6), far from each other (up to 1e7)."""
    rng = np.random.default_rng(draw(seeds))
    n_features = draw(st.integers(1, 4))
    counts = draw(st.lists(st.integers(1, 9), min_size=at_least, max_size=5))
    counts[0] = max(counts[0], 2)  # at least one group has variance
    distance = draw(st.sampled_from([1e-3, 1.0, 1e3, 1e7]))  # std of the group means over the within-group std
    away = draw(st.sampled_from([0.0, 1.0, 1e6]))  # mean over total std
    mix = random_mixing(rng, n_features)
    centres = rng.normal(scale=distance, size=(len(counts), n_features)) + away * max(distance, 1.0)
    return {
        f"set {number}": (rng.normal(size=(count, n_features)) + centre) @ mix
        for number, (count, centre) in enumerate(zip(counts, centres, strict=True))
    }


@st.composite
def plain_groups(draw):
    """Draw many rows around well-separated means, well-conditioned, axis-aligned or correlated: a list of arrays."""
    rng = np.random.default_rng(draw(seeds))
    width, n_groups = draw(st.integers(2, 6)), draw(st.integers(2, 6))
    counts = rng.integers(4 * width, 8 * width, size=n_groups)
    mix = random_mixing(rng, width) if draw(st.booleans()) else np.diag(rng.uniform(0.5, 2.0, size=width))
    return [(rng.normal(size=(count, width)) + rng.normal(scale=2.0, size=width)) @ mix for count in counts]


@st.composite
def wide_groups(draw):
    """Draw at most half as many rows as features: a list of arrays."""
    rng = np.random.default_rng(draw(seeds))
    n_groups, n_features = draw(st.integers(2, 5)), draw(st.integers(60, 90))
    counts = rng.integers(2, 7, size=n_groups)
    return [rng.normal(size=(count, n_features)) + rng.normal(scale=2.0, size=n_features) for count in counts]


@st.composite
def dependent_groups(draw):
    """Draw features that are mixtures of fewer latent variables, with different scales: a list of arrays."""
    rng = np.random.default_rng(draw(seeds))
    width = draw(st.integers(3, 7))
    n_sources, n_groups = draw(st.integers(1, width - 1)), draw(st.integers(2, 5))
    scale = 2.0 ** rng.integers(-6, 7, size=width)
    mixture = rng.normal(size=(n_sources, width)) * scale
    return [
        (rng.normal(size=(12, n_sources)) + rng.normal(scale=2.0, size=n_sources)) @ mixture for _ in range(n_groups)
    ]


@st.composite
def integer_groups(draw):
    """Draw small integers with exactly known ranks; some features are dependent or constant within groups."""
    rng = np.random.default_rng(draw(seeds))
    n_groups, width, size = draw(st.integers(2, 4)), draw(st.integers(1, 4)), draw(st.sampled_from([1, 3, 9]))
    groups = [rng.integers(-size, size + 1, size=(rng.integers(1, 7), width)) for _ in range(n_groups)]
    extra = draw(st.sampled_from(["none", "dependent", "group means only"]))
    if extra == "dependent":
        mixture = rng.integers(-2, 3, size=(width, 2))
        groups = [np.hstack([rows, rows @ mixture]) for rows in groups]
    if extra == "group means only":
        groups = [np.hstack([rows, np.tile(rng.integers(-size, size + 1, size=2), (len(rows), 1))]) for rows in groups]
    if draw(st.booleans()):
        mixture = rng.integers(-2, 3, size=(groups[0].shape[1], groups[0].shape[1]))
        groups = [rows @ mixture for rows in groups]
    return groups


def random_mixing(rng, n_features, condition=10.0):
    """Return an invertible matrix with a given condition number, (d, d)."""
    left, right = (np.linalg.qr(rng.normal(size=(n_features, n_features)))[0] for _ in range(2))
    return (left * np.geomspace(1.0, condition, n_features)) @ right


@contextmanager
def limits(kept_values=2**21, batch_rows=4096, block_rows=None):
    """Make small data use the code paths of large data: fold rows into matrices, read them in tiny blocks."""

    with (
        patch("undistract.algebra.moments.KEPT_VALUES", kept_values),
        patch("undistract.algebra.moments.BATCH_ROWS", batch_rows),
    ):
        if block_rows is None:
            yield
        else:
            with patch("undistract.algebra.scatter.block_rows", lambda n_features: block_rows):
                yield


def exact_moments(groups, weights):
    """Return within, between and mean in rational arithmetic, rounded once at the end."""
    shares = [Fraction(float(weight)) for weight in weights]
    shares = [share / sum(shares) for share in shares]
    means, within = [], 0
    for rows, share in zip(groups, shares, strict=True):
        exact = _fractions(rows)
        mean = exact.sum(axis=0) / Fraction(len(exact))
        deviations = exact - mean
        within = within + deviations.T @ deviations * (share / len(exact))
        means.append(mean)
    mean = sum(share * centre for share, centre in zip(shares, means, strict=True))
    between = sum(share * np.outer(centre - mean, centre - mean) for share, centre in zip(shares, means, strict=True))
    return within.astype(float), between.astype(float), mean.astype(float)


def exact_ranks(groups):
    """Return the exact ranks of within, between and total for integers."""
    exact = [_fractions(rows) for rows in groups]
    means = np.array([rows.sum(axis=0) / Fraction(len(rows)) for rows in exact])
    inside = np.vstack([rows - mean for rows, mean in zip(exact, means, strict=True)])
    between = means - means.sum(axis=0) / Fraction(len(means))
    return _rank(inside), _rank(between), _rank(np.vstack([inside, between]))


def _fractions(rows):
    return np.vectorize(lambda value: Fraction(float(value)), otypes=[object])(rows)


def _rank(matrix):
    """Return the rank by exact Gaussian elimination."""
    rows, rank = matrix.copy(), 0
    for column in range(rows.shape[1]):
        pivots = np.flatnonzero(rows[rank:, column]) + rank
        if len(pivots) == 0:
            continue
        rows[[rank, pivots[0]]] = rows[[pivots[0], rank]]
        below = rows[rank + 1 :, column] / rows[rank, column]
        rows[rank + 1 :] = rows[rank + 1 :] - np.outer(below, rows[rank])
        rank += 1
        if rank == len(rows):
            break
    return rank


def relative(value, expected, scale=None):
    """Return the Frobenius error divided by the Frobenius norm of `scale`, by default of `expected`."""
    size = np.linalg.norm(expected if scale is None else scale)
    return np.linalg.norm(value - expected) / (size or 1.0)

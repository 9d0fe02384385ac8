"""Sets of rows for the laws, and the exact answers they are held against."""

from __future__ import annotations

from contextlib import contextmanager
from fractions import Fraction
from unittest.mock import patch

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st

# Every run draws the same examples; how many is the profile's choice. Rows come from a seed, and a smaller seed is no
# simpler example: nothing is shrunk.
law = settings(derandomize=True, report_multiple_bugs=False, phases=[Phase.explicit, Phase.generate])

seeds = st.integers(0, 2**32 - 1)
removals = ("kept_span", "eigen", "oblique")


@st.composite
def hard_sets(draw, at_least=2):
    """Sets by name: unbalanced, far from zero (mean/std up to 1e6), far from one another (up to 1e7)."""
    rng = np.random.default_rng(draw(seeds))
    n_features = draw(st.integers(1, 4))
    counts = draw(st.lists(st.integers(1, 9), min_size=at_least, max_size=5))
    counts[0] = max(counts[0], 2)  # at least one set shows variation of its own
    apart = draw(st.sampled_from([1e-3, 1.0, 1e3, 1e7]))  # std of the set means, in std inside a set
    away = draw(st.sampled_from([0.0, 1.0, 1e6]))  # mean over std of everything
    mix = random_mixing(rng, n_features)
    centres = rng.normal(scale=apart, size=(len(counts), n_features)) + away * max(apart, 1.0)
    return {
        f"set {number}": (rng.normal(size=(count, n_features)) + centre) @ mix
        for number, (count, centre) in enumerate(zip(counts, centres, strict=True))
    }


@st.composite
def plain_sets(draw):
    """Many rows around well-separated means, well-conditioned, axis-aligned or mixed: a list of arrays."""
    rng = np.random.default_rng(draw(seeds))
    width, n_sets = draw(st.integers(2, 6)), draw(st.integers(2, 6))
    counts = rng.integers(4 * width, 8 * width, size=n_sets)
    mix = random_mixing(rng, width) if draw(st.booleans()) else np.diag(rng.uniform(0.5, 2.0, size=width))
    return [(rng.normal(size=(count, width)) + rng.normal(scale=2.0, size=width)) @ mix for count in counts]


@st.composite
def wide_sets(draw):
    """At most half as many rows as features: a list of arrays."""
    rng = np.random.default_rng(draw(seeds))
    n_sets, n_features = draw(st.integers(2, 5)), draw(st.integers(60, 90))
    counts = rng.integers(2, 7, size=n_sets)
    return [rng.normal(size=(count, n_features)) + rng.normal(scale=2.0, size=n_features) for count in counts]


@st.composite
def dependent_sets(draw):
    """Fewer sources than features, each feature a mixture of them on a scale of its own: a list of arrays."""
    rng = np.random.default_rng(draw(seeds))
    width = draw(st.integers(3, 7))
    n_sources, n_sets = draw(st.integers(1, width - 1)), draw(st.integers(2, 5))
    scale = 2.0 ** rng.integers(-6, 7, size=width)
    mixture = rng.normal(size=(n_sources, width)) * scale
    return [(rng.normal(size=(12, n_sources)) + rng.normal(scale=2.0, size=n_sources)) @ mixture for _ in range(n_sets)]


@st.composite
def integer_sets(draw):
    """Small whole numbers, so that ranks are known exactly; some features repeat or never vary inside a set."""
    rng = np.random.default_rng(draw(seeds))
    n_sets, width, size = draw(st.integers(2, 4)), draw(st.integers(1, 4)), draw(st.sampled_from([1, 3, 9]))
    sets = [rng.integers(-size, size + 1, size=(rng.integers(1, 7), width)) for _ in range(n_sets)]
    extra = draw(st.sampled_from(["none", "dependent", "set means only"]))
    if extra == "dependent":
        mixture = rng.integers(-2, 3, size=(width, 2))
        sets = [np.hstack([rows, rows @ mixture]) for rows in sets]
    if extra == "set means only":
        sets = [np.hstack([rows, np.tile(rng.integers(-size, size + 1, size=2), (len(rows), 1))]) for rows in sets]
    if draw(st.booleans()):
        mixture = rng.integers(-2, 3, size=(sets[0].shape[1], sets[0].shape[1]))
        sets = [rows @ mixture for rows in sets]
    return sets


def random_mixing(rng, n_features, condition=10.0):
    """An invertible matrix of known condition, (d, d)."""
    left, right = (np.linalg.qr(rng.normal(size=(n_features, n_features)))[0] for _ in range(2))
    return (left * np.geomspace(1.0, condition, n_features)) @ right


@contextmanager
def limits(kept_values=2**21, batch_rows=4096, block_rows=None):
    """Let small data walk the roads of large data: fold rows into matrices, read them in tiny blocks."""

    def blocks(n_rows, n_features):
        return ((start, min(start + block_rows, n_rows)) for start in range(0, n_rows, block_rows))

    with (
        patch("undistract.algebra.store.KEPT_VALUES", kept_values),
        patch("undistract.algebra.named_sets.BATCH_ROWS", batch_rows),
    ):
        if block_rows is None:
            yield
        else:
            with patch("undistract.algebra.gather._blocks", blocks):
                yield


def exact_moments(sets, weights):
    """within, between and mean of the very doubles given, in rational arithmetic, rounded once at the end."""
    shares = [Fraction(float(weight)) for weight in weights]
    shares = [share / sum(shares) for share in shares]
    means, within = [], 0
    for rows, share in zip(sets, shares, strict=True):
        exact = _fractions(rows)
        mean = exact.sum(axis=0) / Fraction(len(exact))
        deviations = exact - mean
        within = within + deviations.T @ deviations * (share / len(exact))
        means.append(mean)
    mean = sum(share * centre for share, centre in zip(shares, means, strict=True))
    between = sum(share * np.outer(centre - mean, centre - mean) for share, centre in zip(shares, means, strict=True))
    return within.astype(float), between.astype(float), mean.astype(float)


def exact_ranks(sets):
    """Ranks of within, between and total of whole numbers."""
    exact = [_fractions(rows) for rows in sets]
    means = np.array([rows.sum(axis=0) / Fraction(len(rows)) for rows in exact])
    inside = np.vstack([rows - mean for rows, mean in zip(exact, means, strict=True)])
    apart = means - means.sum(axis=0) / Fraction(len(means))
    return _rank(inside), _rank(apart), _rank(np.vstack([inside, apart]))


def _fractions(rows):
    return np.vectorize(lambda value: Fraction(float(value)), otypes=[object])(rows)


def _rank(matrix):
    """Gaussian elimination, exact."""
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


def relative(found, expected, scale=None):
    """Frobenius error over the Frobenius norm of `scale`, by default of what was expected."""
    size = np.linalg.norm(expected if scale is None else scale)
    return np.linalg.norm(found - expected) / size if size else np.linalg.norm(found - expected)

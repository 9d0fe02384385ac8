"""Moments agree with exact arithmetic for any chunking, order, prior, storage and code path."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract import Focus, GroupMoments, InputError, Moments

from .strategies import exact_moments, hard_groups, law, limits, relative, seeds

# PROMISES 5: any split, order or engine agrees within 1e-12, with mean/std 1e6 and group means 1e7 apart.
PROMISED = 1e-12

stores = st.sampled_from(
    [
        {},
        {"kept_values": 0},
        {"kept_values": 0, "batch_rows": 3, "block_rows": 2},
        {"kept_values": 20, "batch_rows": 1, "block_rows": 5},
    ]
)
pytestmark = [
    pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning"),
    pytest.mark.filterwarnings("ignore::undistract.errors.NoGroupsWarning"),
]


def weights_of(prior, groups, rng):
    """Return the `prior` parameter and the weight of each group."""
    counts = np.array([len(rows) for rows in groups.values()], dtype=float)
    if prior in ("uniform", "by_size"):
        return prior, np.ones(len(groups)) if prior == "uniform" else counts
    weights = rng.uniform(0.1, 10.0, size=len(groups))
    return (dict(zip(groups, weights.tolist(), strict=True)) if prior == "by name" else weights.tolist()), weights


def chunks(rows, rng):
    return [chunk for chunk in np.split(rows, np.sort(rng.integers(0, len(rows) + 1, size=3))) if len(chunk)]


def labelled(groups):
    return np.concatenate(list(groups.values())), np.repeat(list(groups), [len(rows) for rows in groups.values()])


def join_in_any_order(parts, rng):
    parts = list(parts)
    while len(parts) > 1:
        first = parts.pop(rng.integers(len(parts)))
        second = parts.pop(rng.integers(len(parts)))
        parts.append(first + second)
    return parts[0]


def by_pieces(groups, prior, rng):
    return Moments.of(((name, chunk) for name, rows in groups.items() for chunk in chunks(rows, rng)), prior)


def by_joined_set_moments(groups, prior, rng):
    joined = {name: join_in_any_order(map(GroupMoments.of, chunks(rows, rng)), rng) for name, rows in groups.items()}
    return Moments.of(joined, prior)


def by_labels_in_order(groups, prior, rng):
    return Moments.from_labels(*labelled(groups), prior)


def by_shuffled_labels(groups, prior, rng):
    X, labels = labelled(groups)
    order = rng.permutation(len(X))
    return Moments.from_labels(X[order], labels[order], prior)


def by_sums(groups, prior, rng):
    return join_in_any_order((Moments.of({name: rows}, prior) for name, rows in groups.items()), rng)


def by_partial_fit(groups, prior, rng):
    X, labels = labelled(groups)
    focus = Focus(prior=prior)
    for part in chunks(rng.permutation(len(X)), rng):
        focus.partial_fit(X[part], groups=labels[part])
    return focus.moments_


def by_growing_stored_groups(groups, prior, rng):
    """Sum half of every group, extract each group again and join it with its other half."""
    halves = {name: np.array_split(rows, 2) if len(rows) > 1 else [rows] for name, rows in groups.items()}
    with limits():
        before = Moments.of({name: parts[0] for name, parts in halves.items()})
        grown = {
            name: join_in_any_order([before.group(name), *map(GroupMoments.of, parts[1:])], rng)
            for name, parts in halves.items()
        }
    return Moments.of(grown, prior)


code_paths = {
    "arrays": lambda groups, prior, rng: Moments.of(groups, prior),
    "pieces": by_pieces,
    "set moments": lambda groups, prior, rng: Moments.of(
        {n: GroupMoments.of(rows) for n, rows in groups.items()}, prior
    ),
    "joined set moments": by_joined_set_moments,
    "labels in order": by_labels_in_order,
    "shuffled labels": by_shuffled_labels,
    "sums": by_sums,
    "partial_fit": by_partial_fit,
    "growing stored groups": by_growing_stored_groups,
}
# Weights in order are only defined if groups come in a fixed order and all at once.
without_order = ("shuffled labels", "sums", "partial_fit")


def mean_tolerance(mean, total):
    """Return the tolerance of a mean: as promised, or a few roundings of itself if it is far from zero."""
    return PROMISED * np.sqrt(np.trace(total)) + 4 * np.finfo(float).eps * np.abs(mean)


def exact_wander(groups, weights):
    """Yield the diagonals of Σ P/(n(n-1)) S and Σ P²/(n(n-1)) S: within-group covariances with other weights."""
    several = [(rows, weight) for rows, weight in zip(groups.values(), weights, strict=True) if len(rows) > 1]
    for power in (1, 2):
        weighting = np.array([weight**power / (len(rows) - 1) for rows, weight in several])
        within, _, _ = exact_moments([rows for rows, _ in several], weighting)
        yield np.diag(within) * weighting.sum() / weights.sum() ** power


@pytest.mark.parametrize("code_path", code_paths)
@law
@given(hard_groups(), st.sampled_from(["uniform", "by_size", "by name", "in order"]), stores, seeds)
def test_moments_are_exact_on_every_code_path(code_path, groups, prior, store, seed):
    rng = np.random.default_rng(seed)
    if prior == "in order" and code_path in without_order:
        prior = "by name"
    given_prior, weights = weights_of(prior, groups, rng)
    with limits(**store):
        moments = code_paths[code_path](groups, given_prior, rng)
        within, between, mean = exact_moments(groups.values(), weights)
        total = within + between
        assert relative(moments.within, within) <= PROMISED
        assert relative(moments.between, between, total) <= PROMISED
        assert relative(moments.total, total) <= PROMISED
        assert (np.abs(moments.mean - mean) <= mean_tolerance(mean, total)).all()
        for noise, expected in zip(moments.mean_noise(np.eye(len(mean))), exact_wander(groups, weights), strict=True):
            assert relative(noise, expected) <= PROMISED
        shares = dict(zip(moments.names, moments.shares, strict=True))
        assert [shares[name] for name in groups] == pytest.approx(weights / weights.sum())
        counts = dict(zip(moments.names, moments.counts, strict=True))
        assert [counts[name] for name in groups] == [len(rows) for rows in groups.values()]


@law
@given(hard_groups(at_least=3), st.sampled_from(["uniform", "by_size", "by name"]), seeds)
def test_removal_from_stored_rows_is_exact(groups, prior, seed):
    rng = np.random.default_rng(seed)
    given_prior, weights = weights_of(prior, groups, rng)
    *_, removed = groups
    moments = Moments.of(groups, given_prior).without(removed)
    within, between, mean = exact_moments(list(groups.values())[:-1], weights[:-1])
    assert relative(moments.within, within) <= PROMISED
    assert relative(moments.between, between, within + between) <= PROMISED
    assert (np.abs(moments.mean - mean) <= mean_tolerance(mean, within + between)).all()


@law
@given(hard_groups(at_least=3), st.floats(0, 9), seeds)
def test_removal_from_folded_rows_is_accurate_or_raises(groups, far, seed):
    rng = np.random.default_rng(seed)
    *stay, removed = groups
    groups[removed] = groups[removed] + 10**far * rng.normal(size=groups[removed].shape[1])
    with limits(kept_values=0):
        moments = Moments.of(groups)
        try:
            remaining = moments.without(removed, GroupMoments.of(groups[removed]))
        except InputError:
            return
    within, between, _ = exact_moments([groups[name] for name in stay], np.ones(len(stay)))
    # Subtraction loses digits. Half of them must be left, or the result is noise.
    assert relative(remaining.total, within + between) <= 1e-8


@pytest.mark.parametrize("seed", range(6))  # the rounding error may be negative, which is harmless
def test_removal_leaves_no_rounding_in_constant_features(seed):
    rng = np.random.default_rng(seed)
    groups = {m: np.column_stack([rng.normal(size=(50, 2)) + rng.normal(size=2), np.full(50, 3.0)]) for m in range(5)}
    extra = rng.normal(scale=7.3, size=(50, 3))
    with limits(kept_values=0):
        try:
            remaining = Moments.of({**groups, "extra": extra}).without("extra", GroupMoments.of(extra))
        except InputError:
            return
    # A variance of 1e-15 would count as one more varying feature and change the relative ridge by a third.
    assert Focus().fit_moments(remaining).distraction_ == pytest.approx(
        Focus().fit_groups(groups).distraction_, abs=1e-9
    )


@law
@given(hard_groups())
def test_join_is_commutative(groups):
    names = list(groups)
    left, right = (Moments.of({name: groups[name] for name in part}) for part in (names[:1], names[1:]))
    forward, backward = left + right, right + left
    assert relative(forward.within, backward.within) <= PROMISED
    assert relative(forward.between, backward.between, forward.total) <= PROMISED


@law
@given(seeds, st.integers(1, 7), st.sampled_from([{"n_remove": 2}, {"cutoff": 0.9, "ridge": 0.0}, {}]))
def test_partial_fit_agrees_with_fit(seed, rows_per_chunk, settings):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(4), 6))
    X = rng.normal(size=(24, 3)) @ rng.normal(size=(3, 3))
    X[:, 0] += 4 * labels
    focus = Focus(**settings)
    for start in range(0, 24, rows_per_chunk):
        chunk = slice(start, start + rows_per_chunk)
        focus.partial_fit(X[chunk], groups=labels[chunk])
    fitted = Focus(**settings).fit(X, groups=labels)
    assert focus.n_removed_ == fitted.n_removed_
    # Condition numbers of up to 1e3 amplify the rounding of the moments.
    assert focus.distraction_ == pytest.approx(fitted.distraction_, abs=1e-10)


@pytest.mark.parametrize("container", [list, np.array, tuple])
def test_weights_in_order_do_not_depend_on_the_container(container):
    X = np.random.default_rng(0).normal(size=(12, 2))
    labels = ["wed", "mon", "tue"] * 4
    moments = Moments.from_labels(X, container(labels), [1.0, 2.0, 5.0])
    reference = Moments.from_labels(X, np.array(labels, dtype=object), [1.0, 2.0, 5.0])
    shares, expected = (dict(zip(m.names, m.shares, strict=True)) for m in (moments, reference))
    assert shares == pytest.approx(expected)

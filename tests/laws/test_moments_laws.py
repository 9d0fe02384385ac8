"""Moments do not depend on the road: any chunking, order, prior and store gives what exact arithmetic gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undistract import Focus, InputError, Moments, SetMoments

from .strategies import exact_moments, hard_sets, law, limits, relative, seeds

# PROMISES 5: any split, order or engine agrees within 1e-12, at mean/std 1e6 and set means 1e7 apart.
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
    pytest.mark.filterwarnings("ignore::undistract.errors.NoSetsWarning"),
]


def weights_of(prior, sets, rng):
    """The prior as a user gives it, and the weight of each set."""
    counts = np.array([len(rows) for rows in sets.values()], dtype=float)
    if prior in ("uniform", "by_size"):
        return prior, np.ones(len(sets)) if prior == "uniform" else counts
    weights = rng.uniform(0.1, 10.0, size=len(sets))
    return (dict(zip(sets, weights.tolist(), strict=True)) if prior == "by name" else weights.tolist()), weights


def chunks(rows, rng):
    return [chunk for chunk in np.split(rows, np.sort(rng.integers(0, len(rows) + 1, size=3))) if len(chunk)]


def labelled(sets):
    return np.concatenate(list(sets.values())), np.repeat(list(sets), [len(rows) for rows in sets.values()])


def join_in_any_order(pieces, rng):
    pieces = list(pieces)
    while len(pieces) > 1:
        one = pieces.pop(rng.integers(len(pieces)))
        other = pieces.pop(rng.integers(len(pieces)))
        pieces.append(one + other)
    return pieces[0]


def by_pieces(sets, prior, rng):
    return Moments.of(((name, chunk) for name, rows in sets.items() for chunk in chunks(rows, rng)), prior)


def by_joined_set_moments(sets, prior, rng):
    joined = {name: join_in_any_order(map(SetMoments.of, chunks(rows, rng)), rng) for name, rows in sets.items()}
    return Moments.of(joined, prior)


def by_labels_in_order(sets, prior, rng):
    return Moments.of_labelled(*labelled(sets), prior)


def by_shuffled_labels(sets, prior, rng):
    X, labels = labelled(sets)
    order = rng.permutation(len(X))
    return Moments.of_labelled(X[order], labels[order], prior)


def by_sums(sets, prior, rng):
    return join_in_any_order((Moments.of({name: rows}, prior) for name, rows in sets.items()), rng)


def by_partial_fit(sets, prior, rng):
    X, labels = labelled(sets)
    focus = Focus(prior=prior)
    for part in chunks(rng.permutation(len(X)), rng):
        focus.partial_fit(X[part], sets=labels[part])
    return focus.moments_


def by_growing_what_was_kept(sets, prior, rng):
    """Half of every set is summed up with the others, then taken out again and joined with its other half."""
    halves = {name: np.array_split(rows, 2) if len(rows) > 1 else [rows] for name, rows in sets.items()}
    with limits():
        before = Moments.of({name: parts[0] for name, parts in halves.items()})
        grown = {
            name: join_in_any_order([before.piece(name), *map(SetMoments.of, parts[1:])], rng)
            for name, parts in halves.items()
        }
    return Moments.of(grown, prior)


roads = {
    "arrays": lambda sets, prior, rng: Moments.of(sets, prior),
    "pieces": by_pieces,
    "set moments": lambda sets, prior, rng: Moments.of({n: SetMoments.of(rows) for n, rows in sets.items()}, prior),
    "joined set moments": by_joined_set_moments,
    "labels in order": by_labels_in_order,
    "shuffled labels": by_shuffled_labels,
    "sums": by_sums,
    "partial_fit": by_partial_fit,
    "growing what was kept": by_growing_what_was_kept,
}
# Weights in order have a meaning only where sets come in one order, and all at once.
without_order = ("shuffled labels", "sums", "partial_fit")


def as_good_as_a_double(mean, total):
    """What a mean may be off: as promised, or a few roundings of itself where it lies far from zero."""
    return PROMISED * np.sqrt(np.trace(total)) + 4 * np.finfo(float).eps * np.abs(mean)


def exact_wander(sets, weights):
    """Σ P/(n(n-1)) S and Σ P²/(n(n-1)) S, the diagonals: within once more, with other weights."""
    several = [(rows, weight) for rows, weight in zip(sets.values(), weights, strict=True) if len(rows) > 1]
    for power in (1, 2):
        weighting = np.array([weight**power / (len(rows) - 1) for rows, weight in several])
        within, _, _ = exact_moments([rows for rows, _ in several], weighting)
        yield np.diag(within) * weighting.sum() / weights.sum() ** power


@pytest.mark.parametrize("road", roads)
@law
@given(hard_sets(), st.sampled_from(["uniform", "by_size", "by name", "in order"]), stores, seeds)
def test_moments_are_exact_by_every_road(road, sets, prior, store, seed):
    rng = np.random.default_rng(seed)
    if prior == "in order" and road in without_order:
        prior = "by name"
    given_prior, weights = weights_of(prior, sets, rng)
    with limits(**store):
        moments = roads[road](sets, given_prior, rng)
        within, between, mean = exact_moments(sets.values(), weights)
        total = within + between
        assert relative(moments.within, within) <= PROMISED
        assert relative(moments.between, between, total) <= PROMISED
        assert relative(moments.total, total) <= PROMISED
        assert (np.abs(moments.mean - mean) <= as_good_as_a_double(mean, total)).all()
        for found, expected in zip(moments.wander(np.eye(len(mean))), exact_wander(sets, weights), strict=True):
            assert relative(found, expected) <= PROMISED
        shares = dict(zip(moments.names, moments.shares, strict=True))
        assert [shares[name] for name in sets] == pytest.approx(weights / weights.sum())
        counts = dict(zip(moments.names, moments.counts, strict=True))
        assert [counts[name] for name in sets] == [len(rows) for rows in sets.values()]


@law
@given(hard_sets(at_least=3), st.sampled_from(["uniform", "by_size", "by name"]), seeds)
def test_a_set_taken_out_of_kept_rows_was_never_there(sets, prior, seed):
    rng = np.random.default_rng(seed)
    given_prior, weights = weights_of(prior, sets, rng)
    *_, gone = sets
    moments = Moments.of(sets, given_prior).without(gone)
    within, between, mean = exact_moments(list(sets.values())[:-1], weights[:-1])
    assert relative(moments.within, within) <= PROMISED
    assert relative(moments.between, between, within + between) <= PROMISED
    assert (np.abs(moments.mean - mean) <= as_good_as_a_double(mean, within + between)).all()


@law
@given(hard_sets(at_least=3), st.floats(0, 9), seeds)
def test_a_set_taken_out_of_folded_rows_leaves_a_good_answer_or_a_refusal(sets, far, seed):
    rng = np.random.default_rng(seed)
    *stay, gone = sets
    sets[gone] = sets[gone] + 10**far * rng.normal(size=sets[gone].shape[1])
    with limits(kept_values=0):
        moments = Moments.of(sets)
        try:
            rest = moments.without(gone, SetMoments.of(sets[gone]))
        except InputError:
            return
    within, between, _ = exact_moments([sets[name] for name in stay], np.ones(len(stay)))
    # Subtraction loses digits by its nature; half of them must be left, or the answer is noise.
    assert relative(rest.total, within + between) <= 1e-8


@pytest.mark.parametrize("seed", range(6))  # the rest may be negative, and then does no harm
def test_a_feature_that_only_the_removed_set_moved_leaves_no_rest_of_rounding(seed):
    rng = np.random.default_rng(seed)
    sets = {m: np.column_stack([rng.normal(size=(50, 2)) + rng.normal(size=2), np.full(50, 3.0)]) for m in range(5)}
    extra = rng.normal(scale=7.3, size=(50, 3))
    with limits(kept_values=0):
        try:
            rest = Moments.of({**sets, "extra": extra}).without("extra", SetMoments.of(extra))
        except InputError:
            return
    # A variance of 1e-15 here counts as one more feature that varies, and moves the relative cushion by a third.
    assert Focus().fit_moments(rest).distraction_ == pytest.approx(Focus().fit_sets(sets).distraction_, abs=1e-9)


@law
@given(hard_sets())
def test_moments_join_in_either_order(sets):
    names = list(sets)
    left, right = (Moments.of({name: sets[name] for name in part}) for part in (names[:1], names[1:]))
    one, other = left + right, right + left
    assert relative(one.within, other.within) <= PROMISED
    assert relative(one.between, other.between, one.total) <= PROMISED


@law
@given(seeds, st.integers(1, 7), st.sampled_from([{"n_remove": 2}, {"cutoff": 0.9, "cushion": 0.0}, {}]))
def test_partial_fit_in_any_chunking_learns_what_fit_learns(seed, rows_per_chunk, settings):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(4), 6))
    X = rng.normal(size=(24, 3)) @ rng.normal(size=(3, 3))
    X[:, 0] += 4 * labels
    focus = Focus(**settings)
    for start in range(0, 24, rows_per_chunk):
        chunk = slice(start, start + rows_per_chunk)
        focus.partial_fit(X[chunk], sets=labels[chunk])
    whole = Focus(**settings).fit(X, sets=labels)
    assert focus.n_removed_ == whole.n_removed_
    # Conditions of up to 1e3 magnify the rounding of the moments.
    assert focus.distraction_ == pytest.approx(whole.distraction_, abs=1e-10)


@pytest.mark.parametrize("container", [list, np.array, tuple])
def test_weights_in_order_mean_the_same_sets_however_labels_are_held(container):
    X = np.random.default_rng(0).normal(size=(12, 2))
    labels = ["wed", "mon", "tue"] * 4
    moments = Moments.of_labelled(X, container(labels), [1.0, 2.0, 5.0])
    reference = Moments.of_labelled(X, np.array(labels, dtype=object), [1.0, 2.0, 5.0])
    found, expected = (dict(zip(m.names, m.shares, strict=True)) for m in (moments, reference))
    assert found == pytest.approx(expected)

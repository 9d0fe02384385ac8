from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator

from undistract.detect import DiscriminativeDetector
from undistract.detect.logistic import class_weights
from undistract.detect.soft_filter import penalty_filter
from undistract.errors import InputError

SMALL = {"window": 10, "stride": 5, "n_shuffles": 3, "random_state": 0}


def some_rows(seed=0, n_rows=60, n_features=4):
    random = np.random.default_rng(seed)
    return random.normal(size=(n_rows, n_features)) @ random.normal(size=(n_features, n_features))


def some_focus(seed=0, n_features=4, n_removed=2):
    random = np.random.default_rng(seed)
    return SimpleNamespace(
        patterns_=random.normal(size=(n_features, n_features)) * 7,
        distraction_=np.linspace(0.99, 0.2, n_features),
        n_removed_=n_removed,
    )


# The reference


def test_it_gives_the_reference_scores(golden):
    found = DiscriminativeDetector(
        ridge=float(golden["ridge"]),
        window=int(golden["window"]),
        stride=int(golden["stride"]),
        permutations=golden["permutations"],
        standardise=False,
    ).fit(golden["X"])
    # The reference is written with six decimals, and was itself solved to a few 1e-9.
    assert np.abs(found.probabilities_ - golden["score"]).max() < 5.1e-7
    np.testing.assert_array_equal(found.counts_, golden["count"])
    assert found.scores_ == pytest.approx(found.probabilities_ / (1 - found.probabilities_), rel=1e-12)


# Laws


@given(st.integers(0, 10**6), st.sampled_from(["newton", "one_step"]), st.sampled_from(["probability", "margin"]))
@settings(deadline=None, max_examples=30)
def test_scores_do_not_depend_on_origin_unit_or_direction_of_the_axes(seed, solver, average):
    X = some_rows(seed)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    one, other = (
        DiscriminativeDetector(**SMALL, solver=solver, average=average).fit(rows).scores_
        for rows in (X, 1e-3 * (X @ turn) + 17.0)
    )
    # Centring at 17 with a spread of 1e-3 costs four digits of sixteen, stopping the solver half of the rest.
    assert one == pytest.approx(other, rel=1e-6, abs=1e-6)


@given(st.integers(0, 10**6))
@settings(deadline=None, max_examples=20)
def test_scores_follow_the_rows_when_rows_change_places(seed):
    X, order = some_rows(seed), np.random.default_rng(seed).permutation(60)
    shuffled = np.array([np.random.default_rng([seed, k]).permutation(60) for k in range(3)])
    place = np.argsort(order)
    one = DiscriminativeDetector(window=10, stride=5, permutations=shuffled).fit(X).scores_
    other = DiscriminativeDetector(window=10, stride=5, permutations=place[shuffled]).fit(X[order]).scores_
    assert other == pytest.approx(one[order], rel=1e-9)


@given(st.integers(0, 10**6), st.sampled_from(["newton", "one_step"]))
@settings(deadline=None, max_examples=20)
def test_empty_features_change_nothing_even_when_there_are_more_of_them_than_rows(seed, solver):
    X = some_rows(seed)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(90, 90)))[0]
    wide = np.column_stack([X, np.zeros((60, 86))]) @ turn
    # The mean variance counts empty features too, so the scale is given beforehand.
    one = DiscriminativeDetector(**SMALL, solver=solver, standardise=False).fit(X)
    other = DiscriminativeDetector(**SMALL, solver=solver, standardise=False).fit(wide)
    assert other.scores_ == pytest.approx(one.scores_, rel=1e-6)
    assert other.anomaly_score(wide[:5]) == pytest.approx(one.anomaly_score(X[:5]), rel=1e-6)


@given(
    st.integers(1, 20),
    st.integers(0, 40),
    st.integers(1, 45),
    st.integers(1, 3),
    st.sampled_from([None, 1, 9]),
)
@settings(deadline=None, max_examples=50)
def test_every_row_is_scored_and_the_others_keep_their_scores(window, more, stride, n_shuffles, buffer):
    X = some_rows(1, 2 * window + more, 3)
    options = {"window": window, "stride": stride, "n_shuffles": n_shuffles, "random_state": 0}
    options["buffer"] = None if buffer is None else window + buffer
    covered = DiscriminativeDetector(**options).fit(X)
    paper = DiscriminativeDetector(**options, cover=False).fit(X)
    assert np.isfinite(covered.scores_).all()
    assert (covered.counts_ > 0).all()
    scored = paper.counts_ > 0
    np.testing.assert_array_equal(np.isnan(paper.scores_), ~scored)
    np.testing.assert_array_equal(covered.scores_[scored], paper.scores_[scored])


@given(st.integers(0, 10**6), st.sampled_from(["probability", "margin"]), st.sampled_from([4, 80]))
@settings(deadline=None, max_examples=20)
def test_a_new_row_scores_the_same_in_any_batch(seed, average, n_features):
    found = DiscriminativeDetector(**SMALL, average=average).fit(some_rows(seed, 60, n_features))
    new = 3 * some_rows(seed + 1, 20, n_features)
    together = found.anomaly_score(new)
    alone = np.concatenate([found.anomaly_score(row[None]) for row in new])
    # Matrix products round differently for one row and for many.
    assert together == pytest.approx(alone, rel=1e-9, abs=1e-12)
    assert found.anomaly_score(new[::-1])[::-1] == pytest.approx(together, rel=1e-9, abs=1e-12)


# Cases


def test_a_buffer_of_all_rows_is_no_buffer():
    X = some_rows()
    one, other = (DiscriminativeDetector(**SMALL, buffer=buffer).fit(X).scores_ for buffer in (None, 60))
    np.testing.assert_array_equal(one, other)


def test_a_short_buffer_forgets_old_rows():
    X, identity = some_rows(), np.arange(60)[None]
    changed = X.copy()
    changed[:20] *= 3
    options = {"window": 10, "stride": 10, "permutations": identity, "cover": False, "standardise": False}
    short = [DiscriminativeDetector(**options, buffer=20).fit(rows).scores_[50:] for rows in (X, changed)]
    long = [DiscriminativeDetector(**options).fit(rows).scores_[50:] for rows in (X, changed)]
    np.testing.assert_array_equal(*short)
    assert np.abs(long[0] - long[1]).max() > 1e-3


def test_two_far_apart_halves_in_order_are_told_apart_and_in_shuffled_order_are_not():
    X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0.0], [20.0]], 20, axis=0)
    ordered = DiscriminativeDetector(window=20, stride=20, permutations=np.arange(40)).fit(X)
    assert ordered.probabilities_[20:].min() > 0.95
    shuffled = DiscriminativeDetector(window=20, stride=20, n_shuffles=20, random_state=0).fit(X)
    assert np.abs(shuffled.probabilities_ - 0.5).max() < 0.3


def test_the_odds_of_rows_that_are_told_apart_for_sure_stay_finite_and_in_order():
    X = np.concatenate([np.zeros((20, 1)), np.linspace(1e3, 2e3, 20)[:, None]])
    found = DiscriminativeDetector(
        window=20, stride=20, permutations=np.arange(40), standardise=False, cover=False, ridge=1e-6
    ).fit(X)
    assert np.isfinite(found.scores_[20:]).all()
    # Probabilities are all 1 here; the odds still tell the rows apart until they leave the range of floats.
    assert found.scores_[20] < found.scores_[39]


def test_margins_still_tell_rows_apart_where_probabilities_saturate():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 60))
    X[7] *= 4
    found = DiscriminativeDetector(window=20, stride=10, average="margin", random_state=0).fit(X)
    assert found.scores_.argmax() == 7
    np.testing.assert_array_equal(found.scores_, found.margins_)


def test_one_step_ranks_nearly_as_the_exact_fit():
    X = some_rows(3, 400, 8)
    one, other = (
        DiscriminativeDetector(window=50, stride=25, random_state=0, solver=solver).fit(X).scores_
        for solver in ("newton", "one_step")
    )
    assert spearmanr(one, other)[0] > 0.99


def test_a_new_row_scores_nearly_as_if_the_window_had_been_fitted_with_it():
    X, new = (
        some_rows(0, 200, 5),
        np.random.default_rng(1).normal(size=(12, 5)) * np.linspace(0.1, 4, 12)[:, None],
    )
    order = np.random.default_rng(2).permutation(200)
    found = DiscriminativeDetector(window=40, stride=120, permutations=order, standardise=False).fit(X)
    sizes = [160, 40]
    weight = np.append(np.repeat(class_weights(*sizes), sizes), class_weights(*sizes)[1])
    sign = np.append(np.repeat([-1.0, 1.0], sizes), 1.0)
    for row, score in zip(new, found.anomaly_score(new), strict=True):
        Z = np.column_stack([np.vstack([X[order], row]), np.ones(201)])
        refit = minimize(
            lambda v, Z=Z: 0.05 * v @ v + weight @ np.logaddexp(0, -sign * (Z @ v)),
            np.zeros(6),
            jac=lambda v, Z=Z: 0.1 * v - Z.T @ (weight * sign * expit(-sign * (Z @ v))),
            method="BFGS",
        )
        # The other rows' objective is taken as a parabola: third derivatives are left out.
        assert score / (1 + score) == pytest.approx(expit(Z[-1] @ refit.x), abs=0.01)


def test_new_rows_further_out_score_higher():
    found = DiscriminativeDetector(window=20, stride=10, n_shuffles=30, random_state=0).fit(some_rows(0, 200, 3))
    along = np.outer([0.0, 1.0, 3.0, 10.0, 1e3, 1e200], [1.0, -1.0, 0.5])
    assert (np.diff(found.anomaly_score(along)) > 0).all()


def test_many_workers_give_the_same_scores():
    X = some_rows()
    one, other = (DiscriminativeDetector(**SMALL, n_jobs=n_jobs).fit(X).scores_ for n_jobs in (None, 2))
    np.testing.assert_array_equal(one, other)


def test_the_same_seed_gives_the_same_scores_and_another_one_does_not():
    X = some_rows()
    first, again = (DiscriminativeDetector(**SMALL).fit(X).scores_ for _ in range(2))
    other = DiscriminativeDetector(**{**SMALL, "random_state": 1}).fit(X).scores_
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


# The FOCUS-regularised form


def penalised(X, order, window, ridge, strength, focus):
    """The same detector by a general optimiser on the penalised objective as it is written."""
    patterns = focus.patterns_[:, : focus.n_removed_]
    patterns = patterns / np.linalg.norm(patterns, axis=0)
    total = np.eye(X.shape[1] + 1)
    total[:-1, :-1] += strength * (patterns * focus.distraction_[: focus.n_removed_]) @ patterns.T
    sizes = [len(X) - window, window]
    sign, weight = np.repeat([-1.0, 1.0], sizes), np.repeat(class_weights(*sizes), sizes)
    Z = np.column_stack([X[order], np.ones(len(X))])
    v = minimize(
        lambda v: ridge / 2 * v @ total @ v + weight @ np.logaddexp(0, -sign * (Z @ v)),
        np.zeros(X.shape[1] + 1),
        jac=lambda v: ridge * total @ v - Z.T @ (weight * sign * expit(-sign * (Z @ v))),
        hess=lambda v: ridge * total + (Z.T * (weight * expit(Z @ v) * expit(-Z @ v))) @ Z,
        method="trust-exact",
        options={"gtol": 1e-10},
    ).x
    return expit(Z[-window:] @ v)


@given(st.integers(0, 10**6), st.sampled_from([0.3, 1.0, 100.0]), st.integers(0, 4))
@settings(deadline=None, max_examples=25)
def test_the_penalty_is_the_penalised_objective(seed, strength, n_removed):
    X, focus = some_rows(seed, 30, 4), some_focus(seed, n_removed=n_removed)
    order = np.random.default_rng(seed).permutation(30)
    found = DiscriminativeDetector(
        window=15, permutations=order, standardise=False, cover=False, penalty=focus, strength=strength
    ).fit(X)
    reference = penalised(X, order, 15, 0.1, strength, focus)
    assert found.probabilities_[order[-15:]] == pytest.approx(reference, abs=1e-7)


def test_the_penalty_is_plain_ridge_on_filtered_rows():
    X, focus = some_rows(), some_focus()
    patterns = focus.patterns_[:, :2] / np.linalg.norm(focus.patterns_[:, :2], axis=0)
    total = np.eye(4) + 5.0 * (patterns * focus.distraction_[:2]) @ patterns.T
    values, vectors = np.linalg.eigh(total)
    filtered = X @ (vectors / np.sqrt(values)) @ vectors.T
    options = {**SMALL, "standardise": False}
    one = DiscriminativeDetector(**options, penalty=focus, strength=5.0).fit(X)
    other = DiscriminativeDetector(**options).fit(filtered)
    assert one.scores_ == pytest.approx(other.scores_, rel=1e-7)
    assert one.anomaly_score(X[:9]) == pytest.approx(other.anomaly_score(filtered[:9]), rel=1e-7)


def test_no_strength_or_nothing_removed_is_no_penalty():
    X = some_rows()
    plain = DiscriminativeDetector(**SMALL).fit(X).scores_
    weak = DiscriminativeDetector(**SMALL, penalty=some_focus(), strength=0.0).fit(X).scores_
    empty = DiscriminativeDetector(**SMALL, penalty=some_focus(n_removed=0)).fit(X).scores_
    np.testing.assert_array_equal(plain, empty)
    assert weak == pytest.approx(plain, rel=1e-12)


def test_great_strength_projects_the_removed_patterns_out():
    X, focus = some_rows(), some_focus()
    kept = penalty_filter(focus, 1e30, 4)(X)
    assert np.abs(kept @ focus.patterns_[:, :2]).max() < 1e-10
    basis = np.linalg.qr(focus.patterns_[:, :2])[0]
    assert kept == pytest.approx(X - X @ basis @ basis.T, abs=1e-10)


def test_a_distractor_that_is_rare_here_no_longer_looks_strange():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 6))
    X[3, 0] += 8.0  # light, known from the training sets
    X[9, 1] += 7.0  # news
    focus = SimpleNamespace(patterns_=np.eye(6)[:, :1], distraction_=np.array([0.99]), n_removed_=1)
    options = {"window": 20, "stride": 10, "n_shuffles": 20, "random_state": 0}
    plain = DiscriminativeDetector(**options).fit(X).scores_
    taught = DiscriminativeDetector(**options, penalty=focus, strength=1e4).fit(X).scores_
    assert set(np.argsort(-plain)[:2]) == {3, 9}
    assert taught.argmax() == 9
    assert taught[3] < np.quantile(taught, 0.9)


class FittedFocus(BaseEstimator):
    def fit(self, X, y=None):
        self.patterns_, self.distraction_, self.n_removed_ = np.eye(4), np.ones(4), 1
        return self


def test_a_penalty_survives_cloning_when_frozen():
    X = some_rows()
    focus = FittedFocus().fit(X)
    found = clone(DiscriminativeDetector(**SMALL, penalty=FrozenEstimator(focus))).fit(X)
    np.testing.assert_array_equal(found.scores_, DiscriminativeDetector(**SMALL, penalty=focus).fit(X).scores_)
    with pytest.raises(InputError, match="FrozenEstimator"):
        clone(DiscriminativeDetector(**SMALL, penalty=focus)).fit(X)


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"window": 31},
            "Two windows of 31 need 62 rows, but X has n_samples = 60. Use window=30 or smaller",
        ),
        ({"ridge": 0.0}, "ridge=0.0 was given"),
        ({"ridge": np.nan}, "ridge=nan was given"),
        ({"stride": 0}, "stride=0 was given"),
        ({"n_shuffles": 2.5}, "n_shuffles=2.5 was given, expected a whole number"),
        ({"block": "1"}, "block='1' was given"),
        ({"buffer": 10}, "buffer=10 was given, expected a whole number of at least 11"),
        ({"solver": "liblinear"}, "expected one of 'newton', 'one_step'"),
        ({"average": "mean"}, "expected one of 'probability', 'margin'"),
        ({"strength": -1}, "strength is -1; expected 'auto' or a number from 0 up"),
        ({"permutations": [[0, 1]]}, "permutations of shape"),
        ({"penalty": "focus"}, "penalty='focus' has no patterns_, distraction_, n_removed_"),
        ({"penalty": some_focus(n_features=5)}, "but X has 4 features"),
        (
            {"penalty": SimpleNamespace(patterns_=np.zeros((4, 1)), distraction_=np.ones(1), n_removed_=1)},
            "removes a pattern that is zero",
        ),
    ],
)
def test_options_that_cannot_be_are_refused_with_a_reason(options, message):
    with pytest.raises(InputError, match=message):
        DiscriminativeDetector(**{**SMALL, **options}).fit(some_rows())

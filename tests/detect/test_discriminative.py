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
from undistract.detect._logistic import class_weights
from undistract.errors import InputError
from undistract.penalty import make_penalty_filter

SMALL = {"window": 10, "stride": 5, "n_shuffles": 3, "random_state": 0}


def make_rows(seed=0, n_rows=60, n_features=4):
    random = np.random.default_rng(seed)
    return random.normal(size=(n_rows, n_features)) @ random.normal(size=(n_features, n_features))


def make_focus(seed=0, n_features=4, n_removed=2):
    random = np.random.default_rng(seed)
    return SimpleNamespace(
        patterns_=random.normal(size=(n_features, n_features)) * 7,
        distraction_=np.linspace(0.99, 0.2, n_features),
        n_removed_=n_removed,
    )


# The reference


def test_scores_equal_the_reference(golden):
    fitted = DiscriminativeDetector(
        ridge=float(golden["ridge"]),
        window=int(golden["window"]),
        stride=int(golden["stride"]),
        permutations=golden["permutations"],
        standardise=False,
    ).fit(golden["X"])
    # The reference has six decimals, and its solver an error of a few 1e-9.
    assert np.abs(fitted.probabilities_ - golden["score"]).max() < 5.1e-7
    np.testing.assert_array_equal(fitted.counts_, golden["count"])
    assert fitted.scores_ == pytest.approx(fitted.probabilities_ / (1 - fitted.probabilities_), rel=1e-12)


# Laws


@given(st.integers(0, 10**6), st.sampled_from(["newton", "one_step"]), st.sampled_from(["probability", "margin"]))
@settings(deadline=None, max_examples=30)
def test_scores_are_invariant_to_shift_scale_and_rotation(seed, solver, average):
    X = make_rows(seed)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    plain, moved = (
        DiscriminativeDetector(**SMALL, solver=solver, average=average).fit(rows).scores_
        for rows in (X, 1e-3 * (X @ rotation) + 17.0)
    )
    # Centring at 17 with a spread of 1e-3 costs four of sixteen digits, and the stopping rule half of the others.
    assert plain == pytest.approx(moved, rel=1e-6, abs=1e-6)


@given(st.integers(0, 10**6))
@settings(deadline=None, max_examples=20)
def test_scores_follow_permuted_rows(seed):
    X = make_rows(seed)
    order = np.random.default_rng(seed).permutation(60)
    shuffled = np.array([np.random.default_rng([seed, k]).permutation(60) for k in range(3)])
    inverse = np.argsort(order)
    plain = DiscriminativeDetector(window=10, stride=5, permutations=shuffled).fit(X).scores_
    changed = DiscriminativeDetector(window=10, stride=5, permutations=inverse[shuffled]).fit(X[order]).scores_
    assert changed == pytest.approx(plain[order], rel=1e-9)


@given(st.integers(0, 10**6), st.sampled_from(["newton", "one_step"]))
@settings(deadline=None, max_examples=20)
def test_empty_features_do_not_change_scores(seed, solver):
    X = make_rows(seed)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(90, 90)))[0]
    wide = np.column_stack([X, np.zeros((60, 86))]) @ rotation
    # The mean variance includes empty features, so do not standardise.
    plain = DiscriminativeDetector(**SMALL, solver=solver, standardise=False).fit(X)
    changed = DiscriminativeDetector(**SMALL, solver=solver, standardise=False).fit(wide)
    assert changed.scores_ == pytest.approx(plain.scores_, rel=1e-6)
    assert changed.anomaly_score(wide[:5]) == pytest.approx(plain.anomaly_score(X[:5]), rel=1e-6)


@given(
    st.integers(1, 20),
    st.integers(0, 40),
    st.integers(1, 45),
    st.integers(1, 3),
    st.sampled_from([None, 1, 9]),
)
@settings(deadline=None, max_examples=50)
def test_cover_scores_every_row_and_keeps_the_other_scores(window, more, stride, n_shuffles, buffer):
    X = make_rows(1, 2 * window + more, 3)
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
def test_score_of_new_row_does_not_depend_on_batch(seed, average, n_features):
    fitted = DiscriminativeDetector(**SMALL, average=average).fit(make_rows(seed, 60, n_features))
    new = 3 * make_rows(seed + 1, 20, n_features)
    together = fitted.anomaly_score(new)
    alone = np.concatenate([fitted.anomaly_score(row[None]) for row in new])
    # Matrix products round differently for one row and for many.
    assert together == pytest.approx(alone, rel=1e-9, abs=1e-12)
    assert fitted.anomaly_score(new[::-1])[::-1] == pytest.approx(together, rel=1e-9, abs=1e-12)


# Cases


def test_buffer_of_all_rows_equals_no_buffer():
    X = make_rows()
    without, with_buffer = (DiscriminativeDetector(**SMALL, buffer=buffer).fit(X).scores_ for buffer in (None, 60))
    np.testing.assert_array_equal(without, with_buffer)


def test_short_buffer_ignores_old_rows():
    X, identity = make_rows(), np.arange(60)[None]
    changed = X.copy()
    changed[:20] *= 3
    options = {"window": 10, "stride": 10, "permutations": identity, "cover": False, "standardise": False}
    short = [DiscriminativeDetector(**options, buffer=20).fit(rows).scores_[50:] for rows in (X, changed)]
    long = [DiscriminativeDetector(**options).fit(rows).scores_[50:] for rows in (X, changed)]
    np.testing.assert_array_equal(*short)
    assert np.abs(long[0] - long[1]).max() > 1e-3


def test_distant_halves_are_separated_in_order_but_not_shuffled():
    X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0.0], [20.0]], 20, axis=0)
    ordered = DiscriminativeDetector(window=20, stride=20, permutations=np.arange(40)).fit(X)
    assert ordered.probabilities_[20:].min() > 0.95
    shuffled = DiscriminativeDetector(window=20, stride=20, n_shuffles=20, random_state=0).fit(X)
    assert np.abs(shuffled.probabilities_ - 0.5).max() < 0.3


def test_odds_of_perfectly_separated_rows_are_finite_and_ordered():
    X = np.concatenate([np.zeros((20, 1)), np.linspace(1e3, 2e3, 20)[:, None]])
    fitted = DiscriminativeDetector(
        window=20, stride=20, permutations=np.arange(40), standardise=False, cover=False, ridge=1e-6
    ).fit(X)
    assert np.isfinite(fitted.scores_[20:]).all()
    # All probabilities are 1 here; the odds still differ until they overflow.
    assert fitted.scores_[20] < fitted.scores_[39]


def test_margins_rank_rows_with_saturated_probabilities():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 60))
    X[7] *= 4
    fitted = DiscriminativeDetector(window=20, stride=10, average="margin", random_state=0).fit(X)
    assert fitted.scores_.argmax() == 7
    np.testing.assert_array_equal(fitted.scores_, fitted.margins_)


def test_one_step_ranks_like_the_exact_fit():
    X = make_rows(3, 400, 8)
    exact, one_step = (
        DiscriminativeDetector(window=50, stride=25, random_state=0, solver=solver).fit(X).scores_
        for solver in ("newton", "one_step")
    )
    assert spearmanr(exact, one_step)[0] > 0.99


def test_new_row_scores_close_to_a_refit_with_it():
    X = make_rows(0, 200, 5)
    new = np.random.default_rng(1).normal(size=(12, 5)) * np.linspace(0.1, 4, 12)[:, None]
    order = np.random.default_rng(2).permutation(200)
    fitted = DiscriminativeDetector(window=40, stride=120, permutations=order, standardise=False).fit(X)
    sizes = [160, 40]
    weight = np.append(np.repeat(class_weights(*sizes), sizes), class_weights(*sizes)[1])
    sign = np.append(np.repeat([-1.0, 1.0], sizes), 1.0)
    for row, score in zip(new, fitted.anomaly_score(new), strict=True):
        Z = np.column_stack([np.vstack([X[order], row]), np.ones(201)])
        refit = minimize(
            lambda v, Z=Z: 0.05 * v @ v + weight @ np.logaddexp(0, -sign * (Z @ v)),
            np.zeros(6),
            jac=lambda v, Z=Z: 0.1 * v - Z.T @ (weight * sign * expit(-sign * (Z @ v))),
            method="BFGS",
        )
        # The objective of the other rows is expanded to second order, without third derivatives.
        assert score / (1 + score) == pytest.approx(expit(Z[-1] @ refit.x), abs=0.01)


def test_more_distant_new_rows_score_higher():
    fitted = DiscriminativeDetector(window=20, stride=10, n_shuffles=30, random_state=0).fit(make_rows(0, 200, 3))
    along = np.outer([0.0, 1.0, 3.0, 10.0, 1e3, 1e200], [1.0, -1.0, 0.5])
    assert (np.diff(fitted.anomaly_score(along)) > 0).all()


def test_n_jobs_does_not_change_scores():
    X = make_rows()
    serial, parallel = (DiscriminativeDetector(**SMALL, n_jobs=n_jobs).fit(X).scores_ for n_jobs in (None, 2))
    np.testing.assert_array_equal(serial, parallel)


def test_seed_determines_scores():
    X = make_rows()
    first, again = (DiscriminativeDetector(**SMALL).fit(X).scores_ for _ in range(2))
    changed = DiscriminativeDetector(**{**SMALL, "random_state": 1}).fit(X).scores_
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - changed).max() > 1e-3


# The FOCUS-regularised form


def penalised_probabilities(X, order, window, ridge, strength, focus):
    """Return probabilities of the last window, by a general optimiser on the penalised objective."""
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
def test_penalty_minimises_the_penalised_objective(seed, strength, n_removed):
    X = make_rows(seed, 30, 4)
    focus = make_focus(seed, n_removed=n_removed)
    order = np.random.default_rng(seed).permutation(30)
    fitted = DiscriminativeDetector(
        window=15, permutations=order, standardise=False, cover=False, penalty=focus, strength=strength
    ).fit(X)
    reference = penalised_probabilities(X, order, 15, 0.1, strength, focus)
    assert fitted.probabilities_[order[-15:]] == pytest.approx(reference, abs=1e-7)


def test_penalty_equals_ridge_on_filtered_rows():
    X, focus = make_rows(), make_focus()
    patterns = focus.patterns_[:, :2] / np.linalg.norm(focus.patterns_[:, :2], axis=0)
    total = np.eye(4) + 5.0 * (patterns * focus.distraction_[:2]) @ patterns.T
    values, vectors = np.linalg.eigh(total)
    filtered = X @ (vectors / np.sqrt(values)) @ vectors.T
    options = {**SMALL, "standardise": False}
    penalised = DiscriminativeDetector(**options, penalty=focus, strength=5.0).fit(X)
    plain = DiscriminativeDetector(**options).fit(filtered)
    assert penalised.scores_ == pytest.approx(plain.scores_, rel=1e-7)
    assert penalised.anomaly_score(X[:9]) == pytest.approx(plain.anomaly_score(filtered[:9]), rel=1e-7)


def test_zero_strength_or_no_removed_direction_is_no_penalty():
    X = make_rows()
    plain = DiscriminativeDetector(**SMALL).fit(X).scores_
    weak = DiscriminativeDetector(**SMALL, penalty=make_focus(), strength=0.0).fit(X).scores_
    empty = DiscriminativeDetector(**SMALL, penalty=make_focus(n_removed=0)).fit(X).scores_
    np.testing.assert_array_equal(plain, empty)
    assert weak == pytest.approx(plain, rel=1e-12)


def test_large_strength_projects_removed_patterns_out():
    X, focus = make_rows(), make_focus()
    filtered = make_penalty_filter(focus, 1e30, 4)(X)
    assert np.abs(filtered @ focus.patterns_[:, :2]).max() < 1e-10
    basis = np.linalg.qr(focus.patterns_[:, :2])[0]
    assert filtered == pytest.approx(X - X @ basis @ basis.T, abs=1e-10)


def test_penalised_nuisance_does_not_score_high():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 6))
    X[3, 0] += 8.0  # light, a nuisance in the training groups
    X[9, 1] += 7.0  # an anomaly
    focus = SimpleNamespace(patterns_=np.eye(6)[:, :1], distraction_=np.array([0.99]), n_removed_=1)
    options = {"window": 20, "stride": 10, "n_shuffles": 20, "random_state": 0}
    plain = DiscriminativeDetector(**options).fit(X).scores_
    penalised = DiscriminativeDetector(**options, penalty=focus, strength=1e4).fit(X).scores_
    assert set(np.argsort(-plain)[:2]) == {3, 9}
    assert penalised.argmax() == 9
    assert penalised[3] < np.quantile(penalised, 0.9)


class FittedFocus(BaseEstimator):
    def fit(self, X, y=None):
        self.patterns_, self.distraction_, self.n_removed_ = np.eye(4), np.ones(4), 1
        return self


def test_frozen_penalty_survives_clone():
    X = make_rows()
    focus = FittedFocus().fit(X)
    fitted = clone(DiscriminativeDetector(**SMALL, penalty=FrozenEstimator(focus))).fit(X)
    np.testing.assert_array_equal(fitted.scores_, DiscriminativeDetector(**SMALL, penalty=focus).fit(X).scores_)
    with pytest.raises(InputError, match="FrozenEstimator"):
        clone(DiscriminativeDetector(**SMALL, penalty=focus)).fit(X)


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"window": 31},
            "Two windows of 31 need 62 rows, but X has n_samples = 60. Use window=30 or smaller",
        ),
        ({"ridge": 0.0}, "ridge must be a number of at least 1e-12, got 0.0"),
        ({"ridge": np.nan}, "got nan"),
        ({"stride": 0}, "stride must be a whole number of at least 1, got 0"),
        ({"n_shuffles": 2.5}, "n_shuffles must be a whole number of at least 1, got 2.5"),
        ({"block": "1"}, "block must be a whole number of at least 1, got '1'"),
        ({"buffer": 10}, "buffer must be a whole number of at least 11, got 10"),
        ({"solver": "liblinear"}, "solver must be one of 'newton', 'one_step'"),
        ({"average": "mean"}, "average must be one of 'probability', 'margin'"),
        ({"strength": -1}, "strength must be 'auto' or a non-negative number, got -1"),
        ({"permutations": [[0, 1]]}, "permutations must have shape"),
        ({"penalty": "focus"}, "'focus' has no patterns_, distraction_, n_removed_"),
        ({"penalty": make_focus(n_features=5)}, "but X has 4 features"),
        (
            {"penalty": SimpleNamespace(patterns_=np.zeros((4, 1)), distraction_=np.ones(1), n_removed_=1)},
            "must be finite and not zero",
        ),
    ],
)
def test_invalid_options_raise_input_error(options, message):
    with pytest.raises(InputError, match=message):
        DiscriminativeDetector(**{**SMALL, **options}).fit(make_rows())

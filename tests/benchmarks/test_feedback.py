"""The feedback benchmark: the simulated person, the rivals, and that the chosen way is the library's."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

pytest.importorskip("pandas")

from benchmarks.feedback.candidates import CHOSEN, Candidate, Library, Training, less_than_normal, share_above, typical
from benchmarks.feedback.reviewer import KnownRows, Weighted, Without, deviations, review
from benchmarks.feedback.rivals import ENSEMBLES, leaves, weights
from benchmarks.feedback.run import KNOWN, OURS, measure
from benchmarks.feedback.tasks import Task, tasks
from undistract import Moments


@cache
def lit_digits() -> Task:
    return next(tasks("digits", "choose", 1))


@cache
def learned() -> Training:
    return Training.of(lit_digits().moments, *deviations(lit_digits()))


@pytest.mark.parametrize("n_anomalies", [0, 1, 5])
def test_the_library_removes_what_was_chosen_here(n_anomalies: int) -> None:
    truth, rows = lit_digits().review[0].truth, deviations(lit_digits())[0]
    familiar, anomalies = rows[~truth][:6], rows[truth][:n_anomalies]
    hidden = familiar[: min(n_anomalies, 1)]  # called both: it must stay visible
    for strange in (anomalies, hidden):
        mine, theirs = (one.removed(learned(), familiar, strange) for one in (CHOSEN, Library()))
        assert mine.shape[1] > 0
        np.testing.assert_allclose(mine @ mine.T, theirs @ theirs.T, atol=1e-8)  # entries are up to 1


def moments_of_few_rows() -> Moments:
    """Sum up eight sets of three rows."""
    rng = np.random.default_rng(0)
    return Moments.of([rng.normal(size=64) + rng.random((3, 64)) for _ in range(8)])


def test_few_rows_give_the_same_in_their_own_coordinates() -> None:
    few = moments_of_few_rows()
    familiar = deviations(lit_digits())[0][:4]
    small = Training.of(few, familiar)
    assert small.axes is not None
    assert small.within.shape[0] < few.n_features
    whole = replace(small, axes=None, within=few.within, between=few.between, removed=np.zeros((64, 0)))
    one, other = (CHOSEN.removed(some, familiar, familiar[:0]) for some in (small, whole))
    np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-7)  # of projections, whose entries are up to 1


def test_feedback_helps_on_rows_that_nobody_reviewed() -> None:
    results = [
        one for one in measure(replace(lit_digits(), part="report"), set()) if one.detector in ("kNN", *ENSEMBLES)
    ]
    last = {one.method: one.average_precision for one in results if one.answers in (0, 16) and not one.wrong}
    first = next(one.average_precision for one in results if one.method == OURS and one.answers == 0)
    assert last[OURS] > first + 0.3
    assert last[OURS] > max(last[method] for method in (KNOWN, *ENSEMBLES)) + 0.1


def test_the_person_looks_at_the_strongest_row_and_never_twice() -> None:
    learner = KnownRows(lit_digits(), learned())
    states = [(n, list(answers.familiar), list(answers.anomalies)) for n, answers in review(lit_digits(), learner)]
    learner.known = []
    strongest = (0, int(learner.scores(lit_digits().review[0]).argmax()))
    n, familiar, anomalies = states[-1]
    assert n == len({*familiar, *anomalies}) == 16
    assert strongest in {*states[1][1], *states[1][2]}
    assert all(lit_digits().review[0].truth[row] for _, row in anomalies)


def test_wrong_answers_are_the_opposite_of_the_truth() -> None:
    *_, (_, answers) = review(lit_digits(), Without(lit_digits(), CHOSEN, learned()), wrong=1.0, steps=(0, 4))
    truth = lit_digits().review[0].truth
    assert all(truth[row] for _, row in answers.familiar)
    assert not any(truth[row] for _, row in answers.anomalies)


def test_a_hidden_anomaly_gets_its_direction_back_and_a_lit_one_does_not() -> None:
    rng = np.random.default_rng(0)
    light = np.zeros(64)
    light[:8] = 3.0
    familiar = light * rng.normal(size=(6, 1))
    outline = np.zeros(64)
    outline[40:] = 1.0
    lit_stranger, mere_light = light + outline, light + 0.01 * outline
    for protection, kept in ((less_than_normal(0.5), False), (share_above(0.5), True)):
        candidate = Candidate(typical(2), protection=protection)
        for anomaly, is_kept in ((mere_light, True), (lit_stranger, kept)):
            basis = candidate.removed(learned(), familiar, anomaly[None])
            assert (np.linalg.norm(light @ basis) < 1e-6) == is_kept


def test_weights_lift_anomalies_above_familiar_rows() -> None:
    rng = np.random.default_rng(0)
    readings = rng.random((50, 20))
    readings[:2, :5] += 3  # the first two rows are strange to the same members
    readings[2:4, 5:10] += 3
    scores = readings @ weights(readings, [0], [2])
    assert scores[3] > scores[1] + 0.1
    assert weights(readings, [], []).tolist() == [1 / 20] * 20


def test_equal_weights_of_leaves_rank_as_the_forest_does() -> None:
    from scipy.stats import spearmanr
    from sklearn.ensemble import IsolationForest

    rows = np.random.default_rng(0).normal(size=(200, 5))
    found = leaves([rows[:50], rows[50:]], 0)
    forest = -IsolationForest(random_state=0).fit(rows).score_samples(rows)
    mine = np.concatenate(found).sum(axis=1)
    assert spearmanr(mine, forest).statistic > 0.999


def test_an_ensemble_reads_a_test_that_it_never_reviewed() -> None:
    learner = Weighted(lit_digits(), "weighted projections")
    *_, (n, _) = review(lit_digits(), learner, steps=(0, 2))
    (test,) = lit_digits().tests["same kind"]
    assert n == 2
    assert np.isfinite(learner.scores(test)).all()
    assert len(learner.scores(test)) == len(test.rows)

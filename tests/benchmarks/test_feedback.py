"""The feedback benchmark: the simulated reviewer, the baselines, and the method of the library."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

pytest.importorskip("pandas")

from benchmarks.feedback import page
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
def test_library_removes_the_directions_of_the_chosen_candidate(n_anomalies: int) -> None:
    truth, rows = lit_digits().review[0].truth, deviations(lit_digits())[0]
    false_alarms, anomalies = rows[~truth][:6], rows[truth][:n_anomalies]
    hidden = false_alarms[: min(n_anomalies, 1)]  # a false alarm and an anomaly: it must stay visible
    for strange in (anomalies, hidden):
        mine, theirs = (method.removed(learned(), false_alarms, strange) for method in (CHOSEN, Library()))
        assert mine.shape[1] > 0
        np.testing.assert_allclose(mine @ mine.T, theirs @ theirs.T, atol=1e-8)  # entries are up to 1


def moments_of_few_rows() -> Moments:
    """Return the moments of eight groups of three rows."""
    rng = np.random.default_rng(0)
    return Moments.of([rng.normal(size=64) + rng.random((3, 64)) for _ in range(8)])


def test_few_rows_give_the_same_result_in_their_own_coordinates() -> None:
    few = moments_of_few_rows()
    false_alarms = deviations(lit_digits())[0][:4]
    small = Training.of(few, false_alarms)
    assert small.axes is not None
    assert small.within.shape[0] < few.n_features
    full = replace(small, axes=None, within=few.within, between=few.between, removed=np.zeros((64, 0)))
    first, second = (CHOSEN.removed(training, false_alarms, false_alarms[:0]) for training in (small, full))
    np.testing.assert_allclose(first @ first.T, second @ second.T, atol=1e-7)  # entries of projections are up to 1


def test_feedback_helps_on_rows_that_were_not_reviewed() -> None:
    results = [
        result
        for result in measure(replace(lit_digits(), part="report"), set())
        if result.detector in ("kNN", *ENSEMBLES)
    ]
    last = {
        result.method: result.average_precision for result in results if result.answers in (0, 16) and not result.wrong
    }
    first = next(result.average_precision for result in results if result.method == OURS and result.answers == 0)
    assert last[OURS] > first + 0.3
    assert last[OURS] > max(last[method] for method in (KNOWN, *ENSEMBLES)) + 0.1


def test_reviewer_sees_the_strongest_row_and_no_row_twice() -> None:
    learner = KnownRows(lit_digits(), learned())
    states = [(n, list(answers.false_alarms), list(answers.anomalies)) for n, answers in review(lit_digits(), learner)]
    learner.known = []
    strongest = (0, int(learner.scores(lit_digits().review[0]).argmax()))
    n, false_alarms, anomalies = states[-1]
    assert n == len({*false_alarms, *anomalies}) == 16
    assert strongest in {*states[1][1], *states[1][2]}
    assert all(lit_digits().review[0].truth[row] for _, row in anomalies)


def test_wrong_answers_are_the_opposite_of_the_truth() -> None:
    *_, (_, answers) = review(lit_digits(), Without(lit_digits(), CHOSEN, learned()), wrong=1.0, steps=(0, 4))
    truth = lit_digits().review[0].truth
    assert all(truth[row] for _, row in answers.false_alarms)
    assert not any(truth[row] for _, row in answers.anomalies)


def test_protection_restores_the_direction_of_a_hidden_anomaly() -> None:
    rng = np.random.default_rng(0)
    light = np.zeros(64)
    light[:8] = 3.0
    false_alarms = light * rng.normal(size=(6, 1))
    outline = np.zeros(64)
    outline[40:] = 1.0
    lit_stranger, mere_light = light + outline, light + 0.01 * outline
    for protection, is_lit_kept in ((less_than_normal(0.5), False), (share_above(0.5), True)):
        candidate = Candidate(typical(2), protection=protection)
        for anomaly, is_kept in ((mere_light, True), (lit_stranger, is_lit_kept)):
            basis = candidate.removed(learned(), false_alarms, anomaly[None])
            assert (np.linalg.norm(light @ basis) < 1e-6) == is_kept


def test_weights_lift_anomalies_above_false_alarms() -> None:
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
    indicators = leaves([rows[:50], rows[50:]], 0)
    forest = -IsolationForest(random_state=0).fit(rows).score_samples(rows)
    mine = np.concatenate(indicators).sum(axis=1)
    assert spearmanr(mine, forest).statistic > 0.999


def test_page_has_the_tables_of_the_results() -> None:
    import pandas as pd

    report, choose = (pd.read_csv(page.RESULTS / f"{name}.csv.gz") for name in ("feedback", "feedback_choose"))
    text = (page.DOCS / "feedback.md").read_text(encoding="utf-8")
    for name, table in page.tables(report, choose).items():
        assert f"<!-- table: {name} -->\n{table}\n<!-- end -->" in text


def test_ensemble_scores_rows_that_it_never_reviewed() -> None:
    learner = Weighted(lit_digits(), "weighted projections")
    *_, (n, _) = review(lit_digits(), learner, steps=(0, 2))
    (test,) = lit_digits().tests["same kind"]
    assert n == 2
    assert np.isfinite(learner.scores(test)).all()
    assert len(learner.scores(test)) == len(test.rows)

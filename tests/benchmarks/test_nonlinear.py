"""The nonlinear benchmark: training, choosing and reporting use different rows."""

import numpy as np
import pytest

from benchmarks.nonlinear.methods import METHODS
from benchmarks.nonlinear.run import DETECTORS, missing, oracle, run
from benchmarks.nonlinear.tasks import PAIRS, TASKS, task
from benchmarks.quality.results import append, read


@pytest.fixture(scope="module")
def tasks(data):
    return {(name, part): task(name, 0, part) for name in TASKS for part in ("choose", "report")}


def test_every_test_has_a_few_anomalies_among_normal_rows(tasks):
    for trial in tasks.values():
        assert len(trial.rows) == len(trial.groups)
        for test in trial.tests:
            assert test.rows.shape[1] == trial.rows.shape[1]
            assert 0 < test.truth.mean() < 0.25
            assert test.clean is None or test.clean.shape == test.rows.shape


def test_training_rows_are_not_test_rows(tasks):
    for trial in tasks.values():
        training = {row.tobytes() for row in trial.rows}
        assert not any(row.tobytes() in training for test in trial.tests for row in test.rows), trial.task


def test_choosing_and_reporting_use_different_rows(tasks):
    assert not set(PAIRS["choose"]) & set(PAIRS["report"])
    for name in TASKS:
        chosen, reported = tasks[name, "choose"], tasks[name, "report"]
        assert chosen.seed != reported.seed
        assert chosen.tests[0].rows.shape != reported.tests[0].rows.shape or not np.array_equal(
            chosen.tests[0].rows, reported.tests[0].rows
        )


def test_ring_has_no_linear_solution():
    ring = task("ring", 0)
    by_name = {method.name: method for method in METHODS}
    precision = {name: next(run(ring, by_name[name], {}, ("kNN",))).average_precision for name in ("raw", "linear")}
    clean = next(oracle(ring, ("kNN",))).average_precision
    assert max(precision.values()) < 0.5 < 0.95 < clean


def test_second_run_has_nothing_to_do(tmp_path):
    ring = task("ring", 0, "choose")
    path = tmp_path / "results.csv"
    raw = METHODS[:1]
    for method, setting, detectors in missing(ring, path, raw):
        append(path, list(oracle(ring, detectors) if method is None else run(ring, method, setting, detectors)))
    assert len(read(path)) == 2 * len(DETECTORS)
    assert list(missing(ring, path, raw)) == []

"""The nonlinear benchmark: what teaches is never tested, and what chooses is never reported."""

import numpy as np
import pytest

from benchmarks.nonlinear.methods import METHODS
from benchmarks.nonlinear.run import DETECTORS, missing, oracle, run
from benchmarks.nonlinear.tasks import PAIRS, TASKS, task
from benchmarks.quality.results import append, read


@pytest.fixture(scope="module")
def tasks(data):
    return {(name, part): task(name, 0, part) for name in TASKS for part in ("choose", "report")}


def test_every_test_holds_a_few_anomalies_among_normal_rows(tasks):
    for one in tasks.values():
        assert len(one.rows) == len(one.sets)
        for test in one.tests:
            assert test.rows.shape[1] == one.rows.shape[1]
            assert 0 < test.truth.mean() < 0.25
            assert test.clean is None or test.clean.shape == test.rows.shape


def test_what_teaches_is_never_tested(tasks):
    for one in tasks.values():
        taught = {row.tobytes() for row in one.rows}
        assert not any(row.tobytes() in taught for test in one.tests for row in test.rows), one.task


def test_what_chooses_is_never_reported(tasks):
    assert not set(PAIRS["choose"]) & set(PAIRS["report"])
    for name in TASKS:
        chosen, reported = tasks[name, "choose"], tasks[name, "report"]
        assert chosen.seed != reported.seed
        assert chosen.tests[0].rows.shape != reported.tests[0].rows.shape or not np.array_equal(
            chosen.tests[0].rows, reported.tests[0].rows
        )


def test_the_ring_has_no_linear_answer():
    one = task("ring", 0)
    by_name = {method.name: method for method in METHODS}
    precision = {name: next(run(one, by_name[name], {}, ("kNN",))).average_precision for name in ("raw", "linear")}
    clean = next(oracle(one, ("kNN",))).average_precision
    assert max(precision.values()) < 0.5 < 0.95 < clean


def test_a_second_run_has_nothing_left_to_do(tmp_path):
    one, path = task("ring", 0, "choose"), tmp_path / "found.csv"
    raw = METHODS[:1]
    for method, setting, detectors in missing(one, path, raw):
        append(path, list(oracle(one, detectors) if method is None else run(one, method, setting, detectors)))
    assert len(read(path)) == 2 * len(DETECTORS)
    assert list(missing(one, path, raw)) == []

"""The trials of the quality benchmark: training, choosing and reporting use different rows."""

import numpy as np
import pytest

from benchmarks.quality.trials import DATA_SETS, PAIRS, trials


@pytest.fixture(scope="module")
def first(data):
    """The first trial of each task of the reported part, and of the part for choosing."""
    trials_by_task = {}
    for name in DATA_SETS:
        for part in ("choose", "report"):
            for trial in trials(name, part, n_seeds=1):
                trials_by_task.setdefault((trial.task, part), trial)
                if name == "silhouettes" and len(trials_by_task) > 3:
                    break  # the others differ in strength alone
    return trials_by_task


def test_every_test_has_a_few_anomalies_among_normal_rows(first):
    for (task, _), trial in first.items():
        for test in trial.tests:
            n_units = len(test.rows) if test.unit is None else test.unit.max() + 1
            assert test.truth.shape == (n_units,), task
            assert 0 < test.truth.mean() < 0.65, task
            assert test.rows.shape[1] == trial.moments.n_features, task
            assert test.known is None or len(test.known) >= 30, task
            assert test.clean is None or (test.clean.shape == test.rows.shape and (test.clean != test.rows).any()), task


def test_moments_are_the_sum_of_both_halves(first):
    for (task, _), trial in first.items():
        first, second = trial.halves
        assert abs(first.n_groups - second.n_groups) <= 1, task
        assert not set(first.names) & set(second.names), task
        assert trial.moments.n_rows == first.n_rows + second.n_rows, task


def test_tested_contexts_are_not_in_the_training_data(first):
    """A person, product, server or class of the test is in no training group."""
    faces = [trial for (task, part), trial in first.items() if task == "Yale person" and part == "report"]
    people = set(faces[0].moments.names)
    assert len(people) == 28
    assert len(faces[0].tests) == 38 - len(people)
    outlines = next(trial for (task, _), trial in first.items() if task.startswith("silhouettes"))
    assert not any(str(name).startswith(("Faces", "sunflower")) for name in outlines.moments.names)


def test_choosing_and_reporting_use_different_rows(data):
    assert not {label for pair in PAIRS["choose"] for label in pair} & {
        label for pair in PAIRS["report"] for label in pair
    }
    for name in ("MVTec", "SMD", "SKAB"):
        parts = [{(trial.task, trial.seed) for trial in trials(name, part, 1)} for part in ("choose", "report")]
        rows = [next(iter(trials(name, part, 1))).tests[0].rows for part in ("choose", "report")]
        assert all(parts), name
        assert rows[0].shape != rows[1].shape or not np.array_equal(*rows), name


def test_patch_changes_at_most_64_pixels_of_a_face(first):
    trial = first["Yale patch", "report"]
    for test in trial.tests:
        own, odd = test.rows[~test.truth], test.rows[test.truth]
        changed = np.array([(own != row).sum(axis=1).min() for row in odd])
        assert (changed <= 64).all()
        assert (changed > 0).all()

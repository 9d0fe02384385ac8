"""The study of soft removal: a part of it runs, and the page has the tables of the results."""

import re

import numpy as np
import pandas as pd
import pytest

from benchmarks.quality import trials
from benchmarks.quality.results import read
from benchmarks.soft_page import PAGE, QUALITY, change_by_data, tables
from benchmarks.strength_study import DETECTORS, RULES, done, few_groups, measure
from undistract import Moments


@pytest.fixture(scope="module")
def trial():
    """Twelve groups under light; of the new rows, six are lit and three are anomalies."""
    rng = np.random.default_rng(0)
    light = np.linspace(-9, 9, 8)
    groups = {
        name: rng.normal(size=(30, 8)) + rng.normal(size=8) + rng.normal(size=(30, 1)) * light for name in range(12)
    }
    named = list(groups.items())
    rows = rng.normal(size=(60, 8))
    rows[:3] += 5 * np.tile([1, -1], 4)
    rows[3:9] += np.array([-9, -6, -3, 3, 6, 9])[:, None] * light
    test = trials.Test(rows, np.arange(60) < 3)
    return trials.Trial("toy", "toy", "choose", 100, (Moments.of(named[::2]), Moments.of(named[1::2])), (test,), 5)


def test_few_groups_are_the_first_ones(trial):
    assert set(few_groups(trial, 5).moments.names) == {0, 1, 2, 3, 4}
    assert few_groups(trial, 5).tests is trial.tests


def test_every_rule_is_measured_and_finished_rows_are_recognised(trial, tmp_path):
    results = pd.DataFrame(measure(trial, None, list(RULES)))
    assert list(results.rule.unique()) == list(RULES)
    assert len(results) == len(RULES) * len(DETECTORS)
    near = results[results.detector == "kNN"].set_index("rule").average_precision
    assert near["nothing"] < 0.5 < 0.9 < near["hard"]
    assert near["automatic"] > 0.9
    results.to_csv(tmp_path / "study.csv", index=False)
    assert ("toy", "choose", 100, 12, None, "hard") in done(tmp_path / "study.csv")
    assert ("toy", "choose", 100, 12, 0.95, "hard") not in done(tmp_path / "study.csv")
    assert done(tmp_path / "none.csv") == set()


def test_trial_without_distraction_is_skipped(trial):
    assert list(measure(trial, 1.0, ["hard"])) == []


@pytest.mark.parametrize("name", ["data", "tasks", "rules", "few"])
def test_page_has_the_tables_of_the_results(name):
    shown = re.search(rf"<!-- table: {name} -->\n(.*?)\n<!-- end -->", PAGE.read_text("utf-8"), re.DOTALL)[1]
    assert shown == tables()[name]


def test_soft_removal_is_never_much_worse_than_hard_and_sometimes_better():
    change = change_by_data(read(QUALITY))
    assert set(change.index) == {"COIL", "MVTec", "Ped", "SKAB", "SMD", "Yale", "digits", "silhouettes"}
    assert change.to_numpy().min() >= -0.01
    assert change.to_numpy().max() > 0.005

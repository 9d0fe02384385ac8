"""The tables of the quality benchmark, on results made by hand."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.quality.results import COLUMNS
from benchmarks.quality.table import (
    balance,
    harm,
    hindsight,
    markdown,
    means_and_intervals,
    ranks,
    settings,
    summary,
    worst,
)
from undistract.errors import InputError

# Average precision on three tasks of two data sets: a loss to LDA on the first, a tie on the second, harm on the third.
MEANS = {
    ("A", "one"): {"raw": 0.50, "FOCUS automatic": 0.70, "LDA": 0.80, "clean oracle": 0.99},
    ("A", "two"): {"raw": 0.30, "FOCUS automatic": 0.90, "LDA": 0.10, "clean oracle": 0.95},
    ("B", "three"): {"raw": 0.60, "FOCUS automatic": 0.55, "LDA": 0.595, "clean oracle": 0.60},
}


def results(means, *, part="report", setting="", spread=0.0, n_seeds=4):
    """Make results with the given means over seeds; `spread` shifts all methods of one seed together."""
    steps = spread * (np.arange(n_seeds) - (n_seeds - 1) / 2)
    rows = [
        dict.fromkeys(COLUMNS, 0)
        | {"data": data, "task": task, "part": part, "seed": seed, "test": 0, "method": method, "setting": setting}
        | {"detector": "kNN", "average_precision": value + step}
        for (data, task), values in means.items()
        for method, value in values.items()
        for seed, step in enumerate(steps)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.fixture
def found():
    return summary(results(MEANS))


def at(found, task, method):
    return found[(found.task == task) & (found.method == method)].iloc[0]


def test_means_are_means_over_tests(found):
    assert at(found, "one", "LDA")["mean"] == pytest.approx(0.8)
    assert at(found, "one", "LDA").difference == pytest.approx(-0.1)


def test_wins_ties_and_losses_are_counted(found):
    counted = balance(found)
    assert counted.loc["LDA"].tolist() == [1, 0, 2, 0]
    assert counted.loc["raw"].tolist() == [2, 0, 1, 0]


def test_difference_below_a_hundredth_is_a_tie():
    found = summary(results({("A", "one"): {"raw": 0.700, "FOCUS automatic": 0.709}}))
    assert at(found, "one", "raw").verdict == "tie"


def test_difference_that_changes_sign_with_the_seed_is_a_tie():
    mixed = results({("A", "one"): {"raw": 0.5, "FOCUS automatic": 0.55}})
    mixed.loc[mixed.method == "raw", "average_precision"] += [0.3, -0.3, 0.3, -0.3]
    assert at(summary(mixed), "one", "raw").verdict == "tie"


def test_common_variation_of_all_methods_does_not_widen_the_difference():
    found = summary(results(MEANS, spread=0.02))
    assert at(found, "one", "LDA").verdict == "loss"
    assert at(found, "one", "LDA").high - at(found, "one", "LDA").low > 0.02


def test_tests_of_one_seed_count_as_one():
    """Ten equal tests of one seed are one observation, not ten."""
    repeated = pd.concat([results(MEANS, spread=0.1).assign(test=test) for test in range(10)])
    alone = at(summary(results(MEANS, spread=0.1)), "one", "raw")
    together = at(summary(repeated), "one", "raw")
    # A thousand draws determine the ends to a few hundredths of the width.
    assert together.high - together.low == pytest.approx(alone.high - alone.low, rel=0.1)


def test_ranks_are_those_counted_by_hand(found):
    ranked = ranks(found)
    # one: LDA, FOCUS, raw; two: FOCUS, raw, LDA; three: raw, LDA, FOCUS. The oracle does not compete.
    assert ranked["all"].to_dict() == pytest.approx({"raw": 2, "FOCUS automatic": 2, "LDA": 2})
    by_data = {"raw": (2.5 + 1) / 2, "FOCUS automatic": (1.5 + 3) / 2, "LDA": (2 + 2) / 2}
    assert ranked["by data set"].to_dict() == pytest.approx(by_data)


def test_equal_means_share_their_ranks():
    ranked = ranks(summary(results({("A", "one"): {"raw": 0.5, "FOCUS automatic": 0.5, "NAP": 0.4}})))
    assert ranked["all"].to_dict() == {"raw": 1.5, "FOCUS automatic": 1.5, "NAP": 3}


def test_worst_case_is_the_largest_loss_against_the_best_of_a_task(found):
    table = worst(found)
    assert table.loss.to_dict() == pytest.approx({"raw": 0.6, "FOCUS automatic": 0.1, "LDA": 0.8})
    assert table.task.to_dict() == {"raw": "two", "FOCUS automatic": "one", "LDA": "two"}
    assert table.index[0] == "FOCUS automatic"


def test_missing_result_has_the_last_rank_and_the_largest_loss():
    found = summary(results({("A", "one"): {"raw": 0.2, "FOCUS automatic": 0.9, "LEACE": np.nan}}))
    assert ranks(found)["all"]["LEACE"] == 3
    assert worst(found).loss["LEACE"] == pytest.approx(0.9)
    assert balance(found).loc["LEACE", "no answer"] == 1
    assert means_and_intervals(found).iloc[0]["LEACE"] == "–"


def test_harm_lists_tasks_with_better_raw_rows(found):
    listed = harm(found)
    assert listed.index.tolist() == [("B", "three", "kNN")]
    assert listed.difference.iloc[0] == pytest.approx(-0.05)


def test_only_the_chosen_setting_is_reported_and_hindsight_takes_the_best():
    raw = results({("A", "one"): {"raw": 0.5, "FOCUS automatic": 0.7}})
    parts = [raw]
    for setting, choose, report in (("k=1", 0.6, 0.4), ("k=2", 0.5, 0.9)):
        parts.append(results({("A", "elsewhere"): {"NAP": choose}}, part="choose", setting=setting))
        parts.append(results({("A", "one"): {"NAP": report}}, setting=setting))
    everything = pd.concat(parts)
    assert at(summary(everything), "one", "NAP")["mean"] == pytest.approx(0.4)
    best = hindsight(everything).loc[("A", "one", "kNN")]
    assert best.to_dict() == pytest.approx({"NAP": 0.9, "FOCUS automatic": 0.7})
    assert settings(everything).loc[("A", "kNN")].to_dict() == {"NAP": "k=1"}


def test_incomplete_setting_is_not_the_best_in_hindsight():
    parts = [results({("A", "one"): {"FOCUS automatic": 0.7}})]
    parts += [results({("A", "one"): {"NAP": value}}, setting=f"k={value}") for value in (0.3, 0.9)]
    everything = pd.concat(parts, ignore_index=True)
    everything.loc[(everything.setting == "k=0.9") & (everything.seed == 1), "average_precision"] = np.nan
    assert hindsight(everything)["NAP"].item() == pytest.approx(0.3)


def test_table_of_hindsight_is_empty_without_hindsight():
    assert len(hindsight(results(MEANS))) == 0


def test_table_without_the_automatic_method_is_rejected():
    with pytest.raises(InputError, match="no reported result of FOCUS automatic"):
        summary(results({("A", "one"): {"raw": 0.5}}))


def test_markdown_formats_numbers_as_in_the_docs():
    written = markdown(pd.DataFrame({"loss": [0.714, -0.05, 3.5, np.nan]}, index=pd.Index(list("abcd"), name="method")))
    lines = ["| method | loss |", "| --- | --- |", "| a | .71 |", "| b | -.05 |", "| c | 3.50 |", "| d | – |"]
    assert written.splitlines() == lines

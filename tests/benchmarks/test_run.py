"""The harness: an end-to-end run on small trials, finished work is skipped, choosing and reporting are separate."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.quality.detectors import scores
from benchmarks.quality.methods import Method, raw
from benchmarks.quality.results import Result, append, chosen, read
from benchmarks.quality.run import BY_NAME, Step, measure, run
from benchmarks.quality.trials import Test as Rows
from benchmarks.quality.trials import Trial
from undistract.algebra import Moments
from undistract.datasets import make_illuminated_digits
from undistract.detect import quality
from undistract.errors import InputError

METHODS = ("raw", "NAP", "FOCUS automatic")
DETECTORS = ("kNN", "Mahalanobis")


def trial(part, seed, normal=5, odd=4):
    digits = make_illuminated_digits(seed=seed, normal=normal, odd=odd)
    halves = tuple(Moments.of(digits.training[start::2]) for start in (0, 1))
    test = Rows(digits.test, digits.is_anomaly, clean=digits.clean)
    return Trial("digits", f"{odd} in {normal}", part, seed, halves, (test,))


@pytest.fixture(scope="module")
def trials():
    return {"choose": [trial("choose", 100, 0, 6)], "report": [trial("report", 0), trial("report", 1)]}


def done(trials, path, **options):
    return list(run(trials, path, methods=METHODS, detectors=DETECTORS, **options))


@pytest.fixture(scope="module")
def finished(trials, tmp_path_factory):
    """Return the results of both parts, run once."""
    path = tmp_path_factory.mktemp("quality") / "out" / "quality.csv"
    for part in ("choose", "report"):
        done(trials[part], path)
    return path


def test_all_settings_are_tried_for_choosing_and_one_is_reported(finished):
    results = read(finished)
    counts = results.groupby(["part", "method"]).size()
    # 6 counts on one trial with 2 detectors; then one each on two trials.
    assert counts["choose", "NAP"] == 12
    assert counts["report", "NAP"] == 4
    assert counts["report", "clean oracle"] == counts["report", "raw"] == 4


def test_recorded_quality_is_that_of_the_detector(finished, trials):
    results = read(finished)
    test = trials["report"][1].tests[0]
    expected = quality(scores("kNN", test.rows), test.truth).average_precision
    found = results[(results.part == "report") & (results.seed == 1) & (results.method == "raw")]
    assert found.set_index("detector").average_precision["kNN"] == pytest.approx(expected)


def test_light_is_removed_and_the_oracle_is_reached(finished):
    results = read(finished)
    kNN = results[(results.part == "report") & (results.detector == "kNN")]
    means = kNN.groupby("method").average_precision.mean()
    assert means["FOCUS automatic"] > means["raw"] + 0.5
    assert means["FOCUS automatic"] == pytest.approx(means["clean oracle"], abs=0.05)
    assert (kNN[kNN.method == "FOCUS automatic"].n_removed == 2).all()
    assert (kNN[kNN.method == "FOCUS automatic"].n_kept == 62).all()


def test_finished_run_has_nothing_to_do(finished, trials, monkeypatch):
    before = finished.read_bytes()
    monkeypatch.setattr("benchmarks.quality.run.scores", None)  # a call would fail
    for part in ("choose", "report"):
        assert done(trials[part], finished) == trials[part]
    assert finished.read_bytes() == before


def test_stopped_run_resumes(finished, trials, tmp_path):
    path = tmp_path / "quality.csv"
    done(trials["choose"], path)
    next(run(trials["report"], path, methods=METHODS, detectors=DETECTORS))
    done(trials["report"], path)
    timeless = [
        read(file).drop(columns="seconds").sort_values(["part", "seed", "method", "setting", "detector"])
        for file in (finished, path)
    ]
    np.testing.assert_array_equal(timeless[0].to_numpy(str), timeless[1].to_numpy(str))


def test_two_processes_give_the_results_of_one(finished, trials, tmp_path):
    path = tmp_path / "quality.csv"
    for part in ("choose", "report"):
        done(trials[part], path, workers=2)
    order = ["part", "seed", "method", "setting", "detector"]
    single, double = (read(file).sort_values(order).average_precision for file in (finished, path))
    np.testing.assert_allclose(single, double, atol=1e-12)


def test_hindsight_reports_every_setting_of_its_detectors(finished, trials, tmp_path):
    path = tmp_path / "quality.csv"
    path.write_bytes(finished.read_bytes())
    before = chosen(read(path))
    done(trials["report"], path, hindsight=["kNN"])
    results = read(path)
    counts = results[(results.part == "report") & (results.method == "NAP")].detector.value_counts()
    assert counts.to_dict() == {"kNN": 2 * 6, "Mahalanobis": 2}
    assert not results.duplicated(["part", "seed", "test", "method", "setting", "detector"]).any()
    assert chosen(results) == before


def test_fixed_settings_are_tried_in_hindsight_only(trials, tmp_path):
    path = tmp_path / "quality.csv"
    list(run(trials["choose"], path, methods=["FOCUS fixed"], detectors=DETECTORS))
    list(run(trials["report"][:1], path, methods=["FOCUS fixed"], detectors=DETECTORS))
    assert set(read(path).method) == {"clean oracle"}
    list(run(trials["report"][:1], path, methods=["FOCUS fixed"], detectors=DETECTORS, hindsight=["kNN"]))
    assert read(path).groupby(["method", "detector"]).size()["FOCUS fixed"].to_dict() == {"kNN": 20}


def test_nothing_is_reported_before_settings_are_chosen(trials, tmp_path):
    with pytest.raises(InputError, match="No setting of NAP was chosen for digits and kNN"):
        done(trials["report"], tmp_path / "quality.csv")


def result(**changes):
    plain = Result("d", "t", "choose", 0, 0, "NAP", "k=1", "kNN", 0.5, 0.5, 1, 1, 0.0)
    return replace(plain, **changes)


def test_setting_is_not_chosen_by_reported_results(tmp_path):
    path = tmp_path / "quality.csv"
    for setting, choose, report in (("k=1", 0.6, 0.1), ("k=2", 0.4, 0.9)):
        append(path, [result(setting=setting, average_precision=choose)])
        append(path, [result(setting=setting, average_precision=report, part="report")])
    assert chosen(read(path)) == {("d", "NAP", "kNN"): "k=1"}


def test_incomplete_settings_are_skipped(tmp_path):
    path = tmp_path / "quality.csv"
    append(path, [result(seed=seed) for seed in (0, 1)])
    append(path, [result(seed=0, setting="k=2", average_precision=0.9)])
    append(path, [result(seed=0, setting="k=5", average_precision=0.9)])
    append(path, [result(seed=1, setting="k=5", average_precision=np.nan)])
    assert chosen(read(path)) == {("d", "NAP", "kNN"): "k=1"}


@pytest.mark.parametrize("name", ["results.csv", "results.csv.gz"])
def test_appended_results_are_read_with_the_others(tmp_path, name):
    for seed in range(3):
        append(tmp_path / name, [result(seed=seed)])
    assert read(tmp_path / name)["seed"].tolist() == [0, 1, 2]


def test_empty_setting_survives_the_file(tmp_path):
    path = tmp_path / "quality.csv"
    append(path, [result(setting="", method="raw")])
    assert read(path).setting.tolist() == [""]
    assert chosen(read(path)) == {("d", "raw", "kNN"): ""}


def test_other_tables_are_rejected(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"other.csv has the columns \['a', 'b'\]"):
        read(path)


def test_score_of_a_unit_is_that_of_its_strongest_row(trials):
    rows = np.zeros((12, 2))
    rows[:, 0] = np.arange(12) % 2  # a little variation
    rows[5] = 50.0
    test = Rows(rows, np.array([False, True, False]), unit=np.repeat([0, 1, 2], 4))
    trial = replace(
        trials["report"][0],
        tests=(test, test),
        n_neighbors=2,
        halves=(Moments.of({0: rows}), Moments.of({1: rows + 1})),
    )
    (measured,) = measure([(trial, [Step("raw", {}, ("kNN",))])])
    assert [(result.test, result.average_precision) for result in measured] == [(0, 1.0), (1, 1.0)]


def test_trials_with_equal_moments_are_fitted_once(trials, tmp_path, monkeypatch):
    fitted = []
    monkeypatch.setitem(BY_NAME, "raw", Method("raw", lambda moments: fitted.append(moments) or raw(moments)))
    first, other = trials["report"]
    same = replace(first, task="another", halves=first.halves)
    path = tmp_path / "quality.csv"
    assert list(run([first, same, other], path, methods=["raw"], detectors=["kNN"])) == [first, same, other]
    assert fitted == [first.moments, other.moments]
    assert set(read(path).task) == {first.task, "another"}

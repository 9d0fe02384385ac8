"""The report: all parts are present, nothing is loaded, and missing parts are left out."""

import re
import time
import warnings

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from undistract import Focus, FocusDetector, InputError, NoGroupsWarning, explain
from undistract.detect import Alarm, Conformal, Explanation, Quantile, Scores
from undistract.report.data import AlarmDetail, ModelSummary, Report, ScoreRun, image_pictures
from undistract.report.page import report_page, write_page

from .reading import Reading
from .test_templates import PAYLOADS

CALM = [np.linspace(0, 1, 200), np.linspace(0.1, 1.1, 200)]


@pytest.fixture(scope="module")
def detectors():
    """Return detectors of thirty days under changing light, and a test day with an anomaly."""
    rng = np.random.default_rng(0)
    light = np.linspace(-9, 9, 12)
    days = np.repeat(np.arange(30), 40)
    rows = rng.normal(size=(30, 12))[days] + rng.normal(size=(1200, 12)) + rng.normal(size=(1200, 1)) * light
    today = rows[:40] + 0.0
    today[7, 5] += 9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report contains the same
        before, after = (FocusDetector(Focus(n_remove=n)).fit(rows, groups=days) for n in (0, None))
    return before, after, today


@pytest.fixture(scope="module")
def report(detectors):
    before, after, today = detectors
    runs = [
        ScoreRun.of([Scores("today", detector.anomaly_score(today))], detector.threshold_)
        for detector in (before, after)
    ]
    pictures = image_pictures(today[7].reshape(3, 4), after.focus_.denoise(today[7:8]).reshape(3, 4))
    findings = tuple(AlarmDetail(alarm, pictures, explain(after, today, [alarm])[0]) for alarm in runs[1].alarms)
    return Report(
        "A day under light",
        ModelSummary.of(after.focus_, image_shape=(3, 4)),
        *runs,
        (pictures,),
        findings,
        settings={"cutoff": "auto", "rate": 0.01},
        sources={"today": "camera.csv"},
    )


@pytest.fixture(scope="module")
def page(report):
    return report_page(report)


def headings(page):
    return re.findall(r"<h2>([^<]+)</h2>", page)


def test_all_parts_are_in_order(page):
    assert headings(page) == [
        "What was removed",
        "Removed directions",
        "Effect on images",
        "Alarms",
        "Score tracks",
        "Strongest alarms",
        "Settings and sources",
    ]


def test_page_contains_the_description(page, report):
    text = Reading(page).text
    assert "1 of 12 directions is ignored, learned from 30 groups with 1200 rows." in text
    for label, line in report.model.summary.lines():
        assert f"{label} {line}" in text


def test_alarms_of_both_runs_are_counted(page, report):
    text = Reading(page).text
    assert f"before {len(report.before.alarms)} {report.before.n_over}" in text
    assert f"after {len(report.after.alarms)} {report.after.n_over}" in text
    assert "1.000%" in text


def test_strongest_alarm_is_the_event_with_an_explanation(page):
    text = Reading(page).text
    assert "1. today, row 7" in text
    assert re.search(r"[\d.]+ % of the deviation is ignored", text)
    assert text.count("cleaned") == 1 + page.count("contributions to the score</figcaption>")


def test_spectrum_shows_the_cut_off_and_the_noise_range(page, report):
    text = Reading(page).text
    low, high = report.model.spectrum.evidence.noise_edges
    assert f"{low:.3f} to {high:.3f}" in text
    assert "cut-off 0.9" in text
    assert "range under pure noise" in text


def test_page_lists_settings_sources_and_versions(page):
    text = Reading(page).text
    assert "cutoff auto" in text
    assert "camera.csv 1 today" in text
    assert f"numpy {np.__version__}" in text


def test_page_runs_nothing_and_loads_nothing(page):
    assert Reading(page).dangers() == []
    assert not re.search(r"https?:|<script|<link|<iframe|@import|url\((?!#)", page)


def test_page_is_deterministic(page, report):
    assert report_page(report) == page


def test_feature_names_are_in_patterns_and_explanations(detectors):
    _, after, today = detectors
    names = [f"sensor {number}" for number in range(12)]
    explanation = explain(after, today, [7], feature_names=names)[0]
    finding = AlarmDetail(Alarm("today", 7, 8, 7, explanation.score), explanation=explanation)
    model = ModelSummary.of(after.focus_, feature_names=names)
    text = Reading(report_page(Report("Sensors", model, details=(finding,)))).text
    assert {f"sensor {number}" for number in (0, 1, 10, 11)} <= set(re.findall(r"sensor \d+", text))
    assert "carried by sensor 5" in text


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payload_in_any_name_stays_text(payload, detectors):
    _, after, _ = detectors
    names = [payload, *(f"x{number}" for number in range(1, 12))]
    explanation = Explanation(0, 1.0, np.eye(12)[0], True, np.eye(12)[0], 0.5, tuple(names))
    alarm = Alarm(payload, 0, 1, 0, 2.0, payload, payload)
    run = ScoreRun((Scores(payload, [2.0, 0.0]),), 1.0, (alarm,))
    model = ModelSummary.of(after.focus_, feature_names=names)
    pairs = {payload: payload}
    findings = (AlarmDetail(alarm, (), explanation),)
    report = Report(payload, model, run, run, (), findings, settings=pairs, sources=pairs)
    assert Reading(report_page(report)).dangers() == []


def test_report_of_a_model(report):
    assert headings(report_page(Report("Model", report.model)))[:2] == [
        "What was removed",
        "Removed directions",
    ]
    assert "Score tracks" not in headings(report_page(Report("Model", report.model)))


def test_report_of_scores_with_and_without_a_threshold():
    scores = [Scores("day", [0.0, 5.0, 0.0])]
    assert headings(report_page(Report("Scores", after=ScoreRun.of(scores)))) == [
        "Score tracks",
        "Settings and sources",
    ]
    page = report_page(Report("Scores", after=ScoreRun.of(scores, 4.0)))
    assert "1 alarm in 3 rows." in Reading(page).text
    assert page.count("<svg") == 1


def test_empty_report():
    assert Reading(report_page(Report("Nothing", versions={}))).text == "Nothing Nothing"


def test_focus_that_removes_nothing(detectors):
    before, _, _ = detectors
    page = report_page(Report("Nothing removed", ModelSummary.of(before.focus_)))
    assert "No direction is ignored" in Reading(page).text
    assert "Removed directions" not in headings(page)


def test_focus_without_groups():
    with pytest.warns(NoGroupsWarning):
        focus = Focus().fit(np.eye(3))
    assert (
        "two groups with several rows are needed"
        in Reading(report_page(Report("No groups", ModelSummary.of(focus)))).text
    )


def test_groups_without_alarms_scores_or_rows():
    threshold = Quantile(rate=0.1)(CALM)
    groups = [Scores("one", [0.0, np.nan, 0.1]), Scores("unscored", [np.nan, np.nan]), Scores("empty", [])]
    page = report_page(Report("Calm", after=ScoreRun.of(groups, threshold)))
    text = Reading(page).text
    assert "0 alarms in 2 rows." in text
    assert "one: 3 rows, 1 not scored, 0 alarms" in text
    assert page.count("<svg") == 3


def test_group_names_in_any_language():
    names = ["摄像头三", "Ωμέγα", "كاميرا", "🎥", ("tuple", 3), 7]
    page = report_page(Report("Names", after=ScoreRun.of([Scores(name, [0.0, 9.0]) for name in names], 5.0)))
    text = Reading(page).text
    assert all(str(name) in text for name in names)


def test_different_false_alarm_rates_give_a_caution():
    scores = [Scores("day", [0.0, 5.0])]
    runs = [ScoreRun.of(scores, Quantile(rate=rate)(CALM)) for rate in (0.1, 0.2)]
    assert "cannot be compared" in Reading(report_page(Report("Two", None, *runs))).text


@pytest.mark.parametrize(("last", "text"), [(1, "at row 1, at 0.5."), (8, "at row 1, 0.5 to 1.0.")])
def test_alarm_of_one_row_has_one_time(last, text):
    run = ScoreRun.of([Scores("monday", [1, 9, last], times=[0.0, 0.5, 1.0])], 5.0)
    page = report_page(Report("Camera 3", after=run, details=tuple(map(AlarmDetail, run.alarms))))
    assert text in page  # regression: it was 0.5 to 0.5


def test_many_groups_are_counted_and_the_strongest_are_drawn():
    groups = [Scores(f"set {number}", [0.0, float(number)]) for number in range(60)]
    page = report_page(Report("Many", after=ScoreRun.of(groups, 50.0)))
    assert "The 12 of 60 groups with the highest scores are drawn" in Reading(page).text
    captions = re.findall(r"<figcaption>(set \d+):", page)
    assert captions == [f"set {number}" for number in range(48, 60)]
    assert all(f"<td>set {number}</td>" in page for number in range(60))


@pytest.mark.parametrize("n_groups", [1, 100])
def test_a_hundred_thousand_rows_make_a_small_page_quickly(n_groups):
    rng = np.random.default_rng(0)
    times = np.datetime64("2024-05-01", "s") + np.arange(100_000 // n_groups)
    # Every second row alarms: the worst case for drawing.
    runs = [
        ScoreRun.of(
            [Scores(f"set {number}", rng.normal(size=100_000 // n_groups), times) for number in range(n_groups)], 0.0
        )
        for _ in range(2)
    ]
    start = time.process_time()  # not affected by other work on the machine
    page = report_page(Report("Long", None, *runs))
    assert time.process_time() - start < 10
    assert len(page.encode()) < 3e6
    assert f"{len(runs[0].alarms):,}".replace(",", "\N{NARROW NO-BREAK SPACE}") in page


def test_page_is_written_atomically(report, page, tmp_path):
    write_page(report, tmp_path / "report.html")
    assert [(file.name, file.read_text(encoding="utf-8")) for file in tmp_path.iterdir()] == [("report.html", page)]
    with pytest.raises(InputError, match=r"report.html cannot be written: there is no folder"):
        write_page(report, tmp_path / "nowhere" / "report.html")


def test_wrong_image_shape_is_an_error(detectors):
    with pytest.raises(InputError, match=r"image_shape \(3, 3\) has 9 pixels, but a row has 12 features"):
        ModelSummary.of(detectors[1].focus_, image_shape=(3, 3))
    with pytest.raises(InputError, match="feature_names has 1 names for 12 features"):
        ModelSummary.of(detectors[1].focus_, feature_names=["a"])


def test_explanation_of_another_shape_is_an_error(report):
    with pytest.raises(InputError, match="image_shape"):
        Report("Odd", details=report.details, image_shape=(5, 5))


def test_infinite_threshold():
    threshold = Conformal(rate=0.01)(CALM)
    assert threshold.value == np.inf
    page = report_page(Report("Few groups", after=ScoreRun.of([Scores("day", [0.0, 5.0])], threshold)))
    assert "none for a single row" in Reading(page).text


def test_many_directions():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(400), 5)
    X = rng.normal(size=(400, 300))[groups] * 0.01 + rng.normal(size=(2000, 300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        focus = Focus(n_remove=250).fit(X, groups=groups)
    page = report_page(Report("Wide", ModelSummary.of(focus, image_shape=(20, 5, 3))))
    assert "238 more directions are removed." in Reading(page).text
    assert "The first 12 of 250 directions" in Reading(page).text
    assert len(page) < 400_000

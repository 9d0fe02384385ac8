"""The report: everything is there, nothing comes from elsewhere, and what is missing is left out."""

import re
import time
import warnings

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from undistract import Focus, FocusDetector, InputError, NoSetsWarning, explain
from undistract.detect import Alarm, Conformal, Explanation, Quantile, Scores
from undistract.report.contents import Finding, Learned, Report, Run, image_pictures
from undistract.report.page import report_page, write_page

from .reading import Reading
from .test_html import PAYLOADS

CALM = [np.linspace(0, 1, 200), np.linspace(0.1, 1.1, 200)]


@pytest.fixture(scope="module")
def watched():
    """Thirty calm days under changing light, and a test day with something in it."""
    rng = np.random.default_rng(0)
    light = np.linspace(-9, 9, 12)
    days = np.repeat(np.arange(30), 40)
    rows = rng.normal(size=(30, 12))[days] + rng.normal(size=(1200, 12)) + rng.normal(size=(1200, 1)) * light
    today = rows[:40] + 0.0
    today[7, 5] += 9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what speaks against the evidence stands in the report
        before, after = (FocusDetector(Focus(n_remove=n)).fit(rows, sets=days) for n in (0, None))
    return before, after, today


@pytest.fixture(scope="module")
def report(watched):
    before, after, today = watched
    runs = [Run.of([Scores("today", watch.anomaly_score(today))], watch.threshold_) for watch in (before, after)]
    pictures = image_pictures(today[7].reshape(3, 4), after.focus_.denoise(today[7:8]).reshape(3, 4))
    findings = tuple(Finding(one, pictures, explain(after, today, [one])[0]) for one in runs[1].alarms)
    return Report(
        "A day under light",
        Learned.of(after.focus_, image_shape=(3, 4)),
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


def test_the_page_tells_every_part_in_order(page):
    assert headings(page) == [
        "What was removed, and how sure that is",
        "What it looks like",
        "What it does to images",
        "How many alarms",
        "Score tracks",
        "The strongest alarms",
        "How this was made",
    ]


def test_the_page_says_what_was_removed_and_every_word_of_the_description(page, report):
    text = Reading(page).text
    assert "1 of 12 directions is ignored, learned from 30 sets with 1200 rows." in text
    for line in report.learned.words.splitlines():
        assert " ".join(line.split(": ", 1)[-1].split()) in text


def test_the_alarms_of_both_runs_are_counted_at_the_promised_rate(page, report):
    text = Reading(page).text
    assert f"before {len(report.before.alarms)} {report.before.n_over}" in text
    assert f"after {len(report.after.alarms)} {report.after.n_over}" in text
    assert "1.000%" in text


def test_the_strongest_alarm_is_the_event_and_says_why(page):
    text = Reading(page).text
    assert "1. today, row 7" in text
    assert re.search(r"[\d.]+% of its deviation was ignored", text)
    assert text.count("without what distracts") == 1 + page.count("what carried the score</figcaption>")


def test_the_spectrum_shows_the_cut_off_and_where_noise_would_read(page, report):
    text = Reading(page).text
    low, high = report.learned.spectrum.evidence.noise_edges
    assert f"{low:.3f} to {high:.3f}" in text
    assert "cut-off 0.9" in text
    assert "pure noise would read here" in text


def test_settings_sources_and_versions_are_told(page):
    text = Reading(page).text
    assert "cutoff auto" in text
    assert "camera.csv 1 today" in text
    assert f"numpy {np.__version__}" in text


def test_nothing_acts_and_nothing_comes_from_elsewhere(page):
    assert Reading(page).dangers() == []
    assert not re.search(r"https?:|<script|<link|<iframe|@import|url\((?!#)", page)


def test_the_page_is_the_same_every_time(page, report):
    assert report_page(report) == page


def test_features_that_are_no_pixels_are_named_by_the_pattern_and_the_explanation(watched):
    _, after, today = watched
    names = [f"sensor {place}" for place in range(12)]
    why = explain(after, today, [7], feature_names=names)[0]
    finding = Finding(Alarm("today", 7, 8, 7, why.score), explanation=why)
    learned = Learned.of(after.focus_, feature_names=names)
    text = Reading(report_page(Report("Sensors", learned, findings=(finding,)))).text
    assert {f"sensor {place}" for place in (0, 1, 10, 11)} <= set(re.findall(r"sensor \d+", text))
    assert "carried by sensor 5" in text


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_name_can_break_the_page(payload, watched):
    _, after, _ = watched
    names = [payload, *(f"x{place}" for place in range(1, 12))]
    why = Explanation(0, 1.0, np.eye(12)[0], True, np.eye(12)[0], 0.5, tuple(names))
    alarm = Alarm(payload, 0, 1, 0, 2.0, payload, payload)
    run = Run((Scores(payload, [2.0, 0.0]),), 1.0, (alarm,))
    learned = Learned.of(after.focus_, feature_names=names)
    told = {payload: payload}
    written = Report(payload, learned, run, run, (), (Finding(alarm, (), why),), settings=told, sources=told)
    assert Reading(report_page(written)).dangers() == []


def test_a_model_alone_makes_a_report(report):
    assert headings(report_page(Report("Model", report.learned)))[:2] == [
        "What was removed, and how sure that is",
        "What it looks like",
    ]
    assert "Score tracks" not in headings(report_page(Report("Model", report.learned)))


def test_scores_alone_make_a_report_with_or_without_a_threshold():
    scores = [Scores("day", [0.0, 5.0, 0.0])]
    assert headings(report_page(Report("Scores", after=Run.of(scores)))) == ["Score tracks", "How this was made"]
    page = report_page(Report("Scores", after=Run.of(scores, 4.0)))
    assert "1 alarm in 3 rows." in Reading(page).text
    assert page.count("<svg") == 1


def test_an_empty_report_is_a_page():
    assert Reading(report_page(Report("Nothing", versions={}))).text == "Nothing Nothing"


def test_a_focus_that_removes_nothing_says_so(watched):
    before, _, _ = watched
    page = report_page(Report("Nothing removed", Learned.of(before.focus_)))
    assert "Nothing is ignored" in Reading(page).text
    assert "What it looks like" not in headings(page)


def test_a_focus_without_sets_can_be_reported():
    with pytest.warns(NoSetsWarning):
        focus = Focus().fit(np.eye(3))
    assert "two sets with several rows are needed" in Reading(report_page(Report("No sets", Learned.of(focus)))).text


def test_no_alarms_rows_never_scored_and_no_rows_at_all_can_be_reported():
    threshold = Quantile(rate=0.1)(CALM)
    sets = [Scores("one", [0.0, np.nan, 0.1]), Scores("never", [np.nan, np.nan]), Scores("empty", [])]
    page = report_page(Report("Calm", after=Run.of(sets, threshold)))
    text = Reading(page).text
    assert "0 alarms in 2 rows." in text
    assert "one: 3 rows, 1 never scored, 0 alarms" in text
    assert page.count("<svg") == 3


def test_names_of_sets_in_any_language_are_shown():
    names = ["摄像头三", "Ωμέγα", "كاميرا", "🎥", ("tuple", 3), 7]
    page = report_page(Report("Names", after=Run.of([Scores(name, [0.0, 9.0]) for name in names], 5.0)))
    text = Reading(page).text
    assert all(str(name) in text for name in names)


def test_runs_with_other_promises_are_not_compared_without_a_word():
    scores = [Scores("day", [0.0, 5.0])]
    runs = [Run.of(scores, Quantile(rate=rate)(CALM)) for rate in (0.1, 0.2)]
    assert "cannot be compared" in Reading(report_page(Report("Two", None, *runs))).text


@pytest.mark.parametrize(("last", "words"), [(1, "at row 1, at 0.5."), (8, "at row 1, 0.5 to 1.0.")])
def test_an_alarm_of_one_row_has_one_time(last, words):
    run = Run.of([Scores("monday", [1, 9, last], times=[0.0, 0.5, 1.0])], 5.0)
    page = report_page(Report("Camera 3", after=run, findings=tuple(map(Finding, run.alarms))))
    assert words in page  # it was 0.5 to 0.5


def test_many_sets_are_all_counted_and_the_strongest_are_drawn():
    sets = [Scores(f"set {number}", [0.0, float(number)]) for number in range(60)]
    page = report_page(Report("Many", after=Run.of(sets, 50.0)))
    assert "Of 60 sets those 12 are drawn" in Reading(page).text
    captions = re.findall(r"<figcaption>(set \d+):", page)
    assert captions == [f"set {number}" for number in range(48, 60)]
    assert all(f"<td>set {number}</td>" in page for number in range(60))


@pytest.mark.parametrize("n_sets", [1, 100])
def test_a_hundred_thousand_rows_make_a_small_page_in_little_time(n_sets):
    rng = np.random.default_rng(0)
    times = np.datetime64("2024-05-01", "s") + np.arange(100_000 // n_sets)
    # Every second row alarms: the worst case for what is drawn.
    runs = [
        Run.of([Scores(f"set {one}", rng.normal(size=100_000 // n_sets), times) for one in range(n_sets)], 0.0)
        for _ in range(2)
    ]
    start = time.process_time()  # other work on the machine does not count
    page = report_page(Report("Long", None, *runs))
    assert time.process_time() - start < 10
    assert len(page.encode()) < 3e6
    assert f"{len(runs[0].alarms):,}".replace(",", "\N{NARROW NO-BREAK SPACE}") in page


def test_the_page_is_written_whole(report, page, tmp_path):
    write_page(report, tmp_path / "report.html")
    assert [(file.name, file.read_text(encoding="utf-8")) for file in tmp_path.iterdir()] == [("report.html", page)]
    with pytest.raises(InputError, match=r"report.html cannot be written: there is no folder"):
        write_page(report, tmp_path / "nowhere" / "report.html")


def test_a_shape_that_rows_do_not_have_is_refused(watched):
    with pytest.raises(InputError, match=r"image_shape \(3, 3\) has 9 pixels, but a row has 12 features"):
        Learned.of(watched[1].focus_, image_shape=(3, 3))
    with pytest.raises(InputError, match="feature_names has 1 names for 12 features"):
        Learned.of(watched[1].focus_, feature_names=["a"])


def test_an_explanation_that_does_not_fit_the_shape_is_refused(report):
    with pytest.raises(InputError, match="image_shape"):
        Report("Odd", findings=report.findings, image_shape=(5, 5))


def test_a_threshold_without_a_fixed_value_says_so():
    threshold = Conformal(rate=0.01)(CALM)
    assert threshold.value == np.inf
    page = report_page(Report("Few sets", after=Run.of([Scores("day", [0.0, 5.0])], threshold)))
    assert "none for a lone row" in Reading(page).text


def test_many_directions_are_drawn_as_one_outline_and_said_to_be_many():
    rng = np.random.default_rng(0)
    sets = np.repeat(np.arange(400), 5)
    X = rng.normal(size=(400, 300))[sets] * 0.01 + rng.normal(size=(2000, 300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        focus = Focus(n_remove=250).fit(X, sets=sets)
    page = report_page(Report("Wide", Learned.of(focus, image_shape=(20, 5, 3))))
    assert "Removed too: 238 more." in Reading(page).text
    assert "The first 12 of 250, each" in Reading(page).text
    assert len(page) < 400_000

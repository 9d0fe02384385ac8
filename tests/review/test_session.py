"""Review session without a browser. The same verdicts have the same effect from the page and from the shell."""

import json
import time
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest

pytest.importorskip("sqlalchemy", reason="needs SQLAlchemy: pip install 'undistract[web]'")

from tests.cli.shell import answer as shell_answer
from tests.cli.shell import run
from tests.web import reviews
from undistract import FileError, InputError, Model, ReadOptions, Source, learn, read_sources, relearn, score
from undistract.review import ReviewStore
from undistract.review.items import UnknownItemError
from undistract.review.payloads import format_time
from undistract.review.ranking import Ranking
from undistract.review.session import ReviewSession


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return reviews.table(tmp_path_factory.mktemp("days"))


@pytest.fixture
def log(tmp_path):
    return tmp_path / "days.review"


@pytest.fixture
def desk(files, log):
    with files.desk(log) as desk:
        yield desk


def say(desk, item, answer, **more):
    """Record a verdict, and wait until the model has used it."""
    said = desk.record({"key": str(uuid4()), "item": item, "answer": answer, "who": "Ada", **more})
    assert desk.wait_for(said["event"])
    return said


def ids(desk):
    return [item["id"] for item in desk.queue()["items"]]


def test_strongest_alarm_comes_first_and_a_verdict_reranks_the_others(desk):
    before = desk.queue()
    assert before["open"] == before["total"] == 20
    assert [item["rank"] for item in before["items"]] == list(range(1, 21))
    first = before["items"][0]
    say(desk, first["id"], "false_alarm")
    after = desk.queue()
    assert after["version"] > before["version"]
    assert after["answered"] == 1
    assert after["items"][-1]["id"] == first["id"]  # answered items come last
    # The glare caused sixteen of twenty alarms; the real anomalies come first now.
    assert sum(item["alarm"] for item in after["items"]) == 4
    assert {item["peak"] for item in after["items"][:4]} == {23, 373}
    changes = desk.changes(before["version"])
    assert changes["vanished"] == 16
    assert changes["by"] == ["Ada"]
    assert changes["words"] == "20 of 20 went down, 16 are below the threshold now."


def test_ranking_is_published_before_the_threshold_is_calibrated(desk, monkeypatch):
    live, seen = desk._worker, []
    publish = live._publish

    def watched(ranking, event, **how):
        seen.append((how["busy"], ranking.threshold.value, ranking.model.focus.n_removed_))
        publish(ranking, event, **how)

    monkeypatch.setattr(live, "_publish", watched)
    before = live.first.threshold.value
    say(desk, ids(desk)[0], "false_alarm")
    first, second = seen
    assert first[:2] == (True, before)
    assert not second[0]
    assert second[1] != before
    assert first[2] == second[2] == live.first.model.focus.n_removed_ + 1


def test_undo_restores_all_numbers(desk):
    before = desk.queue()["items"]
    said = say(desk, before[0]["id"], "false_alarm")
    assert desk.queue()["items"] != before
    taken = desk.withdraw({"key": str(uuid4()), "of": said["key"], "who": "Ada"})
    assert desk.wait_for(taken["event"])
    assert desk.queue()["items"] == before
    assert desk.summary()["verdicts"]["withdrawn"] == 1


def test_page_shell_and_python_give_the_same_model(desk, files, log, tmp_path):
    for number, word in enumerate(["false_alarm", "anomaly", "unsure", "false_alarm"]):
        say(desk, ids(desk)[number], word)
    say(desk, "0-100-160", "calm")
    scores = {item["id"]: item["score"] for item in desk.queue()["items"]}
    told = shell_answer("relearn", files.model, "--from", log, "--save", tmp_path / "next.focus")
    assert told["feedback"] == {"false_alarm": 2, "anomaly": 1, "unsure": 1, "calm": 1}
    saved = Model.load(tmp_path / "next.focus")
    from_python = relearn(Model.load(files.model), log)
    for model in (saved, from_python):
        with ReviewSession.open(
            files.scores, model=files.model, data=[files.data], store=tmp_path / f"{uuid4()}.review"
        ) as fresh:
            ranking = fresh._worker.first.rescore(model).rescore_all()
            for item, value in zip(ranking.items, ranking.item_scores()[0], strict=True):
                if item.id in scores:
                    assert value == scores[item.id]


def test_review_resumes(files, log):
    with files.desk(log) as desk:
        say(desk, ids(desk)[0], "false_alarm")
        left = desk.queue()["items"]
    with files.desk(log) as desk:
        assert desk.queue()["items"] == left
        assert desk.summary()["removed"] == 1


def test_verdicts_of_another_process_are_used(desk, files, log):
    with files.desk(log) as other:
        said = other.record({"key": str(uuid4()), "item": ids(other)[0], "answer": "false_alarm", "who": "Ben"})
    assert desk.wait_for(said["event"], timeout=20)
    assert desk.summary()["reviewers"] == {"Ben": 1}
    assert desk.summary()["removed"] == 1


def test_preview_is_correct_and_changes_nothing(desk):
    first = ids(desk)[0]
    before = desk.queue()
    seen = desk.preview(first)
    assert desk.queue() == before
    assert seen["words"] == "16 alarms would vanish. 1 direction more would be ignored."
    assert seen["removed_then"] == 1
    say(desk, first, "false_alarm")
    assert {item["id"] for item in seen["vanish"]} == {
        item["id"] for item in desk.queue()["items"] if item["was_alarm"] and not item["alarm"]
    }


def test_preview_warns_about_weakened_anomalies(desk):
    items = {item["peak"]: item["id"] for item in desk.queue()["items"] if item["set"] == 0}
    say(desk, items[23], "anomaly")
    seen = desk.preview(next(name for peak, name in items.items() if peak not in (23, 373)))
    weak = [item for item in seen["weaken"] if item["id"] == items[23]]
    assert weak
    assert weak[0]["then"] < weak[0]["score"]


def test_unreadable_log_is_reported_once_until_it_is_readable(desk, monkeypatch):
    # Regression: a database that was unavailable for a moment left its message on the page for good, and made a new
    # version every second.
    store = desk._worker._store
    real, away = store.events, []

    def read(after=0):
        if len(away) < 3:
            away.append(desk.queue()["version"])
            raise FileError("The log is away.")
        return real(after=after)

    before = desk.queue()
    monkeypatch.setattr(store, "events", read)
    assert desk.wait(before["version"], 0, timeout=20)
    assert desk.queue()["problem"] == "The log is away."
    end = time.monotonic() + 30
    while desk.queue()["problem"] and time.monotonic() < end:
        desk.wait(desk.queue()["version"], 0, timeout=1)
    assert desk.queue()["problem"] is None
    assert away == [before["version"], before["version"] + 1, before["version"] + 1]
    assert [item["id"] for item in desk.queue()["items"]] == [item["id"] for item in before["items"]]


class Below:
    """A detector whose scores are all below zero, as those of a log-likelihood may be."""

    def fit(self, X, y=None):
        self.scores_ = self.anomaly_score(X)
        return self

    def anomaly_score(self, X):
        return np.abs(X).max(axis=1) - 1000


def test_unchanged_negative_scores_do_not_weaken(tmp_path):
    # Regression: 5 * (1 - 1e-9) is below 5, but -5 * (1 - 1e-9) is above -5, so all anomalies counted as weakened.
    rng = np.random.default_rng(0)
    days = [Source(day, rng.normal(size=6) + rng.normal(size=(40, 6))) for day in range(20)]
    rows = rng.normal(size=(50, 6))
    rows[7] += 40
    with ReviewSession(
        learn(days, detector=Below()), [Source("today", rows)], ReviewStore.open(tmp_path / "today.review")
    ) as desk:
        first = desk.queue()
        assert first["items"][0]["score"] < 0
        say(desk, "0-7-8", "anomaly")
        assert desk.changes(first["version"])["words"] == "No score changed."
        seen = desk.preview("0-9-10", "unsure")
        assert (seen["weaken"], seen["words"]) == ([], "Nothing would change.")


def test_verdict_for_one_context_does_not_affect_the_other_source(desk):
    first = desk.queue()["items"][0]
    say(desk, first["id"], "false_alarm", scope="context")
    alarms = [item["set"] for item in desk.queue()["items"] if item["alarm"]]
    assert alarms.count(first["set"]) == 2
    assert alarms.count(1 - first["set"]) == 10


def test_verdict_expires_while_the_review_is_open(desk):
    say(desk, ids(desk)[0], "false_alarm", expires=time.time() + 3)
    assert desk.summary()["removed"] == 1
    version = desk.queue()["version"]
    end = time.monotonic() + 30
    while desk.summary()["removed"] and time.monotonic() < end:
        desk.wait(version, 1, timeout=1)
    assert desk.summary()["removed"] == 0
    assert desk.queue()["answered"] == 0


def test_any_range_of_rows_can_be_reviewed(desk):
    found = desk.item("1-5-9")
    assert (found["rank"], found["start"], found["stop"]) == (0, 5, 9)
    say(desk, "1-5-9", "unsure")
    assert desk.item("1-5-9")["answer"] == "unsure"
    assert [event["answer"] for event in desk.item("1-5-9")["history"]] == ["unsure"]


@pytest.mark.parametrize("name", ["9-0-1", "0-5-5", "0-0-9999", "../x", "0-1", "", "0-1-2-3", "٣-1-2"])
def test_unknown_item_raises(desk, name):
    with pytest.raises(UnknownItemError, match="There is no item"):
        desk.item(name)


def test_invalid_verdicts_are_rejected_and_not_recorded(desk):
    first = ids(desk)[0]
    for wrong in (
        {"answer": "perhaps"},
        {"answer": "false_alarm", "strength": 0},
        {"answer": "false_alarm", "scope": "nowhere"},
        {"answer": "false_alarm", "key": "no uuid"},
        {"answer": "calm"},  # one row is too short
    ):
        with pytest.raises(InputError):
            desk.record({"key": str(uuid4()), "item": first, **wrong})
    assert json.loads(desk.export("json"))["events"] == []


def test_thinned_track_keeps_all_peaks(desk):
    whole = desk.track(0, width=4000)
    thin = desk.track(0, width=7)
    assert len(whole["rows"]) == 400
    assert len(thin["rows"]) == 7
    assert max(thin["high"]) == max(whole["high"])
    assert min(thin["low"]) == min(whole["low"])
    part = desk.track(0, 100, 200, width=50)
    assert (part["rows"][0], part["start"], part["stop"]) == (100, 100, 200)
    with pytest.raises(UnknownItemError):
        desk.track(2)
    with pytest.raises(InputError, match=r"Expected 0 <= start < stop <= 400, got rows 300 to 200"):
        desk.track(0, 300, 200)


def test_feedback_that_removes_everything_is_reported_and_the_list_stays(tmp_path):
    rng = np.random.default_rng(0)
    model = learn([Source(day, rng.normal(size=2) + rng.normal(size=(40, 2))) for day in range(30)])
    rows = rng.normal(size=(50, 2))
    rows[[5, 25]] = [[0.0, 90.0], [90.0, 0.0]]
    with ReviewSession(model, [Source("today", rows)], ReviewStore.open(tmp_path / "today.review")) as desk:
        for item in ("0-5-6", "0-25-26"):
            said = desk.record({"key": str(uuid4()), "item": item, "answer": "false_alarm"})
            assert desk.wait_for(said["event"])
        queue = desk.queue()
        assert "would remove all 2 directions" in queue["problem"]
        assert queue["items"]
        # Withdrawing one of them fixes it.
        taken = desk.withdraw({"key": str(uuid4()), "of": said["key"]})
        assert desk.wait_for(taken["event"])
        assert desk.queue()["problem"] is None


@pytest.mark.parametrize(
    ("seconds", "words"), [(119.97, "2:00.0"), (3599.96, "1:00:00.0"), (59.94, "0:59.9"), (-0.01, "0:00.0")]
)
def test_no_minute_has_sixty_seconds(seconds, words):
    assert format_time(seconds) == words  # it was 1:60.0


def test_export_marks_active_verdicts(desk):
    first, second = ids(desk)[:2]
    said = say(desk, first, "false_alarm", note='a "note", with a comma')
    say(desk, second, "anomaly")
    desk.wait_for(desk.withdraw({"key": str(uuid4()), "of": said["key"]})["event"])
    table = desk.export("csv").decode().splitlines()
    assert len(table) == 3
    assert table[1].endswith('"a ""note"", with a comma",False')
    assert table[2].endswith(",True")
    exported = json.loads(desk.export("json"))
    assert [one["stands"] for one in exported["verdicts"]] == [False, True]
    assert [one["kind"] for one in exported["events"]] == ["verdict", "verdict", "withdrawal"]
    with pytest.raises(InputError, match="csv or json"):
        desk.export("xml")


def test_scores_without_threshold_are_ranked_by_their_own_rows(tmp_path, files):
    model = Model.load(files.model)
    groups = read_sources(files.data, ReadOptions(group="day", columns=reviews.COLUMNS))
    own = tmp_path / "own.scores"
    replace(score(groups, model, adapt=True), model=str(files.model)).save(own)
    with ReviewSession.open(own, data=[files.data]) as desk:
        assert desk.queue()["threshold"] is None
        # Regression: the text had the score relative to the reference rows, not the one of the list.
        text = desk.item(desk.queue()["items"][0]["id"])["explanation"]["text"]
        assert text == "0% of its deviation from its context is along ignored directions."
        say(desk, next(item["id"] for item in desk.queue()["items"] if item["peak"] not in (23, 373)), "false_alarm")
        assert {item["peak"] for item in desk.queue()["items"][:4]} == {23, 373}


def test_explanation_and_curves_use_the_same_column_names(tmp_path):
    # Regression: the curves were named x0, x1 and x2, and the explanation named x19.
    with reviews.windows(tmp_path).desk(tmp_path / "pump.review") as desk:
        shown = desk.item(desk.queue()["items"][0]["id"])
        columns = {one["name"] for one in shown["exhibit"]["series"]}
        assert columns == {"x0", "x1", "x2"}
        named = [one["name"] for one in shown["explanation"]["features"]]
        assert {name.split()[0] for name in named} <= columns
        assert all(name in columns or name.endswith(" before") for name in named)
        assert len(set(named)) == len(named)
        assert f"carried by {named[0]} (" in shown["explanation"]["text"]


@pytest.mark.parametrize("scope", ["everywhere", "context"])
def test_explanation_has_the_score_of_the_list(desk, scope):
    # Regression: a verdict for one source rescales its scores; the list had 15.7 and the explanation 15.3.
    first = desk.queue()["items"][0]
    say(desk, first["id"], "false_alarm", scope=scope)
    for item in [item for item in desk.queue()["items"] if item["set"] == first["set"]][:3]:
        assert (
            f"Row {item['peak']} scores {item['score']:.3g}, carried by" in desk.item(item["id"])["explanation"]["text"]
        )


def test_missing_or_changed_data_raises(tmp_path, files):
    with pytest.raises(InputError, match=r"The data of 2 of 2 sources is missing, for example 'monday'.*--data"):
        ReviewSession.open(files.scores, model=files.model, data=[tmp_path_with_other(tmp_path)])
    changed = tmp_path / "days.csv"
    lines = files.data.read_text().splitlines()
    changed.write_text("\n".join(lines[:-1]))
    with pytest.raises(InputError, match="has 399 rows, but 400 were scored"):
        ReviewSession.open(files.scores, model=files.model, data=[changed])


def test_duplicate_names_are_rejected(tmp_path, files):
    groups = [Source(name, np.zeros((30, 20))) for name in (1, "1")]
    store = ReviewStore.open(tmp_path / "twins.review")
    with store, pytest.raises(InputError, match="Names must be unique in a review, got '1'"):
        ReviewSession(Model.load(files.model), groups, store)


def test_failed_start_closes_the_log(tmp_path, files, monkeypatch):
    # Regression: the file stayed open and could not be moved on some systems.
    opened = []
    begin = ReviewStore.open
    monkeypatch.setattr(ReviewStore, "open", lambda *where, **more: opened.append(begin(*where, **more)) or opened[0])
    monkeypatch.setattr(Ranking, "from_scores", lambda *given, **more: [][0])
    with pytest.raises(IndexError):
        files.desk(tmp_path / "days.review")
    with pytest.raises(InputError, match="is closed"):
        opened[0].events()


def tmp_path_with_other(folder):
    other = folder / "other.csv"
    lines = ["day," + ",".join(reviews.COLUMNS)]
    lines += ["sunday," + ",".join(["0.5"] * 20)] * 3
    other.write_text("\n".join(lines))
    return other


def test_review_of_other_data_is_rejected(tmp_path, files):
    other = tmp_path / "other.review"
    ReviewStore.open(other, about={"n_features": 3}).close()
    with pytest.raises(InputError, match="rows with 3 features, these have 20"):
        files.desk(other)
    result = run("relearn", files.model, "--from", tmp_path / "no.review", "--save", tmp_path / "next.focus")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: There is no file")
    result = run("review", files.model, "--no-browser")
    assert result.exit_code == 1
    assert "is a model, expected scores. Score something with it first" in result.stderr


def test_explanations_follow_the_feedback(desk):
    items = {item["peak"]: item["id"] for item in desk.queue()["items"] if item["set"] == 0}
    glare = next(name for peak, name in items.items() if peak not in (23, 373))
    before = desk.item(glare)["explanation"]
    say(desk, glare, "false_alarm")
    after = desk.item(glare)["explanation"]
    assert before["ignored"] == 0
    assert after["ignored"] > 0.9
    assert np.isfinite([one["part"] for one in after["features"]]).all()


def test_only_the_moved_file_is_named(tmp_path):
    # Regression: one file of three had moved, and the message named all three.
    rng = np.random.default_rng(0)
    for number in range(6):
        np.save(tmp_path / f"day{number}.npy", rng.normal(size=(40, 4)))
    paths = [tmp_path / f"day{number}.npy" for number in range(3)]
    model = learn(read_sources(tmp_path))
    kept = model.save(tmp_path / "days.focus")
    scores = replace(score(read_sources(paths), model), model=str(kept)).save(tmp_path / "days.scores")
    paths[1].rename(tmp_path / "moved.npy")
    with pytest.raises(InputError, match=r"The data of 1 of 3 sources is missing, for example 'day1\.npy'"):
        ReviewSession.open(scores)

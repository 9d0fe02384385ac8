"""The desk: a review without a browser. The same answers teach the page and the shell the same."""

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
from undistract import FeatureSet, FileError, InputError, Model, Reading, learn, read_sets, relearn, score
from undistract.review import ReviewStore
from undistract.review.items import UnknownItemError
from undistract.workflow.desk import Desk
from undistract.workflow.desk_words import when
from undistract.workflow.ranking import Ranking


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
    """Answer, and wait until it is learned."""
    said = desk.record({"key": str(uuid4()), "item": item, "answer": answer, "who": "Ada", **more})
    assert desk.wait_for(said["event"])
    return said


def ids(desk):
    return [item["id"] for item in desk.queue()["items"]]


def test_the_strongest_alarm_comes_first_and_an_answer_ranks_the_others_anew(desk):
    before = desk.queue()
    assert before["open"] == before["total"] == 20
    assert [item["rank"] for item in before["items"]] == list(range(1, 21))
    first = before["items"][0]
    say(desk, first["id"], "familiar")
    after = desk.queue()
    assert after["version"] > before["version"]
    assert after["answered"] == 1
    assert after["items"][-1]["id"] == first["id"]  # answered ones stand last
    # The glare was behind sixteen of twenty alarms; what is strange indeed stands first now.
    assert sum(item["alarm"] for item in after["items"]) == 4
    assert {item["peak"] for item in after["items"][:4]} == {23, 373}
    changes = desk.changes(before["version"])
    assert changes["vanished"] == 16
    assert changes["by"] == ["Ada"]
    assert changes["words"] == "20 of 20 went down, 16 are below the threshold now."


def test_the_list_is_ranked_before_it_is_settled_when_to_alarm(desk, monkeypatch):
    live, seen = desk._live, []
    publish = live._publish

    def watched(ranking, event, **how):
        seen.append((how["busy"], ranking.threshold.value, ranking.model.focus.n_removed_))
        publish(ranking, event, **how)

    monkeypatch.setattr(live, "_publish", watched)
    before = live.first.threshold.value
    say(desk, ids(desk)[0], "familiar")
    first, second = seen
    assert first[:2] == (True, before)
    assert not second[0]
    assert second[1] != before
    assert first[2] == second[2] == live.first.model.focus.n_removed_ + 1


def test_undo_brings_back_every_number(desk):
    before = desk.queue()["items"]
    said = say(desk, before[0]["id"], "familiar")
    assert desk.queue()["items"] != before
    taken = desk.withdraw({"key": str(uuid4()), "of": said["key"], "who": "Ada"})
    assert desk.wait_for(taken["event"])
    assert desk.queue()["items"] == before
    assert desk.summary()["verdicts"]["withdrawn"] == 1


def test_the_page_the_shell_and_python_learn_the_same(desk, files, log, tmp_path):
    for number, word in enumerate(["familiar", "anomaly", "unsure", "familiar"]):
        say(desk, ids(desk)[number], word)
    say(desk, "0-100-160", "calm")
    scores = {item["id"]: item["score"] for item in desk.queue()["items"]}
    told = shell_answer("relearn", files.model, "--from", log, "--save", tmp_path / "next.focus")
    assert told["lessons"] == {"familiar": 2, "anomaly": 1, "unsure": 1, "calm": 1}
    saved = Model.load(tmp_path / "next.focus")
    from_python = relearn(Model.load(files.model), log)
    for model in (saved, from_python):
        with Desk.open(
            files.scores, model=files.model, data=[files.data], store=tmp_path / f"{uuid4()}.review"
        ) as fresh:
            ranking = fresh._live.first.under(model).whole()
            for item, value in zip(ranking.items, ranking.of_items()[0], strict=True):
                if item.id in scores:
                    assert value == scores[item.id]


def test_a_review_goes_on_where_it_stopped(files, log):
    with files.desk(log) as desk:
        say(desk, ids(desk)[0], "familiar")
        left = desk.queue()["items"]
    with files.desk(log) as desk:
        assert desk.queue()["items"] == left
        assert desk.summary()["removed"] == 1


def test_what_another_process_answers_is_learned_here_too(desk, files, log):
    with files.desk(log) as other:
        said = other.record({"key": str(uuid4()), "item": ids(other)[0], "answer": "familiar", "who": "Ben"})
    assert desk.wait_for(said["event"], timeout=20)
    assert desk.summary()["reviewers"] == {"Ben": 1}
    assert desk.summary()["removed"] == 1


def test_a_preview_says_what_comes_true_and_changes_nothing(desk):
    first = ids(desk)[0]
    before = desk.queue()
    seen = desk.preview(first)
    assert desk.queue() == before
    assert seen["words"] == "16 alarms would vanish. 1 direction more would be ignored."
    assert seen["removed_then"] == 1
    say(desk, first, "familiar")
    assert {item["id"] for item in seen["vanish"]} == {
        item["id"] for item in desk.queue()["items"] if item["was_alarm"] and not item["alarm"]
    }


def test_a_preview_warns_of_confirmed_anomalies_that_would_weaken(desk):
    items = {item["peak"]: item["id"] for item in desk.queue()["items"] if item["set"] == 0}
    say(desk, items[23], "anomaly")
    seen = desk.preview(next(name for peak, name in items.items() if peak not in (23, 373)))
    weak = [item for item in seen["weaken"] if item["id"] == items[23]]
    assert weak
    assert weak[0]["then"] < weak[0]["score"]


def test_a_log_that_could_not_be_read_for_a_while_is_told_once_and_then_forgotten(desk, monkeypatch):
    # A database that was away for a moment left its complaint on the page for good, and a new version every second.
    store = desk._live._store
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


def test_scores_below_zero_that_stay_do_not_weaken(tmp_path):
    # Five times 1 - 1e-9 is less than five; minus five times that is more: every anomaly was said to weaken.
    rng = np.random.default_rng(0)
    days = [FeatureSet(day, rng.normal(size=6) + rng.normal(size=(40, 6))) for day in range(20)]
    rows = rng.normal(size=(50, 6))
    rows[7] += 40
    with Desk(
        learn(days, detector=Below()), [FeatureSet("today", rows)], ReviewStore.open(tmp_path / "today.review")
    ) as desk:
        first = desk.queue()
        assert first["items"][0]["score"] < 0
        say(desk, "0-7-8", "anomaly")
        assert desk.changes(first["version"])["words"] == "No score changed."
        seen = desk.preview("0-9-10", "unsure")
        assert (seen["weaken"], seen["words"]) == ([], "Nothing would change.")


def test_an_answer_for_its_context_leaves_the_other_set_alone(desk):
    first = desk.queue()["items"][0]
    say(desk, first["id"], "familiar", scope="context")
    alarms = [item["set"] for item in desk.queue()["items"] if item["alarm"]]
    assert alarms.count(first["set"]) == 2
    assert alarms.count(1 - first["set"]) == 10


def test_an_answer_that_expires_is_forgotten_while_the_review_is_open(desk):
    say(desk, ids(desk)[0], "familiar", expires=time.time() + 3)
    assert desk.summary()["removed"] == 1
    version = desk.queue()["version"]
    end = time.monotonic() + 30
    while desk.summary()["removed"] and time.monotonic() < end:
        desk.wait(version, 1, timeout=1)
    assert desk.summary()["removed"] == 0
    assert desk.queue()["answered"] == 0


def test_a_stretch_that_nobody_flagged_can_be_looked_at_and_answered(desk):
    found = desk.item("1-5-9")
    assert (found["rank"], found["start"], found["stop"]) == (0, 5, 9)
    say(desk, "1-5-9", "unsure")
    assert desk.item("1-5-9")["answer"] == "unsure"
    assert [event["answer"] for event in desk.item("1-5-9")["history"]] == ["unsure"]


@pytest.mark.parametrize("name", ["9-0-1", "0-5-5", "0-0-9999", "../x", "0-1", "", "0-1-2-3", "٣-1-2"])
def test_an_item_that_is_not_there_is_told(desk, name):
    with pytest.raises(UnknownItemError, match="There is no item"):
        desk.item(name)


def test_bad_answers_are_refused_before_anything_is_kept(desk):
    first = ids(desk)[0]
    for wrong in (
        {"answer": "perhaps"},
        {"answer": "familiar", "strength": 0},
        {"answer": "familiar", "scope": "nowhere"},
        {"answer": "familiar", "key": "no uuid"},
        {"answer": "calm"},  # one row is no stretch
    ):
        with pytest.raises(InputError):
            desk.record({"key": str(uuid4()), "item": first, **wrong})
    assert json.loads(desk.export("json"))["events"] == []


def test_the_track_is_thinned_but_never_loses_a_peak(desk):
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
    with pytest.raises(InputError, match="no stretch"):
        desk.track(0, 300, 200)


def test_when_nothing_would_be_left_people_are_told_and_the_list_stays(tmp_path):
    rng = np.random.default_rng(0)
    model = learn([FeatureSet(day, rng.normal(size=2) + rng.normal(size=(40, 2))) for day in range(30)])
    rows = rng.normal(size=(50, 2))
    rows[[5, 25]] = [[0.0, 90.0], [90.0, 0.0]]
    with Desk(model, [FeatureSet("today", rows)], ReviewStore.open(tmp_path / "today.review")) as desk:
        for item in ("0-5-6", "0-25-26"):
            said = desk.record({"key": str(uuid4()), "item": item, "answer": "familiar"})
            assert desk.wait_for(said["event"])
        queue = desk.queue()
        assert "all 2 directions would be ignored" in queue["problem"]
        assert queue["items"]
        # Taking one back heals it.
        taken = desk.withdraw({"key": str(uuid4()), "of": said["key"]})
        assert desk.wait_for(taken["event"])
        assert desk.queue()["problem"] is None


@pytest.mark.parametrize(
    ("seconds", "words"), [(119.97, "2:00.0"), (3599.96, "1:00:00.0"), (59.94, "0:59.9"), (-0.01, "0:00.0")]
)
def test_no_minute_has_sixty_seconds(seconds, words):
    assert when(seconds) == words  # it was 1:60.0


def test_verdicts_are_exported_with_whether_they_stand(desk):
    first, second = ids(desk)[:2]
    said = say(desk, first, "familiar", note='a "note", with a comma')
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


def test_scores_without_a_threshold_are_ranked_by_their_own_rows(tmp_path, files):
    model = Model.load(files.model)
    sets = read_sets(files.data, Reading(group="day", columns=reviews.COLUMNS))
    own = tmp_path / "own.scores"
    replace(score(sets, model, adapt=True), model=str(files.model)).save(own)
    with Desk.open(own, data=[files.data]) as desk:
        assert desk.queue()["threshold"] is None
        # Another score than that of the list was told: what the row would have among the known ones.
        told = desk.item(desk.queue()["items"][0]["id"])["explanation"]["text"]
        assert told == "0% of its deviation from its context lies along ignored directions."
        say(desk, next(item["id"] for item in desk.queue()["items"] if item["peak"] not in (23, 373)), "familiar")
        assert {item["peak"] for item in desk.queue()["items"][:4]} == {23, 373}


def test_a_reason_names_the_columns_of_a_window_as_the_courses_do(tmp_path):
    # The courses were called x0, x1 and x2, and the reason beside them said x19.
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
def test_the_reason_tells_the_score_that_the_list_tells(desk, scope):
    # An answer for one set alone has a scale of its own: the list said 15.7, and beside it the reason 15.3.
    first = desk.queue()["items"][0]
    say(desk, first["id"], "familiar", scope=scope)
    for item in [item for item in desk.queue()["items"] if item["set"] == first["set"]][:3]:
        assert (
            f"Row {item['peak']} scores {item['score']:.3g}, carried by" in desk.item(item["id"])["explanation"]["text"]
        )


def test_data_that_has_gone_or_changed_is_told(tmp_path, files):
    with pytest.raises(InputError, match=r"The data of 2 of 2 sets is not there \('monday' for one\).*--data"):
        Desk.open(files.scores, model=files.model, data=[tmp_path_with_other(tmp_path)])
    changed = tmp_path / "days.csv"
    lines = files.data.read_text().splitlines()
    changed.write_text("\n".join(lines[:-1]))
    with pytest.raises(InputError, match="has 399 rows now, 400 were scored"):
        Desk.open(files.scores, model=files.model, data=[changed])


def test_sets_of_one_name_are_refused_because_answers_would_be_about_the_first(tmp_path, files):
    sets = [FeatureSet(name, np.zeros((30, 20))) for name in (1, "1")]
    store = ReviewStore.open(tmp_path / "twins.review")
    with store, pytest.raises(InputError, match="Several sets are called '1'"):
        Desk(Model.load(files.model), sets, store)


def test_a_review_that_cannot_begin_lets_go_of_its_log(tmp_path, files, monkeypatch):
    # The file stayed open, and could not be moved on some systems.
    opened = []
    begin = ReviewStore.open
    monkeypatch.setattr(ReviewStore, "open", lambda *where, **more: opened.append(begin(*where, **more)) or opened[0])
    monkeypatch.setattr(Ranking, "of_scores", lambda *given, **more: [][0])
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


def test_a_review_of_something_else_is_refused(tmp_path, files):
    other = tmp_path / "other.review"
    ReviewStore.open(other, about={"n_features": 3}).close()
    with pytest.raises(InputError, match="rows with 3 features, these have 20"):
        files.desk(other)
    told = run("relearn", files.model, "--from", tmp_path / "no.review", "--save", tmp_path / "next.focus")
    assert told.exit_code == 1
    assert told.stderr.startswith("Error: There is no file")
    told = run("review", files.model, "--no-browser")
    assert told.exit_code == 1
    assert "is a model. Score something with it first" in told.stderr


def test_explanations_follow_what_was_learned(desk):
    items = {item["peak"]: item["id"] for item in desk.queue()["items"] if item["set"] == 0}
    glare = next(name for peak, name in items.items() if peak not in (23, 373))
    before = desk.item(glare)["explanation"]
    say(desk, glare, "familiar")
    after = desk.item(glare)["explanation"]
    assert before["ignored"] == 0
    assert after["ignored"] > 0.9
    assert np.isfinite([one["part"] for one in after["features"]]).all()


def test_only_the_file_that_has_moved_is_asked_for(tmp_path):
    # One clip of three had moved, and the review said that the data of all three was not there.
    rng = np.random.default_rng(0)
    for number in range(6):
        np.save(tmp_path / f"day{number}.npy", rng.normal(size=(40, 4)))
    paths = [tmp_path / f"day{number}.npy" for number in range(3)]
    model = learn(read_sets(tmp_path))
    kept = model.save(tmp_path / "days.focus")
    scores = replace(score(read_sets(paths), model), model=str(kept)).save(tmp_path / "days.scores")
    paths[1].rename(tmp_path / "moved.npy")
    with pytest.raises(InputError, match=r"The data of 1 of 3 sets is not there \('day1\.npy' for one\)"):
        Desk.open(scores)

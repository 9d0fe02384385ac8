"""Relearning: the model is training and what stands of the verdicts, from Python, from a file and from the shell."""

from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest

from tests.cli.shell import answer, run
from undistract import (
    FeatureSet,
    Focus,
    InputError,
    Model,
    learn,
    load,
    merge,
    relearn,
    save,
    score,
    workflow,
    write_report,
)
from undistract.review import Verdict
from undistract.review.feedback import Lesson

SHAKE = np.tile([3.0, -3.0], 10)
NIGHT = np.repeat([4.0, -4.0], 10)


def lesson(number, answer, evidence=None, *, set_name="match", **more):
    return Lesson(Verdict(str(UUID(int=number)), set_name, number, number + 1, number, answer, **more), evidence)


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    return learn([FeatureSet(day, rng.normal(size=20) + rng.normal(size=(40, 20))) for day in range(30)])


@pytest.fixture
def match():
    rows = np.random.default_rng(1).normal(size=(50, 20))
    rows[7] += 3 * SHAKE
    rows[20] += 3 * NIGHT
    return FeatureSet("match", rows)


def alarms(model, one, **more):
    return sorted(alarm.peak for alarm in score([one], model, **more).alarms())


def test_what_was_called_familiar_no_longer_alarms_and_the_rest_still_does(model, match):
    assert alarms(model, match) == [7, 20]
    better = relearn(model, [lesson(1, "familiar", 3 * SHAKE)])
    assert alarms(better, match) == [20]


def test_a_confirmed_anomaly_alarms_whatever_is_called_familiar(model, match):
    wrong = [lesson(number, "familiar", 3 * NIGHT + 0.1 * SHAKE) for number in (1, 2)]
    assert 20 not in alarms(relearn(model, wrong), match)
    kept = relearn(model, [*wrong, lesson(3, "anomaly", 3 * NIGHT)])
    assert 20 in alarms(kept, match)


def test_scope_keeps_a_lesson_to_its_context(model, match):
    better = relearn(model, [lesson(1, "familiar", 3 * SHAKE, scope="context")])
    assert alarms(better, match) == [20]
    assert alarms(better, FeatureSet("another", match.rows)) == [7, 20]
    assert better.focus.n_removed_ == 0
    assert better.in_context("match").focus.n_removed_ == 1


def test_a_report_tells_what_was_taught_for_one_context(model, match, tmp_path):
    # The reason came from the model without that lesson: another score than that of the alarm above it.
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'undistract[plot]'")
    better = relearn(model, [lesson(1, "familiar", 3 * SHAKE, scope="context")])
    scored = score([match], better)
    (alarm,) = scored.alarms()
    page = write_report(tmp_path / "match.html", better, scored, sets=[match]).read_text()
    assert f"Score {alarm.score:.4g} at row 20." in page
    assert f"Row 20 scores {alarm.score:.3g}, carried by" in page
    kept = better.in_context("match").focus.projection_.ignored_share(
        (match.rows - np.median(match.rows, axis=0))[20:21]
    )
    assert f"{100 * kept[0]:.3g}% of its deviation from its context lies along ignored directions" in page


def test_scores_that_know_no_model_say_so(model, match, tmp_path):
    score([match], model).save(tmp_path / "match.scores")
    told = run("report", tmp_path / "match.scores", "--save", tmp_path / "match.html")
    assert told.exit_code == 1
    assert "match.scores does not say which model made it" in told.stderr  # it was: is not at None


def test_a_strong_verdict_counts_as_several(model):
    weak = np.zeros(20)
    weak[0] = 2.0
    assert relearn(model, [lesson(1, "familiar", weak)]).focus.n_removed_ == 0
    assert relearn(model, [lesson(1, "familiar", weak, strength=50.0)]).focus.n_removed_ == 1


def test_an_expired_lesson_no_longer_counts_when_scoring_or_relearning(model, match):
    better = relearn(model, [lesson(1, "familiar", 3 * SHAKE, expires=100.0)], now=50.0)
    assert alarms(better, match, now=99.0) == [20]
    assert alarms(better, match, now=100.0) == [7, 20]
    assert relearn(better, [], now=100.0).lessons == ()


def test_what_has_expired_is_not_told_as_ignored(model, match, tmp_path):
    # Scores left it out; the review, the service and `explain` still said that it is ignored.
    pytest.importorskip("fastapi", reason="needs FastAPI: pip install 'undistract[web]'")
    from tests.web.asking import TOKEN, ask
    from undistract.review import ReviewStore
    from undistract.web.app import make_app
    from undistract.workflow.desk import Desk

    taught = relearn(model, [lesson(1, "familiar", 3 * SHAKE, expires=1000.0)], now=10.0)
    assert taught.focus.n_removed_ == 1
    assert alarms(taught, match) == [7, 20]
    with Desk(taught, [match], ReviewStore.open(tmp_path / "match.review"), scored=score([match], taught)) as desk:
        assert desk.summary()["removed_before"] == desk.summary()["removed"] == 0
        assert desk.queue()["threshold"] == model.threshold.value
    assert ask(make_app(token=TOKEN, model=taught), "GET", "/model").json()["removed"] == 0
    assert answer("explain", taught.save(tmp_path / "taught.focus"))["removed"] == 0


def test_relearning_twice_is_relearning_once_and_other_reviews_stay(model, match):
    monday, tuesday = [lesson(1, "familiar", 3 * SHAKE)], [lesson(2, "familiar", 3 * NIGHT)]
    once = relearn(relearn(model, monday), tuesday)
    again = relearn(relearn(once, monday), tuesday)
    assert alarms(once, match) == []
    assert [one.verdict.key for one in again.lessons] == [str(UUID(int=1)), str(UUID(int=2))]
    assert np.array_equal(once.focus.components_, again.focus.components_)
    assert np.array_equal(once.anomaly_score(match.rows), again.anomaly_score(match.rows))


def test_a_taught_model_comes_back_from_its_file_to_the_bit(model, match, tmp_path):
    calm = np.random.default_rng(2).normal(size=(15, 20))
    lessons = [
        lesson(1, "familiar", 3 * SHAKE, who="Ada", note="the wind"),
        lesson(2, "calm", calm),
        lesson(3, "anomaly", 3 * NIGHT, scope="context"),
        lesson(4, "unsure"),
    ]
    taught = relearn(model, lessons)
    back = Model.load(taught.save(tmp_path / "street.focus"))
    assert [one.verdict for one in back.lessons] == [one.verdict for one in taught.lessons]
    assert back.focus.moments_.n_sets == 31
    assert np.array_equal(back.anomaly_score(match.rows), taught.anomaly_score(match.rows))
    # And it can forget: training was kept apart.
    forgot = relearn(back, [replace(one, verdict=replace(one.verdict, expires=1.0)) for one in lessons])
    assert np.array_equal(forgot.anomaly_score(match.rows), model.anomaly_score(match.rows))


def test_a_model_of_sums_alone_can_be_taught_too(match):
    rng = np.random.default_rng(0)
    sums = learn(
        [FeatureSet(day, rng.normal(size=20) + rng.normal(size=(40, 20))) for day in range(30)], keep_rows=False
    )
    taught = relearn(sums, [lesson(1, "familiar", 3 * SHAKE)])
    assert isinstance(taught.watch, Focus)
    strongest = [int(np.argmax(score([match], one).sets[0].after.values)) for one in (sums, taught)]
    assert taught.focus.n_removed_ == 1
    assert strongest[1] == 20


def test_merged_models_keep_what_each_was_taught(match):
    rng = np.random.default_rng(0)
    days = [FeatureSet(day, rng.normal(size=20) + rng.normal(size=(40, 20))) for day in range(60)]
    calm = lesson(3, "calm", rng.normal(size=(30, 20)))
    shake, night = lesson(1, "familiar", 3 * SHAKE), lesson(2, "familiar", 3 * NIGHT)
    here, there = (learn(half, keep_rows=False) for half in (days[:30], days[30:]))
    merged = merge([relearn(here, [shake, calm]), relearn(there, [shake, night])])
    alone = relearn(learn(days, keep_rows=False), [shake, night, calm])
    assert len(merged.lessons) == 3
    assert merged.training.n_sets == 60
    assert merged.focus.n_removed_ == alone.focus.n_removed_ == 2
    np.testing.assert_allclose(merged.focus.transform(match.rows), alone.focus.transform(match.rows), atol=1e-9)
    assert merge([here, there]).lessons == ()


def test_the_password_of_a_review_is_not_kept_in_the_model(model, tmp_path, monkeypatch):
    # The whole URL was written into the model file, which people hand on.
    url = "postgresql+psycopg://ada:top-secret@host/review?sslmode=require&password=second-secret"
    asked = []
    monkeypatch.setattr(workflow, "relearn", lambda before, review: asked.append(review) or before)
    told = run("relearn", model.save(tmp_path / "a.focus"), "--from", url, "--save", tmp_path / "b.focus")
    assert told.exit_code == 0, told.output
    assert asked == [url]
    kept = (tmp_path / "b.focus").read_bytes()
    assert b"postgresql+psycopg://ada:***@host/review?sslmode=require" in kept
    assert b"secret" not in kept + told.output.encode()


def test_lessons_about_other_features_are_refused(model):
    with pytest.raises(InputError, match=r"about 7 features, the model about 20.*that made those scores"):
        relearn(model, [lesson(1, "familiar", np.ones(7))])


def test_a_model_from_before_rows_were_kept_says_what_to_do(model, tmp_path):
    watch = model.watch.with_focus(model.focus)
    del watch.known_
    with pytest.raises(InputError, match="Learn it anew"):
        relearn(replace(model, watch=watch), [lesson(1, "familiar", SHAKE)])


@pytest.mark.parametrize(
    "forged",
    [
        {"lessons": [7]},
        {"lessons": [{"kind": "withdrawal", "key": str(UUID(int=1)), "of": str(UUID(int=2))}]},
        {"lessons": [{"kind": "verdict", "key": "x"}]},
        {"evidence 0": "text"},
        {"evidence 0": np.array([np.inf] * 20)},
        {"evidence 0": np.ones((2, 20))},
    ],
)
def test_forged_lessons_in_a_file_are_refused_in_words(model, tmp_path, forged):
    path = relearn(model, [lesson(1, "familiar", SHAKE)]).save(tmp_path / "street.focus")
    save({**load(path), **forged}, path)
    with pytest.raises(InputError):
        Model.load(path)

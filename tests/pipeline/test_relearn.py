"""Relearning: a model is its training plus the active verdicts, from Python, from a file and from the shell."""

from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest

from tests.cli.shell import answer, run
from undistract import (
    Focus,
    InputError,
    Model,
    Source,
    learn,
    load,
    merge,
    relearn,
    save,
    score,
    write_report,
)
from undistract.pipeline.verdicts import FeedbackItem
from undistract.review import Verdict, feedback

SHAKE = np.tile([3.0, -3.0], 10)
NIGHT = np.repeat([4.0, -4.0], 10)


def lesson(number, answer, evidence=None, *, group_name="match", **more):
    return FeedbackItem(
        Verdict(str(UUID(int=number)), group_name, number, number + 1, number, answer, **more), evidence
    )


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    return learn([Source(day, rng.normal(size=20) + rng.normal(size=(40, 20))) for day in range(30)])


@pytest.fixture
def match():
    rows = np.random.default_rng(1).normal(size=(50, 20))
    rows[7] += 3 * SHAKE
    rows[20] += 3 * NIGHT
    return Source("match", rows)


def alarms(model, one, **more):
    return sorted(alarm.peak for alarm in score([one], model, **more).alarms())


def test_false_alarm_no_longer_alarms_and_other_rows_do(model, match):
    assert alarms(model, match) == [7, 20]
    better = relearn(model, [lesson(1, "false_alarm", 3 * SHAKE)])
    assert alarms(better, match) == [20]


def test_confirmed_anomaly_alarms_despite_false_alarms(model, match):
    wrong = [lesson(number, "false_alarm", 3 * NIGHT + 0.1 * SHAKE) for number in (1, 2)]
    assert 20 not in alarms(relearn(model, wrong), match)
    kept = relearn(model, [*wrong, lesson(3, "anomaly", 3 * NIGHT)])
    assert 20 in alarms(kept, match)


def test_scope_limits_feedback_to_its_context(model, match):
    better = relearn(model, [lesson(1, "false_alarm", 3 * SHAKE, scope="context")])
    assert alarms(better, match) == [20]
    assert alarms(better, Source("another", match.rows)) == [7, 20]
    assert better.focus.n_removed_ == 0
    assert better.for_source("match").focus.n_removed_ == 1


def test_report_uses_feedback_for_one_context(model, match, tmp_path):
    # The reason came from the model without that lesson: another score than that of the alarm above it.
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'undistract[plot]'")
    better = relearn(model, [lesson(1, "false_alarm", 3 * SHAKE, scope="context")])
    scored = score([match], better)
    (alarm,) = scored.alarms()
    page = write_report(tmp_path / "match.html", better, scored, sources=[match]).read_text()
    assert f"Score {alarm.score:.4g} at row 20." in page
    assert f"Row 20 scores {alarm.score:.3g}, carried by" in page
    kept = better.for_source("match").focus.projection_.ignored_share(
        (match.rows - np.median(match.rows, axis=0))[20:21]
    )
    assert f"{100 * kept[0]:.3g}% of its deviation from its context lies along ignored directions" in page


def test_scores_without_a_model_raise(model, match, tmp_path):
    score([match], model).save(tmp_path / "match.scores")
    result = run("report", tmp_path / "match.scores", "--save", tmp_path / "match.html")
    assert result.exit_code == 1
    assert "match.scores does not name its model" in result.stderr  # regression: "is not at None"


def test_strong_verdict_counts_as_several(model):
    weak = np.zeros(20)
    weak[0] = 2.0
    assert relearn(model, [lesson(1, "false_alarm", weak)]).focus.n_removed_ == 0
    assert relearn(model, [lesson(1, "false_alarm", weak, strength=50.0)]).focus.n_removed_ == 1


def test_expired_feedback_does_not_count(model, match):
    better = relearn(model, [lesson(1, "false_alarm", 3 * SHAKE, expires=100.0)], now=50.0)
    assert alarms(better, match, now=99.0) == [20]
    assert alarms(better, match, now=100.0) == [7, 20]
    assert relearn(better, [], now=100.0).feedback == ()


def test_expired_feedback_is_not_reported_as_ignored(model, match, tmp_path):
    # Regression: scores omitted it; the review, the service and `explain` still reported it as ignored.
    pytest.importorskip("fastapi", reason="needs FastAPI: pip install 'undistract[web]'")
    from tests.web.asking import TOKEN, ask
    from undistract.review import ReviewStore
    from undistract.review.session import ReviewSession
    from undistract.web.app import make_app

    taught = relearn(model, [lesson(1, "false_alarm", 3 * SHAKE, expires=1000.0)], now=10.0)
    assert taught.focus.n_removed_ == 1
    assert alarms(taught, match) == [7, 20]
    with ReviewSession(
        taught, [match], ReviewStore.open(tmp_path / "match.review"), scored=score([match], taught)
    ) as desk:
        assert desk.summary()["removed_before"] == desk.summary()["removed"] == 0
        assert desk.queue()["threshold"] == model.threshold.value
    assert ask(make_app(token=TOKEN, model=taught), "GET", "/model").json()["removed"] == 0
    assert answer("explain", taught.save(tmp_path / "taught.focus"))["removed"] == 0


def test_relearning_is_idempotent_and_keeps_other_reviews(model, match):
    monday, tuesday = [lesson(1, "false_alarm", 3 * SHAKE)], [lesson(2, "false_alarm", 3 * NIGHT)]
    once = relearn(relearn(model, monday), tuesday)
    again = relearn(relearn(once, monday), tuesday)
    assert alarms(once, match) == []
    assert [one.verdict.key for one in again.feedback] == [str(UUID(int=1)), str(UUID(int=2))]
    assert np.array_equal(once.focus.components_, again.focus.components_)
    assert np.array_equal(once.anomaly_score(match.rows), again.anomaly_score(match.rows))


def test_model_with_feedback_is_loaded_bit_for_bit(model, match, tmp_path):
    calm = np.random.default_rng(2).normal(size=(15, 20))
    lessons = [
        lesson(1, "false_alarm", 3 * SHAKE, who="Ada", note="the wind"),
        lesson(2, "calm", calm),
        lesson(3, "anomaly", 3 * NIGHT, scope="context"),
        lesson(4, "unsure"),
    ]
    taught = relearn(model, lessons)
    back = Model.load(taught.save(tmp_path / "street.focus"))
    assert [one.verdict for one in back.feedback] == [one.verdict for one in taught.feedback]
    assert back.focus.moments_.n_groups == 31
    assert np.array_equal(back.anomaly_score(match.rows), taught.anomaly_score(match.rows))
    # Feedback can be dropped, because the moments of the training are stored separately.
    forgot = relearn(back, [replace(one, verdict=replace(one.verdict, expires=1.0)) for one in lessons])
    assert np.array_equal(forgot.anomaly_score(match.rows), model.anomaly_score(match.rows))


def test_model_without_rows_can_use_feedback(match):
    rng = np.random.default_rng(0)
    sums = learn([Source(day, rng.normal(size=20) + rng.normal(size=(40, 20))) for day in range(30)], keep_rows=False)
    taught = relearn(sums, [lesson(1, "false_alarm", 3 * SHAKE)])
    assert isinstance(taught.detector, Focus)
    strongest = [int(np.argmax(score([match], one).sources[0].after.values)) for one in (sums, taught)]
    assert taught.focus.n_removed_ == 1
    assert strongest[1] == 20


def test_merged_models_keep_their_feedback(match):
    rng = np.random.default_rng(0)
    days = [Source(day, rng.normal(size=20) + rng.normal(size=(40, 20))) for day in range(60)]
    calm = lesson(3, "calm", rng.normal(size=(30, 20)))
    shake, night = lesson(1, "false_alarm", 3 * SHAKE), lesson(2, "false_alarm", 3 * NIGHT)
    here, there = (learn(half, keep_rows=False) for half in (days[:30], days[30:]))
    merged = merge([relearn(here, [shake, calm]), relearn(there, [shake, night])])
    alone = relearn(learn(days, keep_rows=False), [shake, night, calm])
    assert len(merged.feedback) == 3
    assert merged.training.n_groups == 60
    assert merged.focus.n_removed_ == alone.focus.n_removed_ == 2
    np.testing.assert_allclose(merged.focus.transform(match.rows), alone.focus.transform(match.rows), atol=1e-9)
    assert merge([here, there]).feedback == ()


def test_password_of_a_review_is_not_stored_in_the_model(model, tmp_path, monkeypatch):
    # Regression: the whole URL was written into the model file, which may be shared.
    url = "postgresql+psycopg://ada:top-secret@host/review?sslmode=require&password=second-secret"
    asked = []
    monkeypatch.setattr(feedback, "relearn", lambda before, review: asked.append(review) or before)
    told = run("relearn", model.save(tmp_path / "a.focus"), "--from", url, "--save", tmp_path / "b.focus")
    assert told.exit_code == 0, told.output
    assert asked == [url]
    kept = (tmp_path / "b.focus").read_bytes()
    assert b"postgresql+psycopg://ada:***@host/review?sslmode=require" in kept
    assert b"secret" not in kept + told.output.encode()


def test_feedback_with_other_features_is_rejected(model):
    with pytest.raises(InputError, match=r"has 7 features, the model has 20.*that made those scores"):
        relearn(model, [lesson(1, "false_alarm", np.ones(7))])


def test_model_without_reference_rows_cannot_use_feedback(model, tmp_path):
    watch = model.detector.with_focus(model.focus)
    del watch.known_
    with pytest.raises(InputError, match="Train it again"):
        relearn(replace(model, detector=watch), [lesson(1, "false_alarm", SHAKE)])


@pytest.mark.parametrize(
    "forged",
    [
        {"feedback": [7]},
        {"feedback": [{"kind": "withdrawal", "key": str(UUID(int=1)), "of": str(UUID(int=2))}]},
        {"feedback": [{"kind": "verdict", "key": "x"}]},
        {"evidence 0": "text"},
        {"evidence 0": np.array([np.inf] * 20)},
        {"evidence 0": np.ones((2, 20))},
    ],
)
def test_forged_feedback_in_a_file_is_rejected(model, tmp_path, forged):
    path = relearn(model, [lesson(1, "false_alarm", SHAKE)]).save(tmp_path / "street.focus")
    save({**load(path), **forged}, path)
    with pytest.raises(InputError):
        Model.load(path)

"""Rows in, scores and reasons out, the same as in Python."""

import json

import numpy as np
import pytest

pytest.importorskip("fastapi", reason='needs FastAPI: pip install "undistract[web]"')

from tests.web.asking import OURS, TOKEN, ask, post
from undistract import Conformal, FeatureSet, Model, explain, learn, score
from undistract.review.feedback import Lesson
from undistract.review.verdicts import Verdict
from undistract.web.app import make_app


@pytest.fixture(scope="module")
def app(model):
    return make_app(token=TOKEN, model=model)


@pytest.fixture(scope="module")
def app_of_sums(sums):
    return make_app(token=TOKEN, model=sums)


def test_the_service_says_what_python_says_to_the_bit(app, model, odd):
    said = post(app, "/score", {"rows": odd.tolist(), "set": "today", "explain": True}).json()
    scored = score([FeatureSet("today", odd)], model)
    after = scored.sets[0].after
    assert said["judged_by"] == "known"
    assert said["scores"] == after.values.tolist()
    assert said["ignored"] == scored.sets[0].ignored.tolist()
    assert said["alarms"] == scored.threshold.alarms(after).tolist()
    assert said["p_values"] == scored.threshold.p_values(after).tolist()
    assert said["threshold"] == {"value": scored.threshold.value, "rate": 0.01, "rule": "Quantile(rate=0.01)"}
    first, *others = said["explanations"]
    why = explain(model.watch, odd, [31])[0]
    assert first["row"] == 31
    assert first["features"] == [{"name": name, "part": part} for name, part in why.strongest()]
    assert first["ignored"] == said["ignored"][31]
    assert first["text"].startswith("Row 31 scores")
    assert {one["row"] for one in [first, *others]} == set(np.flatnonzero(said["alarms"]).tolist())


def test_reasons_are_given_when_they_are_asked_for(app, odd):
    assert post(app, "/score", {"rows": odd.tolist()}).json()["explanations"] == []


def test_a_row_that_comes_alone_scores_as_in_company(app, odd):
    together = post(app, "/score", {"rows": odd.tolist()}).json()
    alone = post(app, "/score", {"rows": odd[31:32].tolist(), "explain": True}).json()
    assert alone["scores"] == together["scores"][31:32]
    assert alone["explanations"][0]["features"][0]["name"] == "x2"


def test_a_threshold_of_the_caller_replaces_the_model_s(app, odd):
    said = post(app, "/score", {"rows": odd.tolist(), "threshold": 3.0}).json()
    assert said["threshold"] == {"value": 3.0, "rate": None, "rule": "given"}
    assert said["alarms"] == [value > 3.0 for value in said["scores"]]


def test_a_model_without_rows_judges_by_the_rows_themselves_and_says_so(app_of_sums, sums, odd):
    said = post(app_of_sums, "/score", {"rows": odd.tolist(), "explain": True}).json()
    assert said["judged_by"] == "own"
    assert (said["threshold"], said["alarms"], said["p_values"]) == (None, None, None)
    assert said["scores"] == score([FeatureSet("today", odd)], sums).sets[0].after.values.tolist()
    assert (said["explanations"][0]["row"], len(said["explanations"])) == (31, 20)
    assert said["explanations"][0]["features"][0]["name"] == "x2"
    one = post(app_of_sums, "/score", {"rows": odd[:1].tolist()})
    assert (one.status, one.json()["error"].partition(".")[0]) == (422, "rows has 1 values, expected at least 2")


def test_a_threshold_without_a_value_for_a_lone_row_is_null(days, odd):
    app = make_app(token=TOKEN, model=learn(days, threshold=Conformal(0.01, whole_sets=False)))
    said = post(app, "/score", {"rows": odd.tolist()}).json()
    assert said["threshold"]["value"] is None
    assert not any(said["alarms"])
    assert ask(app, "GET", "/model").json()["threshold"]["value"] is None


GOOD = [0.0] * 8
REFUSED = {
    "too narrow": ({"rows": [GOOD[:5]]}, "rows[0] has 5 values, expected at least 8"),
    "too wide": ({"rows": [[*GOOD, 1.0]]}, "rows[0] has 9 values, expected at most 8"),
    "ragged": ({"rows": [GOOD, GOOD[:3]]}, "rows[1] has 3 values, expected at least 8"),
    "empty": ({"rows": []}, "rows has 0 values, expected at least 1"),
    "an empty row": ({"rows": [[]]}, "rows[0] has 0 values, expected at least 8"),
    "too many": ({"rows": [GOOD] * 2001}, "rows has 2001 values, expected at most 2000"),
    "text": ({"rows": [[*GOOD[:7], "1.5"]]}, "rows[0][7] is '1.5', expected a number"),
    "a truth value": ({"rows": [[*GOOD[:7], True]]}, "rows[0][7] is True, expected a number"),
    "null": ({"rows": [[*GOOD[:7], None]]}, "rows[0][7] is None, expected a number"),
    "NaN": ({"rows": [[*GOOD[:7], float("nan")]]}, "rows[0][7] is not finite"),
    "infinite": ({"rows": [[*GOOD[:7], float("inf")]]}, "rows[0][7] is not finite"),
    "too large": ({"rows": [[*GOOD[:7], 1e200]]}, "rows[0][7] is 1e+200, expected at most 1e+100"),
    "an endless whole number": ({"rows": [[*GOOD[:7], 10**400]]}, "rows[0][7] is"),
    "one row": ({"rows": GOOD}, "rows[0] is 0.0, expected a list"),
    "no rows": ({}, "rows is missing"),
    "rows by name": ({"rows": {"x0": [1.0]}}, "rows is {'x0': [1.0]}, expected a list"),
    "a list": ([GOOD], "The body is no JSON object"),
    "a number": (5, "The body is no JSON object"),
    "an unknown word": ({"rows": [GOOD], "adapt": True}, "adapt is not known here"),
    "a long name": ({"rows": [GOOD], "set": "x" * 201}, "set is longer than 200 characters"),
    "a name that is none": ({"rows": [GOOD], "set": 3}, "set is 3, expected a text"),
    "explain as text": ({"rows": [GOOD], "explain": "yes"}, "explain is 'yes', expected true or false"),
    "threshold as text": ({"rows": [GOOD], "threshold": "3"}, "threshold is '3', expected a number"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_cannot_be_scored_is_told_in_words(app, case):
    value, words = REFUSED[case]
    reply = post(app, "/score", value)
    assert reply.status == 422
    assert list(reply.json()) == ["error"]
    assert reply.json()["error"].startswith(words)
    assert len(reply.body) < 300


def too_deep():
    """How deep JSON may be nested is up to Python: from 3.13 on it reads 4000 lists, and misses their end."""
    try:
        json.loads(b"[" * 4000)
    except RecursionError:
        return 400, "The body cannot be read: it is nested too deeply"
    except ValueError:
        return 422, "The body is no JSON ("


@pytest.mark.parametrize(
    ("body", "kind", "status", "words"),
    [
        (b"rows", "application/json", 422, "The body is no JSON (Expecting value, at character 0)"),
        (b'{"rows": [[1, 2', "application/json", 422, "The body is no JSON ("),
        (b"\xff\xfe\x00", "application/json", 400, "The body cannot be read"),
        (b"[" * 4000, "application/json", *too_deep()),
        (b"[" * 200_000, "application/json", 413, "The body holds more than 5000 lists"),
        (b'{"rows": [' + b"[]," * 10**6, "application/json", 413, "The body holds more than 5000 lists"),
        (b'{"rows": [[' + b"1" * 5000 + b"]]}", "application/json", 400, "The body cannot be read"),
        (b"", "application/json", 422, "The body is missing"),
        (b'{"rows": []}', "text/csv", 422, "The body is no JSON object. Send one, with 'Content-Type"),
        (b'{"rows": []}', "application/x-www-form-urlencoded", 422, "The body is no JSON object"),
    ],
)
def test_a_body_that_is_no_json_is_told_in_words(app, body, kind, status, words):
    reply = ask(app, "POST", "/score", {**OURS, "content-type": kind}, [body])
    assert (reply.status, list(reply.json())) == (status, ["error"])
    assert reply.json()["error"].startswith(words)


def test_millions_of_wrong_numbers_make_one_short_complaint(app):
    reply = ask(
        app, "POST", "/score", {**OURS, "content-type": "application/json"}, [b'{"rows":[' + b'"",' * 10**6 + b'""]}']
    )
    assert (reply.status, len(reply.body) < 300) == (422, True)


@pytest.mark.parametrize("value", [1e100, -1e100, 1e-300, 5e-324])
def test_extreme_numbers_have_finite_scores(app, app_of_sums, value):
    for one in (app, app_of_sums):
        reply = post(one, "/score", {"rows": [[value] * 8, [0.0, value] * 4, GOOD], "explain": True})
        assert reply.status == 200, reply.body
        said = json.loads(reply.body, parse_constant=pytest.fail)
        assert len(said["scores"]) == 3


def test_the_model_is_told_in_numbers_and_words(app, app_of_sums, model):
    said = ask(app, "GET", "/model").json()
    assert (said["sets"], said["rows"], said["features"], said["removed"]) == (20, 1200, 8, 1)
    assert said["description"] == model.focus.describe()
    assert said["alarms"] == model.when_to_alarm()
    assert ask(app_of_sums, "GET", "/model").json()["judged_by"] == "own"


def test_names_of_features_are_those_of_the_model(model, odd):
    names = tuple(f"<sensor> {place}" for place in range(8))
    app = make_app(token=TOKEN, model=Model(model.watch, feature_names=names))
    said = post(app, "/score", {"rows": odd.tolist(), "explain": True}).json()
    assert said["explanations"][0]["features"][0]["name"] == "<sensor> 2"
    assert ask(app, "GET", "/model").json()["feature_names"] == list(names)


def test_what_people_taught_for_one_context_counts_there_and_is_explained_on_the_same_scale(model, odd):
    event = np.array([0, 0, 12.0, 0, 0, 0, 0, 0])
    verdict = Verdict("6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "today", 31, 32, 31, "familiar", scope="context")
    app = make_app(token=TOKEN, model=model.taught([Lesson(verdict, event)]))
    rows = odd + 0.0
    rows[7, 5] += 12
    here, elsewhere = (
        post(app, "/score", {"rows": rows.tolist(), "set": name, "explain": True}).json() for name in ("today", "other")
    )
    assert {one["row"] for one in elsewhere["explanations"]} >= {7, 31}
    assert 31 not in {one["row"] for one in here["explanations"]}
    assert here["explanations"][0]["row"] == 7
    for said in (here, elsewhere):
        for why in said["explanations"]:
            assert why["text"].startswith(f"Row {why['row']} scores {said['scores'][why['row']]:.3g},")
    assert ask(app, "GET", "/model").json()["lessons"]["familiar"] == 1


def test_metrics_count_requests_rows_and_alarms_under_names_that_callers_cannot_make_up(model, odd):
    app = make_app(token=TOKEN, model=model)
    alarms = sum(post(app, "/score", {"rows": odd.tolist()}).json()["alarms"])
    post(app, "/score", {})
    for path in ("/a", "/b", "/static/c", "/static/d"):
        ask(app, "GET", path)
    ask(app, "GET", "/health", {})
    ask(app, "MADE-UP", "/health")
    reply = ask(app, "GET", "/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = dict(line.rsplit(" ", 1) for line in reply.body.decode().splitlines() if not line.startswith("#"))
    counts = {name: value for name, value in lines.items() if name.startswith("undistract_requests_total")}
    assert counts == {
        'undistract_requests_total{method="POST",route="/score",status="200"}': "1",
        'undistract_requests_total{method="POST",route="/score",status="422"}': "1",
        'undistract_requests_total{method="GET",route="none",status="404"}': "2",
        'undistract_requests_total{method="GET",route="/static/{name}",status="404"}': "2",
        'undistract_requests_total{method="GET",route="none",status="400"}': "1",
        'undistract_requests_total{method="other",route="/health",status="405"}': "1",
    }
    assert (lines["undistract_rows_scored_total"], lines["undistract_alarms_total"]) == ("60", str(alarms))
    assert lines['undistract_request_seconds_bucket{route="/score",le="+Inf"}'] == "2"
    assert lines['undistract_request_seconds_count{route="/score"}'] == "2"


def test_the_schema_tells_the_width_the_limits_and_every_refusal(app):
    schema = ask(app, "GET", "/openapi.json").json()
    rows = schema["components"]["schemas"]["RowsToScore"]["properties"]["rows"]
    assert (rows["maxItems"], rows["items"]["minItems"], rows["items"]["maxItems"]) == (2000, 8, 8)
    assert schema["security"] == [{"token": []}]
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            refusals = {status: one for status, one in operation["responses"].items() if status != "200"}
            assert {"400", "401", "403", "421", "431"} <= set(refusals), path
            for one in refusals.values():
                assert one["content"] == {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    assert {"408", "413", "422"} <= set(schema["paths"]["/score"]["post"]["responses"])

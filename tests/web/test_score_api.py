"""The scoring service returns the same scores and explanations as Python."""

import json

import numpy as np
import pytest

pytest.importorskip("fastapi", reason='needs FastAPI: pip install "undistract[web]"')

from prometheus_client import CONTENT_TYPE_LATEST

from tests.web.asking import OURS, TOKEN, ask, post
from undistract import Conformal, Model, Source, explain, learn, score
from undistract.pipeline.verdicts import FeedbackItem, Verdict
from undistract.web.app import make_app


@pytest.fixture(scope="module")
def app(model):
    return make_app(token=TOKEN, model=model)


@pytest.fixture(scope="module")
def app_of_sums(sums):
    return make_app(token=TOKEN, model=sums)


def test_service_equals_python(app, model, odd):
    response = post(app, "/score", {"rows": odd.tolist(), "group": "today", "explain": True}).json()
    scored = score([Source("today", odd)], model)
    after = scored.sources[0].after
    assert response["judged_by"] == "known"
    assert response["scores"] == after.values.tolist()
    assert response["ignored"] == scored.sources[0].ignored.tolist()
    assert response["alarms"] == scored.threshold.alarms(after).tolist()
    assert response["p_values"] == scored.threshold.p_values(after).tolist()
    assert response["threshold"] == {"value": scored.threshold.value, "rate": 0.01, "rule": "Quantile(rate=0.01)"}
    first, *others = response["explanations"]
    explanation = explain(model.detector, odd, [31])[0]
    assert first["row"] == 31
    assert first["features"] == [{"name": name, "part": part} for name, part in explanation.strongest()]
    assert first["ignored"] == response["ignored"][31]
    assert first["text"].startswith("Row 31 scores")
    assert {explained["row"] for explained in [first, *others]} == set(np.flatnonzero(response["alarms"]).tolist())


def test_explanations_are_optional(app, odd):
    assert post(app, "/score", {"rows": odd.tolist()}).json()["explanations"] == []


def test_score_of_a_row_does_not_depend_on_other_rows(app, odd):
    together = post(app, "/score", {"rows": odd.tolist()}).json()
    alone = post(app, "/score", {"rows": odd[31:32].tolist(), "explain": True}).json()
    assert alone["scores"] == together["scores"][31:32]
    assert alone["explanations"][0]["features"][0]["name"] == "x2"


def test_threshold_of_the_request(app, odd):
    response = post(app, "/score", {"rows": odd.tolist(), "threshold": 3.0}).json()
    assert response["threshold"] == {"value": 3.0, "rate": None, "rule": "given"}
    assert response["alarms"] == [value > 3.0 for value in response["scores"]]


def test_model_without_rows_compares_rows_with_each_other(app_of_sums, sums, odd):
    response = post(app_of_sums, "/score", {"rows": odd.tolist(), "explain": True}).json()
    assert response["judged_by"] == "own"
    assert (response["threshold"], response["alarms"], response["p_values"]) == (None, None, None)
    assert response["scores"] == score([Source("today", odd)], sums).sources[0].after.values.tolist()
    assert (response["explanations"][0]["row"], len(response["explanations"])) == (31, 20)
    assert response["explanations"][0]["features"][0]["name"] == "x2"
    single = post(app_of_sums, "/score", {"rows": odd[:1].tolist()})
    assert (single.status, single.json()["error"].partition(".")[0]) == (422, "rows has 1 values, expected at least 2")


def test_infinite_threshold_is_null(days, odd):
    app = make_app(token=TOKEN, model=learn(days, threshold=Conformal(0.01, whole_groups=False)))
    response = post(app, "/score", {"rows": odd.tolist()}).json()
    assert response["threshold"]["value"] is None
    assert not any(response["alarms"])
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
    "a list": ([GOOD], "The body is not a JSON object"),
    "a number": (5, "The body is not a JSON object"),
    "an unknown word": ({"rows": [GOOD], "adapt": True}, "adapt is not a known field"),
    "a long name": ({"rows": [GOOD], "group": "x" * 201}, "group is longer than 200 characters"),
    "a name that is none": ({"rows": [GOOD], "group": 3}, "group is 3, expected text"),
    "explain as text": ({"rows": [GOOD], "explain": "yes"}, "explain is 'yes', expected true or false"),
    "threshold as text": ({"rows": [GOOD], "threshold": "3"}, "threshold is '3', expected a number"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_invalid_request_has_a_message(app, case):
    value, message = REFUSED[case]
    reply = post(app, "/score", value)
    assert reply.status == 422
    assert list(reply.json()) == ["error"]
    assert reply.json()["error"].startswith(message)
    assert len(reply.body) < 300


def too_deep():
    """Return the expected error; from Python 3.13 on, JSON may be nested 4000 levels deep."""
    try:
        json.loads(b"[" * 4000)
    except RecursionError:
        return 400, "The body cannot be parsed: it is nested too deeply"
    except ValueError:
        return 422, "The body is not JSON ("


@pytest.mark.parametrize(
    ("body", "kind", "status", "message"),
    [
        (b"rows", "application/json", 422, "The body is not JSON (Expecting value, at character 0)"),
        (b'{"rows": [[1, 2', "application/json", 422, "The body is not JSON ("),
        (b"\xff\xfe\x00", "application/json", 400, "The body cannot be parsed"),
        (b"[" * 4000, "application/json", *too_deep()),
        (b"[" * 200_000, "application/json", 413, "The body has more lists than the limit of 5000"),
        (b'{"rows": [' + b"[]," * 10**6, "application/json", 413, "The body has more lists than the limit of 5000"),
        (b'{"rows": [[' + b"1" * 5000 + b"]]}", "application/json", 400, "The body cannot be parsed"),
        (b"", "application/json", 422, "The body is missing"),
        (b'{"rows": []}', "text/csv", 422, "The body is not a JSON object. Send one, with 'Content-Type"),
        (b'{"rows": []}', "application/x-www-form-urlencoded", 422, "The body is not a JSON object"),
    ],
)
def test_invalid_json_has_a_message(app, body, kind, status, message):
    reply = ask(app, "POST", "/score", {**OURS, "content-type": kind}, [body])
    assert (reply.status, list(reply.json())) == (status, ["error"])
    assert reply.json()["error"].startswith(message)


def test_millions_of_wrong_numbers_give_one_short_error(app):
    reply = ask(
        app, "POST", "/score", {**OURS, "content-type": "application/json"}, [b'{"rows":[' + b'"",' * 10**6 + b'""]}']
    )
    assert (reply.status, len(reply.body) < 300) == (422, True)


@pytest.mark.parametrize("value", [1e100, -1e100, 1e-300, 5e-324])
def test_extreme_numbers_have_finite_scores(app, app_of_sums, value):
    for service in (app, app_of_sums):
        reply = post(service, "/score", {"rows": [[value] * 8, [0.0, value] * 4, GOOD], "explain": True})
        assert reply.status == 200, reply.body
        response = json.loads(reply.body, parse_constant=pytest.fail)
        assert len(response["scores"]) == 3


def test_model_description(app, app_of_sums, model):
    response = ask(app, "GET", "/model").json()
    assert (response["groups"], response["rows"], response["features"], response["removed"]) == (20, 1200, 8, 1)
    assert response["description"] == str(model.focus.summary(model.feature_names))
    assert response["alarms"] == model.describe_threshold()
    assert ask(app_of_sums, "GET", "/model").json()["judged_by"] == "own"


def test_feature_names_of_the_model(model, odd):
    names = tuple(f"<sensor> {number}" for number in range(8))
    app = make_app(token=TOKEN, model=Model(model.detector, feature_names=names))
    response = post(app, "/score", {"rows": odd.tolist(), "explain": True}).json()
    assert response["explanations"][0]["features"][0]["name"] == "<sensor> 2"
    assert ask(app, "GET", "/model").json()["feature_names"] == list(names)


def test_feedback_for_one_group_applies_only_there(model, odd):
    event = np.array([0, 0, 12.0, 0, 0, 0, 0, 0])
    verdict = Verdict("6f1c1f4e-0d5a-4b53-9d0c-3f6f0d7a1b2c", "today", 31, 32, 31, "false_alarm", scope="context")
    app = make_app(token=TOKEN, model=model.with_feedback([FeedbackItem(verdict, event)]))
    rows = odd + 0.0
    rows[7, 5] += 12
    inside, outside = (
        post(app, "/score", {"rows": rows.tolist(), "group": name, "explain": True}).json()
        for name in ("today", "other")
    )
    assert {explained["row"] for explained in outside["explanations"]} >= {7, 31}
    assert 31 not in {explained["row"] for explained in inside["explanations"]}
    assert inside["explanations"][0]["row"] == 7
    for response in (inside, outside):
        for explained in response["explanations"]:
            score_text = f"{response['scores'][explained['row']]:.3g}"
            assert explained["text"].startswith(f"Row {explained['row']} scores {score_text},")
    assert ask(app, "GET", "/model").json()["feedback"]["false_alarm"] == 1


def test_metrics_have_a_fixed_set_of_labels(model, odd):
    app = make_app(token=TOKEN, model=model)
    alarms = sum(post(app, "/score", {"rows": odd.tolist()}).json()["alarms"])
    post(app, "/score", {})
    for path in ("/a", "/b", "/static/c", "/static/d"):
        ask(app, "GET", path)
    ask(app, "GET", "/health", {})
    ask(app, "MADE-UP", "/health")
    reply = ask(app, "GET", "/metrics")
    assert reply.headers["content-type"] == CONTENT_TYPE_LATEST
    lines = dict(line.rsplit(" ", 1) for line in reply.body.decode().splitlines() if not line.startswith("#"))
    counts = {name: value for name, value in lines.items() if name.startswith("undistract_requests_total")}
    assert counts == {
        'undistract_requests_total{method="POST",route="/score",status="200"}': "1.0",
        'undistract_requests_total{method="POST",route="/score",status="422"}': "1.0",
        'undistract_requests_total{method="GET",route="none",status="404"}': "2.0",
        'undistract_requests_total{method="GET",route="/static/{name}",status="404"}': "2.0",
        'undistract_requests_total{method="GET",route="none",status="400"}': "1.0",
        'undistract_requests_total{method="other",route="/health",status="405"}': "1.0",
    }
    assert (lines["undistract_rows_scored_total"], lines["undistract_alarms_total"]) == ("60.0", str(float(alarms)))
    assert lines['undistract_request_seconds_bucket{le="+Inf",route="/score"}'] == "2.0"
    assert lines['undistract_request_seconds_count{route="/score"}'] == "2.0"


def test_schema_contains_widths_limits_and_errors(app):
    schema = ask(app, "GET", "/openapi.json").json()
    rows = schema["components"]["schemas"]["RowsToScore"]["properties"]["rows"]
    assert (rows["maxItems"], rows["items"]["minItems"], rows["items"]["maxItems"]) == (2000, 8, 8)
    assert schema["security"] == [{"token": []}]
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            refusals = {status: response for status, response in operation["responses"].items() if status != "200"}
            assert {"400", "401", "403", "421", "431"} <= set(refusals), path
            for response in refusals.values():
                assert response["content"] == {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    assert {"408", "413", "422"} <= set(schema["paths"]["/score"]["post"]["responses"])

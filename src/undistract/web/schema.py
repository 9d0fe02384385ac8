"""The schema says how every route refuses, because the guard and the limits stand before all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from undistract.web.problems import Problem

Schema = dict[str, Any]

REFUSALS = {
    "400": "The request cannot be read",
    "401": "The token is missing or wrong",
    "403": "Another site sent it",
    "421": "It was sent to a name that is not ours",
    "431": "The address and headers are too long",
}
WITH_BODY = {
    "408": "The body came too slowly",
    "413": "The body is too large",
}


def exact_schema(plain: Callable[[], Schema]) -> Callable[[], Schema]:
    """Complete the schema that FastAPI makes: refusals as we write them, and how the token is shown.

    Parameters
    ----------
    plain : callable
        Makes FastAPI's own schema.

    Examples
    --------
    >>> made = exact_schema(lambda: {"paths": {"/health": {"get": {"responses": {"200": {}}}}}})()
    >>> list(made["paths"]["/health"]["get"]["responses"])
    ['200', '400', '401', '403', '421', '431']
    """

    def exact() -> Schema:
        schema = plain()
        for operation in (one for path in schema["paths"].values() for one in path.values()):
            told = REFUSALS | (WITH_BODY if "requestBody" in operation else {})
            answers = {status: {"description": words} for status, words in told.items()} | operation["responses"]
            operation["responses"] = {status: _refusing(status, answers[status]) for status in sorted(answers)}
        parts = schema.setdefault("components", {})
        parts["schemas"] = parts.get("schemas", {}) | {"Problem": Problem.model_json_schema()}
        for unused in ("HTTPValidationError", "ValidationError"):
            parts["schemas"].pop(unused, None)
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"token": []}]
        return schema

    return exact


def _refusing(status: str, answer: Schema) -> Schema:
    """Let every refusal be a `Problem`, whatever the route answers else: a picture, a table."""
    if not status.startswith(("4", "5")):
        return answer
    return {
        "description": answer["description"],
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }

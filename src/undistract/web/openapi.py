"""Complete the OpenAPI schema: error responses of the middleware, which applies to all routes, and the token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from undistract.web.errors import Problem

Schema = dict[str, Any]

REFUSALS = {
    "400": "The request cannot be parsed",
    "401": "The token is missing or wrong",
    "403": "The request comes from another site",
    "421": "The host name is not allowed",
    "431": "The URL and headers are too long",
}
WITH_BODY = {"408": "The body arrived too slowly", "413": "The body is too large"}


def complete_schema(plain: Callable[[], Schema]) -> Callable[[], Schema]:
    """Add our error responses and the token to the schema that FastAPI's own function, `plain`, returns."""

    def exact() -> Schema:
        schema = plain()
        for operations in schema["paths"].values():
            for operation in operations.values():
                errors = REFUSALS | WITH_BODY if "requestBody" in operation else REFUSALS
                responses = {status: {"description": text} for status, text in errors.items()}
                responses |= operation["responses"]
                operation["responses"] = {
                    status: _with_problem(status, responses[status]) for status in sorted(responses)
                }
        components = schema.setdefault("components", {})
        components["schemas"] = components.get("schemas", {}) | {"Problem": Problem.model_json_schema()}
        for unused in ("HTTPValidationError", "ValidationError"):
            components["schemas"].pop(unused, None)
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"token": []}]
        return schema

    return exact


def _with_problem(status: str, response: Schema) -> Schema:
    """Give every error response the schema `Problem`, also in routes that return images or tables."""
    if not status.startswith(("4", "5")):
        return response
    return {
        "description": response["description"],
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }

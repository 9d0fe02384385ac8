"""Error responses. Every error is JSON: {"error": "one message"}."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import Scope

from undistract.errors import FileError, InputError
from undistract.review.items import UnknownItemError

# Exception class → HTTP status. The most specific class counts.
STATUS: dict[type[Exception], int] = {
    UnknownItemError: 404,
    FileError: 507,  # the disk of the server: the client may send the request again
    InputError: 422,
}
# In the review API, an InputError means that a valid request conflicts with the state of the review.
REVIEW_STATUS = STATUS | {InputError: 409}

# pydantic's error type → our message. Names in braces are values of pydantic's error context.
_MESSAGES = {
    "missing": "is missing",
    "extra_forbidden": "is not a known field",
    "too_short": "has {actual_length} values, expected at least {min_length}",
    "too_long": "has {actual_length} values, expected at most {max_length}",
    "string_too_long": "is longer than {max_length} characters",
    "finite_number": "is not finite. Drop such rows or impute the values first",
    "float_type": "is {value}, expected a number",
    "bool_type": "is {value}, expected true or false",
    "string_type": "is {value}, expected text",
    "list_type": "is {value}, expected a list",
    "greater_than_equal": "is {value}, expected at least {ge:g}",
    "less_than_equal": "is {value}, expected at most {le:g}",
}
_NO_OBJECT = {"model_attributes_type", "model_type", "dict_type"}


class Problem(BaseModel):
    """The body of an error response."""

    model_config = ConfigDict(extra="forbid")

    error: str = Field(description="What was received, what was expected, what to do next.")


def error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error response."""
    return JSONResponse({"error": message}, status, dict(headers or {}))


def header(scope: Scope, name: str) -> str:
    """Return a header of a request: "" if it is missing, all values with commas if it is repeated."""
    values = [value.decode("latin-1") for key, value in scope.get("headers", ()) if key == name.encode()]
    return ", ".join(values)


def register_error_handlers(app: FastAPI) -> None:
    """Let an app answer exceptions with error responses."""

    def handle_input_error(request: Request, error: Exception) -> JSONResponse:
        table = REVIEW_STATUS if request.scope["path"].startswith("/api/") else STATUS
        status = next(table[kind] for kind in type(error).__mro__ if kind in table)
        return error_response(status, " ".join(str(error).split()))

    def handle_validation_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return error_response(422, f"{_validation_message(error.errors()[0])}. See GET /openapi.json.")

    def handle_http_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        messages = {
            400: "The body cannot be parsed: it is nested too deeply, or a number in it is too long.",
            404: f"There is nothing at {request.scope['path']!r}. See GET /openapi.json.",
            405: f"{request.method} is not allowed here. See GET /openapi.json.",
        }
        return error_response(error.status_code, messages.get(error.status_code, f"{error.detail}."), error.headers)

    app.add_exception_handler(InputError, handle_input_error)
    app.add_exception_handler(RequestValidationError, handle_validation_error)
    app.add_exception_handler(HTTPException, handle_http_error)


def _validation_message(error: Mapping[str, Any]) -> str:
    """Return a message for one of pydantic's errors, such as: rows[3][0] is 'a', expected a number."""
    kind = error["type"]
    part, *steps = error["loc"]  # body, path or query; then keys and indices
    context = error.get("ctx", {})
    if kind == "json_invalid":
        position = steps[0] if steps else 0
        return f"The body is not JSON ({context['error']}, at character {position})"
    if kind in _NO_OBJECT and not steps:
        return "The body is not a JSON object. Send one, with 'Content-Type: application/json'"
    name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    value = reprlib.repr(error.get("input"))  # shortened: the input may be huge
    message = f"is {value}: {error['msg']}"
    if kind in _MESSAGES:
        message = _MESSAGES[kind].format(value=value, **context)
    return f"{name or f'The {part}'} {message}"

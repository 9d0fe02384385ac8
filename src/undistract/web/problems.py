"""Refusals: whatever goes wrong, the answer is {"error": "one sentence"}."""

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

from undistract.errors import InputError

# What pydantic calls it → what we say; names in braces are its numbers.
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "too_short": "has {actual_length} values, expected at least {min_length}",
    "too_long": "has {actual_length} values, expected at most {max_length}",
    "string_too_long": "is longer than {max_length} characters",
    "finite_number": "is not finite. Drop such rows or impute them first",
    "float_type": "is {found}, expected a number",
    "bool_type": "is {found}, expected true or false",
    "string_type": "is {found}, expected a text",
    "list_type": "is {found}, expected a list",
    "greater_than_equal": "is {found}, expected at least {ge:g}",
    "less_than_equal": "is {found}, expected at most {le:g}",
}
_NO_OBJECT = {"model_attributes_type", "model_type", "dict_type"}


class Problem(BaseModel):
    """Why a request was refused."""

    model_config = ConfigDict(extra="forbid")

    error: str = Field(description="What was found, what was expected, what to do next.")


def problem(status: int, words: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Make the answer that refuses a request.

    Examples
    --------
    >>> problem(404, "There is no such item.").body
    b'{"error":"There is no such item."}'
    """
    return JSONResponse({"error": words}, status, dict(headers or {}))


def header(scope: Scope, name: str) -> str:
    """Return one header of a request, "" where it is missing, all of them where it came several times.

    Examples
    --------
    >>> header({"headers": [(b"host", b"localhost:8765")]}, "host")
    'localhost:8765'
    """
    found = [value.decode("latin-1") for key, value in scope.get("headers", ()) if key == name.encode()]
    return ", ".join(found)


def answer_in_words(app: FastAPI) -> None:
    """Let every error of an app become one sentence.

    Examples
    --------
    >>> answer_in_words(FastAPI())
    """

    def unusable(request: Request, error: Exception) -> JSONResponse:
        # 422 where nothing else was said; what is not there says 404 itself.
        return problem(getattr(error, "status", 422), " ".join(str(error).split()))

    def misread(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return problem(422, f"{_in_words(error.errors()[0])}. GET /openapi.json says what fits.")

    def refused(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        words = {
            400: "The body cannot be read: it is nested too deeply, or a number in it is too long.",
            404: f"There is nothing at {request.scope['path']!r}. GET /openapi.json says what there is.",
            405: f"{request.method} does not work here. GET /openapi.json says what does.",
        }
        return problem(error.status_code, words.get(error.status_code, f"{error.detail}."), error.headers)

    app.add_exception_handler(InputError, unusable)
    app.add_exception_handler(RequestValidationError, misread)
    app.add_exception_handler(HTTPException, refused)


def _in_words(error: Mapping[str, Any]) -> str:
    """Turn one finding of pydantic into words: rows[3][0] is 'a', expected a number."""
    kind, (place, *inner), numbers = error["type"], error["loc"], error.get("ctx", {})
    if kind == "json_invalid":
        return f"The body is no JSON ({numbers['error']}, at character {inner[0] if inner else 0})"
    if kind in _NO_OBJECT and not inner:
        return "The body is no JSON object. Send one, with 'Content-Type: application/json'"
    name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in inner).lstrip(".")
    found = reprlib.repr(error.get("input"))  # short, whatever was sent
    words = _WORDS[kind].format(found=found, **numbers) if kind in _WORDS else f"is {found}: {error['msg']}"
    return f"{name or f'The {place}'} {words}"

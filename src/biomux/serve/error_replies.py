"""Errors as answers: each code has its status, and a body `{error, code, type, where, hint}` with the same message as on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from biomux.errors import BiomuxError, ServeError

if TYPE_CHECKING:
    from collections.abc import Mapping

STATUS = {
    "BX801": 400,
    "BX802": 422,
    "BX803": 413,
    "BX804": 408,
    "BX805": 415,
    "BX806": 406,
    "BX807": 401,
    "BX808": 404,
    "BX809": 429,
    "BX810": 503,
    "BX811": 500,
    "BX814": 422,
}
"""Code → status. All other errors are about the request: 422."""

INTERNAL = {"BX603"}
"""Codes whose message may reveal internals: clients learn only that the error occurred."""

JSON = "application/json"


def status(error: BiomuxError) -> int:
    """The status of an error."""
    return STATUS.get(error.code, 422)


def body(error: BiomuxError) -> bytes:
    """The body of an error. Half a surrogate pair, which JSON cannot represent, becomes a question mark."""
    message = "cannot be annotated" if error.code in INTERNAL else error.message
    content = {
        "error": message,
        "code": error.code,
        "type": type(error).__name__,
        "where": error.where,
        "hint": error.hint,
    }
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def headers(error: BiomuxError, *, retry_after: int = 1) -> dict[str, str]:
    """The extra headers that a status needs."""
    code = status(error)
    extra: dict[str, str] = {}
    if code in (429, 503):
        extra["retry-after"] = str(retry_after)
    if code == 401:
        extra["www-authenticate"] = 'Bearer realm="biomux", Basic realm="biomux", charset="UTF-8"'
    if code == 408:
        extra["connection"] = "close"
    return extra


def bug() -> ServeError:
    """What a client gets to know about a bug."""
    return ServeError("BX811", "the service failed", hint="please report it, with the log line of this request id")


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["error", "code", "type", "where", "hint"],
    "properties": {
        "error": {"type": "string", "description": "What went wrong, in one sentence."},
        "code": {"type": "string", "description": "A stable code; docs/reference/errors.md explains each."},
        "type": {"type": "string", "description": "The family of the error."},
        "where": {"type": ["string", "null"], "description": "The place: a field, a document, a line."},
        "hint": {"type": ["string", "null"], "description": "What to do about it."},
    },
}
"""The body of an error, for the OpenAPI description."""

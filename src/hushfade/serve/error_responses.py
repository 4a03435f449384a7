"""Errors as responses: {"error": ..., "code": ...}.  They never repeat the content of a request."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from hushfade.errors import Failed, HushfadeError, InvalidType, InvalidValue, Malformed, Refused

LOG = logging.getLogger("hushfade.serve")

_CODES = {404: "not_found", 405: "method"}
_KINDS: dict[type[HushfadeError], tuple[int, str]] = {
    Malformed: (400, "malformed"),  # before its base class InvalidValue
    InvalidValue: (422, "invalid"),
    InvalidType: (422, "invalid"),
    Refused: (409, "refused"),
    Failed: (503, "stopped"),
}


class Refusal(Exception):
    """An error with the status, code and message of its response."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def busy() -> Refusal:
    """The refusal of a service with too many requests in progress."""
    return Refusal(
        503, "busy", "the service is busy: send the request again later", Retry_After="1"
    )


def absent(what: str) -> Refusal:
    """The refusal of an unknown name, which it does not repeat."""
    return Refusal(404, "not_found", f"there is no {what} with this name")


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The content as JSON.  Equal content gives equal bytes."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers, media_type="application/json")


def answer_to(error: Exception) -> Response:
    """The response for an error: the broken rule, not the value.

    It never contains messages of other libraries.
    """
    refusal = _refusal(error)
    content = {"error": refusal.message, "code": refusal.code}
    return answer(content, refusal.status, refusal.headers)


def _refusal(error: Exception) -> Refusal:
    if isinstance(error, Refusal):
        return error
    if isinstance(error, HTTPException):
        status = error.status_code
        message = "the path does not support this method" if status == 405 else "unknown path"
        return Refusal(status, _CODES.get(status, "refused"), message, **dict(error.headers or {}))
    for kind, (status, code) in _KINDS.items():
        if isinstance(error, kind):
            wait = {"Retry_After": "10"} if status == 503 else {}
            return Refusal(status, code, error.rule, **wait)
    if isinstance(error, RecursionError):  # a deep document can be parsed, but not checked
        return Refusal(400, "malformed", "the body must not be nested so deeply")
    if isinstance(error, ClientDisconnect):
        return Refusal(400, "malformed", "the request is incomplete: send it again")
    LOG.error("internal error, %s", type(error).__name__)
    return Refusal(500, "internal", "internal error")

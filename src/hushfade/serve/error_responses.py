"""Errors as responses: {"error": ..., "code": ...}, which never repeat what was sent."""

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
    Malformed: (400, "malformed"),  # before InvalidValue, which it is too
    InvalidValue: (422, "invalid"),
    InvalidType: (422, "invalid"),
    Refused: (409, "refused"),
    Failed: (503, "stopped"),
}


class Refusal(Exception):
    """A request that gets this status, code and message."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def busy() -> Refusal:
    """The service has as much to do as it takes on."""
    return Refusal(503, "busy", "the service is busy: send it again", Retry_After="1")


def absent(what: str) -> Refusal:
    """There is no such thing; its name is not repeated."""
    return Refusal(404, "not_found", f"there is no such {what}")


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The content as JSON; the same content gives the same bytes."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers, media_type="application/json")


def answer_to(error: Exception) -> Response:
    """The response to a request that ended in the error: the rule that was broken, not the value.

    Messages of other libraries are never shown.
    """
    refusal = _refusal(error)
    content = {"error": refusal.message, "code": refusal.code}
    return answer(content, refusal.status, refusal.headers)


def _refusal(error: Exception) -> Refusal:
    if isinstance(error, Refusal):
        return error
    if isinstance(error, HTTPException):
        status = error.status_code
        message = "there is no such method here" if status == 405 else "there is nothing here"
        return Refusal(status, _CODES.get(status, "refused"), message, **dict(error.headers or {}))
    for kind, (status, code) in _KINDS.items():
        if isinstance(error, kind):
            wait = {"Retry_After": "10"} if status == 503 else {}
            return Refusal(status, code, error.rule, **wait)
    if isinstance(error, RecursionError):  # what is deep can be read, and then not be looked at
        return Refusal(400, "malformed", "the body must not be nested that deep")
    if isinstance(error, ClientDisconnect):
        return Refusal(400, "malformed", "the request must be whole")
    LOG.error("internal error, %s", type(error).__name__)
    return Refusal(500, "internal", "internal error")

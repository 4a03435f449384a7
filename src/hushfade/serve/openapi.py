"""The interface for machines: an OpenAPI document, written by hand, tested against the routes.

Each operation tells every status that it answers, and each answer's fields: requests that are made
from the document test the service.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from hushfade.serve import batches, metrics, release_formats, server_sent_events
from hushfade.serve.schemas import (
    NAME,
    PLACE,
    SCHEMAS,
    TEXT,
    Schema,
    an_object,
    list_of,
    named,
    whole,
)

# status: its name, what it means, its codes, and the headers that it always has
_REFUSALS: dict[int, tuple[str, str, tuple[str, ...], tuple[str, ...]]] = {
    400: ("Malformed", "It is not as it must be.", ("malformed",), ()),
    401: ("Unauthorised", "No token, or a wrong one.", ("unauthorised",), ("WWW-Authenticate",)),
    403: ("Forbidden", "The scope, or a foreign page.", ("forbidden", "host", "origin"), ()),
    404: ("NotFound", "There is no such thing.", ("not_found",), ()),
    406: ("Kinds", "None of the kinds that Accept lists.", ("not_acceptable",), ()),
    408: ("Timeout", "The body took too long.", ("timeout",), ()),
    409: ("Refused", "It would break a promise.", ("refused", "sequence"), ()),
    413: ("TooLarge", "The body is too large.", ("too_large",), ()),
    415: ("MediaType", "Another kind of body is needed.", ("media_type",), ()),
    422: ("Invalid", "A value breaks its rule.", ("invalid",), ()),
    429: ("TooMany", "Too many requests a second.", ("too_many",), ("Retry-After",)),
    503: ("Busy", "Busy or stopped: send it again.", ("busy", "stopped"), ("Retry-After",)),
}  # fmt: skip
_BODY = (400, 408, 413, 415, 503)  # what a body may lead to


def _content(schema: Schema, kind: str = batches.JSON, **more: Any) -> Schema:
    return {kind: {"schema": schema, **more}}


def _in(where: str, name: str, schema: Schema, told: str, *, required: bool = False) -> Schema:
    return {
        "in": where, "name": name, "schema": schema, "description": told, "required": required,
    }  # fmt: skip


def _stream(example: str = "late") -> Schema:
    return _in("path", "name", PLACE, "The stream's name.", required=True) | {"example": example}


_AFTER = _in("query", "after", whole(), "Only releases of later steps.") | {"example": 0}
_STEP = _in("path", "step", whole(1), "The open step, or one that is closed.", required=True)
_TAG = {"ETag": {"schema": TEXT, "required": True, "description": "Tells the file's versions."}}


def _operation(
    name: str,
    told: str,
    scope: str | None,
    answers: Schema,
    *refused: int,
    status: int = 200,
    body: Schema | None = None,
    parameters: tuple[Schema, ...] = (),
    headers: Schema | None = None,
) -> Schema:
    """One operation: who may, what goes in, what comes out, and how it is refused."""
    done: Schema = {"description": "Done.", "content": answers}
    if headers is not None:
        done["headers"] = headers
    who = (403, 429) if scope is None else (401, 403, 429)
    statuses = sorted({*refused, *who, *(() if body is None else _BODY)})
    found: Schema = {
        "operationId": name,
        "summary": told,
        "security": [] if scope is None else [{"token": [scope]}],
        "responses": {str(status): done}
        | {
            str(code): {"$ref": f"#/components/responses/{_REFUSALS[code][0]}"} for code in statuses
        },
    }
    if body is not None:
        found["requestBody"] = {"required": True, "content": body}
    if parameters:
        found["parameters"] = list(parameters)
    return found


def _responses() -> dict[str, Schema]:
    """The refusals, by name."""
    found = {}
    for name, told, codes, headers in _REFUSALS.values():
        fields = {"error": TEXT, "code": {"enum": list(codes)}}
        found[name] = {"description": told, "content": _content(an_object(fields))}
        if headers:
            always = {"required": True, "schema": TEXT}
            found[name]["headers"] = dict.fromkeys(headers, always)
    return found


def _streams_paths() -> dict[str, Schema]:
    from hushfade.decay import SlidingWindow
    from hushfade.planning.planner import plan
    from hushfade.privacy.guarantee import Guarantee

    made = plan(SlidingWindow(length=3), Guarantee(epsilon=1, delta=1e-6))
    stream = {"name": "late", "dataset": "clinics", "plan": json.loads(made.to_json())}
    return {
        "/v1/streams": {
            "get": _operation("listStreams", "All streams.", "read", _content(named("Streams"))),
            "post": _operation(
                "addStream", "Add a stream, charged to its dataset.", "admin",
                _content(named("Stream")), 409, 422, status=201,
                body=_content(named("NewStream"), example=stream),
            ),
        },
        "/v1/streams/{name}": {
            "get": _operation(
                "showStream", "One stream, with its plan.", "read",
                _content(named("StreamWithPlan")), 404, parameters=(_stream(),),
            ),
            "delete": _operation(
                "endStream", "End a stream; what is kept of its records is erased.", "admin",
                _content(named("Stream")), 404, 503, parameters=(_stream("ended"),),
            ),
        },
        "/v1/streams/{name}/records": {"post": _records()},
        "/v1/streams/{name}/steps/{step}/close": {
            "post": _operation(
                "closeStep", "Close a step and release it; again, the same release.", "admin",
                _content(named("StreamRelease")), 400, 404, 409, 503,
                parameters=(_stream(), _STEP | {"example": 1}),
            ),
        },
        "/v1/streams/{name}/releases": {
            "get": _operation(
                "readReleases",
                "Releases in order, the oldest first; JSON tells the newest step. Of many keys an "
                "answer may have fewer than were asked for.",
                "read",
                _content(named("Releases")) | _content(TEXT, release_formats.CSV)
                | {release_formats.ARROW: {}},
                400, 404, 406, 503,
                parameters=(
                    _stream(), _AFTER,
                    _in("query", "limit", whole(1, release_formats.MOST), "At most so many."),
                    _in("query", "last", whole(1, release_formats.MOST), "The newest; alone."),
                ),
                headers={"Vary": {"required": True, "schema": {"const": "Accept"}}},
            ),
        },
        "/v1/streams/{name}/events": {
            "get": _operation(
                "follow", "Releases as they are made, as server-sent events.", "read",
                _content(TEXT, server_sent_events.KIND), 400, 404, 503,
                parameters=(
                    _stream(), _AFTER,
                    _in("header", "Last-Event-ID", whole(), "The last step received."),
                ),
            ),
        },
    }  # fmt: skip


def _records() -> Schema:
    lines = "With lines only, as the field of JSON"
    told = {"sender": f"{lines}; needed.", "sequence": f"{lines}; needed.", "step": f"{lines}."}
    sent = {"sender": "gate-7", "sequence": 1, "records": [1, 0, 1]}
    return _operation(
        "sendRecords",
        "Send records of the open step. A sender's sequence only rises: what is sent again counts "
        "once.",
        "ingest", _content(named("Accepted")), 404, 409, 422,
        body=_content(named("Records"), example=sent) | _content(named("Lines"), batches.LINES),
        parameters=(
            _stream(),
            *(_in("query", name, kind, told[name]) for name, kind in
              (("sender", NAME), ("sequence", whole()), ("step", whole(1)))),
        ),
    )  # fmt: skip


def _paths() -> dict[str, Schema]:
    token = _in("path", "name", PLACE, "The token's name.", required=True)
    dataset = {"name": "clinics", "epsilon": 5, "delta": 1e-6}
    asked = {"decay": {"kind": "exponential", "half_life": 24}, "epsilon": 1, "delta": 1e-6}
    file = _in("path", "path", TEXT, "The file.", required=True) | {"example": "main.js"}
    known = _in("header", "If-None-Match", TEXT, "The tag of the copy that is there.")
    same: Schema = {"304": {"description": "The copy is still good.", "headers": _TAG}}
    found = {
        "/v1/datasets": {
            "get": _operation(
                "listDatasets", "All budgets.", "read", _content(list_of(named("Dataset"))), 503
            ),
            "post": _operation(
                "addDataset", "Add a dataset with its whole budget.", "admin",
                _content(named("Dataset")), 409, 422, status=201,
                body=_content(named("NewDataset"), example=dataset),
            ),
        },
        **_streams_paths(),
        "/v1/tokens": {
            "get": _operation(
                "listTokens", "Whose tokens there are.", "admin", _content(named("Tokens"))
            ),
            "post": _operation(
                "addToken", "Make a token, shown this once.", "admin",
                _content(named("MadeToken")), 409, 422, status=201,
                body=_content(
                    named("NewToken"), example={"name": "gates", "scopes": ["ingest"]}
                ),
            ),
        },
        "/v1/tokens/{name}": {
            "delete": _operation(
                "revokeToken", "The token opens nothing more.", "admin",
                _content(named("RevokedToken")), 400, 404, 409, 503, parameters=(token,),
            ),
        },
        "/v1/plan": {
            "post": _operation(
                "makePlan", "How private and how accurate a stream would be.", "read",
                _content(named("PlanAnswer")), 422,
                body=_content(named("PlanRequest"), example=asked),
            ),
        },
        "/health": {"get": _operation("health", "Is it up?", None, _content(named("Up")))},
        "/ready": {
            "get": _operation("ready", "Does it take changes?", None, _content(named("Ready")), 503)
        },
        "/openapi.json": {
            "get": _operation("openapi", "This document.", None, _content({"type": "object"}))
        },
        "/metrics": {
            "get": _operation(
                "scrape", "The newest releases for a monitor.", "read",
                _content(TEXT, metrics.KIND),
            )
        },
        "/": {
            "get": _operation(
                "page", "The page.", None, _content(TEXT, "text/html"),
                parameters=(known,), headers=_TAG,
            )
        },
        "/page/{path}": {
            "get": _operation(
                "pageFile", "The page's files.", None, {"*/*": {}}, 404,
                parameters=(file, known), headers=_TAG,
            )
        },
    }  # fmt: skip
    for path in ("/", "/page/{path}"):
        found[path]["get"]["responses"] |= same
    return found


@cache
def text() -> str:
    """The document as it is sent."""
    return json.dumps(openapi(), separators=(",", ":"))


@cache
def openapi() -> dict[str, Any]:
    """The document."""
    from hushfade import __version__

    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hushfade",
            "version": __version__,
            "description": "Decaying sums of sensitive streams at every step, for ever, with "
            "differential privacy. What is refused changes nothing, and no refusal repeats what "
            "was sent. What is no HTTP at all is answered by the server with a line of text.",
        },
        "servers": [{"url": "/"}],
        "paths": _paths(),
        "components": {
            "schemas": SCHEMAS,
            "responses": _responses(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token has scopes: ingest, read or admin, which includes the "
                    "others. Without any token in the store all is allowed to this machine alone. "
                    "A service that is public answers GET with the scope read to everybody.",
                }
            },
        },
    }

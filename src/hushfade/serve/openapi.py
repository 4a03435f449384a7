"""The OpenAPI document of the service, written by hand and tested against the routes.

Each operation lists all its statuses and the fields of each response.  Tests generate requests from
the document.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from hushfade.serve import batches, openapi_status, release_formats, server_sent_events
from hushfade.serve.schema_parts import (
    NAME,
    PLACE,
    TEXT,
    Schema,
    an_object,
    list_of,
    named,
    whole,
)
from hushfade.serve.schemas import SCHEMAS

# status: its name, its meaning, its codes, and the headers that it always has
_REFUSALS: dict[int, tuple[str, str, tuple[str, ...], tuple[str, ...]]] = {
    400: ("Malformed", "The request is malformed.", ("malformed",), ()),
    401: ("Unauthorised", "The token is missing or unknown.", ("unauthorised",),
          ("WWW-Authenticate",)),
    403: ("Forbidden", "The token lacks the scope, or another website sent the request.",
          ("forbidden", "host", "origin"), ()),
    404: ("NotFound", "The named object does not exist.", ("not_found",), ()),
    406: ("Kinds", "Accept lists no available media type.", ("not_acceptable",), ()),
    408: ("Timeout", "The body took too long to arrive.", ("timeout",), ()),
    409: ("Refused", "The request would break a guarantee.", ("refused", "sequence"), ()),
    413: ("TooLarge", "The body is too large.", ("too_large",), ()),
    415: ("MediaType", "The body has the wrong media type, or a content encoding.",
          ("media_type", "content_encoding"), ()),
    422: ("Invalid", "A value breaks its rule.", ("invalid",), ()),
    429: ("TooMany", "Too many requests per second.", ("too_many",), ("Retry-After",)),
    503: ("Busy", "Busy or stopped: send it again later.",
          ("busy", "stopped", "clock"), ("Retry-After",)),
}  # fmt: skip
_BODY = (400, 408, 413, 415, 503)  # the statuses that a body can cause


def _content(schema: Schema, kind: str = batches.JSON, **more: Any) -> Schema:
    return {kind: {"schema": schema, **more}}


def _in(
    where: str, name: str, schema: Schema, description: str, *, required: bool = False
) -> Schema:
    return {
        "in": where, "name": name, "schema": schema, "description": description,
        "required": required,
    }  # fmt: skip


def _stream(example: str = "late") -> Schema:
    return _in("path", "name", PLACE, "The name of the stream.", required=True) | {
        "example": example
    }


_AFTER = _in("query", "after", whole(), "Return only releases of steps after this step.") | {
    "example": 0
}
_BELOW = _in(
    "query",
    "suppress_below",
    {"type": "string", "pattern": r"^-?[0-9]{1,15}(\.[0-9]{1,9})?$"},
    "For a statistic: suppress values whose noisy count is below this number. A request can only "
    "raise the minimum of the stream.",
)
_STEP = _in("path", "step", whole(1), "The open step, or a closed step.", required=True)
_TAG = {
    "ETag": {"schema": TEXT, "required": True, "description": "Identifies the version of the file."}
}


def _operation(
    name: str,
    description: str,
    scope: str | None,
    answers: Schema,
    *refused: int,
    status: int = 200,
    body: Schema | None = None,
    parameters: tuple[Schema, ...] = (),
    headers: Schema | None = None,
) -> Schema:
    """One operation: its scope, request, response and error responses."""
    done: Schema = {"description": "Done.", "content": answers}
    if headers is not None:
        done["headers"] = headers
    who = (403, 429) if scope is None else (401, 403, 429)
    statuses = sorted({*refused, *who, *(() if body is None else _BODY)})
    found: Schema = {
        "operationId": name,
        "summary": description,
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
    """The error responses, by name."""
    found = {}
    for name, description, codes, headers in _REFUSALS.values():
        fields = {"error": TEXT, "code": {"enum": list(codes)}}
        found[name] = {"description": description, "content": _content(an_object(fields))}
        if headers:
            always = {"required": True, "schema": TEXT}
            found[name]["headers"] = dict.fromkeys(headers, always)
    return found


def _streams_paths() -> dict[str, Schema]:
    from hushfade.decays import SlidingWindow
    from hushfade.planning.planner import plan
    from hushfade.privacy.guarantee import Guarantee

    made = plan(SlidingWindow(length=3), Guarantee(epsilon=1, delta=1e-6))
    stream = {"name": "late", "dataset": "clinics", "plan": json.loads(made.to_json())}
    return {
        "/v1/streams": {
            "get": _operation(
                "listStreams", "All streams.", "read", _content(named("Streams")), 503
            ),
            "post": _operation(
                "addStream", "Add a stream and charge its privacy loss to its dataset.", "admin",
                _content(named("Stream")), 409, 422, status=201,
                body=_content(named("NewStream"), example=stream),
            ),
        },
        "/v1/streams/{name}": {
            "get": _operation(
                "showStream", "One stream, with its plan.", "read",
                _content(named("StreamWithPlan")), 404, 503, parameters=(_stream(),),
            ),
            "delete": _operation(
                "endStream", "End a stream and erase what is stored of its records.", "admin",
                _content(named("Stream")), 404, 503, parameters=(_stream("ended"),),
            ),
        },
        "/v1/streams/{name}/records": {"post": _records()},
        "/v1/streams/{name}/steps/{step}/close": {
            "post": _operation(
                "closeStep", "Close a step, and return its release.", "admin",
                _content(named("StreamRelease")), 400, 404, 409, 503,
                parameters=(_stream(), _STEP | {"example": 1}),
            ),
        },
        "/v1/streams/{name}/releases": {
            "get": _operation(
                "readReleases",
                "Releases, the oldest first. JSON also states the newest step. For streams with "
                "many keys the response can contain fewer releases than the limit.",
                "read",
                _content(named("Releases")) | _content(TEXT, release_formats.CSV)
                | {release_formats.ARROW: {}},
                400, 404, 406, 422, 503,
                parameters=(
                    _stream(), _AFTER, openapi_status.KEYS,
                    _in("query", "limit", whole(1, release_formats.MOST),
                        "The largest number of releases."),
                    _in("query", "last", whole(1, release_formats.MOST),
                        "Return this many of the newest releases, without after and limit."),
                    _BELOW,
                ),
                headers={"Vary": {"required": True, "schema": {"const": "Accept"}}},
            ),
        },
        "/v1/streams/{name}/events": {
            "get": _operation(
                "follow", "New releases as server-sent events.", "read",
                _content(TEXT, server_sent_events.KIND), 400, 404, 422, 503,
                parameters=(
                    _stream(), _AFTER, openapi_status.KEYS,
                    _in("header", "Last-Event-ID", whole(), "The last step received."), _BELOW,
                ),
            ),
        },
    }  # fmt: skip


def _joint() -> Schema:
    """Two streams that together keep epsilon = 1."""
    from hushfade.decays import SlidingWindow
    from hushfade.planning.planner import plan
    from hushfade.privacy.guarantee import Guarantee

    made = json.loads(plan(SlidingWindow(length=3), Guarantee(epsilon=0.5, delta=1e-6)).to_json())
    streams = [{"name": name, "plan": made} for name in ("beds", "staff")]
    return {"dataset": "clinics", "epsilon": 1, "delta": 1e-6, "streams": streams}


def _records() -> Schema:
    lines = "For a body of lines only, in place of the JSON field."
    needed = f"{lines} Required there."
    description = {"sender": needed, "sequence": needed, "step": lines}
    sent = {"sender": "gate-7", "sequence": 1, "records": [1, 0, 1]}
    return _operation(
        "sendRecords",
        "Send records for the open step. The sequence number of a sender only rises, so a batch "
        "that is sent again counts once.",
        "ingest", _content(named("Accepted")), 404, 409, 422,
        body=_content(named("Records"), example=sent) | _content(named("Lines"), batches.LINES),
        parameters=(
            _stream(),
            *(_in("query", name, kind, description[name]) for name, kind in
              (("sender", NAME), ("sequence", whole()), ("step", whole(1)))),
        ),
    )  # fmt: skip


def _paths() -> dict[str, Schema]:
    token = _in("path", "name", PLACE, "The name of the token.", required=True)
    dataset = {"name": "clinics", "epsilon": 5, "delta": 1e-6}
    asked = {"decay": {"kind": "exponential", "half_life": 24}, "epsilon": 1, "delta": 1e-6}
    file = _in("path", "path", TEXT, "The file.", required=True) | {"example": "main.js"}
    known = _in("header", "If-None-Match", TEXT, "The ETag of the client's copy.")
    same: Schema = {"304": {"description": "The client's copy is current.", "headers": _TAG}}
    found = {
        "/v1/datasets": {
            "get": _operation(
                "listDatasets", "All datasets with their budgets.", "read",
                _content(list_of(named("Dataset"))), 503,
            ),
            "post": _operation(
                "addDataset", "Add a dataset with its total budget.", "admin",
                _content(named("Dataset")), 409, 422, status=201,
                body=_content(named("NewDataset"), example=dataset),
            ),
        },
        "/v1/joint-charges": {
            "post": _operation(
                "chargeTogether",
                "Charge several plans that are fixed together, as one guarantee. Each stream is "
                "then added once, with the plan named here, and costs nothing more.",
                "admin", _content(named("Dataset")), 409, 422, status=201,
                body=_content(named("NewJointCharge"), example=_joint()),
            ),
        },
        **_streams_paths(),
        **openapi_status.paths(_operation, _content, _in, _stream()),
        "/v1/tokens": {
            "get": _operation(
                "listTokens", "The names and scopes of all tokens.", "admin",
                _content(named("Tokens")),
            ),
            "post": _operation(
                "addToken", "Create a token, which is shown only once.", "admin",
                _content(named("MadeToken")), 409, 422, status=201,
                body=_content(
                    named("NewToken"), example={"name": "gates", "scopes": ["ingest"]}
                ),
            ),
        },
        "/v1/tokens/{name}": {
            "delete": _operation(
                "revokeToken", "Revoke a token.", "admin",
                _content(named("RevokedToken")), 400, 404, 409, 503, parameters=(token,),
            ),
        },
        "/v1/plan": {
            "post": _operation(
                "makePlan", "Plan a stream: how private and how accurate it would be.", "read",
                _content(named("PlanAnswer")), 422,
                body=_content(named("PlanRequest"), example=asked),
            ),
        },
        "/openapi.json": {
            "get": _operation("openapi", "This document.", None, _content({"type": "object"}))
        },
        "/": {
            "get": _operation(
                "page", "The web page.", None, _content(TEXT, "text/html"),
                parameters=(known,), headers=_TAG,
            )
        },
        "/page/{path}": {
            "get": _operation(
                "pageFile", "The files of the web page.", None, {"*/*": {}}, 404,
                parameters=(file, known), headers=_TAG,
            )
        },
    }  # fmt: skip
    for path in ("/", "/page/{path}"):
        found[path]["get"]["responses"] |= same
    return found


@cache
def text() -> str:
    """The document as JSON."""
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
            "description": "Differentially private decaying sums of sensitive streams, at every "
            "step, indefinitely. A refused request changes nothing, and no error message repeats "
            "the content of a request. The server answers malformed HTTP with a line of text.",
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
                    "description": "A token has scopes: ingest, read, or admin, which includes the "
                    "others. If the store has no tokens, only the machine of the service has "
                    "access, with all scopes. With --public, GET requests with the scope read need "
                    "no token.",
                }
            },
        },
    }

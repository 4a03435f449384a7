"""The interface for machines: an OpenAPI document, written by hand, tested against the routes."""

from __future__ import annotations

from functools import cache
from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_WHOLE: Schema = {"type": "integer", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(needed: Schema, more: Schema | None = None) -> Schema:
    properties = needed | (more or {})
    return {"type": "object", "properties": properties, "required": list(needed)}


def _named(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _content(schema: Schema, kind: str = "application/json") -> Schema:
    return {kind: {"schema": schema}}


def _body(schema: Schema) -> Schema:
    return {"required": True, "content": _content(schema)}


def _in(where: str, name: str, schema: Schema, told: str, *, required: bool = False) -> Schema:
    return {
        "in": where, "name": name, "schema": schema, "description": told, "required": required,
    }  # fmt: skip


_NAME = _in("path", "name", _TEXT, "The stream's name.", required=True)
_AFTER = _in("query", "after", _WHOLE, "Only releases of later steps.")
_STDDEV = "The standard deviation of the error."
_VALUE = {
    "description": "A number; with keys a list, in the keys' order.",
    "anyOf": [_NUMBER, _list(_NUMBER)],
}
_RECORD = {
    "description": 'A number, clipped to the plan\'s bounds; with keys {"key": ..., "value": ...}, '
    "where the value may be left out if records are counted; of vectors a list.",
    "anyOf": [_NUMBER, _object({"key": _TEXT}, {"value": _NUMBER}), _list(_NUMBER)],
}

_RELEASE = {"step": _WHOLE, "closed": _TEXT, "value": _VALUE}
_STREAM = {
    "name": _TEXT, "dataset": _TEXT, "decay": _TEXT, "guarantee": _TEXT,
    "epsilon": _NUMBER, "delta": _NUMBER, "keys": _or_null(_list(_TEXT)),
    "every": _or_null(_TEXT), "start": _or_null(_TEXT), "step": _WHOLE, "stddev": _NUMBER,
    "closed": _or_null(_TEXT), "ended": _FLAG,
}  # fmt: skip
_PRIVATE = {
    "not_for_publication": _object({"late": _WHOLE, "open_records": _WHOLE})
    | {"description": "Exact counts of records, for tokens with the scope admin."}
}

_SCHEMAS: dict[str, Schema] = {
    "Error": _object({"error": _TEXT, "code": _TEXT}),
    "Status": _object({"status": _TEXT}),
    "NewDataset": _object({"name": _TEXT, "epsilon": _NUMBER, "delta": _NUMBER}),
    "Dataset": _object(
        {
            "name": _TEXT,
            "mu": _NUMBER,
            "delta": _NUMBER,
            "epsilon": _NUMBER,
            "spent": _NUMBER,
            "left": _NUMBER,
            "left_epsilon": _NUMBER,
        }
    ),
    "NewStream": _object(
        {"name": _TEXT, "dataset": _TEXT, "plan": _named("Plan")},
        {
            "every": _or_null(_TEXT | {"examples": ["1h"]}),
            "start": _or_null(_TEXT | {"format": "date-time"}),
        },
    ),
    "Plan": {"type": "object", "description": "A plan as `hushfade plan -o` writes it."},
    "Stream": _object(_STREAM, _PRIVATE),
    "StreamWithPlan": _object(_STREAM | {"plan": _named("Plan")}, _PRIVATE),
    "Records": _object(
        {"sender": _TEXT, "sequence": _WHOLE, "records": _list(_RECORD)}, {"step": _WHOLE}
    ),
    "Accepted": _object({"status": {"enum": ["accepted", "repeated", "late"]}, "records": _WHOLE}),
    "Release": _object(_RELEASE | {"stddev": _NUMBER | {"description": _STDDEV}}),
    "StreamRelease": _object({"stream": _TEXT, **_RELEASE, "stddev": _NUMBER}),
    "Releases": _object(
        {
            "stream": _TEXT,
            "keys": _or_null(_list(_TEXT)),
            "releases": _list(_named("Release")),
        }
    ),
    "PlanRequest": _object(
        {
            "decay": _object(
                {"kind": {"enum": ["exponential", "power", "window", "counting"]}},
                {"half_life": _NUMBER, "power": _NUMBER, "length": _WHOLE},
            ),
            "epsilon": _NUMBER,
            "delta": _NUMBER,
        },
        {
            "horizon": _or_null(_WHOLE),
            "low": _NUMBER,
            "high": _NUMBER,
            "neighbours": {"enum": ["add_remove", "replace"]},
            "participations": _WHOLE,
            "separation": _WHOLE,
        },
    ),
    "PlanAnswer": _object(
        {
            "guarantee": _TEXT,
            "stddev": _NUMBER,
            "step": _WHOLE,
            "optimum": _TEXT,
            "curve": _object({"step": _list(_WHOLE), "stddev": _list(_NUMBER)}),
            "alternatives": _list(
                _object({"name": _TEXT, "steps": _WHOLE, "largest": _NUMBER, "ratio": _NUMBER})
            ),
            "shown": _object({"true": _NUMBER, "low": _NUMBER, "high": _NUMBER}),
            "code": _TEXT,
            "command": _TEXT,
        }
    ),
}

_ERRORS = {
    "400": "malformed", "401": "no token, or a wrong one", "403": "the token's scope",
    "404": "no such thing", "408": "the body took too long", "409": "refused: it would break a "
    "promise", "413": "too large", "415": "another kind of body", "422": "an invalid value",
    "429": "too many requests", "503": "busy or stopped; send it again",
}  # fmt: skip


def _operation(
    told: str,
    scope: str | None,
    schema: Schema,
    *,
    status: int = 200,
    body: Schema | None = None,
    parameters: tuple[Schema, ...] = (),
    kinds: tuple[str, ...] = (),
    **more: Any,
) -> Schema:
    """One operation: who may, what goes in, what comes out; errors are the same everywhere."""
    content = _content(schema)
    for kind in kinds:
        content |= _content(_TEXT, kind)
    found: Schema = {
        "summary": told,
        "responses": {str(status): {"description": "Done.", "content": content}}
        | {
            code: {"description": text, "content": _content(_named("Error"))}
            for code, text in _ERRORS.items()
        },
        "security": [] if scope is None else [{"token": [scope]}],
    }
    if body is not None:
        found["requestBody"] = body
    if parameters:
        found["parameters"] = list(parameters)
    return found | more


def _of_text(told: str, scope: str | None, kind: str, *parameters: Schema) -> Schema:
    found = _operation(told, scope, _TEXT, parameters=parameters)
    found["responses"]["200"]["content"] = _content(_TEXT, kind)
    return found


def _paths() -> dict[str, Schema]:
    lines = _body(_named("Records"))
    lines["content"] |= _content(
        _TEXT | {"description": "A record a line; sender and sequence are in the query."},
        "application/x-ndjson",
    )
    step = _in("path", "step", _WHOLE, "The open step, or one that is closed.", required=True)
    only_lines = "Of lines: as the field of JSON."
    return {
        "/v1/datasets": {
            "get": _operation("All budgets.", "read", _list(_named("Dataset"))),
            "post": _operation(
                "Add a dataset with its whole budget.", "admin", _named("Dataset"),
                status=201, body=_body(_named("NewDataset")),
            ),
        },
        "/v1/streams": {
            "get": _operation(
                "All streams.", "read", _object({"streams": _list(_named("Stream"))})
            ),
            "post": _operation(
                "Add a stream, charged to its dataset.", "admin", _named("Stream"),
                status=201, body=_body(_named("NewStream")),
            ),
        },
        "/v1/streams/{name}": {
            "get": _operation(
                "One stream, with its plan.", "read", _named("StreamWithPlan"), parameters=(_NAME,)
            ),
            "delete": _operation(
                "End a stream; what is kept of its records is erased.", "admin", _named("Stream"),
                parameters=(_NAME,),
            ),
        },
        "/v1/streams/{name}/records": {
            "post": _operation(
                "Send records of the open step. A sender's sequence only rises: what is sent again "
                "counts once.", "ingest", _named("Accepted"), body=lines,
                parameters=(
                    _NAME,
                    *(_in("query", name, kind, only_lines) for name, kind in
                      (("sender", _TEXT), ("sequence", _WHOLE), ("step", _WHOLE))),
                ),
            ),
        },
        "/v1/streams/{name}/steps/{step}/close": {
            "post": _operation(
                "Close a step and release it; again, the same release.", "admin",
                _named("StreamRelease"), parameters=(_NAME, step),
            ),
        },
        "/v1/streams/{name}/releases": {
            "get": _operation(
                "Releases in order. Of many keys an answer may have fewer than were asked for.",
                "read", _named("Releases"),
                parameters=(_NAME, _AFTER, _in("query", "limit", _WHOLE, "At most so many.")),
                kinds=("text/csv", "application/vnd.apache.arrow.stream"),
            ),
        },
        "/v1/streams/{name}/events": {
            "get": _of_text(
                "Releases as they are made, as server-sent events.", "read", "text/event-stream",
                _NAME, _AFTER, _in("header", "Last-Event-ID", _WHOLE, "The last step received."),
            ),
        },
        "/v1/plan": {
            "post": _operation(
                "How private and how accurate a stream would be.", "read", _named("PlanAnswer"),
                body=_body(_named("PlanRequest")),
            ),
        },
        "/health": {"get": _operation("Is it up?", None, _named("Status"))},
        "/ready": {"get": _operation("Does it take changes?", None, _named("Status"))},
        "/openapi.json": {"get": _operation("This document.", None, {"type": "object"})},
        "/metrics": {
            "get": _of_text(
                "The newest releases for a monitor.", "read", "application/openmetrics-text"
            )
        },
        "/": {"get": _of_text("The page.", None, "text/html")},
        "/page/{path}": {
            "get": _of_text(
                "The page's files.", None, "*/*",
                _in("path", "path", _TEXT, "The file.", required=True),
            )
        },
    }  # fmt: skip


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
            "differential privacy.",
        },
        "paths": _paths(),
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }

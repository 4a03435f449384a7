"""The OpenAPI document of what the service shows of itself: readiness, metrics, keys, clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hushfade.serve import metrics
from hushfade.serve.key_selection import MOST
from hushfade.serve.schema_parts import (
    NAME,
    TEXT,
    Schema,
    an_object,
    list_of,
    named,
    or_null,
    whole,
)

KEYS: Schema = {
    "in": "query",
    "name": "key",
    "schema": list_of(TEXT | {"maxLength": 200}, maxItems=MOST, uniqueItems=True),
    "style": "form",
    "explode": True,
    "required": False,
    "description": "Return only this key. May be repeated; values are in the order of the request.",
}

SCHEMAS: dict[str, Schema] = {
    "Up": an_object({"status": {"const": "up"}}),
    "Ready": an_object(
        {
            "status": {"const": "ready"},
            "streams_behind": whole() | {"description": "Streams at least 2 steps behind."},
            "streams_ahead": whole() | {"description": "Streams ahead of the clock: they wait."},
        }
    ),
    "Confirmed": an_object({"status": {"const": "confirmed"}}),
    "Keys": an_object(
        {
            "keys": list_of(TEXT),
            "next": or_null(whole()) | {"description": "The value of `after` for the next page."},
            "matching": whole() | {"description": "The number of all keys that match."},
        }
    ),
}


def paths(
    operation: Callable[..., Schema],
    content: Callable[..., Schema],
    given: Callable[..., Schema],
    stream: Schema,
) -> dict[str, Any]:
    """The paths, made with the functions of `openapi`."""
    several = KEYS["schema"] | {"items": NAME}
    return {
        "/v1/streams/{name}/keys": {
            "get": operation(
                "listKeys", "Some keys of a stream, in order.", "read", content(named("Keys")),
                400, 404,
                parameters=(
                    stream,
                    given("query", "search", TEXT | {"maxLength": 200},
                          "Only keys that contain this text, in any case."),
                    given("query", "after", whole(), "The place of the first key, from 0."),
                    given("query", "limit", whole(1, MOST), "The largest number of keys."),
                ),
            )
        },
        "/v1/clock/confirm": {
            "post": operation(
                "confirmClock", "Trust the wall clock as it is now, after a jump.", "admin",
                content(named("Confirmed")), 503,
            )
        },
        "/health": {
            "get": operation("health", "Whether the process is up.", None, content(named("Up")))
        },
        "/ready": {
            "get": operation(
                "ready", "Whether the service accepts changes, and the clock is trusted.", None,
                content(named("Ready")), 503,
            )
        },
        "/metrics": {
            "get": operation(
                "scrape", "The newest releases as OpenMetrics text, all of them or some.", "read",
                content(TEXT, metrics.KIND), 400, 503,
                parameters=(
                    KEYS | {"name": "stream", "schema": several,
                            "description": "Return only this stream. May be repeated."},
                    KEYS | {"description": "Return only this key. May be repeated."},
                ),
            )
        },
    }  # fmt: skip

"""Parts of JSON schemas: lists, objects, numbers within bounds, names, times."""

from __future__ import annotations

from typing import Any

from hushfade.serve.strict_json import LARGEST

Schema = dict[str, Any]


def or_null(schema: Schema) -> Schema:
    """The schema, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def list_of(items: Schema, **more: Any) -> Schema:
    """A list of items with this schema."""
    return {"type": "array", "items": items, **more}


def an_object(needed: Schema, more: Schema | None = None, **also: Any) -> Schema:
    """An object with the required fields, optionally `more` fields, and no others."""
    return {
        "type": "object",
        "properties": needed | (more or {}),
        "required": list(needed),
        "additionalProperties": False,
        **also,
    }


def named(name: str) -> Schema:
    """A reference to the schema with this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def whole(least: int = 0, most: int = LARGEST) -> Schema:
    """An integer within bounds."""
    return {"type": "integer", "minimum": least, "maximum": most}


def number(least: float | None = None, most: float | None = None, *, above: bool = False) -> Schema:
    """A finite number within bounds; with `above`, the lower bound is exclusive."""
    found: Schema = {"type": "number"}
    if least is not None:
        found["exclusiveMinimum" if above else "minimum"] = least
    if most is not None:
        found["maximum"] = most
    return found


TEXT: Schema = {"type": "string"}
# accepts more than the rule, printable characters, which no short pattern expresses
NAME: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "pattern": r"^[^\u0000-\u001f\u007f-\u00a0\ufffd]+$",
    "description": "1 to 200 printable characters.",
}
PLACE: Schema = NAME | {
    "pattern": r"^(?!\.{1,2}$)[^/\u0000-\u001f\u007f-\u00a0\ufffd]+$",
    "description": "1 to 200 printable characters without '/', and not '.' or '..'.",
}
TIME: Schema = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$",
}
LENGTH: Schema = {
    "type": "string",
    "maxLength": 100,
    "pattern": r"^([0-9]{1,15}(\.[0-9]{1,9})? ?(w|d|h|min|ms|us|ns|m|s) ?)+$",
    "description": "The length of a step: numbers with units, such as 1h30min. At least 1s.",
    "examples": ["1h", "90min", "7d"],
}
CALENDAR: Schema = {
    "type": "string",
    "maxLength": 100,
    "pattern": r"^(day|week|month)( [A-Za-z][A-Za-z0-9_+/-]*)?$",
    "description": "A calendar step and its time zone, by default UTC.",
    "examples": ["month", "day Europe/Vienna"],
}
EPSILON = number(1e-3, 100)
DELTA: Schema = {"anyOf": [{"const": 0}, number(1e-30, 0.5)]}
ABOVE_0 = number(0, above=True)
UNIT: Schema = {"neighbours": named("Neighbours"), "protects": named("Unit")}

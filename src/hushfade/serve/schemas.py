"""The JSON schemas of requests and responses: every object has these fields and no others."""

from __future__ import annotations

from typing import Any

from hushfade.factors.block_schedule import DEEPEST, LONGEST_PERIOD
from hushfade.planning.joint_loss import MOST as PLANS
from hushfade.serve.batches import MOST
from hushfade.serve.guard import MAX_BODY
from hushfade.serve.planner import EXPECTED, LAWS, LONGEST, METHODS, SLOWEST
from hushfade.serve.registry import BY_HAND
from hushfade.serve.strict_json import LARGEST
from hushfade.store.tokens import SCOPES

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
_LENGTH: Schema = {
    "type": "string",
    "maxLength": 100,
    "pattern": r"^([0-9]{1,15}(\.[0-9]{1,9})? ?(w|d|h|min|ms|us|ns|m|s) ?)+$",
    "description": "The length of a step: numbers with units, such as 1h30min. At least 1s.",
    "examples": ["1h", "90min", "7d"],
}
_CALENDAR: Schema = {
    "type": "string",
    "maxLength": 100,
    "pattern": r"^(day|week|month)( [A-Za-z][A-Za-z0-9_+/-]*)?$",
    "description": "A calendar step and its time zone, by default UTC.",
    "examples": ["month", "day Europe/Vienna"],
}
_EPSILON = number(1e-3, 100)
_DELTA: Schema = {"anyOf": [{"const": 0}, number(1e-30, 0.5)]}
_ABOVE_0 = number(0, above=True)
_LAW: Schema = {"enum": list(LAWS)}
_RESOLUTION = "The resolution of records, a power of two. 1 for counts and other whole numbers."
_SCOPE: Schema = {"enum": list(SCOPES), "description": "admin includes the other scopes."}

_VALUE: Schema = {
    "description": "A number. With keys or vectors: a list, in the order of the keys.",
    "anyOf": [number(), list_of(number())],
}
_RECORD: Schema = {
    "description": "A number, clipped to the plan's bounds. "
    'With keys: {"key": ..., "value": ...}, where counts need no value. '
    "For vectors: a list of numbers.",
    "anyOf": [
        number(),
        an_object({"key": TEXT}, {"value": number()}),
        list_of(number(), minItems=1),
    ],
}

_RELEASE: Schema = {
    "step": whole(1),
    "closed": TIME,
    "value": _VALUE,
    "stddev": _ABOVE_0 | {"description": "The standard deviation of the error."},
    "margin": number(0) | {"description": "Half the width of the 95 % confidence interval."},
}
_STREAM: Schema = {
    "name": PLACE, "dataset": NAME, "decay": TEXT, "guarantee": TEXT, "epsilon": _ABOVE_0,
    "delta": number(0), "epoch": whole(),
    "keys": or_null(list_of(TEXT, minItems=1, uniqueItems=True)), "every": or_null(TEXT),
    "start": or_null(TIME), "step": whole(), "stddev": _ABOVE_0, "closed": or_null(TIME),
    "ended": {"type": "boolean"},
    "limits": TEXT | {"description": "Limits per person that hushfade assumes but cannot check."},
    "together": or_null(
        an_object({"streams": list_of(NAME), "epsilon": _ABOVE_0, "delta": number(0)})
    ) | {"description": "The streams of one joint charge, and their joint guarantee."},
}  # fmt: skip
_PRIVATE: Schema = {
    "not_for_publication": an_object(
        {"late": whole(), "repeated": whole(), "open_records": whole()},
        description="Exact counts of records, for tokens with the scope admin.",
    )
}

_DECAYS: Schema = {
    "oneOf": [
        an_object({"kind": {"const": "none"}}),
        an_object({"kind": {"const": "exponential"}, "half_life": _ABOVE_0}),
        an_object({"kind": {"const": "power_law"}, "power": _ABOVE_0}),
        an_object({"kind": {"const": "sliding_window"}, "length": whole(1)}),
        an_object({"kind": {"const": "custom"}, "values": list_of(number(), minItems=1)}),
        an_object(
            {
                "kind": {"const": "mixture"},
                "parts": list_of(
                    an_object({"weight": _ABOVE_0, "decay": named("Decay")}), minItems=1
                ),
            }
        ),
    ]
}
_INTEGERS: Schema = list_of({"type": "integer"})
_STORED_UNIT: Schema = {
    "neighbours": named("Neighbours"),
    "participations": whole(1),
    "separation": whole(1),
}
_UNIT: Schema = {"neighbours": named("Neighbours"), "protects": named("Unit")}
_PERIOD: Schema = {"type": "string", "pattern": "^(day|week|month)( [A-Za-z0-9_+/-]+)?$"}
_PLAN_FIELDS: Schema = {
    "decay": named("Decay"),
    "records": an_object(
        {
            "low": number(),
            "high": number(),
            "resolution": _ABOVE_0,
            "keys": or_null(list_of(TEXT, minItems=1, maxItems=100_000, uniqueItems=True)),
            "width": whole(1, 100_000),
            "norm": or_null(_ABOVE_0),
        }
    ),
    "horizon": or_null(whole(1)),
    "method": {
        "enum": ["square_root", "normalized", "unbounded", "blend", "input", "blocks", "given"]
    },
    "taps": an_object(
        {
            "bits": whole(0, 62),
            "from": list_of(whole()),
            "value": _INTEGERS,
            "support": whole(1, 1 << 22),
        }
    ),
    "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}
_BINARY: Schema = an_object({"bits": whole(0, 1074), "scale": whole(1)})
_NOISE: Schema = {
    "oneOf": [
        _BINARY,
        an_object({"law": {"const": "laplace"}, "slope": _BINARY}),
        an_object({"law": {"const": "huber"}, "slope": _BINARY, "core": whole(1)}),
    ]
}
_PLAN: Schema = {
    "oneOf": [
        an_object(
            {
                "format": {"const": "hushfade plan 2"},
                "guarantee": {
                    "oneOf": [
                        an_object(
                            {
                                by: _ABOVE_0,
                                "delta": number(0),
                                **_STORED_UNIT,
                                "records_per_step": whole(1),
                            },
                            {
                                "within": whole(1, 1 << 31),
                                "period": _PERIOD,
                                "person": {"const": True},
                            },
                        )
                        for by in ("epsilon", "mu", "rho")
                    ]
                },
                **_PLAN_FIELDS,
                "gain": or_null(an_object({"bits": whole(0, 62), "value": _INTEGERS})),
                "noise": _NOISE,
                "reported": an_object(
                    {
                        "loss": number(),
                        "considered": list_of(
                            an_object({"method": TEXT, "law": _LAW, "error": number()})
                        ),
                    }
                ),
            },
            {
                "blocks": an_object(
                    {"depth": whole(1, DEEPEST), "period": whole(2, LONGEST_PERIOD)}
                ),
                "every": {"anyOf": [{"const": "rows"}, _LENGTH, _CALENDAR]},
            },
        ),
        an_object(
            {
                "format": {"const": "hushfade plan 1"},
                "guarantee": an_object(
                    {"epsilon": _ABOVE_0, "delta": _ABOVE_0, "mu": _ABOVE_0, **_STORED_UNIT},
                    {"records_per_step": whole(2)},
                ),
                **_PLAN_FIELDS,
                "loss": number(),
                "gain": or_null(_INTEGERS),
                "sigma": _ABOVE_0,
            }
        ),
    ],
    "description": "A plan file from `hushfade plan -o`, unchanged.",
}

SCHEMAS: dict[str, Schema] = {
    "Error": an_object({"error": TEXT, "code": TEXT}),
    "Neighbours": {"enum": ["add_remove", "replace"]},
    "Unit": {
        "anyOf": [
            {"const": "record"},
            an_object(
                {},
                {
                    "steps": whole(1),
                    "records_per_step": whole(1, 1 << 31),
                    "apart": whole(1),
                    "within": whole(1, 1 << 31),
                    "period": _PERIOD,
                },
            ),
        ],
        "description": "The unit of privacy: one record, or the records of one person, with the "
        "arguments of hushfade.Person.",
    },
    "Decay": _DECAYS,
    "Plan": _PLAN,
    "NewDataset": an_object(
        {"name": NAME, "epsilon": _EPSILON, "delta": _DELTA},
        {**_UNIT, "every": or_null({"anyOf": [_LENGTH, _CALENDAR]})},
    ),
    "Dataset": an_object(
        {
            "name": NAME, "epsilon": _ABOVE_0, "delta": number(0),
            "composition": or_null({"enum": ["gaussian", "basic"]}) | {
                "description": "How privacy losses compose. gaussian: the squares of mu add up. "
                "basic: epsilons and deltas add up. The first stream decides."
            },
            "spent_epsilon": number(0), "spent_delta": number(0), "left_epsilon": number(0),
            "left_delta": number(0), "mu": or_null(_ABOVE_0), "spent": or_null(number(0)),
            "left": or_null(number(0)),
            "next_epsilon": or_null(number(0)) | {
                "description": "The value of spent_epsilon after another stream like the last."
            },
            "unit": or_null(TEXT) | {"description": "The unit of privacy, in words."},
            "reserved": list_of(NAME) | {
                "description": "Streams that joint charges have paid for and that do not exist yet."
            },
        }
    ),
    "NewJointCharge": an_object(
        {
            "dataset": NAME, "epsilon": _EPSILON, "delta": _DELTA,
            "streams": list_of(
                an_object({"name": PLACE, "plan": named("Plan")}), minItems=1, maxItems=PLANS
            ),
        },
        _UNIT,
    ),
    "NewStream": an_object(
        {"name": PLACE, "dataset": NAME, "plan": named("Plan")},
        {
            "every": or_null({"anyOf": [_LENGTH, {"const": BY_HAND}]}) | {
                "description": "The clock closes a step after this length, which must be the "
                f"plan's if the plan declares one. With {BY_HAND!r} an operator closes the steps "
                "of a plan that declares a length."
            },
            "start": or_null(
                TEXT | {"format": "date-time", "description": "The start of the first step."}
            ),
        },
    ),
    "Stream": an_object(_STREAM, _PRIVATE),
    "StreamWithPlan": an_object(_STREAM | {"plan": named("Plan")}, _PRIVATE),
    "Streams": an_object({"streams": list_of(named("Stream"))}),
    "Records": an_object(
        {"sender": NAME, "sequence": whole(), "records": list_of(_RECORD, maxItems=MOST)},
        {"step": or_null(whole(1))},
    ),
    "Lines": TEXT
    | {
        "description": "One JSON record per line. The query contains sender and sequence.",
        "maxLength": MAX_BODY,
    },
    "Accepted": an_object(
        {
            "status": {
                "enum": ["accepted", "late"],
                "description": "'late': the step was already closed. The batch counts if it was "
                "accepted before.",
            },
            "records": whole(0, MOST),
        },
    ),
    "Release": an_object(_RELEASE),
    "StreamRelease": an_object({"stream": PLACE} | _RELEASE),
    "Releases": an_object(
        {
            "stream": PLACE,
            "keys": or_null(list_of(TEXT, minItems=1)),
            "newest": whole() | {"description": "The newest closed step, in this response or not."},
            "releases": list_of(named("Release")),
        }
    ),
    "NewToken": an_object(
        {"name": PLACE, "scopes": list_of(_SCOPE, minItems=1, uniqueItems=True)}
    ),
    "MadeToken": an_object(
        {
            "name": PLACE,
            "scopes": list_of(_SCOPE, minItems=1),
            "token": {
                "type": "string",
                "pattern": "^hushfade_[A-Za-z0-9_-]{43}$",
                "description": "Shown only once: the store keeps only its digest.",
            },
        }
    ),
    "Tokens": an_object(
        {"tokens": list_of(an_object({"name": NAME, "scopes": list_of(_SCOPE, minItems=1)}))}
    ),
    "RevokedToken": an_object({"name": NAME, "revoked": {"const": True}}),
    "PlanRequest": an_object(
        {
            "decay": {
                "oneOf": [
                    an_object(
                        {"kind": {"const": "exponential"}, "half_life": number(0.1, SLOWEST)}
                    ),
                    an_object({"kind": {"const": "power"}, "power": number(0.05, 10)}),
                    an_object({"kind": {"const": "window"}, "length": whole(1, SLOWEST)}),
                    an_object({"kind": {"const": "counting"}}),
                ]
            },
            "epsilon": _EPSILON,
            "delta": {"anyOf": [_DELTA, {"const": 0, "description": "Pure differential privacy."}]},
        },
        {
            "horizon": or_null(whole(1, LONGEST)),
            "expect": or_null(whole(1, EXPECTED)),
            "low": or_null(number(-1e12, 1e12)),
            "high": or_null(number(-1e12, 1e12)),
            "resolution": or_null(_ABOVE_0 | {"description": _RESOLUTION}),
            "neighbours": or_null(named("Neighbours")),
            "protects": or_null(named("Unit")),
            "method": or_null({"enum": list(METHODS)}),
            "law": or_null(_LAW),
        },
    ),
    "PlanAnswer": an_object(
        {
            "guarantee": TEXT,
            "mechanism": TEXT,
            "method": TEXT,
            "law": _LAW,
            "choice": TEXT,
            "mu": or_null(_ABOVE_0 | {"description": "For Gaussian noise only."}),
            "stddev": _ABOVE_0,
            "step": whole(1, LONGEST),
            "over_time": TEXT,
            "optimum": TEXT,
            "curve": an_object({"step": list_of(whole(1)), "stddev": list_of(_ABOVE_0)}),
            "alternatives": list_of(
                an_object(
                    {"name": TEXT, "steps": whole(1), "largest": _ABOVE_0, "ratio": _ABOVE_0}
                )
            ),
            "shown": an_object({"true": number(), "low": number(), "high": number()}),
            "code": TEXT,
            "command": TEXT,
        }
    ),
    "Up": an_object({"status": {"const": "up"}}),
    "Ready": an_object({"status": {"const": "ready"}}),
}  # fmt: skip

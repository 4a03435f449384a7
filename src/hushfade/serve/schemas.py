"""The JSON schemas of requests and responses: every object has these fields and no others."""

from __future__ import annotations

from hushfade.planning.joint_loss import MOST as PLANS
from hushfade.serve import openapi_status
from hushfade.serve.batches import MOST
from hushfade.serve.guard import MAX_BODY
from hushfade.serve.plan_schemas import PLAN_SCHEMAS
from hushfade.serve.registry import BY_HAND, RECORDS
from hushfade.serve.schema_parts import (
    ABOVE_0,
    CALENDAR,
    DELTA,
    EPSILON,
    LENGTH,
    NAME,
    PLACE,
    TEXT,
    TIME,
    UNIT,
    Schema,
    an_object,
    list_of,
    named,
    number,
    or_null,
    whole,
)
from hushfade.store.tokens import SCOPES

_SCOPE: Schema = {"enum": list(SCOPES), "description": "admin includes the other scopes."}

_VALUE: Schema = {
    "description": "A number. With keys or vectors: a list, in the order of the keys.",
    "anyOf": [number(), list_of(number())],
}
_PAIR: Schema = list_of(number(), minItems=2, maxItems=2)
_KEYED: Schema = {"anyOf": [number(), {"type": "boolean"}, TEXT, _PAIR]}
_RECORD: Schema = {
    "description": "A number, clipped to the plan's bounds. "
    'With keys: {"key": ..., "value": ...}, where counts need no value. '
    "For vectors: a list of numbers. For a share: true, false, 1 or 0, or a string if the share is "
    "of a category. For a ratio: a list of two numbers. "
    'If limits per person are enforced: {"user": ..., "value": ...}, with a key if there are keys.',
    "anyOf": [
        number(),
        {"type": "boolean"},
        TEXT,
        an_object({"key": TEXT}, {"value": _KEYED}),
        an_object(
            {"user": TEXT | {"minLength": 1}},
            {"key": TEXT, "value": {"anyOf": [_KEYED, list_of(number(), minItems=1)]}},
        ),
        list_of(number(), minItems=1),
    ],
}

_RELEASE: Schema = {
    "step": whole(1),
    "closed": TIME,
    "value": _VALUE,
    "stddev": ABOVE_0 | {"description": "The standard deviation of the error."},
    "margin": number(0) | {"description": "Half the width of the 95 % confidence interval."},
}


def _shaped(one: Schema) -> Schema:
    """One item; with keys or outputs a list, with both a list of lists, by key."""
    return {"anyOf": [one, list_of(one), list_of(list_of(one))]}


_TRUTH: Schema = {"type": "boolean"}
_STATISTIC_RELEASE: Schema = {
    "step": whole(1),
    "closed": TIME,
    "value": _shaped(or_null(number())) | {
        "description": "The statistic. With keys: a list, in the order of the keys. With bins or "
        "quantiles: a list, in the order of outputs, for each key. Null if it is suppressed."
    },
    "lower": _shaped(or_null(number())) | {
        "description": "With upper: the 95 % confidence interval."
    },
    "upper": _shaped(or_null(number())),
    "whole_range": _shaped(or_null(_TRUTH)) | {
        "description": "Whether the interval is the whole range of the statistic: noise hides it."
    },
    "suppressed": {"anyOf": [_TRUTH, list_of(_TRUTH)]} | {
        "description": "Whether the noisy count is below the minimum; with keys, for each key."
    },
    "derived": {
        "type": "object",
        "additionalProperties": {"anyOf": [or_null(number()), list_of(or_null(number()))]},
        "description": "Other values of the same sums: mean and standard_deviation of a variance.",
    },
    "parts": {
        "type": "object",
        "required": ["count"],
        "additionalProperties": an_object(
            {
                "value": {"anyOf": [or_null(number()), list_of(or_null(number()))]},
                "stddev": ABOVE_0,
                "margin": number(0),
            }
        ),
        "description": "The noisy sums behind the statistic, each with the standard deviation of "
        "its error and half the width of its 95 % confidence interval.",
    },
    "stddev": ABOVE_0 | {
        "description": "The standard deviation of the error of one lane, in records."
    },
}  # fmt: skip
_STREAM: Schema = {
    "name": PLACE, "dataset": NAME, "decay": TEXT, "guarantee": TEXT, "epsilon": ABOVE_0,
    "delta": number(0), "epoch": whole(),
    "keys": or_null(list_of(TEXT, minItems=1, uniqueItems=True)), "every": or_null(TEXT),
    "key_count": or_null(whole(1)) | {"description": "keys lists at most 1000 of them."},
    "keys_next": or_null(whole(1))
    | {"description": "The after= of /keys for the keys that are not listed; null if all are."},
    "lag": or_null({"type": "integer"}) | {
        "description": "Steps behind the clock; negative if the stream is ahead of the clock; "
        "null without a clock."
    },
    "statistic": or_null(
        an_object(
            {
                "name": TEXT, "released": TEXT, "records": {"enum": sorted(set(RECORDS.values()))},
                "output": or_null(TEXT), "outputs": or_null(list_of(TEXT)),
                "range": or_null(list_of(number(), minItems=2, maxItems=2)),
                "parts": list_of(TEXT, minItems=1),
            }
        )
    ) | {"description": "What is released in place of a sum, and what a record is."},
    "suppress_below": or_null(number()) | {
        "description": "Values with a smaller noisy count are suppressed."
    },
    "start": or_null(TIME), "step": whole(), "stddev": ABOVE_0, "closed": or_null(TIME),
    "ended": {"type": "boolean"},
    "limits": TEXT | {"description": "Limits per person, enforced or assumed."},
    "together": or_null(
        an_object({"streams": list_of(NAME), "epsilon": ABOVE_0, "delta": number(0)})
    ) | {"description": "The streams of one joint charge, and their joint guarantee."},
}  # fmt: skip
_PRIVATE: Schema = {
    "not_for_publication": an_object(
        {"late": whole(), "repeated": whole(), "open_records": whole()},
        {"over_limit": whole()},
        description="Exact counts of records, for tokens with the scope admin.",
    )
}

SCHEMAS: dict[str, Schema] = {
    **PLAN_SCHEMAS,
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
                    "period": CALENDAR,
                },
            ),
        ],
        "description": "The unit of privacy: one record, or the records of one person, with the "
        "arguments of hushfade.Person.",
    },
    "NewDataset": an_object(
        {"name": NAME, "epsilon": EPSILON, "delta": DELTA},
        {**UNIT, "every": or_null({"anyOf": [LENGTH, CALENDAR]})},
    ),
    "Dataset": an_object(
        {
            "name": NAME, "epsilon": ABOVE_0, "delta": number(0),
            "composition": or_null({"enum": ["gaussian", "basic"]}) | {
                "description": "How privacy losses compose. gaussian: the squares of mu add up. "
                "basic: epsilons and deltas add up. The first stream decides."
            },
            "spent_epsilon": number(0), "spent_delta": number(0), "left_epsilon": number(0),
            "left_delta": number(0), "mu": or_null(ABOVE_0), "spent": or_null(number(0)),
            "left": or_null(number(0)),
            "next_epsilon": or_null(number(0)) | {
                "description": "The value of spent_epsilon after another stream like the last."
            },
            "unit": TEXT | {"description": "The unit of privacy, in words."},
            "reserved": list_of(NAME) | {
                "description": "Streams that joint charges have paid for and that do not exist yet."
            },
        }
    ),
    "NewJointCharge": an_object(
        {
            "dataset": NAME, "epsilon": EPSILON, "delta": DELTA,
            "streams": list_of(
                an_object({"name": PLACE, "plan": named("Plan")}), minItems=1, maxItems=PLANS
            ),
        },
        UNIT,
    ),
    "NewStream": an_object(
        {"name": PLACE, "dataset": NAME, "plan": named("Plan")},
        {
            "every": or_null({"anyOf": [LENGTH, {"const": BY_HAND}]}) | {
                "description": "The clock closes a step after this length, which must be the "
                f"plan's if the plan declares one. With {BY_HAND!r} an operator closes the steps "
                "of a plan that declares a length."
            },
            "start": or_null(
                TEXT | {"format": "date-time", "description": "The start of the first step."}
            ),
            "suppress_below": or_null(number()) | {
                "description": "For a statistic: never show values whose noisy count is below this."
            },
            "limits": or_null({"enum": ["enforced", "assumed"]}) | {
                "description": "For a plan that protects persons. enforced, the default: each "
                "record names its user, and only the first records of a person count. assumed: "
                "the senders keep the limits."
            },
        },
    ),
    "Stream": an_object(_STREAM, _PRIVATE),
    "StreamWithPlan": an_object(_STREAM | {"plan": named("Plan")}, _PRIVATE),
    "Streams": an_object(
        {
            "streams": list_of(named("Stream")),
            "clock": or_null(TEXT) | {"description": "Why the clock closes no steps, or null."},
        }
    ),
    "Records": an_object(
        {"sender": NAME, "sequence": whole(), "records": list_of(_RECORD, maxItems=MOST)},
        {"step": or_null(whole(1))},
    ),
    "Lines": TEXT
    | {
        "description": "One JSON record per line, at least one. The query contains sender and "
        "sequence.",
        "pattern": r"\S",
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
    "Release": {"oneOf": [an_object(_RELEASE), an_object(_STATISTIC_RELEASE)]},
    "StreamRelease": {
        "oneOf": [
            an_object({"stream": PLACE} | fields) for fields in (_RELEASE, _STATISTIC_RELEASE)
        ]
    },
    "Releases": an_object(
        {
            "stream": PLACE,
            "keys": or_null(list_of(TEXT, minItems=1)),
            "outputs": or_null(list_of(TEXT, minItems=1)) | {
                "description": "The bins or quantiles of a statistic, as in each value."
            },
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
    **openapi_status.SCHEMAS,
}  # fmt: skip

"""The JSON schemas of plans: the plan file, the planner's request and its response."""

from __future__ import annotations

from hushfade.factors.block_factors import DEEPEST, LONGEST_PERIOD
from hushfade.planning.plan_file import FORMAT
from hushfade.serve.planned_statistics import KINDS, MOST_BINS, MOST_EDGES, MOST_QUANTILES
from hushfade.serve.planner import EXPECTED, LAWS, LONGEST, METHODS, SLOWEST
from hushfade.serve.schema_parts import (
    ABOVE_0,
    CALENDAR,
    DELTA,
    EPSILON,
    LENGTH,
    TEXT,
    UNIT,
    Schema,
    an_object,
    list_of,
    named,
    number,
    or_null,
    whole,
)

_LAW: Schema = {"enum": list(LAWS)}
_RESOLUTION = "The resolution of records, a power of two. 1 for counts and other whole numbers."
_QUANTILE: Schema = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}

_DECAYS: Schema = {
    "oneOf": [
        an_object({"kind": {"const": "none"}}),
        an_object({"kind": {"const": "exponential"}, "half_life": ABOVE_0}),
        an_object({"kind": {"const": "power_law"}, "power": ABOVE_0}),
        an_object({"kind": {"const": "sliding_window"}, "length": whole(1)}),
        an_object({"kind": {"const": "custom"}, "values": list_of(number(), minItems=1)}),
        an_object(
            {
                "kind": {"const": "mixture"},
                "parts": list_of(
                    an_object({"weight": ABOVE_0, "decay": named("Decay")}), minItems=1
                ),
            }
        ),
    ]
}
_INTEGERS: Schema = list_of({"type": "integer"})
_PLAN_FIELDS: Schema = {
    "decay": named("Decay"),
    "records": an_object(
        {
            "low": number(),
            "high": number(),
            "resolution": ABOVE_0,
            "keys": or_null(list_of(TEXT, minItems=1, maxItems=100_000, uniqueItems=True)),
            "width": whole(1, 100_000),
            "norm": or_null(ABOVE_0),
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
        an_object({"law": {"const": "gaussian"}, "sigma": _BINARY}),
        an_object({"law": {"const": "laplace"}, "slope": _BINARY}),
        an_object({"law": {"const": "huber"}, "slope": _BINARY, "core": whole(1)}),
    ]
}
_PLAN: Schema = an_object(
    {
        "format": {"const": FORMAT},
        "guarantee": {
            "oneOf": [
                an_object({by: ABOVE_0, "delta": number(0), **UNIT})
                for by in ("epsilon", "mu", "rho")
            ]
        },
        **_PLAN_FIELDS,
        "statistic": or_null(named("Statistic")),
        "gain": or_null(an_object({"bits": whole(0, 62), "value": _INTEGERS})),
        "noise": _NOISE,
        "reported": an_object(
            {
                "loss": number(),
                "considered": list_of(an_object({"method": TEXT, "law": _LAW, "error": number()})),
            }
        ),
        "blocks": or_null(
            an_object({"depth": whole(1, DEEPEST), "period": whole(2, LONGEST_PERIOD)})
        ),
        "every": or_null({"anyOf": [{"const": "rows"}, LENGTH, CALENDAR]}),
    }
) | {"description": "A plan file from `hushfade plan -o`, unchanged."}
_STATISTIC: Schema = {
    "oneOf": [
        an_object({"kind": {"enum": ["mean", "variance"]}}),
        an_object({"kind": {"const": "share"}, "of": or_null(TEXT)}),
        an_object({"kind": {"const": "histogram"}, "edges": list_of(number(), minItems=3)}),
        an_object(
            {
                "kind": {"const": "quantiles"},
                "quantiles": list_of(_QUANTILE, minItems=1),
                "low": number(),
                "high": number(),
                "bins": whole(2, MOST_BINS),
                "levels": whole(1, 8),
                "expect": or_null(ABOVE_0),
            }
        ),
        an_object(
            {
                "kind": {"const": "ratio"},
                "numerator": ABOVE_0,
                "denominator": ABOVE_0,
                "most": ABOVE_0,
            }
        ),
    ],
    "description": "The statistic that a plan releases in place of a sum.",
}

_ASKED_STATISTIC: Schema = {
    "oneOf": [
        an_object({"kind": {"enum": ["sum", "count", "mean", "variance"]}}),
        an_object(
            {"kind": {"const": "share"}},
            {"of": or_null(TEXT | {"minLength": 1, "maxLength": 200})},
        ),
        an_object(
            {
                "kind": {"const": "histogram"},
                "edges": list_of(number(), minItems=3, maxItems=MOST_EDGES),
            }
        ),
        an_object(
            {
                "kind": {"const": "quantiles"},
                "quantiles": list_of(_QUANTILE, minItems=1, maxItems=MOST_QUANTILES),
            },
            {"bins": or_null(whole(2, MOST_BINS)), "expect": or_null(ABOVE_0)},
        ),
        an_object(
            {
                "kind": {"const": "ratio"},
                "numerator": ABOVE_0,
                "denominator": ABOVE_0,
                "most": ABOVE_0,
            }
        ),
    ],
    "description": "What is released: a sum by default. Means, variances and quantiles use low and "
    "high.",
}

PLAN_SCHEMAS: dict[str, Schema] = {
    "Decay": _DECAYS,
    "Statistic": _STATISTIC,
    "Plan": _PLAN,
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
            "epsilon": EPSILON,
            "delta": {"anyOf": [DELTA, {"const": 0, "description": "Pure differential privacy."}]},
        },
        {
            "horizon": or_null(whole(1, LONGEST)),
            "expect": or_null(whole(1, EXPECTED)),
            "low": or_null(number(-1e12, 1e12)),
            "high": or_null(number(-1e12, 1e12)),
            "resolution": or_null(ABOVE_0 | {"description": _RESOLUTION}),
            "neighbours": or_null(named("Neighbours")),
            "protects": or_null(named("Unit")),
            "method": or_null({"enum": list(METHODS)}),
            "law": or_null(_LAW),
            "statistic": or_null(_ASKED_STATISTIC),
        },
    ),
    "PlanAnswer": an_object(
        {
            "guarantee": TEXT,
            "mechanism": TEXT,
            "method": TEXT,
            "law": _LAW,
            "choice": TEXT,
            "mu": or_null(ABOVE_0 | {"description": "For Gaussian noise only."}),
            "stddev": ABOVE_0,
            "step": whole(1, LONGEST),
            "over_time": TEXT,
            "optimum": TEXT,
            "curve": an_object({"step": list_of(whole(1)), "stddev": list_of(ABOVE_0)}),
            "alternatives": list_of(
                an_object(
                    {"name": TEXT, "steps": whole(1), "largest": ABOVE_0, "ratio": ABOVE_0}
                )
            ),
            "shown": or_null(
                an_object({"true": number(), "low": number(), "high": number()})
            ) | {"description": "A sum of 100 as it would be published. Null for a statistic."},
            "statistic": or_null(
                an_object(
                    {"name": {"enum": list(KINDS[2:])}, "released": TEXT, "records": TEXT,
                     "lanes": whole(2), "accuracy": TEXT}
                )
            ) | {"description": "What is released in place of a sum, and its accuracy in words."},
            "code": TEXT,
            "command": or_null(TEXT),
        }
    ),
}  # fmt: skip

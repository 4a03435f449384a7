"""A noise law as JSON data, with its parameters as integers."""

from __future__ import annotations

import math
from typing import Any

from hushfade import check
from hushfade.errors import InvalidType, InvalidValue
from hushfade.laws.gaussian import Gaussian
from hushfade.laws.huber import Huber
from hushfade.laws.laplace import Laplace
from hushfade.laws.law import Law


def law_document(law: Law) -> dict[str, Any]:
    """The law as JSON data: its name, and its parameters as integers."""
    match law:
        case Gaussian():
            return {"law": law.name, "sigma": _binary(law.sigma)}
        case Laplace():
            return {"law": law.name, "slope": _binary(law.slope)}
        case Huber():
            return {"law": law.name, "slope": _binary(law.slope), "core": law.core}
        case _:
            raise InvalidType("only built-in laws can be saved", got=type(law).__name__)


def law_from(document: dict[str, Any]) -> Law:
    """The law that the JSON data describe."""
    match document:
        case {"law": "gaussian", "sigma": dict(sigma)}:
            return Gaussian(_number(sigma))
        case {"law": "laplace", "slope": dict(slope)}:
            return Laplace(_number(slope))
        case {"law": "huber", "slope": dict(slope), "core": int(core)}:
            return Huber(_number(slope), core)
        case _:
            raise InvalidValue("noise must be a law of hushfade, with its parameters")


def _binary(value: float) -> dict[str, int]:
    """The number as an integer divided by a power of two."""
    scale, denominator = value.as_integer_ratio()
    return {"bits": denominator.bit_length() - 1, "scale": scale}


def _number(document: dict[str, Any]) -> float:
    bits = check.count(bits=document["bits"], least=0, most=1074)
    return math.ldexp(check.count(scale=document["scale"], most=1 << 53), -bits)

"""Laws, guarantees and decays as plain data, with integers and declared parameters."""

from __future__ import annotations

import math
from typing import Any

from hushfade import check
from hushfade.decay import (
    CustomDecay,
    Decay,
    Exponential,
    Mixture,
    NoDecay,
    PowerLaw,
    SlidingWindow,
)
from hushfade.errors import InvalidType, InvalidValue
from hushfade.laws import Gaussian, Huber, Laplace, Law
from hushfade.privacy.guarantee import Guarantee


def law_document(law: Law) -> dict[str, Any]:
    """The law with its parameters as integers; Gaussian noise needs no name."""
    match law:
        case Gaussian():
            return _binary(law.sigma)
        case Laplace():
            return {"law": law.name, "slope": _binary(law.slope)}
        case Huber():
            return {"law": law.name, "slope": _binary(law.slope), "core": law.core}
        case _:
            raise InvalidType("only built-in laws can be written", got=type(law).__name__)


def law_from(document: dict[str, Any]) -> Law:
    """The law of plain data."""
    match document:
        case {"bits": _, "scale": _}:
            return Gaussian(_number(document))
        case {"law": "laplace", "slope": dict(slope)}:
            return Laplace(_number(slope))
        case {"law": "huber", "slope": dict(slope), "core": int(core)}:
            return Huber(_number(slope), core)
        case _:
            raise InvalidValue("noise must be one of hushfade's laws, with its parameters")


def _binary(value: float) -> dict[str, int]:
    """The number as an integer over a power of two."""
    scale, denominator = value.as_integer_ratio()
    return {"bits": denominator.bit_length() - 1, "scale": scale}


def _number(document: dict[str, Any]) -> float:
    bits = check.count(bits=document["bits"], least=0, most=1074)
    return math.ldexp(check.count(scale=document["scale"], most=1 << 53), -bits)


def guarantee_document(guarantee: Guarantee) -> dict[str, Any]:
    """The guarantee as it was declared: by epsilon, mu or rho."""
    if guarantee.declared_rho is not None:
        declared = {"rho": float(guarantee.declared_rho)}
    elif guarantee.declared_mu is not None:
        declared = {"mu": float(guarantee.declared_mu)}
    else:
        declared = {"epsilon": float(guarantee.epsilon)}
    neighbours, participations, separation, records_per_step = guarantee.relation
    return {
        **declared,
        "delta": float(guarantee.delta),
        "neighbours": neighbours,
        "participations": participations,
        "separation": separation,
        "records_per_step": records_per_step,
    }


def guarantee_from(document: dict[str, Any]) -> Guarantee:
    """The guarantee of plain data."""
    declared = dict(document)
    if "rho" in declared:
        return Guarantee.from_rho(declared.pop("rho"), **declared)
    if "mu" in declared:
        return Guarantee.from_mu(declared.pop("mu"), **declared)
    return Guarantee(**declared)


def decay_document(decay: Decay) -> dict[str, Any]:
    """A built-in decay as plain data."""
    match decay:
        case NoDecay():
            return {"kind": "none"}
        case Exponential():
            return {"kind": "exponential", "half_life": decay.half_life}
        case PowerLaw():
            return {"kind": "power_law", "power": decay.power}
        case SlidingWindow():
            return {"kind": "sliding_window", "length": decay.length}
        case CustomDecay():
            return {"kind": "custom", "values": list(decay.values)}
        case Mixture():
            parts = [{"weight": w, "decay": decay_document(part)} for w, part in decay.parts]
            return {"kind": "mixture", "parts": parts}
        case _:
            raise InvalidType("only built-in decays can be written", got=type(decay).__name__)


def decay_from(document: dict[str, Any]) -> Decay:
    """The decay of plain data."""
    match document:
        case {"kind": "none"}:
            return NoDecay()
        case {"kind": "exponential", "half_life": half_life}:
            return Exponential(half_life=half_life)
        case {"kind": "power_law", "power": power}:
            return PowerLaw(power=power)
        case {"kind": "sliding_window", "length": length}:
            return SlidingWindow(length=length)
        case {"kind": "custom", "values": list(values)}:
            return CustomDecay(tuple(values))
        case {"kind": "mixture", "parts": list(parts)} if parts:
            return Mixture(tuple((float(p["weight"]), decay_from(p["decay"])) for p in parts))
        case _:
            raise InvalidValue("decay must be one of hushfade's, with its parameters")

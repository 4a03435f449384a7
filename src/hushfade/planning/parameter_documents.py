"""Guarantees and decays as JSON data, as the user declared them."""

from __future__ import annotations

from typing import Any

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
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.unit import unit_document, unit_of


def guarantee_document(guarantee: Guarantee) -> dict[str, Any]:
    """The guarantee as JSON data, declared by epsilon, mu or rho."""
    if guarantee.declared_rho is not None:
        declared = {"rho": float(guarantee.declared_rho)}
    elif guarantee.declared_mu is not None:
        declared = {"mu": float(guarantee.declared_mu)}
    else:
        declared = {"epsilon": float(guarantee.epsilon)}
    return {
        **declared,
        "delta": float(guarantee.delta),
        "neighbours": guarantee.neighbours,
        "protects": unit_document(guarantee.protects),
    }


def guarantee_from(document: dict[str, Any]) -> Guarantee:
    """The guarantee in JSON data."""
    declared = document | {"protects": unit_of(document["protects"])}
    if "rho" in declared:
        return Guarantee.from_rho(declared.pop("rho"), **declared)
    if "mu" in declared:
        return Guarantee.from_mu(declared.pop("mu"), **declared)
    return Guarantee(**declared)


def decay_document(decay: Decay) -> dict[str, Any]:
    """A built-in decay as JSON data."""
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
            raise InvalidType("only built-in decays can be saved", got=type(decay).__name__)


def decay_from(document: dict[str, Any]) -> Decay:
    """The decay in JSON data."""
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
            raise InvalidValue("decay must be a decay of hushfade, with its parameters")

"""Guarantees and decays as JSON data, as the user declared them."""

from __future__ import annotations

from typing import Any

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

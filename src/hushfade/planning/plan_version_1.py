"""Plan documents of format 1, which version 0.1.0 wrote.  They can be loaded and saved unchanged.

Format 1 stores mu, sigma and the loss as the float64 numbers that 0.1.0 computed, and its digest
covers them.  A loaded plan keeps all three, so that saved streams, traces and keyed noise of 0.1.0
continue with the same bits.  New plans never use this format.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hushfade import check
from hushfade.errors import InvalidValue
from hushfade.privacy.calibration import delta_above
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.unit import restored

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan

FORMAT = "hushfade plan 1"
COMMON = {
    "format", "decay", "guarantee", "records", "horizon", "method", "taps", "digest",
}  # fmt: skip
_ROUNDING = 1e-9  # relative, for mu
_DELTA = Decimal("1e-8")  # relative, for delta: 0.1.0 reserved 1e-9 of it for its own rounding


def document(plan: Plan, common: dict[str, Any]) -> dict[str, Any]:
    """The fields that the digest covers; `common` are the fields that format 2 has, too."""
    guarantee, gain = plan.guarantee, plan.pair.integer_gain
    fields = {
        "format": FORMAT,
        "decay": common["decay"],
        "guarantee": {
            "epsilon": float(guarantee.epsilon),
            "delta": float(guarantee.delta),
            "mu": guarantee.mu,
            "neighbours": guarantee.neighbours,
            "participations": guarantee.protects.steps,
            "separation": guarantee.protects.apart,
        },
        "records": common["records"],
        "horizon": common["horizon"],
        "method": common["method"],
        "loss": plan.loss,
        "taps": common["taps"],
        "gain": None if gain is None else gain.tolist(),
        "sigma": plan.sigma,
    }
    if guarantee.protects.records_per_step > 1:
        fields["guarantee"]["records_per_step"] = guarantee.protects.records_per_step
    return fields


def guarantee(fields: dict[str, Any]) -> Guarantee:
    """The guarantee with the mu of the document, which must belong to epsilon and delta.

    0.1.0 computed mu in float64, from a delta smaller by 1e-9 than declared.  This difference is
    larger than the rounding error, so its mu never exceeds what epsilon and delta allow.
    """
    declared = dict(fields)
    mu = check.positive(mu=declared.pop("mu"))
    unit = ("participations", "separation", "records_per_step")
    limits = {name: declared.pop(name) for name in unit if name in declared}
    declared["protects"] = restored(limits)
    plain = Guarantee(**declared)
    if plain.mu == mu:
        return plain
    kept = Guarantee(**declared, declared_mu=mu)  # raises if mu is too large
    least = Decimal(plain.delta) * (1 - _DELTA)
    if delta_above(plain.epsilon, mu * (1.0 + _ROUNDING)) < least:
        raise InvalidValue("mu must belong to the plan's epsilon and delta")
    return kept

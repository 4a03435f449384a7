"""What a request declares: a guarantee, a unit of privacy, a plan, the steps of a stream."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from hushfade import check, duration
from hushfade.errors import InvalidValue, Malformed
from hushfade.planning.plan import Plan
from hushfade.planning.plan_file import check_format
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.unit import Person, Unit, unit_of
from hushfade.serve.registry import BY_HAND

SHORTEST = 10**9  # nanoseconds of a step that the clock closes
MISSED = 1000  # steps by which the start of a new stream may lie in the past

_SUPPORT, _LANES = 1 << 22, 100_000  # of a plan that is sent
_BINS = 1024  # of quantiles
_PIECES = 4096  # different taps of a plan whose loss is computed
_TIMES, _SPAN = 10_000, 1 << 20  # steps of one person, and the steps from the first to the last
_MISFITS = (ArithmeticError, ValueError, TypeError, LookupError, MemoryError, AssertionError)


def guarantee_of(document: dict[str, Any], **more: Any) -> Guarantee:
    """The requested guarantee, within ranges that are meaningful and can be computed."""
    epsilon = check.real(epsilon=document["epsilon"])
    delta = check.real(delta=document["delta"])
    if not 1e-3 <= epsilon <= 100:
        raise InvalidValue("must be from 0.001 to 100", argument="epsilon", got=repr(epsilon))
    if not (delta == 0 or 1e-30 <= delta <= 0.5):
        raise InvalidValue("must be 0, or from 1e-30 to 0.5", argument="delta", got=repr(delta))
    return Guarantee(epsilon=epsilon, delta=delta, **more)


def neighbours_of(document: dict[str, Any]) -> dict[str, Any]:
    """The requested unit of privacy; by default one record, added or removed."""
    return {
        "neighbours": document.get("neighbours", "add_remove"),
        "protects": requested_unit(document, steps=_SPAN, apart=_SPAN),
    }


def requested_unit(document: dict[str, Any], *, steps: int, apart: int) -> Unit:
    """The field `protects` of a request: "record", or the arguments of hushfade.Person."""
    unit = unit_of(document.get("protects", "record"))
    check.count(steps=unit.steps, most=steps)
    check.count(apart=unit.apart, most=apart)
    return unit


def length_text(every: Any) -> str:
    """The step length as a string, not parsed yet."""
    if not isinstance(every, str) or len(every) > 100:
        raise Malformed("every must be a string of at most 100 characters, such as 1h")
    return every


def check_step(plan: Plan, every: Any) -> None:
    """Raise unless the clock closes steps of the plan's length, or `every` is 'by hand'."""
    plan.step_length(None if every == BY_HAND else every)
    if every is None and plan.every not in (None, duration.ROWS):
        raise InvalidValue(
            f"every must be {plan.every}, the plan's step, so that the clock closes steps of that "
            f"length, or {BY_HAND!r} if an operator closes them"
        )
    if every not in (None, BY_HAND) and plan.every is None and not plan.relation.single:
        raise InvalidValue(
            "plan must state its step length (--every) if a person may have several records"
        )


def plan_of(document: Any) -> Plan:
    """The plan in a document from `Plan.to_json`.  Raise if it is too large to be served."""
    if not isinstance(document, dict):
        raise Malformed("plan must be a JSON object")
    check_format(document)
    try:
        if not 0 < document["taps"]["support"] <= _SUPPORT:
            raise InvalidValue(f"the plan must have at most {_SUPPORT} taps")
        records = document["records"]
        if not max(records["width"], len(records["keys"] or ())) <= _LANES:
            raise InvalidValue(f"the plan must have at most {_LANES} keys")
        if document["statistic"] is not None:
            _check_statistic(document["statistic"], len(records["keys"] or ("",)))
        several = len(document["taps"]["value"]) > _PIECES
        if several and document["noise"]["law"] != "gaussian":  # each costs time in computing delta
            raise InvalidValue(f"a plan without Gaussian noise must have at most {_PIECES} jumps")
        unit, endless = unit_of(document["guarantee"]["protects"]), document["horizon"] is None
        if not unit.steps <= _TIMES or (endless and not (unit.steps - 1) * unit.apart <= _SPAN):
            raise InvalidValue(
                f"a person of the plan must have at most {_TIMES} steps, within {_SPAN} steps"
            )
        "".join(records["keys"] or ()).encode()  # a lone surrogate cannot be published
        return Plan.from_json(json.dumps(document))
    except (InvalidValue, Malformed):
        raise
    except _MISFITS:
        raise InvalidValue("plan must be an unchanged plan file from hushfade plan -o") from None


def _check_statistic(document: Any, keys: int) -> None:
    """Raise if a statistic has too many lanes, or bins, to be served."""
    match document:
        case {"kind": "quantiles", "bins": int(bins)}:
            if not bins <= _BINS:  # an interval looks at each pair of bins
                raise InvalidValue(f"quantiles must have at most {_BINS} bins")
            lanes = 2 * bins  # on all levels together
        case {"kind": "histogram", "edges": list(edges)}:
            lanes = len(edges)
        case _:
            lanes = 3
    if not keys * lanes <= _LANES:
        raise InvalidValue(f"the statistic must have at most {_LANES} numbers in all keys")


def least_count(plan: Plan, given: Any) -> float | None:
    """The noisy count below which the values of a stream are suppressed; None if not declared."""
    if given is None:
        return None
    if plan.statistic is None:
        raise InvalidValue("suppress_below is for a plan with a statistic, such as a mean")
    return check.real(suppress_below=given)


def enforces(plan: Plan, given: Any) -> bool:
    """Whether the service enforces the limits per person of a new stream; by default it does."""
    if not isinstance(plan.guarantee.protects, Person):
        if given is not None:
            raise InvalidValue(
                "limits is for a plan that protects persons: leave it out, or plan with "
                "protects=hushfade.Person(...)"
            )
        return False
    if given not in (None, "enforced", "assumed"):
        raise InvalidValue("limits must be 'enforced' or 'assumed'")
    return bool(given != "assumed")


def step_times(every: Any, start: Any, now: int) -> tuple[int | None, int | None]:
    """The step length and the start of the first step in nanoseconds; None without a clock.

    Without a start the first step begins now.
    """
    if every in (None, BY_HAND):
        if start is not None:
            raise InvalidValue(
                "start needs a length in every: without it no clock closes the steps"
            )
        return None, None
    length = duration.length(length_text(every))
    if not isinstance(length, int):
        raise InvalidValue(
            f"every must be a fixed length such as 1h, or {BY_HAND!r}: the clock cannot close rows "
            "or calendar steps, so close them with a request"
        )
    if not length >= SHORTEST:
        raise InvalidValue("every must be at least 1s")
    if start is None:
        return length, now
    if not isinstance(start, str):
        raise Malformed("start must be a string such as 2026-01-01T00:00:00Z")
    try:
        at = datetime.fromisoformat(start)
    except ValueError:
        raise InvalidValue("start must be a time such as 2026-01-01T00:00:00Z") from None
    if at.tzinfo is None:
        raise InvalidValue("start must have a time zone, such as the Z in 2026-01-01T00:00:00Z")
    if not 1970 < at.year < 2200:
        raise InvalidValue("start must be between 1971 and 2199")
    begins = round((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 10**6) * 1000
    if not now - begins <= MISSED * length:
        raise InvalidValue(f"start must be at most {MISSED} steps ago")
    return length, begins

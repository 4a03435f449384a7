"""A plan as a JSON document, and its digest.

The document contains the taps and the noise as integers, so that a plan read on another machine is
the same mechanism, bit for bit.  The digest covers integers and declared parameters, which is
everything that affects privacy or the released values.  It excludes the field "reported": figures
computed in floating point, whose last digits depend on the machine.

The digest detects accidental changes; it is not a signature.  Every loader therefore computes the
noise from the guarantee and rejects a document with any other noise, so forging one is useless.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from hushfade import check, duration
from hushfade.decays import Decay, decay_document, decay_from
from hushfade.errors import HushfadeError, InvalidValue
from hushfade.factors.block_factors import BlockSchedule, BlockSums
from hushfade.factors.factorization import IntegerFactorization
from hushfade.factors.taps import MOST_TAPS, IntegerTaps
from hushfade.laws import Gaussian, Laplace, Law
from hushfade.laws.document import law_document, law_from
from hushfade.planning import noise_scale, plan_version_1
from hushfade.planning.exact_factors import check_lasting, check_method
from hushfade.planning.largest_total import sized
from hushfade.planning.parameter_documents import (
    guarantee_document,
    guarantee_from,
)
from hushfade.planning.plan import Plan
from hushfade.planning.planned_mechanism import Considered
from hushfade.privacy.guarantee import Guarantee
from hushfade.private.grid import grid_of
from hushfade.public.statistics import LaneStatistic
from hushfade.public.statistics.documents import statistic_from

FORMAT = "hushfade plan 2"
STATISTIC_FORMAT = "hushfade plan 3"  # of a plan with a statistic: format 2 and that field
_LIMIT = 1 << 26  # characters
_DIFFERS = "the plan was changed after it was saved: its digest or a field differs"
_REAL = {
    "epsilon", "delta", "mu", "rho", "low", "high", "resolution", "norm", "loss", "half_life",
    "power", "values", "weight", "sigma", "edges", "quantiles", "expect",
    "numerator", "denominator", "most",
}  # fmt: skip
_MALFORMED = (
    KeyError, TypeError, ValueError, AttributeError, OverflowError, AssertionError, IndexError,
    RecursionError, MemoryError, ZeroDivisionError,
)  # fmt: skip


def written(plan: Plan) -> str:
    """The plan as indented JSON."""
    document = {**_covered(plan), "digest": plan.digest.hex()}
    if not plan.version_1:
        document["reported"] = {
            "loss": float(plan.loss),
            "considered": [considered._asdict() for considered in plan.considered],
        }
    return json.dumps(document, indent=1)


def digest(plan: Plan) -> bytes:
    """SHA-256 of the covered part of the document in canonical form."""
    return _hashed(_covered(plan))


def _hashed(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).digest()


def read(text: str | bytes) -> Plan:
    """The plan in a document; every field and the digest are checked."""
    if len(text) > _LIMIT:
        raise InvalidValue(f"the plan must have at most {_LIMIT} characters", got=len(text))
    try:
        document = json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, HushfadeError):
            raise
        raise InvalidValue("the plan must be a JSON document") from None
    formats = (FORMAT, STATISTIC_FORMAT, plan_version_1.FORMAT)
    if not isinstance(document, dict) or document.get("format") not in formats:
        raise InvalidValue(f"the plan must have format {FORMAT!r}")
    name = document["format"]
    try:
        if not _intact(document):  # first: a damaged number could cost hours and gigabytes
            raise InvalidValue(_DIFFERS)
        plan = _version_1(document) if name == plan_version_1.FORMAT else _plan(document)
        same = json.loads(written(plan)) == document
    except HushfadeError:
        raise
    except _MALFORMED as error:
        kind = type(error).__name__
        raise InvalidValue(f"the plan must have the fields of {name!r}: {kind}") from None
    if not same:
        raise InvalidValue(_DIFFERS)
    return plan


def _intact(document: dict[str, Any]) -> bool:
    """Whether the digest matches the fields that it covers.

    Other programs write the number 1.0 as 1; both count as the same.
    """
    apart = {"digest"} if document["format"] == plan_version_1.FORMAT else {"digest", "reported"}
    covered = {name: _floats(name, of) for name, of in document.items() if name not in apart}
    return _hashed(covered).hex() == document.get("digest")


def _floats(name: str, value: Any) -> Any:
    """The value, in which every number that is a real-valued parameter is a float."""
    if isinstance(value, dict):
        return {inner: _floats(inner, of) for inner, of in value.items()}
    if isinstance(value, list) and name in ("parts", "values", "edges", "quantiles"):
        return [_floats(name, of) for of in value]
    return float(value) if type(value) is int and name in _REAL else value


# Format 2 ------------------------------------------------------------------------------------


def _covered(plan: Plan) -> dict[str, Any]:
    """The fields that the digest covers: integers and declared parameters."""
    common: dict[str, Any] = {
        "decay": decay_document(plan.decay),
        "records": _records(plan),
        "horizon": plan.horizon,
        "method": plan.method,
        "taps": _taps(plan.taps),
    }
    if plan.version_1:
        return plan_version_1.document(plan, common)
    gain = plan.pair.integer_gain
    if isinstance(plan.pair, BlockSums):
        schedule = plan.pair.schedule
        common["blocks"] = {"depth": schedule.depth, "period": schedule.period}
    if plan.every is not None:
        common["every"] = plan.every
    statistic = plan.statistic
    if statistic is not None:
        common["statistic"] = statistic.document()
    return {
        "format": FORMAT if statistic is None else STATISTIC_FORMAT,
        "guarantee": guarantee_document(plan.guarantee),
        **common,
        "gain": None if gain is None else {"bits": plan.taps.bits, "value": gain.tolist()},
        "noise": law_document(plan.law),
    }


def _records(plan: Plan) -> dict[str, Any]:
    grid = plan.grid
    return {
        "low": grid.low,
        "high": grid.high,
        "resolution": grid.resolution,
        "keys": None if grid.keys is None else list(grid.keys),
        "width": grid.width,
        "norm": grid.norm,
    }


def _taps(taps: IntegerTaps) -> dict[str, Any]:
    return {
        "bits": taps.bits,
        "from": taps.jumps[:-1].tolist(),
        "value": taps.values.tolist(),
        "support": taps.support,
    }


def _taps_from(document: dict[str, Any]) -> IntegerTaps:
    """The taps in JSON data, at most as many as a stream can hold; computed on first use."""
    support = check.count(support=document["support"], most=MOST_TAPS)
    jumps = np.array([*document["from"], support], dtype=np.int64)
    values = np.array(document["value"], dtype=np.int64)
    return IntegerTaps(jumps, values, document["bits"])


def _plan(document: dict[str, Any]) -> Plan:
    optional = {"blocks", "every"} & set(document)  # written only if a plan has them
    optional |= {"statistic"} if document["format"] == STATISTIC_FORMAT else set()
    _check_fields(document, plan_version_1.COMMON | {"gain", "noise", "reported"} | optional)
    guarantee = guarantee_from(document["guarantee"])
    gain = document["gain"]
    if gain is not None and gain["bits"] != document["taps"]["bits"]:
        raise InvalidValue(_DIFFERS)
    loss = check.real(loss=document["reported"]["loss"])
    if not -1.0 < loss < 1e6:
        raise InvalidValue("must be in (-1, 1e6)", argument="loss", got=repr(loss))
    considered = tuple(
        Considered(str(one["method"]), str(one["law"]), check.real(error=one["error"]))
        for one in document["reported"]["considered"]
    )
    law = law_from(document["noise"])
    gains = None if gain is None else gain["value"]
    plan = _made(document, guarantee, gains, law, loss, considered=considered)
    noise_scale.check_required(law, guarantee, plan.grid, plan.pair)
    return plan


def _version_1(document: dict[str, Any]) -> Plan:
    _check_fields(document, plan_version_1.COMMON | {"gain", "loss", "sigma"})
    guarantee = plan_version_1.guarantee(document["guarantee"])
    loss, sigma = check.real(loss=document["loss"]), check.real(sigma=document["sigma"])
    law = Gaussian(sigma)
    plan = _made(document, guarantee, document["gain"], law, loss, version_1=True)
    noise_scale.check_version_1(sigma, guarantee, plan.grid, plan.pair)
    return plan


def _made(
    document: dict[str, Any],
    guarantee: Guarantee,
    gain: list[int] | None,
    law: Law,
    loss: float,
    *,
    considered: tuple[Considered, ...] = (),
    version_1: bool = False,
) -> Plan:
    records = document["records"]
    grid = grid_of(
        guarantee,
        low=records["low"],
        high=records["high"],
        keys=records["keys"],
        width=None if records["norm"] is None else records["width"],
        norm=records["norm"],
        resolution=records["resolution"],
        statistic=_statistic(document, records),
    )
    taps, horizon = _taps_from(document["taps"]), document["horizon"]
    if horizon is not None:
        check.count(horizon=horizon)
    decay, method = decay_from(document["decay"]), document["method"]
    check_method(method)
    if (method == "blocks") != ("blocks" in document):
        raise InvalidValue("the plan must have blocks if and only if its method is 'blocks'")
    if method == "blocks":
        pair = _blocks(document["blocks"], decay, horizon, law)
    else:
        gains = None if gain is None else np.ldexp(np.array(gain, dtype=np.float64), -taps.bits)
        pair = IntegerFactorization(decay, taps, horizon, gains)
    every = document.get("every")
    if every is not None and duration.declared_step(every) != every:
        raise InvalidValue("every must be a step length as hushfade saves it", got=repr(every))
    return sized(
        Plan(
            pair.decay, guarantee, grid, horizon, method, pair, law, loss, considered, version_1,
            every,
        )
    )  # fmt: skip


def _statistic(document: dict[str, Any], records: dict[str, Any]) -> LaneStatistic | None:
    """The statistic of plain data, with the bounds of the records; None for sums and counts."""
    if document["format"] != STATISTIC_FORMAT:
        return None
    found = statistic_from(document["statistic"], records["low"], records["high"])
    low, high = found.bounds
    if (low, high) != (records["low"], records["high"]) or (
        found.resolution not in (None, records["resolution"])
    ):
        raise InvalidValue("records must have the bounds and the grid of the plan's statistic")
    return found


def _blocks(
    document: dict[str, Any], decay: Decay, horizon: int | None, law: Law
) -> IntegerFactorization:
    """The block sums in JSON data; the caller compares their taps and gain with the document."""
    if not isinstance(law, Laplace):
        raise InvalidValue("noise must have Laplace's law if the plan has blocks")
    check_lasting(decay, horizon)
    schedule = BlockSchedule(check.count(depth=document["depth"]), document["period"])
    return BlockSums(decay, schedule, horizon)


def _check_fields(document: dict[str, Any], expected: set[str]) -> None:
    if set(document) != expected:
        raise InvalidValue(f"the plan must have the fields {sorted(expected)}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise InvalidValue("the plan must not repeat a field")
    return document


def _constant(name: str) -> Any:
    raise InvalidValue("the plan must have finite numbers", got=name)

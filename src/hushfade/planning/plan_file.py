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
from hushfade.format_marker import check_marker
from hushfade.laws import Laplace, Law
from hushfade.laws.document import law_document, law_from
from hushfade.planning import noise_scale
from hushfade.planning.exact_factors import check_lasting, check_method
from hushfade.planning.largest_total import sized
from hushfade.planning.parameter_documents import (
    guarantee_document,
    guarantee_from,
)
from hushfade.planning.plan import Plan
from hushfade.planning.planned_mechanism import Considered
from hushfade.private.grid import grid_of
from hushfade.public.statistics import LaneStatistic
from hushfade.public.statistics.documents import statistic_from

FORMAT = "hushfade plan draft"
_REMEDY = "make the plan again with this version of hushfade"
_FIELDS = {
    "format", "guarantee", "decay", "records", "horizon", "method", "taps", "blocks", "every",
    "statistic", "gain", "noise", "digest", "reported",
}  # fmt: skip
_LIMIT = 1 << 26  # characters
_DIFFERS = "the plan was changed after it was saved: its digest or a field differs"
_REAL = {
    "epsilon", "delta", "mu", "rho", "low", "high", "resolution", "norm", "loss", "half_life",
    "power", "values", "parts", "sigma", "edges", "quantiles", "expect",
    "numerator", "denominator", "most",
}  # fmt: skip
_MALFORMED = (
    KeyError, TypeError, ValueError, AttributeError, OverflowError, AssertionError, IndexError,
    RecursionError, MemoryError, ZeroDivisionError,
)  # fmt: skip


def written(plan: Plan) -> str:
    """The plan as indented JSON."""
    reported = {
        "loss": float(plan.loss),
        "considered": [considered._asdict() for considered in plan.considered],
    }
    document = {**_covered(plan), "digest": plan.digest.hex(), "reported": reported}
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
    check_format(document)
    try:
        if not _intact(document):  # first: a damaged number could cost hours and gigabytes
            raise InvalidValue(_DIFFERS)
        plan = _plan(document)
        same = json.loads(written(plan)) == document
    except HushfadeError:
        raise
    except _MALFORMED as error:
        kind = type(error).__name__
        raise InvalidValue(f"the plan must have the fields of {FORMAT!r}: {kind}") from None
    if not same:
        raise InvalidValue(_DIFFERS)
    return plan


def check_format(document: Any) -> None:
    """Raise InvalidValue unless the JSON data have the format of this version."""
    found = document.get("format") if isinstance(document, dict) else None
    check_marker("the plan", found, FORMAT, remedy=_REMEDY)


def _intact(document: dict[str, Any]) -> bool:
    """Whether the digest matches the fields that it covers.

    Other programs write the number 1.0 as 1; both count as the same.
    """
    covered = {
        name: _floats(name, of)
        for name, of in document.items()
        if name not in ("digest", "reported")
    }
    return _hashed(covered).hex() == document.get("digest")


def _floats(name: str, value: Any) -> Any:
    """The value, in which every number that is a real-valued parameter is a float."""
    if isinstance(value, dict):
        return {inner: _floats(inner, of) for inner, of in value.items()}
    if isinstance(value, list) and name in ("parts", "values", "edges", "quantiles"):
        return [_floats(name, of) for of in value]
    return float(value) if type(value) is int and name in _REAL else value


# Fields --------------------------------------------------------------------------------------


def _covered(plan: Plan) -> dict[str, Any]:
    """The fields that the digest covers: integers and declared parameters."""
    gain, statistic = plan.pair.integer_gain, plan.statistic
    return {
        "format": FORMAT,
        "guarantee": guarantee_document(plan.guarantee),
        "decay": decay_document(plan.decay),
        "records": _records(plan),
        "horizon": plan.horizon,
        "method": plan.method,
        "taps": _taps(plan.taps),
        "blocks": _block_schedule(plan),
        "every": plan.every,
        "statistic": None if statistic is None else statistic.document(),
        "gain": None if gain is None else {"bits": plan.taps.bits, "value": gain.tolist()},
        "noise": law_document(plan.law),
    }


def _block_schedule(plan: Plan) -> dict[str, int] | None:
    if not isinstance(plan.pair, BlockSums):
        return None
    return {"depth": plan.pair.schedule.depth, "period": plan.pair.schedule.period}


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
    if set(document) != _FIELDS:
        raise InvalidValue(f"the plan must have the fields {sorted(_FIELDS)}")
    guarantee, records = guarantee_from(document["guarantee"]), document["records"]
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
    horizon, law = document["horizon"], law_from(document["noise"])
    if horizon is not None:
        check.count(horizon=horizon)
    check_method(document["method"])
    pair = _pair(document, horizon, law)
    every = document["every"]
    if every is not None and duration.declared_step(every) != every:
        raise InvalidValue("every must be a step length as hushfade saves it", got=repr(every))
    loss = check.real(loss=document["reported"]["loss"])
    if not -1.0 < loss < 1e6:
        raise InvalidValue("must be in (-1, 1e6)", argument="loss", got=repr(loss))
    considered = tuple(
        Considered(str(one["method"]), str(one["law"]), check.real(error=one["error"]))
        for one in document["reported"]["considered"]
    )
    plan = sized(
        Plan(
            pair.decay, guarantee, grid, horizon, document["method"], pair, law, loss, considered,
            every,
        )
    )  # fmt: skip
    noise_scale.check_required(law, guarantee, plan.grid, pair)
    return plan


def _pair(document: dict[str, Any], horizon: int | None, law: Law) -> IntegerFactorization:
    """The factors in JSON data."""
    taps, decay = _taps_from(document["taps"]), decay_from(document["decay"])
    blocks, gain = document["blocks"], document["gain"]
    if (document["method"] == "blocks") != (blocks is not None):
        raise InvalidValue("the plan must have blocks if and only if its method is 'blocks'")
    if gain is not None and gain["bits"] != taps.bits:
        raise InvalidValue(_DIFFERS)
    if blocks is not None:
        return _blocks(blocks, decay, horizon, law)
    gains = None
    if gain is not None:
        gains = np.ldexp(np.array(gain["value"], dtype=np.float64), -taps.bits)
    return IntegerFactorization(decay, taps, horizon, gains)


def _statistic(document: dict[str, Any], records: dict[str, Any]) -> LaneStatistic | None:
    """The statistic of plain data, with the bounds of the records; None for sums and counts."""
    if document["statistic"] is None:
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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise InvalidValue("the plan must not repeat a field")
    return document


def _constant(name: str) -> Any:
    raise InvalidValue("the plan must have finite numbers", got=name)

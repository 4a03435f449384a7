"""A plan as a JSON document, and its digest.

The document carries the integer taps themselves, so that a plan read on another machine is the
same mechanism, bit for bit.  The digest covers the whole document: it changes with anything that
matters to privacy or to the released values.  It finds changes, it is not a signature: whoever can
rewrite a plan can rewrite its digest.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import numpy as np

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
from hushfade.errors import HushfadeError, InvalidType, InvalidValue
from hushfade.factors.factorization import Factorization
from hushfade.factors.taps import IntegerTaps
from hushfade.planning.plan import Plan, sized
from hushfade.planning.search_taps import check_method, grid_of
from hushfade.privacy.guarantee import Guarantee

FORMAT = "hushfade plan 1"
_LIMIT = 1 << 26  # characters
_LONGEST = 1 << 28  # taps
_DIFFERS = "the plan must be as it was written, but its digest or a field differs"
_REAL = {
    "epsilon", "delta", "mu", "low", "high", "resolution", "norm", "loss", "sigma", "half_life",
    "power", "values", "weight",
}  # fmt: skip
_MALFORMED = (
    KeyError, TypeError, ValueError, AttributeError, OverflowError, AssertionError, IndexError,
    RecursionError, MemoryError,
)  # fmt: skip


def written(plan: Plan) -> str:
    """The document, indented."""
    return json.dumps({**_document(plan), "digest": plan.digest.hex()}, indent=1)


def digest(plan: Plan) -> bytes:
    """SHA-256 of the document in canonical form."""
    return _hashed(_document(plan))


def _hashed(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).digest()


def read(text: str | bytes) -> Plan:
    """The plan of a document; every field is checked, and the digest."""
    if len(text) > _LIMIT:
        raise InvalidValue(f"the plan must have at most {_LIMIT} characters", got=len(text))
    try:
        document = json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, HushfadeError):
            raise
        raise InvalidValue("the plan must be a JSON document") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidValue(f"the plan must have format {FORMAT!r}")
    try:
        if not _intact(document):  # first: a damaged number may ask for hours and gigabytes
            raise InvalidValue(_DIFFERS)
        plan = _plan(document)
        same = json.loads(written(plan)) == document
    except HushfadeError:
        raise
    except _MALFORMED as error:
        name = type(error).__name__
        raise InvalidValue(f"the plan must have the fields of {FORMAT!r}: {name}") from None
    if not same:
        raise InvalidValue(_DIFFERS)
    return plan


def _intact(document: dict[str, Any]) -> bool:
    """Is the digest that of the other fields?  Others' JSON writes 1.0 as 1: both are the same."""
    fields = {name: _floats(name, value) for name, value in document.items() if name != "digest"}
    return _hashed(fields).hex() == document.get("digest")


def _floats(name: str, value: Any) -> Any:
    """The value with its real numbers as floats, whose name says that they are real."""
    if isinstance(value, dict):
        return {inner: _floats(inner, of) for inner, of in value.items()}
    if isinstance(value, list) and name in ("parts", "values"):
        return [_floats(name, of) for of in value]
    return float(value) if type(value) is int and name in _REAL else value


def _document(plan: Plan) -> dict[str, Any]:
    taps = plan.pair.taps
    assert isinstance(taps, IntegerTaps)
    starts = np.flatnonzero(np.diff(taps.integers, prepend=0))
    gain = plan.pair.gain
    grid, guarantee = plan.grid, plan.guarantee
    several = guarantee.records_per_step > 1  # said where it matters: older documents stay valid
    return {
        "format": FORMAT,
        "decay": decay_document(plan.decay),
        "guarantee": {
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "mu": guarantee.mu,
            "neighbours": guarantee.neighbours,
            "participations": guarantee.participations,
            "separation": guarantee.separation,
            **({"records_per_step": guarantee.records_per_step} if several else {}),
        },
        "records": {
            "low": grid.low,
            "high": grid.high,
            "resolution": grid.resolution,
            "keys": None if grid.keys is None else list(grid.keys),
            "width": grid.width,
            "norm": grid.norm,
        },
        "horizon": plan.horizon,
        "method": plan.method,
        "loss": plan.loss,
        "taps": {
            "bits": taps.bits,
            "from": starts.tolist(),
            "value": taps.integers[starts].tolist(),
            "support": taps.support,
        },
        "gain": None if gain is None else np.ldexp(gain, taps.bits).astype(np.int64).tolist(),
        "sigma": plan.sigma,
    }


def _plan(document: dict[str, Any]) -> Plan:
    expected = {
        "format", "decay", "guarantee", "records", "horizon", "method", "loss", "taps", "gain",
        "sigma", "digest",
    }  # fmt: skip
    if set(document) != expected:
        raise InvalidValue(f"the plan must have the fields {sorted(expected)}")
    promised = dict(document["guarantee"])
    mu = promised.pop("mu")
    guarantee = Guarantee(**promised)
    if mu != guarantee.mu:
        guarantee = _with_mu(guarantee, mu)
    records = document["records"]
    vectors = records["norm"] is not None
    grid = grid_of(
        guarantee,
        low=records["low"],
        high=records["high"],
        keys=records["keys"],
        width=records["width"] if vectors else None,
        norm=records["norm"],
        resolution=records["resolution"],
    )
    taps = document["taps"]
    check.count(support=taps["support"], most=_LONGEST)
    lengths = np.diff([*taps["from"], taps["support"]])
    integers = np.repeat(np.array(taps["value"], dtype=np.int64), lengths)
    bits = taps["bits"]
    gain = document["gain"]
    pair = Factorization(
        decay_from(document["decay"]),
        IntegerTaps(integers, bits),
        document["horizon"],
        None if gain is None else np.ldexp(np.array(gain, dtype=np.float64), -bits),
    )
    if not math.isfinite(document["loss"]):
        raise InvalidValue("loss must be finite")
    method, loss = document["method"], float(document["loss"])
    check_method(method)
    if pair.horizon is not None:
        check.count(horizon=pair.horizon)
    return sized(Plan(pair.decay, guarantee, grid, pair.horizon, method, pair, loss))


def _with_mu(guarantee: Guarantee, mu: float) -> Guarantee:
    """A guarantee that was made from mu: epsilon at delta is its translation, to rounding."""
    found = Guarantee.from_mu(
        mu,
        delta=guarantee.delta,
        neighbours=guarantee.neighbours,
        participations=guarantee.participations,
        separation=guarantee.separation,
        records_per_step=guarantee.records_per_step,
    )
    if not math.isclose(found.epsilon, guarantee.epsilon, rel_tol=1e-9):
        raise InvalidValue("mu must belong to the plan's epsilon and delta")
    object.__setattr__(found, "epsilon", guarantee.epsilon)
    return found


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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidValue("the plan must have each field once")
    return found


def _constant(name: str) -> Any:
    raise InvalidValue("the plan must have finite numbers", got=name)

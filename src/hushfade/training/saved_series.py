"""A series of correlated noise as a document, its digest, and its saved state.

The document determines every draw, so its digest binds keyed noise to the series: with another tap,
level, shape or dtype, the same key gives independent noise.  The digest covers declared parameters
and numbers of few bits, and no float whose last digits depend on the machine.

A loader computes the level from the guarantee and rejects a smaller one, so forging a document is
useless.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushfade import check
from hushfade.crossing.noise_sources import Identity
from hushfade.decays import decay_document, decay_from
from hushfade.errors import HushfadeError, InvalidType, Refused
from hushfade.factors.factorization import Factorization
from hushfade.factors.taps import IntegerTaps, ListedTaps, Taps
from hushfade.planning.parameter_documents import (
    guarantee_document,
    guarantee_from,
)
from hushfade.privacy.guarantee import Guarantee
from hushfade.stream import binary_container as container
from hushfade.training.exponentials import CompactTaps, Exponentials
from hushfade.training.loop_coefficients import Floats, check_few, loop_of
from hushfade.training.noise_series import (
    Correlation,
    change,
    checked_dtype,
    checked_shape,
    rounded_up,
)

MAGIC = b"hushfade correlated noise draft\n"
_NOISE = "the saved noise"
_MALFORMED = (
    KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError, IndexError,
    MemoryError,
)  # fmt: skip


@dataclass(frozen=True)
class SavedSeries:
    """The contents of a saved series."""

    correlation: Correlation
    noise: Identity
    identity: bytes
    steps: int
    state: Floats


def digest(series: Correlation) -> bytes:
    """SHA-256 of the document in canonical form."""
    try:
        decay = decay_document(series.pair.decay)
    except InvalidType:  # a custom decay, on which the noise does not depend
        decay = {"kind": "own"}
    return hashlib.sha256(MAGIC + _text({"decay": decay, **_covered(series)})).digest()


def packed(saved: SavedSeries) -> bytes:
    """The bytes of a saved series."""
    series = saved.correlation
    header = {
        **_covered(series),
        "decay": decay_document(series.pair.decay),
        "noise": saved.noise,
        "identity": saved.identity.hex(),
        "steps": saved.steps,
    }
    return container.packed(MAGIC, header, [saved.state])


def read(data: bytes) -> SavedSeries:
    """The contents of a saved series, checked against its header."""
    frame = container.opened(data, MAGIC, _NOISE)
    try:
        with np.errstate(all="ignore"):  # overflows lead to values that are rejected
            return _contents(frame, _read(frame.header))
    except HushfadeError:
        raise
    except _MALFORMED:
        raise Refused(f"{_NOISE} does not have the header and state of its format") from None


def _contents(frame: container.Frame, series: Correlation) -> SavedSeries:
    header, most = frame.header, series.pair.horizon or container.MOST_STEPS
    steps = check.count(steps=header["steps"], least=0, most=most)
    kind = series.dtype.newbyteorder("<").str
    listed = [[kind, series.rows * series.lanes]]
    if header["arrays"] != listed:
        raise Refused(f"{_NOISE} does not have the state of its factors")
    (state,) = container.split(frame.body, listed, (kind,), _NOISE)
    rows = state.reshape(series.rows, series.lanes)
    return SavedSeries(series, header["noise"], bytes.fromhex(header["identity"]), steps, rows)


def _covered(series: Correlation) -> dict[str, Any]:
    """The fields that the digest covers, without the decay."""
    return {
        "series": _series(series),
        "guarantee": guarantee_document(series.guarantee),
        "norm": series.norm,
        "sensitivity": series.sensitivity,
    }


def _series(series: Correlation) -> dict[str, Any]:
    gain = series.pair.gain
    return {
        "taps": _taps_document(series.pair.taps),
        "gain": None if gain is None else gain.tolist(),
        "horizon": series.pair.horizon,
        "shape": list(series.shape),
        "dtype": series.dtype.name,
    }


def _read(header: dict[str, Any]) -> Correlation:
    guarantee = guarantee_from(header["guarantee"])
    series = _from(header, guarantee, header["sensitivity"])
    required = change(series.used, guarantee, series.norm)
    # another machine may have computed an adjacent number
    least, most = required, rounded_up(required) * (1.0 + 2.0**-22)
    if not least <= series.sensitivity <= most:
        raise Refused(f"{_NOISE} does not have the level that its guarantee requires")
    if {name: header[name] for name in _covered(series)} != _covered(series):
        raise Refused(f"{_NOISE} was changed after it was saved: a field differs")
    return series


def _from(header: dict[str, Any], guarantee: Guarantee, sensitivity: Any) -> Correlation:
    series, norm = header["series"], check.positive(norm=header["norm"])
    horizon = series["horizon"]
    gain = None if series["gain"] is None else np.array(series["gain"])
    decay = decay_from(header["decay"])
    pair = Factorization(decay, _taps(series["taps"]), horizon, gain)
    dtype, shape = checked_dtype(series["dtype"]), checked_shape(series["shape"])
    level = check.positive(sensitivity=sensitivity)
    return Correlation(pair, loop_of(pair.taps, dtype), shape, dtype, guarantee, norm, level)


def _taps_document(taps: Taps) -> dict[str, Any]:
    match taps:
        case CompactTaps():
            parts = (taps.fading, taps.comb)
            weights, fades = ([getattr(p, n).tolist() for p in parts] for n in ("weights", "fades"))
            return {"scale": taps.scale, "weights": weights, "fades": fades, "period": taps.period}
        case IntegerTaps():
            return {"integers": taps.integers.tolist(), "bits": taps.bits}
        case _:
            assert taps.support is not None
            return {"listed": taps.first(taps.support).tolist()}


def _taps(document: dict[str, Any]) -> Taps:
    match document:
        case {"scale": scale, "weights": weights, "fades": fades, "period": period}:
            check_few(max(map(len, weights)))  # first: large taps take minutes
            fading, comb = map(Exponentials, weights, fades)
            return CompactTaps(scale, fading, comb, period)
        case {"integers": integers, "bits": bits}:
            return IntegerTaps.of(np.array(integers, dtype=np.int64), bits)
        case _:
            return ListedTaps(document["listed"])


def _text(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode()

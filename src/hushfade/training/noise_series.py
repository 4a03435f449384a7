"""What a series of correlated noise is: its factors, shape and level; its document and saved file.

The document fixes every draw, so its digest binds keyed noise to the series: other taps, another
level, shape or dtype have independent noise under the same key.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hushfade import check
from hushfade.crossing.noise_sources import Identity
from hushfade.decay import Decay
from hushfade.errors import HushfadeError, InvalidType, InvalidValue, Refused
from hushfade.factors.compact_taps import compact
from hushfade.factors.exponentials import CompactTaps, Exponentials
from hushfade.factors.factorization import Factorization
from hushfade.factors.taps import IntegerTaps, ListedTaps, Taps
from hushfade.planning import plan_file
from hushfade.privacy.guarantee import Guarantee
from hushfade.stream import binary_container as container

Floats = NDArray[Any]  # float32 or float64

MAGIC, OLD_MAGIC = b"hushfade correlated noise 2\n", b"hushfade correlated noise 1\n"
_NOISE = "the saved noise"
_ROOM = 2.0**34  # between the noise's deviation and the ends of its dtype


@dataclass(frozen=True, eq=False)
class Correlation:
    """The series R⁻¹ z of independent Gaussians z with deviation sensitivity / mu."""

    pair: Factorization
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    guarantee: Guarantee
    norm: float
    sensitivity: float

    def __post_init__(self) -> None:
        limits, gain = np.finfo(self.dtype), self.pair.gain
        for level in (1.0,) if gain is None else (float(np.min(gain)), float(np.max(gain))):
            stddev = self.stddev / level
            if not float(limits.tiny) * _ROOM <= stddev <= float(limits.max) / _ROOM:
                raise InvalidValue(
                    f"norm must give noise that {self.dtype} can hold", got=f"stddev {stddev:.3g}"
                )

    @property
    def stddev(self) -> float:
        """Of z."""
        return self.sensitivity * self.guarantee.noise_multiplier

    @property
    def lanes(self) -> int:
        """How many numbers a step has."""
        return math.prod(self.shape)

    @property
    def rows(self) -> int:
        """How many numbers each lane keeps."""
        taps = self.pair.taps
        if isinstance(taps, CompactTaps):
            return taps.state
        assert taps.support is not None
        return min(taps.support, self.pair.horizon or taps.support) - 1

    @property
    def digest(self) -> bytes:
        """SHA-256 of the whole series: taps and shape, and what is promised of it."""
        return hashlib.sha256(
            OLD_MAGIC + _text({"decay": repr(self.pair.decay), **_promise(self)})
        ).digest()


def correlation(
    factors: Decay | Factorization,
    width: int | Sequence[int],
    *,
    guarantee: Guarantee,
    norm: float,
    horizon: int | None,
    dtype: DTypeLike,
) -> Correlation:
    """The series for a decay's compact pair, or for a pair of compact or ending taps.

    Guarantee: sensitivity is the largest ℓ2 change of R x when the gradients of one person change,
    of norm at most `norm` each, in the steps that `guarantee` allows.
    """
    if not isinstance(guarantee, Guarantee):
        raise InvalidType("guarantee must be a Guarantee", got=type(guarantee).__name__)
    pair, norm = _pair(factors, horizon), check.positive(norm=norm)
    k = guarantee.participations
    if k > 1 and pair.horizon is None and pair.taps.support is None:
        raise InvalidValue(
            "must be given for participations > 1", argument="horizon", got=f"{k} participations"
        )
    kind = _float(dtype)
    return Correlation(
        pair, _shape(width), kind, guarantee, norm, _change(pair, guarantee, norm, kind)
    )


def _change(pair: Factorization, guarantee: Guarantee, norm: float, dtype: np.dtype[Any]) -> float:
    """The largest ℓ2 change of R x.

    In float32 the loop's coefficients are rounded, so that it divides by a slightly other R: its
    sensitivity was measured to be larger by less than 1.4e-4 up to 2^30 steps, and 2^-12 is added.
    """
    found = pair.sensitivity(
        participations=guarantee.participations, separation=guarantee.separation
    )
    rounded = 2.0**-12 if dtype == np.float32 else 0.0
    return found.value * guarantee.vector_change(norm) * (1.0 + rounded)


def _pair(factors: Decay | Factorization, horizon: int | None) -> Factorization:
    if isinstance(factors, Decay):
        return compact(factors, horizon=horizon)
    if not isinstance(factors, Factorization):
        raise InvalidType("factors must be a decay or a Factorization", got=type(factors).__name__)
    if not isinstance(factors.taps, CompactTaps) and factors.taps.support is None:
        raise InvalidValue(
            "factors must have compact taps, hushfade.factors.compact(decay), or taps that end, "
            "pair.rounded(bits)",
            got=type(factors.taps).__name__,
        )
    if horizon is None:
        return factors
    horizon = check.count(horizon=horizon, most=factors.horizon)
    gain = None if factors.gain is None else factors.gain[:horizon]
    return replace(factors, horizon=horizon, gain=gain)


def _shape(width: int | Sequence[int]) -> tuple[int, ...]:
    sizes = width if isinstance(width, tuple | list) else (width,)
    shape = tuple(check.count(width=size) for size in sizes)
    if not shape:
        raise InvalidValue("width must be an integer >= 1 or several", got="none")
    check.count(width=math.prod(shape), most=1 << 40)
    return shape


def _float(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(np.void)
    if dtype is None or found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InvalidType("dtype must be float32 or float64", got=f"{dtype!s:.60}")
    return found.newbyteorder("=")


# Documents -----------------------------------------------------------------------------------


def _series(found: Correlation) -> dict[str, Any]:
    gain = found.pair.gain
    return {
        "taps": _taps_document(found.pair.taps),
        "gain": None if gain is None else gain.tolist(),
        "horizon": found.pair.horizon,
        "shape": list(found.shape),
        "dtype": found.dtype.name,
        "stddev": found.stddev,
    }


def _promise(found: Correlation) -> dict[str, Any]:
    guarantee = found.guarantee
    return {
        "series": _series(found),
        "guarantee": {
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "neighbours": guarantee.neighbours,
            "participations": guarantee.participations,
            "separation": guarantee.separation,
            "records_per_step": guarantee.records_per_step,
        },
        "mu": guarantee.mu,
        "norm": found.norm,
        "sensitivity": found.sensitivity,
    }


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
            fading, comb = map(Exponentials, weights, fades)
            return CompactTaps(scale, fading, comb, period)
        case {"integers": integers, "bits": bits}:
            return IntegerTaps(np.array(integers, dtype=np.int64), bits)
        case _:
            return ListedTaps(document["listed"])


def _text(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode()


# Files ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SavedSeries:
    """The contents of a saved series."""

    correlation: Correlation
    noise: Identity | str  # a text in states of 0.1.0
    identity: bytes
    steps: int
    state: Floats


def packed(saved: SavedSeries) -> bytes:
    """The bytes of a saved series."""
    correlation = saved.correlation
    header = {
        **_promise(correlation),
        "decay": plan_file.decay_document(correlation.pair.decay),
        "noise": saved.noise,
        "identity": saved.identity.hex(),
        "steps": saved.steps,
    }
    return container.packed(MAGIC, header, [saved.state])


def read(data: bytes) -> SavedSeries:
    """The contents of a saved series, checked against its own description."""
    frame = container.opened(data, (MAGIC, OLD_MAGIC), _NOISE)
    try:
        with np.errstate(all="ignore"):  # a number that overflows is rejected by what it makes
            return _read(frame)
    except HushfadeError:
        raise
    except (
        KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError, IndexError
    ):  # fmt: skip
        raise Refused(f"{_NOISE} does not have the header and state of its format") from None


def _read(frame: container.Frame) -> SavedSeries:
    header, series = frame.header, frame.header["series"]
    gain = None if series["gain"] is None else np.array(series["gain"])
    decay = plan_file.decay_from(header["decay"])
    guarantee = Guarantee(**header["guarantee"])
    if header["mu"] != guarantee.mu:  # made from mu, or by 0.1.0; refused if it is too large
        guarantee = replace(guarantee, declared_mu=header["mu"])
    pair = Factorization(decay, _taps(series["taps"]), series["horizon"], gain)
    dtype, norm = _float(series["dtype"]), check.positive(norm=header["norm"])
    required = _change(pair, guarantee, norm, dtype)
    correlation = Correlation(pair, _shape(series["shape"]), dtype, guarantee, norm, required)
    # a sensitivity is a sum of floats, whose last digits depend on the machine
    if not math.isclose(header["sensitivity"], required, rel_tol=1e-9):
        raise Refused(f"{_NOISE} does not have the sensitivity of its factors")
    correlation = replace(correlation, sensitivity=header["sensitivity"])
    if _series(correlation) != series:
        raise Refused(f"{_NOISE} has been changed: a field differs from what its factors give")
    steps = check.count(steps=header["steps"], least=0, most=correlation.pair.horizon or 2**61)
    kind = dtype.newbyteorder("<").str
    listed = [[kind, correlation.rows * correlation.lanes]]
    if frame.magic == MAGIC and header["arrays"] != listed:
        raise Refused(f"{_NOISE} does not have the state of its factors")
    (state,) = container.split(frame.body, listed, (kind,), _NOISE)
    rows = state.reshape(correlation.rows, correlation.lanes)
    identity = bytes.fromhex(header["identity"])
    return SavedSeries(correlation, header["noise"], identity, steps, rows)

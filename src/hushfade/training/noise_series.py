"""The factors, the shape and the noise level of a series of correlated noise.

The level follows from the factors in use, the guarantee and the norm.  It is rounded up to 24 bits,
which is far coarser than the differences between machines.  So the series is the same on every
machine: its taps have few bits or come from the caller, and its loop comes from decimal arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from hushfade import check
from hushfade.decays import Decay
from hushfade.errors import InvalidType, InvalidValue
from hushfade.factors.block_factors import BlockSums
from hushfade.factors.factorization import Factorization
from hushfade.factors.taps import CountingTaps
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.loss import Case, PrivacyLoss
from hushfade.privacy.rounding import root_up
from hushfade.training.compact_taps import compact
from hushfade.training.exponentials import CompactTaps
from hushfade.training.loop_coefficients import Loop, loop_of

LANES = 1 << 34  # the most numbers per step
_ROOM = 2.0**34  # factor between the standard deviation and the limits of the dtype
_BITS = 24  # bits of a sensitivity
_MARGIN = 2.0**-30  # more than the relative error of a sensitivity in float64, which is < 1e-12


@dataclass(frozen=True, eq=False)
class Correlation:
    """The series R⁻¹ z for independent Gaussians z with standard deviation sensitivity / mu."""

    pair: Factorization  # as declared
    loop: Loop
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

    @cached_property
    def used(self) -> Factorization:
        """The factors in use, with the coefficients of the loop."""
        return used_pair(self.pair, self.loop)

    @property
    def stddev(self) -> float:
        """The standard deviation of z."""
        return self.sensitivity * self.guarantee.noise_multiplier

    def privacy_after(self, steps: int) -> PrivacyLoss:
        """The privacy loss of one person in the first steps: the loss of a series that ends there.

        It is an upper bound: mu times the sensitivity within these steps over the whole one.
        """
        guarantee = self.guarantee
        if steps == 0:
            return PrivacyLoss((Case(),), guarantee.relation)
        mu = Fraction(guarantee.mu)
        if steps != self.pair.horizon:
            begun = rounded_up(change(self.used, guarantee, self.norm, steps))
            mu *= min(Fraction(begun) / Fraction(self.sensitivity), Fraction(1))
        return replace(PrivacyLoss.gaussian(root_up(mu**2)), relation=guarantee.relation)

    @property
    def lanes(self) -> int:
        """The number of values per step."""
        return math.prod(self.shape)

    @property
    def rows(self) -> int:
        """The number of values that each lane keeps."""
        taps = self.pair.taps
        if isinstance(taps, CompactTaps):
            return taps.memory
        assert taps.support is not None
        return min(taps.support, self.pair.horizon or taps.support) - 1

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the series: its taps, shape and guarantee."""
        from hushfade.training import saved_series

        return saved_series.digest(self)


def correlation(
    factors: Decay | Factorization,
    width: int | Sequence[int],
    *,
    guarantee: Guarantee,
    norm: float,
    horizon: int | None,
    dtype: DTypeLike,
) -> Correlation:
    """The series for the compact pair of a decay, or for a pair with compact or finite taps.

    Guarantee: `sensitivity` is at least the largest ℓ2 change of R x, for the R in use, if one
    person's gradients change.  Each gradient has a norm of at most `norm`, and they are in the
    steps that `guarantee` allows.
    """
    if not isinstance(guarantee, Guarantee):
        raise InvalidType("guarantee must be a Guarantee", got=type(guarantee).__name__)
    pair, norm = _pair(factors, horizon), check.positive(norm=norm)
    k = guarantee.protects.steps
    if k > 1 and pair.horizon is None and pair.taps.support is None:
        raise InvalidValue(
            "must be given if a person has records in several steps",
            argument="horizon",
            got=f"{k} steps",
        )
    kind, shape = checked_dtype(dtype), checked_shape(width)
    loop = loop_of(pair.taps, kind)
    level = rounded_up(change(used_pair(pair, loop), guarantee, norm))
    return Correlation(pair, loop, shape, kind, guarantee, norm, level)


def used_pair(pair: Factorization, loop: Loop) -> Factorization:
    """The pair with the taps whose inverse the loop computes."""
    return Factorization(pair.decay, loop.taps, pair.horizon, pair.gain)


def change(
    pair: Factorization, guarantee: Guarantee, norm: float, steps: int | None = None
) -> float:
    """The largest ℓ2 change of R x in float64, over all steps or over the first `steps`."""
    bound = pair.sensitivity(
        steps, participations=guarantee.protects.steps, separation=guarantee.protects.apart
    )
    return bound.value * guarantee.vector_change(norm)


def rounded_up(sensitivity: float) -> float:
    """A number of 24 bits above the sensitivity plus its numerical error.

    Machines that differ in the last digits get the same number, unless a number of 24 bits lies
    between their results.  This happens about once in a million series.  Then the digests differ,
    too.

    >>> rounded_up(1.0) == 1 + 2**-23
    True
    """
    mantissa, exponent = math.frexp(sensitivity * (1.0 + _MARGIN))
    return math.ldexp(math.ceil(math.ldexp(mantissa, _BITS)), exponent - _BITS)


def _pair(factors: Decay | Factorization, horizon: int | None) -> Factorization:
    if isinstance(factors, Decay):
        return compact(factors, horizon=horizon)
    if not isinstance(factors, Factorization):
        raise InvalidType("factors must be a decay or a Factorization", got=type(factors).__name__)
    if isinstance(factors, BlockSums):
        raise InvalidValue("factors must have taps, but block sums have none")
    taps = factors.taps
    # the last bits of counting taps depend on the machine, but the digest of a series must not
    computed = isinstance(taps, CountingTaps) or taps.support is None
    if computed and not isinstance(taps, CompactTaps):
        raise InvalidValue(
            "factors must have compact taps, hushfade.training.compact(decay), or taps that end, "
            "pair.rounded(bits)",
            got=type(taps).__name__,
        )
    if horizon is None:
        return factors
    horizon = check.count(horizon=horizon, most=factors.horizon)
    gain = None if factors.gain is None else factors.gain[:horizon]
    return replace(factors, horizon=horizon, gain=gain)


def checked_shape(width: int | Sequence[int]) -> tuple[int, ...]:
    """The shape of one step's noise."""
    sizes = width if isinstance(width, tuple | list) else (width,)
    shape = tuple(check.count(width=size) for size in sizes)
    if not shape:
        raise InvalidValue("width must be an integer >= 1 or several", got="none")
    check.count(width=math.prod(shape), most=LANES)
    return shape


def checked_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """float32 or float64, in native byte order."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(np.void)
    if dtype is None or found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InvalidType("dtype must be float32 or float64", got=f"{dtype!s:.60}")
    return found.newbyteorder("=")

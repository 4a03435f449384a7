"""plan(...): what will be released, how private and how accurate it will be, before any record.

R̃   integer taps over 2^bits, so R̃x is exact          sensitivity from R̃ itself
z   round(N(0, σ²)) on the grid resolution · 2^-bits     σ = change · sensitivity / mu
L   g / r̃, whatever r̃ is                              errors σ ‖L_t‖, no bias
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from hushfade import check, factor
from hushfade.check import Column
from hushfade.decay import Decay
from hushfade.errors import Diverges, InvalidType, InvalidValue, Unstable
from hushfade.factor import Factorization
from hushfade.guarantee import Guarantee
from hushfade.intake import Intake
from hushfade.taps import IntegerTaps

if TYPE_CHECKING:
    from hushfade.noise import NoiseSource
    from hushfade.stream import Stream

Method = Literal["square_root", "normalized", "unbounded"]

MAX_LOSS = 0.001  # of the rounded taps over the exact factors
_REFERENCE, _FARTHEST = 1 << 13, 1 << 16  # steps over which an endless plan's loss is measured
_ROOM = 2.0**61  # |y| stays below it, so int64 cannot overflow
_FINEST = 2.0**30  # the default resolution keeps the noise below this many grid units
_CANDIDATES = [  # bits and tolerance of the taps, from cheap to fine
    (8, 0.2), (8, 0.12), (10, 0.12), (10, 0.06), (12, 0.06), (12, 0.03), (14, 0.03), (16, 0.03),
    (18, 0.02), (20, 0.02),
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Plan:
    """A mechanism, fixed to the last bit.  Made by `plan`; nothing in it depends on data."""

    decay: Decay
    guarantee: Guarantee
    intake: Intake
    horizon: int | None
    method: Method
    pair: Factorization = field(repr=False)
    loss: float  # of the integer taps, relative to the exact factors

    # Privacy ---------------------------------------------------------------------------------

    @cached_property
    def sensitivity(self) -> float:
        """The largest ℓ2 change of the private half's output for one person's change, in the
        records' unit."""
        return self._shift * self.unit

    @cached_property
    def sigma(self) -> float:
        """The noise's standard deviation in grid units, before rounding: shift / mu."""
        return self._shift / self.guarantee.mu

    @cached_property
    def unit(self) -> float:
        """The grid of what crosses, in the records' unit: resolution · 2^-bits."""
        return self.intake.resolution * 2.0**-self.bits

    @property
    def noise_stddev(self) -> float:
        """The standard deviation of z_t in the records' unit; rounding adds 1/12 of a unit²."""
        return math.sqrt(self.sigma**2 + 1.0 / 12.0) * self.unit

    @property
    def bits(self) -> int:
        """Binary places of the taps, and of the gain."""
        assert isinstance(self.pair.taps, IntegerTaps)
        return self.pair.taps.bits * (1 if self.pair.gain is None else 2)

    @cached_property
    def _shift(self) -> float:
        """Sensitivity in grid units: the record's change times ‖R̃‖, rounded up."""
        found = self.pair.sensitivity(
            participations=self.guarantee.participations, separation=self.guarantee.separation
        )
        change = _change_units(self.guarantee, self.intake)
        return change * math.ldexp(found.value, self.bits) * (1.0 + 1e-12)

    # Accuracy --------------------------------------------------------------------------------

    def stddevs(self, n: int) -> Column:
        """The error's standard deviation at steps 1, ..., n, in the records' unit."""
        return self.noise_stddev * self.pair.errors(self._steps(n))

    def stddev(self, step: int) -> float:
        """The error's standard deviation at one step; the first is 1."""
        return float(self.stddevs(check.count(step=step, most=self.horizon))[-1])

    def max_stddev(self, n: int) -> float:
        """The largest standard deviation of the first n steps."""
        return float(np.max(self.stddevs(n)))

    def error_bound(self, n: int, failure: float = 0.05) -> float:
        """|error| is below it at all of the first n steps at once, with probability 1 - failure.

        The union bound with each step's own deviation s_t: the b with Σ_t 2Φ(-b/s_t) = failure.
        For equal s_t about s √(2 ln(n/failure)); never the paper's s √(ln n), which is too small.
        """
        from scipy.optimize import brentq
        from scipy.special import ndtr

        failure = check.real(failure=failure)
        if not 0 < failure < 1:
            raise InvalidValue(f"failure must be in (0, 1), got {failure!r}")
        s = self.stddevs(n)
        top = float(np.max(s)) * math.sqrt(2.0 * math.log(2.0 * n / failure))
        return float(brentq(lambda b: float(np.sum(2 * ndtr(-b / s))) - failure, 0.0, top))

    def error_factor(self, n: int) -> float:
        """‖L‖·‖R‖ over the first n steps, of the taps in use."""
        return self.pair.error_factor(self._steps(n))

    # Use -------------------------------------------------------------------------------------

    def start(self, noise: NoiseSource | None = None) -> Stream:
        """A stream at step 0.  `noise` is fresh unless given."""
        from hushfade.stream import Stream

        return Stream.begin(self, noise)

    def quantise(self, values: object) -> Column:
        """Records clipped and put on the grid, for a caller who sums them: see step_total."""
        return self.intake.quantise(values)

    @property
    def keys(self) -> tuple[str, ...] | None:
        """The declared keys."""
        return self.intake.keys

    @property
    def jumps(self) -> int:
        """How many additions a step of the private half takes."""
        assert isinstance(self.pair.taps, IntegerTaps)
        return len(self.pair.taps.jumps)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of everything that matters to privacy or to the released values."""
        from hushfade import planfile

        return planfile.digest(self)

    def to_json(self) -> str:
        """The plan as a JSON document."""
        from hushfade import planfile

        return planfile.written(self)

    @staticmethod
    def from_json(text: str | bytes) -> Plan:
        """The plan of a JSON document; refuses what was not written by `to_json`."""
        from hushfade import planfile

        return planfile.read(text)

    def __str__(self) -> str:
        from hushfade import plantext

        return plantext.table(self)

    def _steps(self, n: int) -> int:
        return check.count(n=n, most=self.horizon)


def plan(
    decay: Decay,
    guarantee: Guarantee,
    *,
    low: float = 0.0,
    high: float = 1.0,
    horizon: int | None = None,
    method: Method = "square_root",
    keys: Iterable[str] | None = None,
    width: int | None = None,
    norm: float | None = None,
    resolution: float | None = None,
) -> Plan:
    """The plan that releases the decayed sum at every step under the guarantee.

    Each record is clipped to [low, high] and put on a grid of `resolution` (a power of two, by
    default at most 1/1024 of the range).  `keys` declares one stream per key; `width` and `norm`
    release sums of vectors clipped to that ℓ2 norm.  Without a horizon the stream runs for ever;
    NoDecay then needs method="unbounded".  method="normalized" uses the horizon for less error.

    Guarantee: the whole series, all steps and keys together, has `guarantee`, also when later
    records depend on earlier releases (Denisov et al. 2022).

    >>> from hushfade.decay import Exponential
    >>> p = plan(Exponential(half_life=24), Guarantee(epsilon=1, delta=1e-6))
    >>> round(p.noise_stddev, 2), round(p.stddev(100), 2)
    (5.69, 7.68)
    """
    intake = intake_of(
        guarantee,
        low=low,
        high=high,
        keys=keys,
        width=width,
        norm=norm,
        resolution=resolution,
    )
    exact = _exact_pair(decay, horizon, method)
    pair, loss = _integer_pair(exact)
    found = Plan(decay, guarantee, intake, exact.horizon, method, pair, loss)
    while resolution is None and found.sigma > _FINEST:
        intake = replace(intake, resolution=2.0 * intake.resolution)
        found = replace(found, intake=intake)
    return sized(found)


def intake_of(
    guarantee: Guarantee,
    *,
    low: float,
    high: float,
    keys: Iterable[str] | None,
    width: int | None,
    norm: float | None,
    resolution: float | None,
) -> Intake:
    """How records are read, checked argument by argument."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidType(f"guarantee must be a Guarantee, got {type(guarantee).__name__}")
    low, high = check.real(low=low), check.real(high=high)
    if not low < high:
        raise InvalidValue(f"low must be < high, got {low!r} and {high!r}")
    if (width is None) != (norm is None):
        raise InvalidType("width and norm go together: vectors need both")
    if keys is not None and width is not None:
        raise InvalidType("keys and width exclude each other: a key's record is a number")
    names = None if keys is None else _names(keys)
    if norm is not None:
        norm = check.positive(norm=norm)
        low, high = -norm, norm
    span = high - low
    grid = 2.0 ** (math.floor(math.log2(span)) - 10) if resolution is None else resolution
    grid = check.positive(resolution=grid)
    if math.frexp(grid)[0] != 0.5:
        raise InvalidValue(f"resolution must be a power of two, got {grid!r}")
    lanes = 1 if width is None else check.count(width=width, most=10**8)
    found = Intake(low, high, grid, 1, names, lanes, norm)
    largest = max(abs(low), abs(high)) / grid
    if not 1.0 <= largest <= 2.0**40:
        raise InvalidValue(f"resolution must divide the bounds 1 to 2^40 times, got {grid!r}")
    if found.low_unit == found.high_unit:
        raise InvalidValue(f"resolution must be below high - low, got {grid!r}")
    return found


def _names(keys: Iterable[str]) -> tuple[str, ...]:
    if isinstance(keys, str):
        raise InvalidType("keys must be several names, got one str")
    names = tuple(keys)
    if not names:
        raise InvalidValue("keys must not be empty")
    if not all(isinstance(name, str) for name in names):
        raise InvalidType("keys must be str")
    if len(set(names)) != len(names):
        raise InvalidValue("keys must differ from each other")
    return names


def _exact_pair(decay: Decay, horizon: int | None, method: Method) -> Factorization:
    check_method(method)
    root = factor.square_root(decay, horizon)  # checks decay and horizon
    if method == "normalized":
        if horizon is None:
            raise InvalidValue("horizon must be given for method='normalized'")
        return factor.normalized(decay, horizon)
    if method == "unbounded":
        if repr(decay) != "NoDecay()":
            raise InvalidValue("method='unbounded' is for NoDecay(): other decays need no horizon")
        if horizon is not None:
            raise InvalidValue("horizon must not be given for method='unbounded'")
        return factor.unbounded_counting()
    if horizon is None and not decay.horizon_free:
        raise Diverges(
            f"horizon must be given for {decay!r}: its noise would grow for ever "
            "(NoDecay() has method='unbounded')"
        )
    return root


def check_method(method: object) -> None:
    """Raise unless it is one of the methods."""
    if method not in get_args(Method):
        raise InvalidValue(f"method must be one of {', '.join(get_args(Method))}, got {method!r}")


def _integer_pair(exact: Factorization) -> tuple[Factorization, float]:
    """The cheapest stepped taps whose loss is at most MAX_LOSS, or the best that was found.

    The loss is that of ‖L‖ over n steps times ‖R‖ over all that the pair serves, and n is the
    horizon or, without one, twice the taps' support within 2^13 to 2^16.
    """
    best: tuple[Factorization, float] | None = None
    for bits, tolerance in _CANDIDATES:
        try:
            pair = exact.stepped(bits, tolerance)
        except Unstable:
            continue
        assert pair.taps.support is not None
        n = exact.horizon or min(max(_REFERENCE, 2 * pair.taps.support), _FARTHEST)
        loss = _error_factor(pair, n) / _error_factor(exact, n) - 1.0
        if best is None or loss < best[1]:
            best = pair, loss
        if loss <= MAX_LOSS:
            break
    if best is None:
        raise Unstable("no integer taps are stable for this decay; give a horizon")
    return best


@lru_cache(maxsize=64)
def _error_factor(pair: Factorization, n: int) -> float:
    return float(np.max(pair.errors(n))) * pair.sensitivity().value


def _change_units(guarantee: Guarantee, intake: Intake) -> float:
    """The largest change of one record, in units of the resolution."""
    if intake.norm is not None:
        return guarantee.vector_change(float(intake.norm_unit))
    return guarantee.change(intake.low_unit, intake.high_unit, keyed=intake.keys is not None)


def sized(found: Plan) -> Plan:
    """The plan with the largest total that int64 can carry, if the noise fits its tables."""
    if not 8.0 <= found.sigma <= 2.0**34:
        raise InvalidValue(
            "resolution must put the noise between 8 and 2^34 grid units, "
            f"got {found.sigma:.3g} with resolution = {found.intake.resolution!r}"
        )
    assert isinstance(found.pair.taps, IntegerTaps)
    reach = float(np.sum(np.abs(found.pair.taps.integers)))
    if found.pair.gain is not None:
        reach *= float(np.max(found.pair.gain)) * 2.0 ** (found.bits // 2)
    largest = math.floor((_ROOM - 64.0 * found.sigma) / reach)
    # also below 2^52, where float64 still tells neighbouring totals apart
    intake = replace(found.intake, largest_total=min(largest, 2**52))
    return replace(found, intake=intake)

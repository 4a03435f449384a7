"""plan(...): what will be released, how private and how accurate it will be, before any record.

R̃   integer taps over 2^bits, so R̃x is exact          sensitivity from R̃ itself
z   round(N(0, σ²)) on the grid resolution · 2^-bits     σ = change · sensitivity / mu
L   g / r̃, whatever r̃ is                              errors σ ‖L_t‖, no bias
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decay import Decay
from hushfade.errors import InvalidValue
from hushfade.factors.factorization import Factorization
from hushfade.factors.taps import IntegerTaps
from hushfade.numerics.root_finding import root_of
from hushfade.planning.cost import Cost, cost
from hushfade.planning.search_taps import Method, exact_pair, grid_of, integer_pair
from hushfade.privacy.guarantee import Guarantee
from hushfade.private.grid import Grid
from hushfade.theory.certificates import Certificate, certificate

if TYPE_CHECKING:
    from hushfade.crossing.noise_sources import NoiseSource
    from hushfade.stream.stream import Stream

_ROOM = 2.0**54  # |y| stays below it: far from int64's end, and float64 rounds it by 1 unit


@dataclass(frozen=True, eq=False)
class Plan:
    """A mechanism, fixed to the last bit.  Made by `plan`; nothing in it depends on data."""

    decay: Decay
    guarantee: Guarantee
    grid: Grid
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
        return self.grid.resolution * 2.0**-self.bits

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
        change = _change_units(self.guarantee, self.grid)
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
        from scipy.special import ndtr

        failure = check.real(failure=failure)
        if not 0 < failure < 1:
            raise InvalidValue("failure must be in (0, 1)", got=repr(failure))
        s = self.stddevs(n)
        top = float(np.max(s)) * math.sqrt(2.0 * math.log(2.0 * n / failure))
        return root_of(lambda b: float(np.sum(2 * ndtr(-b / s))) - failure, 0.0, top)

    def error_factor(self, n: int) -> float:
        """‖L‖·‖R‖ over the first n steps, of the taps in use."""
        return self.pair.error_factor(self._steps(n))

    def certificate(self, n: int | None = None) -> Certificate:
        """How near the optimum the first n steps are.

        Without n the whole horizon is meant, or 1000 steps if there is none.  The error is at most
        `ratio` times the least possible; for repeated participation the lower bound is loose.

        Its error factor is `max_stddev(n)` for unit noise multiplier and unit change, with the
        noise in use: a plan that runs for ever is compared with mechanisms made for these n steps.
        The change is that of one record within its key, before or after rounding to the grid,
        whichever is less: what every mechanism must hide.

        >>> from hushfade.decay import Exponential
        >>> p = plan(Exponential(half_life=24), Guarantee(epsilon=1, delta=1e-6))
        >>> p.certificate(10_000).sentence()
        'Over the first 10000 steps no Gaussian factorization mechanism can have less than 99.90 %
        of this error.'
        """
        steps = self._steps((self.horizon or 1000) if n is None else n)
        grid, guarantee = self.grid, self.guarantee
        if grid.norm is None:
            exact = guarantee.change(grid.low, grid.high)
            on_grid = guarantee.change(grid.low_unit, grid.high_unit) * grid.resolution
        else:
            exact = guarantee.vector_change(grid.norm)
            on_grid = guarantee.vector_change(float(grid.norm_unit)) * grid.resolution
        change = min(exact, on_grid)
        return certificate(
            self.decay,
            steps,
            self.max_stddev(steps) * self.guarantee.mu / change,
            participations=self.guarantee.participations,
            separation=self.guarantee.separation,
        )

    # Use -------------------------------------------------------------------------------------

    def start(self, noise: NoiseSource | None = None) -> Stream:
        """A stream at step 0.  `noise` is fresh unless given."""
        from hushfade.stream.stream import Stream

        return Stream.begin(self, noise)

    def quantise(self, values: object) -> Column:
        """Records clipped and put on the grid, for a caller who sums them: see step_total."""
        return self.grid.quantise(values)

    @property
    def keys(self) -> tuple[str, ...] | None:
        """The declared keys."""
        return self.grid.keys

    @property
    def jumps(self) -> int:
        """How many additions a step of the private half takes."""
        assert isinstance(self.pair.taps, IntegerTaps)
        return len(self.pair.taps.jumps)

    @cached_property
    def cost(self) -> Cost:
        """What a stream of this plan costs at most: memory, and work a step."""
        return cost(self.pair, self.grid.lanes)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of everything that matters to privacy or to the released values."""
        from hushfade.planning import plan_file

        return plan_file.digest(self)

    def to_json(self) -> str:
        """The plan as a JSON document."""
        from hushfade.planning import plan_file

        return plan_file.written(self)

    @staticmethod
    def from_json(text: str | bytes) -> Plan:
        """The plan of a JSON document; refuses what was not written by `to_json`."""
        from hushfade.planning import plan_file

        return plan_file.read(text)

    def __str__(self) -> str:
        from hushfade.planning import summary

        return summary.table(self)

    def _steps(self, n: int) -> int:
        return check.count(n=n, most=self.horizon)


def plan(
    decay: Decay,
    guarantee: Guarantee,
    *,
    low: float = 0.0,
    high: float = 1.0,
    horizon: int | None = None,
    method: Method | Factorization = "square_root",
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
    Any other Toeplitz pair of the decay, a `Factorization`, may be given as the method.

    Guarantee: the whole series, all steps and keys together, has `guarantee`, also when later
    records depend on earlier releases (Denisov et al. 2022).

    >>> from hushfade.decay import Exponential
    >>> p = plan(Exponential(half_life=24), Guarantee(epsilon=1, delta=1e-6))
    >>> round(p.noise_stddev, 2), round(p.stddev(100), 2)
    (5.69, 7.68)
    """
    grid = grid_of(
        guarantee,
        low=low,
        high=high,
        keys=keys,
        width=width,
        norm=norm,
        resolution=resolution,
    )
    exact, name = exact_pair(decay, horizon, method)
    pair, loss = integer_pair(exact)
    found = Plan(decay, guarantee, grid, exact.horizon, name, pair, loss)
    return sized(found)


def _change_units(guarantee: Guarantee, grid: Grid) -> float:
    """The largest change of one record, in units of the resolution."""
    if grid.norm is not None:
        return guarantee.vector_change(float(grid.norm_unit))
    return guarantee.change(grid.low_unit, grid.high_unit, keyed=grid.keys is not None)


def sized(found: Plan) -> Plan:
    """The plan with the largest total that int64 can carry, if the noise fits its tables."""
    if not 8.0 <= found.sigma <= 2.0**34:
        raise InvalidValue(
            "must put the noise between 8 and 2^34 grid units",
            argument="resolution",
            got=f"{found.sigma:.3g} units with a resolution of {found.grid.resolution!r}",
            remedy="give another resolution, to which each record is then rounded",
        )
    assert isinstance(found.pair.taps, IntegerTaps)
    reach = float(np.sum(np.abs(found.pair.taps.integers.astype(np.float64))))
    if found.pair.gain is not None:
        reach *= float(np.max(found.pair.gain)) * 2.0 ** (found.bits // 2)
    largest = math.floor((_ROOM - 64.0 * found.sigma) / reach)
    # also below 2^52, where float64 still tells neighbouring totals apart
    grid = replace(found.grid, largest_total=min(largest, 2**52))
    return replace(found, grid=grid)

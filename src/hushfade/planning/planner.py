"""plan(...): the plan that releases a decayed sum at every step under a guarantee."""

from __future__ import annotations

from collections.abc import Iterable

from hushfade.decay import Decay
from hushfade.factors.factorization import Factorization
from hushfade.planning.exact_factors import Method, exact_factors
from hushfade.planning.plan import Plan, sized
from hushfade.planning.search_taps import integer_factors
from hushfade.privacy.guarantee import Guarantee
from hushfade.private.grid import grid_of


def plan(
    decay: Decay,
    guarantee: Guarantee,
    *,
    low: float = 0.0,
    high: float = 1.0,
    horizon: int | None = None,
    method: Method | Factorization = "square_root",
    expect: int | None = None,
    keys: Iterable[str] | None = None,
    width: int | None = None,
    norm: float | None = None,
    resolution: float | None = None,
) -> Plan:
    """The plan that releases the decayed sum at every step under the guarantee.

    Each record is clipped to [low, high] and put on a grid of `resolution` (a power of two, by
    default at most 1/1024 of the range).  `keys` declares one stream per key; `width` and `norm`
    release sums of vectors clipped to that ℓ2 norm.  Without a horizon the stream runs for ever.
    NoDecay then needs method="unbounded", whose error is least near `expect` steps, 2^20 by default
    (`factors.unbounded_counting`).  method="normalized" uses the horizon for less error.
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
    exact, name = exact_factors(decay, horizon, method, expect)
    pair, loss = integer_factors(exact)
    return sized(Plan(decay, guarantee, grid, exact.horizon, name, pair, loss))

"""Every decay joins this list once; all laws run over it."""

from hushfade import (
    CustomDecay,
    Exponential,
    NoDecay,
    PowerLaw,
    SlidingWindow,
)

LOG_CONVEX = [
    NoDecay(),
    Exponential(half_life=1),
    Exponential(half_life=24),
    Exponential.from_alpha(1.01),
    PowerLaw(power=0.25),
    PowerLaw(power=0.5),
    PowerLaw(power=1),
    PowerLaw(power=2),
    PowerLaw(power=5),
    0.7 * Exponential(half_life=24) + 0.3 * PowerLaw(power=1),
    2 * PowerLaw(power=0.3),
]
OTHERS = [
    SlidingWindow(length=1),
    SlidingWindow(length=2),
    SlidingWindow(length=7),
    SlidingWindow(length=64),
    CustomDecay([1, 0.5, 0.25, 0.1]),
    CustomDecay([3.0]),
    CustomDecay([(1 - 0.9 ** (k + 1)) / 0.1 for k in range(12)]),  # momentum, then cut
    10 * NoDecay() - 9 * Exponential.from_alpha(1 / 0.9),  # momentum
    0.5 * SlidingWindow(length=24) + 0.5 * Exponential(half_life=5),
]
ALL_DECAYS = LOG_CONVEX + OTHERS

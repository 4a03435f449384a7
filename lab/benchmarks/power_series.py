"""`factors.power_series`: its cost in FFT products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import fft

from hushfade.check import Column
from hushfade.decays import Decay, Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.factors import power_series
from lab.benchmarks.report import Section, ratio_cells, ratio_section
from lab.benchmarks.timing import Job, interleaved, ratio, repeated

N = 1 << 20
HALF_LIFE = LENGTH = 1000
DECAYS: dict[str, Decay] = {
    "counting": NoDecay(),
    "power 1": PowerLaw(power=1),
    "power 3": PowerLaw(power=3),
    "exponential, half-life 1000": Exponential(half_life=HALF_LIFE),
    "window 1000": SlidingWindow(length=LENGTH),
}
ONE_PRODUCT = "one FFT product"


def sections(rounds: int) -> Iterator[Section]:
    """The cost at n = 2^20, and how it grows with n."""
    yield cost(rounds)
    yield growth(rounds)


def fft_product(n: int) -> Job:
    """The yardstick: the full product of two columns of n coefficients in float64."""
    a, b = np.random.default_rng(1).random((2, n))
    return lambda: fft.irfft(fft.rfft(a, 2 * n) * fft.rfft(b, 2 * n), 2 * n)


def cost(rounds: int) -> Section:
    """Every operation at n = 2^20 against one FFT product."""
    f = PowerLaw(power=1).weights(N)
    jobs: dict[str, Job] = {ONE_PRODUCT: fft_product(N)}
    for name, decay in DECAYS.items():
        jobs[f"square_root, {name}"] = _root_of(decay.weights(N))
    jobs["multiply, power 1"] = lambda: power_series.multiply(f, f)
    jobs["inverse, power 1"] = lambda: power_series.inverse(f)
    jobs["power to 1/3, power 1"] = lambda: power_series.power(f, 1 / 3)
    times = interleaved(jobs, rounds)
    unit = times.pop(ONE_PRODUCT)
    goals = {name: 40.0 for name in times if name.startswith("square_root")}
    return ratio_section(
        "Series: cost at n = 2^20",
        "Yardstick: one FFT product of that length, irfft(rfft(a, 2n) · rfft(b, 2n)); it took "
        f"{min(unit):.2f} to {max(unit):.2f} s.",
        [ratio(name, taken, unit, goals.get(name)) for name, taken in times.items()],
    )


def growth(rounds: int) -> Section:
    """The time of square_root per coefficient, for n = 2^10 to 2^22."""
    rows = []
    rounds = min(rounds, 3)  # 2^22 takes long
    for bits in range(10, 23, 2):
        n = 1 << bits
        calls = max(1, (1 << 16) // n)
        name = f"square_root, n = 2^{bits}"
        root = _root_of(PowerLaw(power=1).weights(n))
        jobs = {ONE_PRODUCT: repeated(fft_product(n), calls), name: repeated(root, calls)}
        times = interleaved(jobs, rounds)
        nanoseconds = min(times[name]) / (calls * n) * 1e9
        cells = ratio_cells(ratio(name, times[name], times[ONE_PRODUCT]))
        rows.append((f"2^{bits}", f"{nanoseconds:.0f}", *cells))
    return Section(
        "Series: growth of square_root with n",
        f"Power 1.  Yardstick: one FFT product of the same length, {rounds} rounds.  Decimals "
        "compute the first 64 coefficients, a fixed cost that dominates at small n.",
        ("n", "nanoseconds per coefficient", "best", "spread"),
        rows,
    )


def _root_of(f: Column) -> Job:
    return lambda: power_series.square_root(f)
